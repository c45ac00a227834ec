"""The operators torch.ops.convtgen.*: what torch.compile, torch.export, tensor subclasses and dispatch modes see.

conv_transpose has torch's arguments. It is made of torch's own convolution, or of three operators, one a direction,
whose autograd is gradients.py's. So a compiler that traces it sees what runs. These three have few arguments, since each
costs time in a call: `layer` is a text with the rest of them.

In eager mode functional.py calls the kernels without operators, since one costs more than a launch.
"""

import functools
import json
import math

import torch
from torch.utils.flop_counter import register_flop_formula

from . import calls, geometry, gradients, policy, settings, torchs
from .geometry import Parameters

_library = torch.library.Library("convtgen", "DEF")
_library.define("conv_transpose(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
                "SymInt[] output_padding, SymInt[] dilation, SymInt groups, str compute, str policy) -> Tensor")
_library.define("conv_transpose_forward(Tensor input, Tensor weight, Tensor? bias, str layer) -> Tensor")
_library.define("conv_transpose_grad_input(Tensor grad_y, Tensor weight, SymInt[] input_size, str layer) -> Tensor")
_library.define("conv_transpose_grad_weight(Tensor grad_y, Tensor input, SymInt[] weight_size, "
                "bool weight_channels_last, str layer) -> Tensor")

conv_transpose = torch.ops.convtgen.conv_transpose.default
conv_transpose_forward = torch.ops.convtgen.conv_transpose_forward.default
conv_transpose_grad_input = torch.ops.convtgen.conv_transpose_grad_input.default
conv_transpose_grad_weight = torch.ops.convtgen.conv_transpose_grad_weight.default

_MOST_REMEMBERED = 4096
_OF_INPUT, _OF_WEIGHT = (True, False, False), (False, True, False)


def as_arguments(parameters, compute=None, of_policy="always"):
    """The arguments of conv_transpose after the tensors: Parameters, a compute mode ("": torch's), a policy."""
    stride, padding, output_padding, dilation, groups = parameters  # torch.compile of 2.6 knows no slice of it
    return [list(stride), list(padding), list(output_padding), list(dilation), groups, compute or "", of_policy]


def as_layer(parameters, compute=None, of_policy="always"):
    """The `layer` of the others."""
    return json.dumps([*parameters, compute, of_policy])


@functools.lru_cache(maxsize=None)
def _of_layer(layer):
    """(Parameters, the compute mode, the policy)."""
    *axes, groups, compute, of_policy = json.loads(layer)
    settings.check_compute(compute)
    policy.check_policy(of_policy)
    return Parameters(*map(tuple, axes), groups), compute, of_policy


# ---- What kernels take ----


def _check(condition, message):
    if not condition:
        raise RuntimeError(f"convtgen: {message}")


def _check_tensors(first, name, **others):
    """Raises RuntimeError unless all tensors are dense and have the type and the device of the first one."""
    for other, tensor in ((name, first), *others.items()):
        _check(tensor.layout == torch.strided, f"{other} has the layout {tensor.layout}; legal is torch.strided")
        _check(tensor.dtype == first.dtype, f"{other} has the type {tensor.dtype}; legal is that of {name}, {first.dtype}")
        _check(tensor.device == first.device, f"{other} is on {tensor.device}; legal is the device of {name}, {first.device}")


def _y_shape(x_shape, weight_shape, parameters):
    """The output's shape; RuntimeError for shapes that don't go together."""
    axes = len(parameters.stride)
    _check(axes in (1, 2, 3) and all(len(values) == axes for values in parameters[:4]) and parameters.groups >= 1,
           f"{parameters} must have 1 to 3 axes each, and at least 1 group")
    _check(len(x_shape) == len(weight_shape) == axes + 2,
           f"input {tuple(x_shape)} and weight {tuple(weight_shape)} must have {axes + 2} dimensions")
    _check(x_shape[1] == weight_shape[0] and weight_shape[0] % parameters.groups == 0,
           f"input {tuple(x_shape)} does not go with weight {tuple(weight_shape)} and {parameters.groups} groups")
    extents = geometry.output_extents(x_shape[2:], weight_shape[2:], parameters)
    _check(all(extent >= 1 for extent in extents), f"the output's extents {extents} must be at least 1")
    return (x_shape[0], weight_shape[1] * parameters.groups, *extents)


def _check_grad_y(grad_y, x_shape, weight_shape, parameters):
    shape = _y_shape(x_shape, weight_shape, parameters)
    _check(tuple(grad_y.shape) == tuple(shape), f"grad_y {tuple(grad_y.shape)} must have the output's shape, {shape}")


