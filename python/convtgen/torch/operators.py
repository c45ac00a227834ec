"""The operators torch.ops.convtgen.*: what torch.compile, torch.export, tensor subclasses and dispatch modes see.

In eager mode functional.py calls the kernels without them, since a registered operator costs more than a launch.
"""

import torch

from . import calls, geometry, policy, settings, torchs
from .geometry import Parameters

_library = torch.library.Library("convtgen", "DEF")
_PARAMETERS = ("SymInt[] stride, SymInt[] padding, SymInt[] output_padding, SymInt[] dilation, SymInt groups, "
               "str compute, str policy")
_library.define(f"conv_transpose(Tensor input, Tensor weight, Tensor? bias, {_PARAMETERS}) -> Tensor")
_library.define(f"conv_transpose_grad_input(Tensor grad_y, Tensor weight, SymInt[] input_size, {_PARAMETERS}) -> Tensor")
_library.define("conv_transpose_grad_weight(Tensor grad_y, Tensor input, SymInt[] weight_size, "
                f"bool weight_channels_last, {_PARAMETERS}) -> Tensor")

_OF_INPUT, _OF_WEIGHT = (True, False, False), (False, True, False)

conv_transpose = torch.ops.convtgen.conv_transpose.default
conv_transpose_grad_input = torch.ops.convtgen.conv_transpose_grad_input.default
conv_transpose_grad_weight = torch.ops.convtgen.conv_transpose_grad_weight.default


def as_arguments(parameters, compute=None, policy="always"):
    """The arguments that all three have: Parameters, a compute mode ("" for torch's switches), a policy."""
    return [*map(list, parameters[:4]), parameters.groups, compute or "", policy]


def _parameters(stride, padding, output_padding, dilation, groups):
    return Parameters(tuple(stride), tuple(padding), tuple(output_padding), tuple(dilation), groups)


def _call(direction, shape, weight_shape, like, channels_last, weight_channels_last, parameters, compute, of_policy):
    if of_policy == "never" or not settings.takes(like.device, like.dtype):
        return None
    call = calls.find_call(shape, weight_shape, like.dtype, like.device, channels_last, weight_channels_last, parameters,
                           settings.compute_mode(like.dtype, compute or None))
    if call is not None and of_policy == "auto" and not policy.is_known_to_be_faster(call, direction):
        return None
    return call


# ---- What they compute ----


def _forward(input, weight, bias, stride, padding, output_padding, dilation, groups, compute, of_policy):
    parameters = _parameters(stride, padding, output_padding, dilation, groups)
    call = _call("forward", input.shape, weight.shape, input, geometry.is_channels_last(input, weight, parameters),
                 geometry.weight_is_channels_last(weight), parameters, compute, of_policy)
    if call is None:
        return torchs.forward(input, weight, bias, parameters)
    return call.forward(input, weight, bias)


def _grad_input(grad_y, weight, input_size, stride, padding, output_padding, dilation, groups, compute, of_policy):
    parameters = _parameters(stride, padding, output_padding, dilation, groups)
    channels_last = geometry.is_channels_last(grad_y, weight, parameters)
    call = _call("grad_input", input_size, weight.shape, grad_y, channels_last,
                 geometry.weight_is_channels_last(weight), parameters, compute, of_policy)
    if call is None:
        x = _empty(grad_y, input_size, channels_last)
        return geometry.in_format(torchs.gradients(grad_y, x, weight, parameters, _OF_INPUT)[0], channels_last)
    return call.gradients(grad_y, None, weight, _OF_INPUT)[0]


def _grad_weight(grad_y, input, weight_size, weight_channels_last, stride, padding, output_padding, dilation, groups,
                 compute, of_policy):
    parameters = _parameters(stride, padding, output_padding, dilation, groups)
    call = _call("grad_weight", input.shape, weight_size, input,
                 geometry.is_channels_last(input, grad_y, parameters), weight_channels_last, parameters, compute,
                 of_policy)
    if call is None:
        weight = _empty(grad_y, weight_size, weight_channels_last)
        return geometry.in_format(torchs.gradients(grad_y, input, weight, parameters, _OF_WEIGHT)[1],
                                  weight_channels_last)
    return call.gradients(grad_y, input, None, _OF_WEIGHT)[1]


for _name, _function in (("conv_transpose", _forward), ("conv_transpose_grad_input", _grad_input),
                         ("conv_transpose_grad_weight", _grad_weight)):
    for _key in ("CUDA", "CPU"):
        _library.impl(_name, _function, _key)


