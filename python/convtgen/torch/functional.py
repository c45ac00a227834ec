"""conv_transpose1d and conv_transpose2d: F.conv_transpose1d / 2d by convtgen's kernels."""

import threading
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.overrides import handle_torch_function

from . import calls, geometry, gradients, operators, policy, settings

_fast = {}  # Call, or None where torch serves, by what a call's tensors and arguments are
_MOST_FAST = 4096
_has_torch_function = torch._C._has_torch_function_variadic
_in_functorch = torch._C._functorch.peek_interpreter_stack
_tracing_state = torch._C._get_tracing_state
_dispatch_modes = torch._C._len_torch_dispatch_stack
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_collector = threading.local()


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *,
                     compute=None):
    """F.conv_transpose1d with a kernel generated for this layer; conv_transpose2d() says what and when.

    Args:
      input: (batch, in_channels, length) or (in_channels, length).
      weight: (in_channels, out_channels / groups, kernel).
    """
    return conv_transpose(1, None, input, weight, bias, stride, padding, output_padding, groups, dilation, compute)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *,
                     compute=None):
    """F.conv_transpose2d with a kernel generated for this layer. Its gradients have kernels too, of any order.

    Torch's own operator serves tensors of other devices than CUDA, complex and integer tensors, empty ones, vmap,
    forward-mode derivatives and torch.jit.trace.

    Args:
      input: (batch, in_channels, height, width) or (in_channels, height, width).
      weight: (in_channels, out_channels / groups, kernel_h, kernel_w), in either memory format.
      bias: (out_channels) or None.
      stride, padding, output_padding, dilation: a number or one for each axis.
      groups: divides both numbers of channels.
      compute: how float32 products are formed: "f32" strictly, "tf32" with operands rounded to 10 bits, "f32x3" as
        exact as f32 by three products on tensor cores. None: as torch's convolutions, tf32 where
        torch.backends.cudnn allows it, else f32.

    Returns:
      A tensor of the strides that torch's has: channels last where the input or the weight is, not in float64.

    Raises:
      ValueError: `compute` is no mode.
      RuntimeError: what torch raises for wrong shapes and types; convtgen.Error where a kernel could not be compiled
        or launched.
    """
    return conv_transpose(2, None, input, weight, bias, stride, padding, output_padding, groups, dilation, compute)


_FUNCTIONS = {1: (conv_transpose1d, F.conv_transpose1d), 2: (conv_transpose2d, F.conv_transpose2d)}


class State:
    """What is known of a module that calls these functions: which calls it made, and its packed weights. A copy of the
    module begins anew."""

    MOST_SEEN = 16

    def __init__(self):
        self.seen = {}  # Call: True, the latest last
        self.packed = None  # calls.Packed of a frozen module

    def see(self, call):
        """Notes a call."""
        if call not in self.seen:
            if len(self.seen) >= self.MOST_SEEN:
                del self.seen[next(iter(self.seen))]
            self.seen[call] = True

    def __deepcopy__(self, memo):
        return self._again(self.packed is not None)

    def __reduce__(self):
        return State._again, (self.packed is not None,)

    @staticmethod
    def _again(frozen):
        state = State()
        state.packed = calls.Packed() if frozen else None
        return state


def state_of(module):
    """The State of a module."""
    state = module.__dict__.get("_convtgen")
    if state is None:
        state = module.__dict__["_convtgen"] = State()
    return state


@contextmanager
def collecting():
    """Calls of this thread are torch's, and are noted: a list of (module or None, Call, whether it has a bias)."""
    _collector.found = found = []
    try:
        yield found
    finally:
        _collector.found = None


def _parameters(dimensions, stride, padding, output_padding, groups, dilation):
    return geometry.Parameters(geometry.expanded(stride, dimensions), geometry.expanded(padding, dimensions),
                               geometry.expanded(output_padding, dimensions), geometry.expanded(dilation, dimensions),
                               groups)


def _is_seen_by_torch(input, weight, bias):
    # Something between this call and the kernel wants to see an operator: a mode, a subclass, a fake tensor.
    return (_dispatch_modes() != 0 or type(input) not in _PLAIN or type(weight) not in _PLAIN or
            (bias is not None and type(bias) not in _PLAIN))


