"""conv_transpose1d, conv_transpose2d and conv_transpose3d: torch's functions of these names by convtgen's kernels."""

import threading
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.fx import Proxy
from torch.overrides import handle_torch_function

from . import calls, geometry, gradients, operators, settings, slices
from . import policy as policies

_fast = {}  # Call, or None where torch serves, by what a call's tensors and arguments are
_MOST_FAST = 4096
_has_torch_function = torch._C._has_torch_function_variadic
_in_functorch = torch._C._functorch.peek_interpreter_stack
_tracing_state = torch._C._get_tracing_state
_dispatch_modes = torch._C._len_torch_dispatch_stack
_is_compiling, _is_autocast, _records = torch.compiler.is_compiling, torch._C._is_any_autocast_enabled, torch.is_grad_enabled
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_collector = threading.local()
_collectors, _lock = 0, threading.Lock()  # threads that are in collecting()


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *,
                     compute=None, policy="always", out=None, _module=None):
    """F.conv_transpose1d with a kernel generated for this layer; conv_transpose2d() says what and when.

    Args:
      input: (batch, in_channels, length) or (in_channels, length).
      weight: (in_channels, out_channels / groups, kernel).
    """
    policies.check_policy(policy)
    if out is not None:
        return _into(1, input, weight, bias, stride, padding, output_padding, groups, dilation, compute, policy, out)
    return conv_transpose(1, _module, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
                          policy)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *,
                     compute=None, policy="always", out=None, _module=None):
    """F.conv_transpose2d with a kernel generated for this layer. Its gradients have kernels too, of any order.

    Torch's own operator serves tensors of other devices than CUDA, complex and integer tensors, empty ones, layers
    beyond a limit of convtgen's kernels, vmap, forward-mode derivatives and torch.jit.trace.

    Args:
      input: (batch, in_channels, height, width) or (in_channels, height, width).
      weight: (in_channels, out_channels / groups, kernel_h, kernel_w), in either memory format.
      bias: (out_channels) or None.
      stride, padding, output_padding, dilation: a number or one for each axis.
      groups: divides both numbers of channels.
      compute: how float32 products are formed: "f32" strictly, "tf32" with operands rounded to 10 bits, "f32x3" as
        exact as f32 by three products on tensor cores. None: as torch's convolutions, tf32 where
        torch.backends.cudnn allows it, else f32.
      policy: as accelerate() has it.
      out: a tensor of the output's shape, which takes the output; it may be adjacent channels of a larger tensor, whose
        other channels stay as they are. As with torch's functions, no argument may require a gradient then.
      _module: convtgen's own, whose call this is; accelerate() and freeze() say what it is known for.

    Returns:
      `out` where it is given; else a tensor of the strides that torch's has: channels last where the input or the weight
      is, not in float64.

    Raises:
      ValueError: `compute` is no mode, or `policy` is no policy.
      RuntimeError: what torch raises for wrong shapes and types; an `out` of another shape, type or device, or whose
        strides are not those of channels of a tensor; convtgen.Error where a kernel could not be compiled
        or launched.
    """
    policies.check_policy(policy)
    if out is not None:
        return _into(2, input, weight, bias, stride, padding, output_padding, groups, dilation, compute, policy, out)
    return conv_transpose(2, _module, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
                          policy)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *,
                     compute=None, policy="always", out=None, _module=None):
    """F.conv_transpose3d with a kernel generated for this layer; conv_transpose2d() says what and when.

    Args:
      input: (batch, in_channels, depth, height, width) or (in_channels, depth, height, width).
      weight: (in_channels, out_channels / groups, kernel_d, kernel_h, kernel_w), in either memory format.
    """
    policies.check_policy(policy)
    if out is not None:
        return _into(3, input, weight, bias, stride, padding, output_padding, groups, dilation, compute, policy, out)
    return conv_transpose(3, _module, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
                          policy)


_FUNCTIONS = {1: (conv_transpose1d, F.conv_transpose1d), 2: (conv_transpose2d, F.conv_transpose2d),
              3: (conv_transpose3d, F.conv_transpose3d)}