def _check_bias(bias, like, channels):
    if bias is not None:
        _check_tensors(like, "input", bias=bias)
        _check(tuple(bias.shape) == (channels,), f"bias {tuple(bias.shape)} must have the shape ({channels},)")


# ---- One a direction ----


def _call(direction, shape, weight_shape, like, channels_last, weight_channels_last, layer):
    """The Call of a direction; None where torch's operator serves."""
    parameters, compute, of_policy = _of_layer(layer)
    if not settings.takes(like.device, like.dtype):
        return None
    call = calls.find_call(shape, weight_shape, like.dtype, like.device, channels_last, weight_channels_last,
                           parameters, settings.compute_mode(like.dtype, compute))
    if call is not None and of_policy == "auto" and not policy.is_known_to_be_faster(call, direction):
        return None
    return call


def _remembered(find):
    """A function that finds the Call for two tensors, a layer, and what else says it; it remembers what stays so."""
    found = {}

    def call_of(first, second, layer, *rest):
        key = (first.shape, first.stride(), first.dtype, first.device, second.shape, second.stride(), second.dtype,
               second.device, layer, *rest, settings.switch(), settings.host_device)
        try:
            return found[key]
        except KeyError:
            call = find(first, second, layer, *rest)
            if _of_layer(layer)[2] != "auto":  # whose choice may come later
                if len(found) >= _MOST_REMEMBERED:
                    found.clear()
                found[key] = call
            return call

    return call_of


@_remembered
def _call_of_forward(input, weight, layer):
    _check_tensors(input, "input", weight=weight)
    _y_shape(input.shape, weight.shape, _of_layer(layer)[0])
    return _call("forward", input.shape, weight.shape, input,
                 geometry.is_channels_last(input, weight, _of_layer(layer)[0]), geometry.weight_is_channels_last(weight),
                 layer)


@_remembered
def _call_of_grad_input(grad_y, weight, layer, input_size):
    _check_tensors(grad_y, "grad_y", weight=weight)
    _check_grad_y(grad_y, input_size, weight.shape, _of_layer(layer)[0])
    return _call("grad_input", input_size, weight.shape, grad_y,
                 geometry.is_channels_last(grad_y, weight, _of_layer(layer)[0]), geometry.weight_is_channels_last(weight),
                 layer)


@_remembered
def _call_of_grad_weight(grad_y, input, layer, weight_size, weight_channels_last):
    _check_tensors(grad_y, "grad_y", input=input)
    _check_grad_y(grad_y, input.shape, weight_size, _of_layer(layer)[0])
    return _call("grad_weight", input.shape, weight_size, input,
                 geometry.is_channels_last(input, grad_y, _of_layer(layer)[0]), weight_channels_last, layer)


def _forward(input, weight, bias, layer):
    call = _call_of_forward(input, weight, layer)
    _check_bias(bias, input, weight.shape[1] * _of_layer(layer)[0].groups)
    if call is None:
        return torchs.forward(input, weight, bias, _of_layer(layer)[0])
    return call.forward(input, weight, bias)


def _grad_input(grad_y, weight, input_size, layer):
    call = _call_of_grad_input(grad_y, weight, layer, tuple(input_size))
    if call is None:
        parameters = _of_layer(layer)[0]
        channels_last = geometry.is_channels_last(grad_y, weight, parameters)
        x = _empty(grad_y, input_size, channels_last)
        return geometry.in_format(torchs.gradients(grad_y, x, weight, parameters, _OF_INPUT)[0], channels_last)
    return call.gradients(grad_y, None, weight, _OF_INPUT)[0]


def _grad_weight(grad_y, input, weight_size, weight_channels_last, layer):
    call = _call_of_grad_weight(grad_y, input, layer, tuple(weight_size), weight_channels_last)
    if call is None:
        parameters = _of_layer(layer)[0]
        weight = _empty(grad_y, weight_size, weight_channels_last)
        return geometry.in_format(torchs.gradients(grad_y, input, weight, parameters, _OF_WEIGHT)[1],
                                  weight_channels_last)
    return call.gradients(grad_y, input, None, _OF_WEIGHT)[1]


for _name, _function in (("forward", _forward), ("grad_input", _grad_input), ("grad_weight", _grad_weight)):
    for _key in ("CUDA", "CPU"):
        _library.impl(f"conv_transpose_{_name}", _function, _key)


# ---- Shapes and strides, without data ----


def _empty(like, shape, channels_last):
    return torch.empty_strided(shape, geometry.format_strides(shape, channels_last), dtype=like.dtype, device=like.device)