def conv_transpose(dimensions, module, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
                   of_policy="always"):
    """conv_transpose1d / 2d, called by a module that may have a policy and packed weights, or by None."""
    own, torchs = _FUNCTIONS[dimensions]
    if torch.compiler.is_compiling():
        return _operator(torchs, dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation,
                         compute, of_policy)
    if _has_torch_function(input, weight, bias):
        return handle_torch_function(own, (input, weight, bias), input, weight, bias, stride, padding, output_padding,
                                     groups, dilation, compute=compute)
    if _in_functorch() is not None or forward_ad._current_level >= 0 or _tracing_state() is not None:
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if _is_seen_by_torch(input, weight, bias):
        return _operator(torchs, dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation,
                         compute, of_policy)
    device = input.device
    x, w, b = input, weight, bias
    if torch.is_autocast_enabled(device.type):
        x, w, b = operators.autocast(device.type, input, weight, bias)
    dtype = x.dtype
    if not settings.takes(device, dtype):
        settings.check_compute(compute)
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    key = (x.shape, x.stride(), dtype, device, w.shape, w.stride(), w.dtype, w.device,
           settings.compute_mode(dtype, compute), stride, padding, output_padding, groups, dilation, dimensions)
    try:
        call = _fast[key]
    except (KeyError, TypeError):  # not seen before, or lists, which have no hash
        settings.check_compute(compute)
        if _is_unbatched(x, dimensions):
            return conv_transpose(dimensions, module, input.unsqueeze(0), weight, bias, stride, padding, output_padding,
                                  groups, dilation, compute, of_policy).squeeze(0)
        parameters = _parameters(dimensions, stride, padding, output_padding, groups, dilation)
        call = _new_call(x, w, dimensions, parameters, compute)
        _remember(key, call)
    if call is None or (b is not None and (b.shape != call.bias_shape or b.dtype != dtype or b.device != device)):
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    found = getattr(_collector, "found", None)
    if found is not None:
        found.append((module, call, b is not None))
    if module is not None:
        state = state_of(module)
        state.see(call)
    tracks = gradients.tracks(x, w, b)
    if of_policy == "auto":
        call = policy.chosen(call)
    if (of_policy == "never" or found is not None or
            (of_policy == "auto" and call.is_torchs(tracks and x.requires_grad, tracks and w.requires_grad))):
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if tracks:
        return gradients.Forward.apply(x, w, b, call)
    # What is no Parameter is made anew in each call (weight norm), and is packed in each.
    is_packed = module is not None and state.packed is not None and type(weight) is torch.nn.Parameter
    return call.forward(x, w, b, (state.packed, weight) if is_packed else None)


def _is_unbatched(x, dimensions):
    """Whether a tensor lacks the batch."""
    return x.dim() == dimensions + 1


def _new_call(x, weight, dimensions, parameters, compute):
    if (x.dim() != dimensions + 2 or weight.dim() != dimensions + 2 or weight.dtype != x.dtype or
            weight.device != x.device or x.layout != torch.strided or weight.layout != torch.strided):
        return None
    return calls.call_of(x, weight, parameters, compute, geometry.is_channels_last(x, weight, parameters))


def _remember(key, call):
    try:
        if len(_fast) >= _MOST_FAST:
            _fast.clear()
        _fast[key] = call
    except TypeError:
        pass


def _operator(torchs, dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
              of_policy):
    """The same by the registered operator."""
    settings.check_compute(compute)
    if (not isinstance(input, torch.Tensor) or not isinstance(weight, torch.Tensor) or
            of_policy == "never" or not settings.takes(input.device, input.dtype)):
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if _is_unbatched(input, dimensions):
        return _operator(torchs, dimensions, input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups,
                         dilation, compute, of_policy).squeeze(0)
    parameters = _parameters(dimensions, stride, padding, output_padding, groups, dilation)
    return operators.conv_transpose(input, weight, bias, *operators.as_arguments(parameters, compute, of_policy))