# ---- Shapes and strides, without data ----


def _empty(like, shape, channels_last):
    return torch.empty_strided(shape, geometry.format_strides(shape, channels_last), dtype=like.dtype, device=like.device)


@torch.library.register_fake("convtgen::conv_transpose", lib=_library)
def _(input, weight, bias, stride, padding, output_padding, dilation, groups, compute, of_policy):
    parameters = _parameters(stride, padding, output_padding, dilation, groups)
    torch._check(input.dim() == weight.dim() and input.shape[1] == weight.shape[0],
                 lambda: f"input {tuple(input.shape)} does not go with weight {tuple(weight.shape)}")
    extents = geometry.output_extents(input.shape[2:], weight.shape[2:], parameters)
    shape = (input.shape[0], weight.shape[1] * groups, *extents)
    return _empty(input, shape, geometry.is_channels_last(input, weight, parameters))


@torch.library.register_fake("convtgen::conv_transpose_grad_input", lib=_library)
def _(grad_y, weight, input_size, stride, padding, output_padding, dilation, groups, compute, of_policy):
    parameters = _parameters(stride, padding, output_padding, dilation, groups)
    return _empty(grad_y, input_size, geometry.is_channels_last(grad_y, weight, parameters))


@torch.library.register_fake("convtgen::conv_transpose_grad_weight", lib=_library)
def _(grad_y, input, weight_size, weight_channels_last, stride, padding, output_padding, dilation, groups, compute,
      of_policy):
    return _empty(grad_y, weight_size, weight_channels_last)


# ---- Autocast ----


def autocast(device_type, *tensors):
    """Tensors as torch's convolutions get them under autocast: in its type, except float64 and None."""
    dtype = torch.get_autocast_dtype(device_type)
    return [tensor if tensor is None or tensor.dtype == dtype or tensor.dtype == torch.float64 or
            not tensor.is_floating_point() else tensor.to(dtype) for tensor in tensors]


for _key, _device_type in (("AutocastCUDA", "cuda"), ("AutocastCPU", "cpu")):

    def _cast_forward(input, weight, bias, *arguments, _device_type=_device_type):
        cast = autocast(_device_type, input, weight, bias)
        with torch.autocast(_device_type, enabled=False):
            return conv_transpose(*cast, *arguments)

    _library.impl("conv_transpose", _cast_forward, _key)


# ---- Gradients ----


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.arguments = inputs


def _backward_of_forward(ctx, grad_y):
    x, weight = ctx.saved_tensors
    arguments = ctx.arguments[3:]
    of_x = of_weight = of_bias = None
    if ctx.needs_input_grad[0]:
        of_x = conv_transpose_grad_input(grad_y, weight, x.shape, *arguments)
    if ctx.needs_input_grad[1]:
        of_weight = conv_transpose_grad_weight(grad_y, x, weight.shape, geometry.weight_is_channels_last(weight),
                                               *arguments)
    if ctx.needs_input_grad[2]:
        of_bias = torchs.bias_gradient(grad_y)
    return of_x, of_weight, of_bias, *[None] * len(arguments)


def _backward_of_grad_input(ctx, of_grad_x):
    grad_y, weight = ctx.saved_tensors
    arguments = ctx.arguments[3:]
    of_grad_y = of_weight = None
    if ctx.needs_input_grad[0]:
        of_grad_y = conv_transpose(of_grad_x, weight, None, *arguments)
    if ctx.needs_input_grad[1]:
        of_weight = conv_transpose_grad_weight(grad_y, of_grad_x, weight.shape,
                                               geometry.weight_is_channels_last(weight), *arguments)
    return of_grad_y, of_weight, *[None] * (1 + len(arguments))


def _backward_of_grad_weight(ctx, of_grad_weight):
    grad_y, x = ctx.saved_tensors
    arguments = ctx.arguments[4:]
    of_grad_y = of_x = None
    if ctx.needs_input_grad[0]:
        of_grad_y = conv_transpose(x, of_grad_weight, None, *arguments)
    if ctx.needs_input_grad[1]:
        of_x = conv_transpose_grad_input(grad_y, of_grad_weight, x.shape, *arguments)
    return of_grad_y, of_x, *[None] * (2 + len(arguments))


for _name, _backward in (("conv_transpose", _backward_of_forward), ("conv_transpose_grad_input", _backward_of_grad_input),
                         ("conv_transpose_grad_weight", _backward_of_grad_weight)):
    torch.library.register_autograd(f"convtgen::{_name}", _backward, setup_context=_keep, lib=_library)
