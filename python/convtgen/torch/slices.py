"""Tensors that are channels of larger ones: where kernels write for out=, and read and write them for UpCat."""

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from . import calls, geometry, policy, settings, torchs

_MOST = 4096
_slices = {}
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def runs_kernels(*tensors):
    """Whether these tensors, some of them None, are what a kernel takes now: no subclass, transform, mode or compiler sees
    the call."""
    tensors = [tensor for tensor in tensors if tensor is not None]
    return (not torch.compiler.is_compiling() and all(type(tensor) in _PLAIN for tensor in tensors) and
            torch._C._functorch.peek_interpreter_stack() is None and forward_ad._current_level < 0 and
            torch._C._get_tracing_state() is None and torch._C._len_torch_dispatch_stack() == 0 and
            not torch._C._has_torch_function_variadic(*tensors))


def tensor_channels(tensor, channels_last):
    """How many channels the tensor has, in that format, whose channels this one is some of, or all; None for other strides.
    The first image alone does not say it, nor does a single pixel: then its own."""
    shape, strides = tuple(tensor.shape), tensor.stride()
    if 0 in shape:
        return None
    pixels = range(len(shape) - 1, 1, -1)
    if channels_last:
        step, found = 1, None
        if shape[1] > 1 and strides[1] != 1:
            return None
        for axis in (*pixels, 0):
            if shape[axis] > 1:
                channels, rest = divmod(strides[axis], step)
                if rest or (found is not None and channels != found):
                    return None
                found = channels
                step = step * shape[axis]
    else:
        step, found = 1, None
        for axis in (*pixels, 1):
            if shape[axis] > 1 and strides[axis] != step:
                return None
            step = step * shape[axis] if axis != 1 else step
        if shape[0] > 1:
            found, rest = divmod(strides[0], step)
            if rest:
                return None
    found = shape[1] if found is None else found
    return found if found >= shape[1] else None


def is_aligned(tensor):
    """Whether it begins where kernels can read and write."""
    return tensor.data_ptr() % calls.ALIGNMENT == 0 and not tensor.is_neg()


class SliceCall(calls.Call):
    """A Call whose x or y is channels of a tensor with more; None: it is a tensor of its own."""

    def __init__(self, plain, x_channels=None, y_channels=None):
        super().__init__(plain.x_shape, plain.weight_shape, plain.dtype, plain.device, plain.channels_last,
                         plain.weight_channels_last, plain.parameters, plain.compute)
        self._x_channels, self._y_channels = x_channels, y_channels

    def layer_text(self, *arguments, **named):
        text = super().layer_text(*arguments, **named)
        for word, channels in (("x_channels", self._x_channels), ("y_channels", self._y_channels)):
            text += "" if channels is None else f"; {word} {channels}"
        return text

    def ready_x(self, x):
        return super().ready_x(x) if self._x_channels is None else x

    def ready_grad_y(self, grad_y):
        return super().ready_grad_y(grad_y) if self._y_channels is None else grad_y


def slice_call(plain, x_channels=None, y_channels=None):
    """The SliceCall of a Call, or the Call itself where neither tensor has more channels."""
    x_channels = None if x_channels == plain.x_shape[1] else x_channels
    y_channels = None if y_channels == plain.y_shape[1] else y_channels
    if x_channels is None and y_channels is None:
        return plain
    key = plain, x_channels, y_channels
    found = _slices.get(key)
    if found is None:
        if len(_slices) >= _MOST:
            _slices.clear()
        found = _slices[key] = SliceCall(plain, x_channels, y_channels)
    return found


def forward_into(plain, x, weight, bias, out):
    """Writes y of a Call to `out`, of its shape, which is some or all channels of a tensor in the call's format. `x` may be
    such channels too. A tensor that does not begin where kernels can read is copied."""
    x_channels = tensor_channels(x, plain.channels_last) if is_aligned(x) else None
    y_channels = tensor_channels(out, plain.channels_last) if is_aligned(out) else None
    call = None if y_channels is None else slice_call(plain, x_channels, y_channels)
    if call is None or call.refuses("forward", bias is not None):
        out.copy_(plain.forward(x, weight, bias))
        return
    call.forward(x, weight, bias, out=out)
    if not out.is_inference():
        increment_version(out)


def gradients_of(plain, grad_y, x, weight, wanted):
    """Call.gradients() of a grad_y that may be channels of a larger tensor, which are read where they lie."""
    y_channels = tensor_channels(grad_y, plain.channels_last) if is_aligned(grad_y) else None
    return (plain if y_channels is None else slice_call(plain, None, y_channels)).gradients(grad_y, x, weight, wanted)


def _check_out(out, y_shape, x):
    if out.dtype != x.dtype:
        raise RuntimeError(f"out is {out.dtype}; legal is that of input, {x.dtype}")
    if out.device != x.device:
        raise RuntimeError(f"out is on {out.device}; legal is the device of input, {x.device}")
    if tuple(out.shape) != tuple(y_shape):
        raise RuntimeError(f"out has shape {tuple(out.shape)}; legal is {tuple(y_shape)}")


def _format_of(out, wanted):
    """Whether `out` has channels last, as wanted where its strides are those of both formats."""
    for channels_last in (wanted, not wanted):
        if tensor_channels(out, channels_last) is not None:
            return channels_last
    raise RuntimeError(f"out has strides {out.stride()} and shape {tuple(out.shape)}; legal are the strides of a contiguous "
                       "or channels-last tensor, or of adjacent channels of one")


def conv_transpose_into(torchs_own, dimensions, input, weight, bias, parameters, compute, of_policy, out):
    """conv_transpose1d / 2d / 3d with out=. Returns `out`."""
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad
                                       for tensor in (input, weight, bias, out)):
        raise RuntimeError(f"conv_transpose{dimensions}d(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")
    settings.check_compute(compute)
    x, y = (input, out) if input.dim() == dimensions + 2 else (input.unsqueeze(0), out.unsqueeze(0))

    def by_torch():
        made = torchs_own(x, weight, bias, *parameters[:3], parameters.groups, parameters.dilation)
        _check_out(y, made.shape, x)
        _format_of(y, False)
        y.copy_(made)
        return out

    if not runs_kernels(x, weight, bias, out) or of_policy == "never" or not settings.takes(x.device, x.dtype):
        return by_torch()
    call = calls.call_of(x, weight, parameters, compute)
    if call is None or (bias is not None and (bias.shape != call.bias_shape or bias.dtype != x.dtype or
                                              bias.device != x.device)):
        return by_torch()
    _check_out(y, call.y_shape, x)
    channels_last = _format_of(y, call.channels_last)
    if channels_last != call.channels_last:
        call = calls.find_call(call.x_shape, call.weight_shape, call.dtype, call.device, channels_last,
                               call.weight_channels_last, parameters, call.compute)
    if of_policy == "auto" and policy.chosen(call).serves("forward", bias is not None) is not call:
        return by_torch()
    forward_into(call, x, weight, bias, y)
    return out
