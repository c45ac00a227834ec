"""Runs one case: poisoned outputs, guards around all arrays, three runs for the same bits, and the judgement."""

import math

import torch

from convtgen_api import ConvtgenError
from draw import Case
from judge import Reference

_GUARD = 4096
_TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
_READ = {"forward": ("x", "weight", "bias"), "grad_input": ("grad_y", "weight"), "grad_weight": ("x", "grad_y"),
         "grad_bias": ("grad_y",)}
_WRITTEN = {"forward": ("y",), "grad_input": ("grad_x",), "grad_weight": ("grad_weight", "grad_bias"),
            "grad_bias": ("grad_bias",)}
_IMAGES = ("x", "y", "grad_x", "grad_y")
_WEIGHTS = ("weight", "grad_weight")
_POISON = 0xFF  # NaN in every dtype
_CANARY = 0xA5
_CHANNEL_STEP = 8  # a slice's first channel: 16 bytes of the smallest elements


class Guarded:
    """An array in device memory with guards before and after it. Reading a guard of `_POISON` gives NaN; one of
    `_CANARY` shows that something was written there."""

    def __init__(self, count, dtype, device, guard, alignment=512):
        self._bytes = count * dtype.itemsize if dtype else count
        self._buffer = torch.full((_GUARD + 512 + self._bytes + _GUARD,), guard, dtype=torch.uint8, device=device)
        self._guard, self._front = guard, _GUARD + (alignment - self._buffer.data_ptr() - _GUARD) % 512
        self.bytes = self._buffer[self._front : self._front + self._bytes]
        self.elements = self.bytes.view(dtype) if dtype else self.bytes

    def address(self):
        return self.bytes.data_ptr()

    def fill(self, byte):
        self.bytes.fill_(byte)

    def put(self, elements):
        self.elements.copy_(elements)

    def take(self):
        """A copy of its bytes."""
        return self.bytes.clone()

    def is_intact(self):
        front, back = self._buffer[: self._front], self._buffer[self._front + self._bytes :]
        return bool((front == self._guard).all()) and bool((back == self._guard).all())


def _shape(layer, role):
    if role in ("x", "grad_x"):
        return layer.x_shape
    if role in ("y", "grad_y"):
        return layer.y_shape
    if role in _WEIGHTS:
        return layer.weight_shape
    return (layer.out_channels,)


def _tensor_channels(case, role):
    """Of the tensor in which a role's array lies; None where it is a tensor of its own."""
    word = {"x": "x_channels", "grad_x": "x_channels", "y": "y_channels", "grad_y": "y_channels"}.get(role)
    return int(case.property(word, "0")) or None if word else None


class Slice:
    """Channels of a larger tensor in device memory: the other channels, and what lies around, are guards."""

    def __init__(self, shape, channels, axis_last, dtype, device, guard):
        batch, own, *extents = shape
        whole = (batch, *extents, channels) if axis_last else (batch, channels, *extents)
        self._all = Guarded(math.prod(whole), dtype, device, guard)
        self._guard, self._axis = guard, len(whole) - 1 if axis_last else 1
        self._first = (channels - own) // _CHANNEL_STEP * _CHANNEL_STEP
        self._bytes = self._all.bytes.view(*whole, dtype.itemsize)
        self.bytes = self._bytes.narrow(self._axis, self._first, own)
        self._dtype = dtype

    def address(self):
        return self.bytes.data_ptr()

    def fill(self, byte):
        self.bytes.fill_(byte)

    def put(self, elements):
        self.bytes.copy_(elements.view(torch.uint8).view(self.bytes.shape))

    def take(self):
        """The bytes of its own, in their order."""
        return self.bytes.contiguous().flatten()

    def is_intact(self):
        others = (self._bytes.narrow(self._axis, 0, self._first),
                  self._bytes.narrow(self._axis, self._first + self.bytes.shape[self._axis],
                                     self._bytes.shape[self._axis] - self._first - self.bytes.shape[self._axis]))
        return self._all.is_intact() and all(bool((other == self._guard).all()) for other in others)


def _has_second_axis_last(case, role):
    """Whether a role's elements lie so in memory, or contiguous."""
    return (role in _IMAGES and case.property("layout") == "nhwc"
            or role in _WEIGHTS and case.property("weight_layout") == "channels_last")


def _in_memory(tensor, axis_last):
    """A tensor's elements as they lie."""
    return (tensor.movedim(1, -1) if axis_last else tensor).contiguous().flatten()


