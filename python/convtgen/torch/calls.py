"""Calls of kernels: what is known of a call by its shapes, found once, and the launches of each direction."""

import math
import threading

import torch

from ..core import Device, Error, Layer, Status, check
from .._native import lib
from ..nvrtc import use_nvrtc_of
from . import settings, torchs
from .geometry import format_strides, in_format, is_channels_last, output_extents, weight_is_channels_last

ALIGNMENT = 16  # of tensors: as much as kernels read at once
_WORKSPACE_ALIGNMENT = 128
# So many sizes of a layer get kernels of their own. Those that come later share one whose sizes are open, so that
# inputs of ever new lengths do not compile for ever.
_MOST_SIZES = 4
_MOST_CALLS = 4096
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a build for CPUs has none

_lock = threading.RLock()
_devices = {}
_calls = {}
_sizes_of_layers = {}


def device_of(device):
    """The Device that tensors on a torch.device run on."""
    name = "host" if device.type == "cpu" else f"cuda:{device.index}"
    found = _devices.get(name)
    if found is None:
        with _lock:
            if name not in _devices:
                if name != "host":
                    use_nvrtc_of(torch)
                _devices[name] = Device(name)
            found = _devices[name]
    return found


def _ready(tensor, channels_last):
    """The tensor, or a copy of it, in that format and aligned as kernels read it."""
    if tensor.is_neg():  # a view whose memory has the other sign
        tensor = tensor.resolve_neg()
    tensor = in_format(tensor, True) if channels_last else tensor.contiguous()
    return tensor if tensor.data_ptr() % ALIGNMENT == 0 else tensor.clone()


def _axes(values):
    return "x".join(map(str, values))