class State:
    """What is known of a module that calls these functions: which calls it made, and its packed weights. A copy of the
    module begins anew, but in the same process it leaves to torch what the module leaves."""

    MOST_SEEN = 16

    def __init__(self):
        self.seen = {}  # Call: True, the latest last
        self.refused = {}  # why torch's operator serves inputs that have no Call, by shape and type
        self.packed = None  # calls.Packed of a frozen module
        self.torchs = set()  # _summary() of inputs for which "auto" chose torch's operator
        self.left = set()  # (Call, what is asked) that is torch's since the whole model is faster so (whole.py)

    def see(self, call):
        """Notes a call."""
        if len(self.seen) >= self.MOST_SEEN:
            del self.seen[next(iter(self.seen))]
        self.seen[call] = True

    def note_refused(self, input, why):
        """Notes why an input has no Call; None: for a reason that torch's operator names itself."""
        if why is not None and len(self.refused) < self.MOST_SEEN:
            self.refused[tuple(input.shape), input.dtype] = why

    def note_torchs(self, input):
        """Notes that torch's operator serves such inputs."""
        if len(self.torchs) >= _MOST_FAST:
            self.torchs.clear()
        self.torchs.add(_summary(input))

    def leave(self, call, asked, is_left):
        """Whether a call is torch's whatever its own choice is."""
        if ((call, asked) in self.left) != is_left:
            (self.left.add if is_left else self.left.remove)((call, asked))
            self.torchs.clear()

    def freeze(self, frozen):
        """Whether weights are packed once."""
        self.packed = calls.Packed() if frozen else None
        self.torchs.clear()

    def __deepcopy__(self, memo):
        state = self._again(self.packed is not None)
        state.left = set(self.left)
        return state

    def __reduce__(self):
        return State._again, (self.packed is not None,)

    @staticmethod
    def _again(frozen):
        state = State()
        state.freeze(frozen)
        return state


def state_of(module):
    """The State of a module."""
    state = module.__dict__.get("_convtgen")
    if state is None:
        state = module.__dict__["_convtgen"] = State()
    return state


def asked_of(module):
    """What a call of a module without gradients asks for, as policy.py has it."""
    return "forward" if state_of(module).packed is None else "frozen"


@contextmanager
def collecting():
    """Calls of this thread are torch's, and are noted: a list of (module or None, Call, whether it has a bias)."""
    global _collectors
    _collector.found = found = []
    with _lock:
        _collectors += 1
    try:
        yield found
    finally:
        with _lock:
            _collectors -= 1
        _collector.found = None


def is_collecting():
    """Whether this thread is in collecting()."""
    return _collectors != 0 and getattr(_collector, "found", None) is not None


def _parameters(dimensions, stride, padding, output_padding, groups, dilation):
    return geometry.Parameters(geometry.expanded(stride, dimensions), geometry.expanded(padding, dimensions),
                               geometry.expanded(output_padding, dimensions), geometry.expanded(dilation, dimensions),
                               groups)


def _summary(input):
    # What a choice depends on, as far as it changes from call to call of a module. A choice of torch's operator is
    # never wrong, at most outdated.
    return input.shape, input.dtype, _records(), _is_autocast(), settings.switch()