def _from_memory(elements, shape, axis_last):
    if axis_last:
        first, second, *rest = shape
        return elements.view(first, *rest, second).movedim(-1, 1)
    return elements.view(shape)


def _inputs(case, layer, device, random):
    """By role: normal numbers, one of two factors scaled so that sums are about as large. In one case of four the
    channels of the other one have sizes of their own, over 2^-10 to 2^10, in types that hold them."""
    dtype = _TORCH[case.property("dtype")]
    direction = case.direction()
    terms = {"forward": layer.terms_of_an_output(),
             "grad_input": layer.out_channels // layer.groups * layer.taps,
             "grad_weight": layer.batch * math.prod(layer.extents),
             "grad_bias": layer.batch * math.prod(layer.out_extents)}[direction]
    scaled = "weight" if "weight" in _READ[direction] else "grad_y"
    out = {}
    for role in _READ[direction]:
        if role == "bias" and not layer.bias:
            continue
        shape = _shape(layer, role)
        array = torch.randn(*shape, generator=random, device=device, dtype=torch.float64)
        if role == scaled:
            array /= math.sqrt(max(1, terms))
        elif role in _IMAGES and dtype in (torch.float32, torch.float64) and random.initial_seed() % 4 == 0:
            sizes = torch.exp2(torch.randint(-10, 11, (shape[1],), generator=random, device=device))
            array *= sizes.view(-1, *[1] * (len(shape) - 2))
        out[role] = array.to(dtype)
    return out


def run_case(library, device, where, case, seed):
    """(the case in its canonical form, template, "" or what is wrong). `where` is torch's name of the device."""
    try:
        handle = library.layer(case.text)
    except ConvtgenError as error:
        return case, "", f"not a layer: {error}"
    case = Case(library.canonical(handle), case.sizes)
    random = torch.Generator(device=where)
    random.manual_seed(seed)
    kernel = None
    template = ""
    try:
        kernel = library.prepare(device, handle, case.direction())
        template = library.template(kernel)
        return case, template, _judged(library, kernel, where, case, random)
    except RuntimeError as error:  # ours, or PyTorch's of a CUDA context that is broken
        return case, template, f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        if kernel:
            library.destroy_kernel(kernel)
        library.destroy_layer(handle)


def _judged(library, kernel, where, case, random):
    dtype = _TORCH[case.property("dtype")]
    layer, direction = case.layer(), case.direction()
    inputs = _inputs(case, layer, where, random)
    written = [role for role in _WRITTEN[direction] if role != "grad_bias" or layer.bias]
    reference = Reference(case, layer, inputs)
    arrays = {}

    def array_of(role, count, guard):
        channels = _tensor_channels(case, role)
        if channels:
            return Slice(_shape(layer, role), channels, _has_second_axis_last(case, role), dtype, where, guard)
        return Guarded(count, dtype, where, guard, alignment=16 if role in _IMAGES or role in written else 512)

    for role, values in inputs.items():
        arrays[role] = array_of(role, values.numel(), _POISON)
        arrays[role].put(_in_memory(values, _has_second_axis_last(case, role)))
    before = {role: array.take() for role, array in arrays.items()}
    for role in written:
        arrays[role] = array_of(role, math.prod(_shape(layer, role)), _CANARY)
    workspace_bytes, kept_bytes = library.workspaces(kernel, case.sizes)
    workspace = Guarded(workspace_bytes, None, where, _CANARY)
    stream = torch.cuda.current_stream().cuda_stream if where != "cpu" else None

    def run(**others):
        """Copies of the bytes of what a call writes."""
        for role in written:
            arrays[role].fill(_POISON)
        roles = {role: array.address() for role, array in arrays.items()} | others
        library.launch_roles(kernel, roles, workspace.address(), workspace_bytes, stream, case.sizes)
        return {role: arrays[role].take() for role in written}

    def same(results):
        return all(torch.equal(results[role], first[role]) for role in written)

    workspace.bytes.fill_(_POISON)
    first = run()
    for role in written:
        values = _from_memory(first[role].view(dtype), _shape(layer, role), _has_second_axis_last(case, role))
        if fault := reference.fault(role, values):
            return fault
    workspace.bytes.fill_(_POISON)
    if not same(run()):
        return "a second run gives other bits"
    if kept_bytes and not same(run(weight=None)):
        return "a run with weights packed before gives other bits"
    for role, array in arrays.items():
        if role in before and not torch.equal(array.take(), before[role]):
            return f"{role} was written"
        if not array.is_intact():
            return f"memory next to {role} was written"
    if not workspace.is_intact():
        return "memory next to the workspace was written"
    return ""