@torch.library.register_fake("convtgen::conv_transpose_forward", lib=_library)
def _(input, weight, bias, layer):
    parameters = _of_layer(layer)[0]
    _check_tensors(input, "input", weight=weight)
    shape = _y_shape(input.shape, weight.shape, parameters)
    _check_bias(bias, input, shape[1])
    return _empty(input, shape, geometry.is_channels_last(input, weight, parameters))


@torch.library.register_fake("convtgen::conv_transpose_grad_input", lib=_library)
def _(grad_y, weight, input_size, layer):
    _check_tensors(grad_y, "grad_y", weight=weight)
    _check_grad_y(grad_y, input_size, weight.shape, _of_layer(layer)[0])
    return _empty(grad_y, input_size, geometry.is_channels_last(grad_y, weight, _of_layer(layer)[0]))


@torch.library.register_fake("convtgen::conv_transpose_grad_weight", lib=_library)
def _(grad_y, input, weight_size, weight_channels_last, layer):
    _check_tensors(grad_y, "grad_y", input=input)
    _check_grad_y(grad_y, input.shape, weight_size, _of_layer(layer)[0])
    return _empty(grad_y, weight_size, weight_channels_last)


# ---- What torch.utils.flop_counter.FlopCounterMode counts: as many in each direction, as for torch's ----


def _flops(x_shape, weight_shape):
    return 2 * x_shape[0] * math.prod(x_shape[2:]) * math.prod(weight_shape)


@register_flop_formula(torch.ops.convtgen.conv_transpose_forward)
def _(input, weight, *_, **__):
    return _flops(input, weight)


@register_flop_formula(torch.ops.convtgen.conv_transpose_grad_input)
def _(grad_y, weight, input_size, *_, **__):
    return _flops(input_size, weight)


@register_flop_formula(torch.ops.convtgen.conv_transpose_grad_weight)
def _(grad_y, input, weight_size, *_, **__):
    return _flops(input, weight_size)


# ---- conv_transpose ----


class _Operators:
    """What calls.Call is for the kernels, for the operators."""

    def __init__(self, input, weight, parameters, compute, of_policy):
        self._layer = as_layer(parameters, compute, of_policy)
        self._input_size, self._weight_size = input.shape, weight.shape
        self._weight_channels_last = geometry.weight_is_channels_last(weight)

    def forward(self, input, weight, bias):
        return conv_transpose_forward(input, weight, bias, self._layer)

    def gradients(self, grad_y, input, weight, wanted):
        return (conv_transpose_grad_input(grad_y, weight, self._input_size, self._layer) if wanted[0] else None,
                conv_transpose_grad_weight(grad_y, input, self._weight_size, self._weight_channels_last, self._layer)
                if wanted[1] else None, torchs.bias_gradient(grad_y) if wanted[2] else None)


def _takes_bias(bias, input, weight, parameters):
    """Whether kernels read this bias; torch's operator takes it, or says what is wrong with it."""
    return bias is None or (bias.layout == torch.strided and bias.dtype == input.dtype and bias.device == input.device and
                            bias.dim() == 1 and bias.shape[0] == weight.shape[1] * parameters.groups)


def _server(input, weight, bias, parameters, compute, of_policy):
    """What serves a call, as gradients.py has it; None for torch's operator."""
    settings.check_compute(compute)
    policy.check_policy(of_policy)
    if of_policy == "never" or torch._C._functorch.peek_interpreter_stack() is not None or \
            not settings.takes(input.device, input.dtype) or not calls.go_together(input, weight, parameters) or \
            not _takes_bias(bias, input, weight, parameters):
        return None
    if any(isinstance(extent, torch.SymInt) for extent in (*input.shape, *weight.shape)):
        return _Operators(input, weight, parameters, compute, of_policy)  # chosen when it runs
    call = calls.call_of(input, weight, parameters, compute)
    if call is None:
        return None
    own = _Operators(input, weight, parameters, compute, "always")
    if of_policy == "always":
        return own
    return policy.known(call, "training" if gradients.tracks(input, weight, bias) else "forward", own)


def _conv_transpose(input, weight, bias, stride, padding, output_padding, dilation, groups, compute, of_policy):
    # int: with dynamic sizes a compiler may take any number for one, and a layer has numbers.
    axes = (tuple(map(int, values)) for values in (stride, padding, output_padding, dilation))
    parameters = Parameters(*axes, int(groups))
    if bias is not None:  # torch's operator does not see it where the bias is on "meta"
        _check(bias.device == input.device, f"bias is on {bias.device}; legal is the device of input, {input.device}")
    server = _server(input, weight, bias, parameters, compute or None, of_policy)
    if server is None:
        return torchs.forward(input, weight, bias, parameters)
    return gradients.forward(server, input, weight, bias)


_library.impl("conv_transpose", _conv_transpose, "CompositeImplicitAutograd")


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