class Call:
    """All calls of one layer with tensors of these shapes and formats, on one device.

    A model that waits for its CPU finds little of this code in the caches, where each function on the way costs several
    times what it does in a loop. So forward() and gradients() go through few (docs/kernel-notes.md).

    Attributes:
      x_shape, weight_shape, y_shape: of tensors with a batch.
      dtype, device: of all of them.
      channels_last: whether x and y, and their gradients, lie so.
      weight_channels_last: whether the weights and their gradient do.
      parameters: Parameters.
      compute: the language's word.
    """

    def __init__(self, x_shape, weight_shape, dtype, device, channels_last, weight_channels_last, parameters, compute):
        self.x_shape, self.weight_shape = x_shape, weight_shape
        self.dtype, self.device = dtype, device
        self.channels_last, self.weight_channels_last = channels_last, weight_channels_last
        self.parameters, self.compute = parameters, compute
        out_channels = weight_shape[1] * parameters.groups
        self.y_shape = (x_shape[0], out_channels, *output_extents(x_shape[2:], weight_shape[2:], parameters))
        self.bias_shape = (out_channels,)
        self._y_strides = format_strides(self.y_shape, channels_last)
        self._x_strides = format_strides(x_shape, channels_last)
        self._weight_strides = format_strides(weight_shape, weight_channels_last)
        extents = x_shape[2:]
        self._launch_sizes = (x_shape[0], *[1] * (3 - len(extents)), *extents)
        self._index = device.index if device.type == "cuda" else None
        self._kernels, self._most_bytes = {}, {}
        self.refused = {}  # why torch's operator serves a direction, by what refuses() is asked
        self.chosen = None  # policy.Chosen, made when it is asked for

    def layer_text(self, has_bias, sizes=None, also="directions forward, grad_input, grad_weight"):
        """The layer in convtgen's language; `sizes` of x, or None where they are open; `also` a property more."""
        p, axes = self.parameters, len(self.x_shape) - 2
        layout = "nhwc" if self.channels_last else "nchw"
        weight_layout = "channels_last" if self.weight_channels_last else "contiguous"
        return (f"conv_transpose{axes}d {self.x_shape[1]} -> {self.weight_shape[1] * p.groups}; "
                f"kernel {_axes(self.weight_shape[2:])}; stride {_axes(p.stride)}; padding {_axes(p.padding)}; "
                f"output_padding {_axes(p.output_padding)}; dilation {_axes(p.dilation)}; groups {p.groups}; "
                f"input {_axes(sizes or '?' * (axes + 1))}; bias {'on' if has_bias else 'off'}; "
                f"dtype {settings.DTYPES[self.dtype]}; compute {self.compute}; layout {layout}; "
                f"weight_layout {weight_layout}; {also}")

    def bucket_text(self):
        """layer_text() of the bucket of sizes: each is rounded up to a power of two."""
        return self.layer_text(False, tuple(1 << max(size - 1, 0).bit_length() for size in self.sizes()))

    def sizes(self):
        """The batch and the extents of x."""
        return (self.x_shape[0], *self.x_shape[2:])

    def layer(self, has_bias):
        """The Layer whose kernel such a call has: of its own sizes, or of open ones."""
        open_layer = self.layer_text(has_bias)
        if self.device.type == "cpu":
            return Layer(open_layer)
        with _lock:
            known = _sizes_of_layers.setdefault((open_layer, self.device), set())
            if self.sizes() not in known and len(known) < _MOST_SIZES:
                known.add(self.sizes())
            is_known = self.sizes() in known
        return Layer(self.layer_text(has_bias, self.sizes()) if is_known else open_layer)

    def kernel(self, direction, has_bias):
        """(Kernel, bytes of its workspace, of these those that keep packed weights) of one direction. Compiles where
        nobody did before."""
        found = self._kernels.get((direction, has_bias))
        if found is None:
            kernel = device_of(self.device).prepare(self.layer(has_bias), direction)
            found = self._kernels[direction, has_bias] = kernel, *kernel.workspace(self.sizes())
        return found

    def refuses(self, direction, has_bias):
        """Whether a direction is beyond a limit of convtgen's kernels, so that torch's operator serves it. Compiles its
        kernel where it is not."""
        key = direction, has_bias
        if key not in self._kernels and key not in self.refused:
            device_of(self.device)  # a device that has no kernels at all is an error
            try:
                self.kernel(direction, has_bias)
            except Error as error:
                if error.status != Status.UNSUPPORTED:
                    raise
                self.refused[key] = str(error).splitlines()[0]
        return key in self.refused

    def why_refused(self, direction):
        """Why torch's operator serves a direction; None where it has a kernel, or nobody asked."""
        return self.refused.get((direction, False)) or self.refused.get((direction, True))

    def _workspace(self, workspace_bytes):
        return torch.empty(workspace_bytes + (_WORKSPACE_ALIGNMENT if self.device.type == "cpu" else 0),
                           dtype=torch.uint8, device=self.device)

    def _launch(self, direction, has_bias, x=0, weight=0, bias=0, y=0, grad_y=0, grad_x=0, grad_weight=0, grad_bias=0,
                memory=None):
        kernel, workspace_bytes, _ = self._kernels.get((direction, has_bias)) or self.kernel(direction, has_bias)
        workspace = 0
        if workspace_bytes:
            memory = self._workspace(workspace_bytes) if memory is None else memory
            workspace = -(-memory.data_ptr() // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT
        stream = 0 if self._index is None else _raw_stream(self._index)
        status = lib.convtgen_py_launch(kernel.number, x, weight, bias, y, grad_y, grad_x, grad_weight, grad_bias,
                                        workspace, workspace_bytes, *self._launch_sizes, stream)
        if status:
            check(status)

    def empty(self, role):
        """A new tensor in the place of "x", "weight", "bias" or "y"."""
        shape, strides = {"x": (self.x_shape, self._x_strides), "weight": (self.weight_shape, self._weight_strides),
                          "bias": (self.bias_shape, (1,)), "y": (self.y_shape, self._y_strides)}[role]
        return torch.empty_strided(shape, strides, dtype=self.dtype, device=self.device)

    def bytes(self):
        """Of x, weight and y."""
        return sum(math.prod(shape) for shape in (self.x_shape, self.weight_shape, self.y_shape)) * self.dtype.itemsize

    def ready_x(self, x):
        """x, or a copy of it, as kernels read it."""
        return _ready(x, self.channels_last)

    def ready_grad_y(self, grad_y):
        """The same of grad_y."""
        return _ready(grad_y, self.channels_last)

    def forward(self, x, weight, bias, memory=None, out=None):
        """y, of y_shape, for detached tensors of this call's shapes; bias may be None. With a workspace of pack() the
        weights are not read. `out` takes y, where it is given: it lies as the call's kernels write."""
        if ("forward", bias is not None) not in self._kernels and self.refuses("forward", bias is not None):
            return in_format(torchs.forward(x, weight, bias, self.parameters), self.channels_last)
        x = self.ready_x(x)
        weight = _ready(weight, self.weight_channels_last) if memory is None else None
        bias = None if bias is None else bias.resolve_neg().contiguous()
        y = out
        if y is None:
            y = torch.empty_strided(self.y_shape, self._y_strides, dtype=self.dtype, device=self.device)
        self._launch("forward", bias is not None, x=x.data_ptr(), weight=0 if weight is None else weight.data_ptr(),
                     bias=0 if bias is None else bias.data_ptr(), y=y.data_ptr(), memory=memory)
        return y

    def pack(self, weight, has_bias):
        """A workspace with the weights packed, for all later calls of the forward kernel; None for a kernel that needs
        more of its workspace than that, or packs no weights, or where there is no kernel."""
        if self.refuses("forward", has_bias):
            return None
        _, workspace_bytes, kept_bytes = self.kernel("forward", has_bias)
        if kept_bytes == 0 or kept_bytes != workspace_bytes:
            return None
        memory = self._workspace(workspace_bytes)
        weight = _ready(weight, self.weight_channels_last)
        x, y = self.empty("x"), self.empty("y")  # a kernel packs in a launch, whose results nobody reads
        self._launch("forward", has_bias, x=x.data_ptr(), weight=weight.data_ptr(),
                     bias=self.empty("bias").data_ptr() if has_bias else 0, y=y.data_ptr(), memory=memory)
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()  # calls in other streams read it too
        return memory

    def gradients(self, grad_y, x, weight, wanted):
        """(grad_x, grad_weight, grad_bias), each None unless it is wanted; `wanted` has a bool for each. x and weight may
        be None where no wanted gradient needs them."""
        wants_x, wants_weight, wants_bias = wanted[:3]
        kernels = self._kernels
        if ((wants_x and ("grad_input", False) not in kernels and self.refuses("grad_input", False)) or
                (wants_weight and ("grad_weight", bool(wants_bias)) not in kernels and
                 self.refuses("grad_weight", bool(wants_bias)))):
            return self._gradients_beyond_limits(grad_y, x, weight, wanted)
        grad_y = self.ready_grad_y(grad_y)
        grad_x = grad_weight = grad_bias = memory = None
        if wants_x and wants_weight:  # one after the other, so one workspace serves both
            most = self._most_bytes.get(wants_bias)
            if most is None:
                most = max(self.kernel("grad_input", False)[1], self.kernel("grad_weight", wants_bias)[1])
                self._most_bytes[wants_bias] = most
            memory = self._workspace(most) if most else None
        if wants_x:
            weight = _ready(weight, self.weight_channels_last)
            grad_x = torch.empty_strided(self.x_shape, self._x_strides, dtype=self.dtype, device=self.device)
            self._launch("grad_input", False, grad_y=grad_y.data_ptr(), weight=weight.data_ptr(),
                         grad_x=grad_x.data_ptr(), memory=memory)
        if wants_weight:
            x = self.ready_x(x)
            grad_weight = torch.empty_strided(self.weight_shape, self._weight_strides, dtype=self.dtype,
                                              device=self.device)
            grad_bias = torch.empty(self.bias_shape, dtype=self.dtype, device=self.device) if wants_bias else None
            self._launch("grad_weight", wants_bias, x=x.data_ptr(), grad_y=grad_y.data_ptr(),
                         grad_weight=grad_weight.data_ptr(), grad_bias=grad_bias.data_ptr() if wants_bias else 0,
                         memory=memory)
        elif wants_bias:
            grad_bias = torchs.bias_gradient(grad_y)
        return grad_x, grad_weight, grad_bias

    def _gradients_beyond_limits(self, grad_y, x, weight, wanted):
        wants_x, wants_weight, wants_bias = wanted[:3]
        x = self.empty("x") if x is None else x  # whose data no wanted gradient needs
        weight = self.empty("weight") if weight is None else weight
        theirs_x = wants_x and self.refuses("grad_input", False)
        theirs_weight = wants_weight and self.refuses("grad_weight", bool(wants_bias))
        theirs = theirs_x, theirs_weight, wants_bias and theirs_weight
        ours = wants_x and not theirs_x, wants_weight and not theirs_weight, wants_bias and not theirs_weight
        of_x, of_weight, of_bias = torchs.gradients(grad_y, x, weight, self.parameters, theirs)
        of_x = None if of_x is None else in_format(of_x, self.channels_last)
        of_weight = None if of_weight is None else in_format(of_weight, self.weight_channels_last)
        own = self.gradients(grad_y, x, weight, ours) if any(ours) else (None,) * 3
        return tuple(one if one is not None else other for one, other in zip(own, (of_x, of_weight, of_bias)))


class Packed:
    """The packed weights of one module."""

    _MOST = 16  # shapes

    def __init__(self):
        self._kept = {}

    def find(self, call, weight, parameter, has_bias):
        """The workspace for a call, of which the weights are packed now if they were not, or the parameter was another;
        None where they are to be packed in the call itself. `weight` may be a passing copy of the parameter, whose
        address says nothing."""
        state = parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version
        kept_state, memory = self._kept.get((call, has_bias), (None, None))
        if kept_state != state:
            if call.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                return None
            if len(self._kept) >= self._MOST:
                self._kept.clear()
            memory = call.pack(weight, has_bias)
            self._kept[call, has_bias] = state, memory
        return memory


def _is_legal(x_shape, weight_shape, parameters):
    axes = len(x_shape) - 2
    return (axes in (1, 2, 3) and len(weight_shape) == axes + 2 and 0 not in x_shape and 0 not in weight_shape and
            all(len(values) == axes for values in parameters[:4]) and parameters.groups >= 1 and
            x_shape[1] == weight_shape[0] and weight_shape[0] % parameters.groups == 0)


def _limit_of(call):
    """What of a layer is beyond the language's limits, as a text; None where nothing is."""
    try:
        Layer(call.layer_text(False, call.sizes()))
    except Error as error:
        if error.status not in (Status.INVALID_LAYER, Status.UNSUPPORTED):
            raise
        return str(error).splitlines()[0]
    return None


def find_call(x_shape, weight_shape, dtype, device, channels_last, weight_channels_last, parameters, compute):
    """The Call of these shapes; None where torch's own operator serves: arguments that are wrong, for its message, empty
    tensors, and layers beyond a limit of convtgen's language."""
    key = (tuple(x_shape), tuple(weight_shape), dtype, device, channels_last, weight_channels_last, parameters, compute)
    if key not in _calls:
        call = None
        if _is_legal(key[0], key[1], parameters):
            call = Call(*key)
            call = None if _limit_of(call) else call
        with _lock:
            if len(_calls) >= _MOST_CALLS:
                _calls.clear()
            _calls[key] = call
    return _calls[key]


def go_together(x, weight, parameters):
    """Whether both are dense, of one type and device, with the layer's axes."""
    return (x.dim() == weight.dim() == len(parameters.stride) + 2 and weight.dtype == x.dtype and
            weight.device == x.device and x.layout == torch.strided and weight.layout == torch.strided)


def call_of(x, weight, parameters, compute):
    """find_call() for tensors; None also where torch's operator says what is wrong with them."""
    return find_call(*_key_of(x, weight, parameters, compute)) if go_together(x, weight, parameters) else None


def _key_of(x, weight, parameters, compute):
    return (x.shape, weight.shape, x.dtype, x.device, is_channels_last(x, weight, parameters),
            weight_is_channels_last(weight), parameters, settings.compute_mode(x.dtype, compute))


def why_no_call(x, weight, parameters, compute):
    """Why call_of() finds none for legal tensors that kernels take; None for others."""
    if not go_together(x, weight, parameters) or not _is_legal(x.shape, weight.shape, parameters):
        return None
    return _limit_of(Call(*_key_of(x, weight, parameters, compute)))
