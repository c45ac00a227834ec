"""Runs one case: poisoned outputs, guards around all arrays, three runs for the same bits, and the judgement."""

import math

import torch

from convtgen_api import ConvtgenError
from draw import Case
from judge import Reference

_GUARD = 4096
_TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
_POISON = 0xFF  # NaN in every dtype
_CANARY = 0xA5


class Guarded:
    """An array in device memory with guards before and behind it. Reading a guard of `_POISON` gives NaN; one of
    `_CANARY` shows that something was written there."""

    def __init__(self, count, dtype, device, guard, alignment=512):
        self._bytes = count * dtype.itemsize if dtype else count
        self._guard, self._front = guard, _GUARD + alignment % 512
        self._buffer = torch.full((self._front + self._bytes + _GUARD,), guard, dtype=torch.uint8, device=device)
        self.bytes = self._buffer[self._front : self._front + self._bytes]
        self.elements = self.bytes.view(dtype) if dtype else self.bytes

    def address(self):
        return self.bytes.data_ptr()

    def is_intact(self):
        front, back = self._buffer[: self._front], self._buffer[self._front + self._bytes :]
        return bool((front == self._guard).all()) and bool((back == self._guard).all())


def _in_memory(tensor, channels_last):
    """A tensor's elements as they lie, contiguous or with its second axis last."""
    return (tensor.permute(0, 2, 3, 1) if channels_last else tensor).contiguous().flatten()


def _from_memory(elements, shape, layout):
    if layout == "nhwc":
        n, c, h, w = shape
        return elements.view(n, h, w, c).permute(0, 3, 1, 2)
    return elements.view(shape)


def _inputs(layer, dtype, device, random):
    """Normal numbers; weights scaled so that sums are about as large. In one case of four the channels of x and their
    weights have sizes of their own, over 2^-10 to 2^10."""
    normal = lambda *shape: torch.randn(*shape, generator=random, device=device, dtype=torch.float64)
    x = normal(layer.batch, layer.in_channels, layer.height, layer.width)
    weight = normal(layer.in_channels, layer.out_channels // layer.groups, *layer.kernel)
    weight /= math.sqrt(max(1, layer.terms_of_an_output()))
    if dtype in (torch.float32, torch.float64) and random.initial_seed() % 4 == 0:
        x *= torch.exp2(torch.randint(-10, 11, (layer.in_channels,), generator=random, device=device))[:, None, None]
    bias = normal(layer.out_channels).to(dtype) if layer.bias else None
    return x.to(dtype), weight.to(dtype), bias


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
        kernel = library.prepare(device, handle)
        template = library.template(kernel)
        return case, template, _judged(library, kernel, where, case, random)
    except RuntimeError as error:  # ours, or PyTorch's of a CUDA context that is broken
        return case, template, f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        if kernel:
            library.destroy_kernel(kernel)
        library.destroy_layer(handle)


def _judged(library, kernel, where, case, random):
    mode, layout, dtype = case.property("compute"), case.property("layout"), _TORCH[case.property("dtype")]
    layer = case.layer()
    x, weight, bias = _inputs(layer, dtype, where, random)
    shape = (layer.batch, layer.out_channels, layer.out_height, layer.out_width)
    inputs = {}
    weights_last = case.property("weight_layout") == "channels_last"
    for name, values in (("x", _in_memory(x, layout == "nhwc")), ("weight", _in_memory(weight, weights_last)),
                         ("bias", bias)):
        if values is not None:
            inputs[name] = Guarded(values.numel(), dtype, where, _POISON, alignment=16 if name == "x" else 512)
            inputs[name].elements.copy_(values)
    y = Guarded(math.prod(shape), dtype, where, _CANARY, alignment=16)
    workspace_bytes = library.workspace(kernel, case.sizes)
    workspace = Guarded(workspace_bytes, None, where, _CANARY)
    before = {name: array.bytes.clone() for name, array in inputs.items()}
    stream = torch.cuda.current_stream().cuda_stream if where == "cuda" else None

    def run(weight_address):
        """A copy of y's bytes."""
        y.bytes.fill_(_POISON)
        library.launch(kernel, inputs["x"].address(), weight_address, inputs["bias"].address() if bias is not None else 0,
                       y.address(), workspace.address(), workspace_bytes, stream, case.sizes)
        return y.bytes.clone()

    workspace.bytes.fill_(_POISON)
    first = run(inputs["weight"].address())
    fault = Reference(case, layer, mode, x, weight, bias).fault(_from_memory(first.view(dtype), shape, layout))
    if fault:
        return fault
    workspace.bytes.fill_(_POISON)
    if not torch.equal(run(inputs["weight"].address()), first):
        return "a second run gives other bits"
    if workspace.bytes.numel() and not torch.equal(run(0), first):
        return "a run with weights packed before gives other bits"
    for name, array in inputs.items():
        if not torch.equal(array.bytes, before[name]) or not array.is_intact():
            return f"{name} or the memory next to it was written"
    if not y.is_intact():
        return "memory beside y was written"
    if not workspace.is_intact():
        return "memory beside the workspace was written"
    return ""