def conv_transpose(dimensions, module, input, weight, bias, stride, padding, output_padding, groups, dilation, compute,
                   of_policy="always"):
    """conv_transpose1d / 2d / 3d, called by a module that may have a policy and packed weights, or by None.

    Models on a GPU often wait for their CPU. So this function does no more than it must for a call like one before, and
    calls few others.
    """
    own, torchs = _FUNCTIONS[dimensions]
    if _is_compiling():
        return _operator(torchs, dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation,
                         compute, of_policy)
    state = None
    if module is not None:
        state = module.__dict__.get("_convtgen") or state_of(module)
        if state.torchs and type(input) is torch.Tensor and not _collectors and _summary(input) in state.torchs:
            return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if _has_torch_function(input, weight, bias):
        named = {} if of_policy == "always" else {"policy": of_policy}
        if module is not None and not any(isinstance(each, Proxy) for each in (input, weight, bias)):
            named["_module"] = module  # a graph of torch.fx can't have it
        return handle_torch_function(own, (input, weight, bias), input, weight, bias, stride, padding, output_padding,
                                     groups, dilation, compute=compute, **named)
    if _in_functorch() is not None or forward_ad._current_level >= 0 or _tracing_state() is not None:
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if (_dispatch_modes() != 0 or type(input) not in _PLAIN or type(weight) not in _PLAIN or
            (bias is not None and type(bias) not in _PLAIN)):  # a mode, a subclass, a fake tensor: they see operators
        return _operator(torchs, dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation,
                         compute, of_policy)
    x, w, b = input, weight, bias
    if _is_autocast() and torch.is_autocast_enabled(input.device.type):
        x, w, b = operators.autocast(input.device.type, input, weight, bias)
    key = (x.shape, x.stride(), x.dtype, x.device, w.shape, w.stride(), w.dtype, w.device, stride, padding,
           output_padding, groups, dilation, dimensions, compute, settings.switch(), settings.host_device)
    try:
        call = _fast[key]
    except (KeyError, TypeError):  # not seen before, or lists, which have no hash
        settings.check_compute(compute)
        call = None
        if settings.takes(x.device, x.dtype):
            if _is_unbatched(x, dimensions):
                return conv_transpose(dimensions, module, input.unsqueeze(0), weight, bias, stride, padding,
                                      output_padding, groups, dilation, compute, of_policy).squeeze(0)
            parameters = _parameters(dimensions, stride, padding, output_padding, groups, dilation)
            call = calls.call_of(x, w, parameters, compute)
        _remember(key, call)
    if (call is None and state is not None and settings.takes(x.device, x.dtype) and
            (x.shape, x.dtype) not in state.refused):
        state.note_refused(x, calls.why_no_call(x, w, _parameters(dimensions, stride, padding, output_padding, groups,
                                                                  dilation), compute))
    if call is None or (b is not None and (b.shape != call.bias_shape or b.dtype != x.dtype or b.device != x.device)):
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if state is not None and call not in state.seen:
        state.see(call)
    if _collectors and is_collecting():
        _collector.found.append((module, call, b is not None))
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if of_policy == "never":
        return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    records = _records() and (x.requires_grad or w.requires_grad or (b is not None and b.requires_grad))
    # What is no Parameter is made anew in each call (weight norm), and is packed in each.
    is_frozen = not records and state is not None and state.packed is not None and type(weight) is torch.nn.Parameter
    server = call
    if of_policy == "auto":
        asked = "training" if records else "frozen" if is_frozen else "forward"
        chosen = call.chosen or policies.chosen(call)
        is_left = state is not None and (call, asked) in state.left
        server = None if is_left else chosen.serves(asked, b is not None)
        if server is None:
            if state is not None and (is_left or chosen.is_settled(asked)):
                state.note_torchs(input)
            return torchs(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if records:
        return gradients.apply_forward(x, w, b, server)
    if is_frozen:
        return call.forward(x, w, b, state.packed.find(call, w, weight, b is not None))
    return server.forward(x, w, b)


def _into(dimensions, input, weight, bias, stride, padding, output_padding, groups, dilation, compute, of_policy, out):
    """The same into a given tensor."""
    own, torchs = _FUNCTIONS[dimensions]
    if _has_torch_function(input, weight, bias, out):
        return handle_torch_function(own, (input, weight, bias, out), input, weight, bias, stride, padding, output_padding,
                                     groups, dilation, compute=compute, policy=of_policy, out=out)
    parameters = _parameters(dimensions, stride, padding, output_padding, groups, dilation)
    return slices.conv_transpose_into(torchs, dimensions, input, weight, bias, parameters, compute, of_policy, out)


def _is_unbatched(x, dimensions):
    """Whether a tensor lacks the batch."""
    return x.dim() == dimensions + 1


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
