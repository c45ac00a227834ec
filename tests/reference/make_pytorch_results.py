#!/usr/bin/env python3
"""Writes pytorch_results.json: transposed convolutions and activations as PyTorch computes them, in float64 on the CPU;
and pytorch_gradients.json: the gradients of these convolutions by PyTorch's autograd.

    python3 tests/reference/make_pytorch_results.py tests/reference/pytorch_results.json tests/reference/pytorch_gradients.json

Needs torch (2.15.0 made the committed results, the gradients tell which made them) and numpy; the test that reads the file needs neither. Inputs are not stored:
`values()` makes them from integers, and the test makes the same ones.
"""

import json
import math
import random
import sys

import torch
import torch.nn.functional as F


def values(count, salt):
    """Multiples of 1/64 in [-2, 2), exact in every dtype: the top byte of a 32-bit multiplicative hash of the index."""
    numbers = []
    for i in range(count):
        bits = ((i + 1) * 2654435761 + salt * 2246822519) % 2**32
        bits = (bits ^ (bits >> 15)) * 2246822519 % 2**32
        numbers.append(((bits >> 24) - 128) / 64)
    return numbers


def tensor(shape, salt):
    return torch.tensor(values(math.prod(shape), salt), dtype=torch.float64).reshape(shape)


ACTIVATIONS = {
    "relu": lambda x: F.relu(x),
    "leaky_relu": lambda x, slope: F.leaky_relu(x, slope),
    "gelu": lambda x: F.gelu(x),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": lambda x: F.silu(x),
    "mish": lambda x: F.mish(x),
    "tanh": lambda x: torch.tanh(x),
    "sigmoid": lambda x: torch.sigmoid(x),
    "hardtanh": lambda x, low, high: F.hardtanh(x, low, high),
    "clamp": lambda x, low, high: torch.clamp(x, low, high),
    "scale": lambda x, factor: x * factor,
    "add": lambda x, summand: x + summand,
    "elu": lambda x, alpha: F.elu(x, alpha),
}


GRADIENTS = []  # of the layers, in their order


def layer(dims, cin, cout, kernel, size, batch=1, stride=1, padding=0, output_padding=0, dilation=1, groups=1,
          bias=False, fuse=(), layout="nchw", fuse_input=()):
    """One layer as text of the layer language, and what PyTorch makes of it, in the layer's memory order."""
    pair = lambda v: v if isinstance(v, tuple) else (v,) * dims
    kernel, stride, padding, output_padding, dilation, size = map(
        pair, (kernel, stride, padding, output_padding, dilation, size))
    x_shape = (batch, cin, *size) if layout == "nchw" else (batch, *size, cin)
    leaf = x = tensor(x_shape, 1).requires_grad_()
    w = tensor((cin, cout // groups, *kernel), 2).requires_grad_()
    b = tensor((cout,), 3).requires_grad_() if bias else None
    for name, *arguments in fuse_input:
        x = ACTIVATIONS[name](x, *arguments)
    if layout == "nhwc":
        x = x.movedim(-1, 1)
    transposed = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[dims]
    if all(isinstance(p, int) for p in padding):
        y = transposed(x, w, b, stride=stride, padding=padding, output_padding=output_padding, groups=groups,
                       dilation=dilation)
    else:  # PyTorch has one number for both ends of an axis: cut its result without padding
        y = transposed(x, w, b, stride=stride, output_padding=output_padding, groups=groups, dilation=dilation)
        for axis, (before, after) in enumerate(padding, 2):
            y = y.narrow(axis, before, y.shape[axis] - before - after)
    for name, *arguments in fuse:
        y = ACTIVATIONS[name](y, *arguments)
    if layout == "nhwc":
        y = y.movedim(1, -1)

    by = lambda v: "x".join(f"{n[0]}:{n[1]}" if isinstance(n, tuple) else str(n) for n in v)
    text = [f"conv_transpose{dims}d {cin} -> {cout}", f"kernel {by(kernel)}"]
    for name, value, default in (("stride", stride, 1), ("padding", padding, 0),
                                 ("output_padding", output_padding, 0), ("dilation", dilation, 1)):
        if any(v != default for v in value):
            text.append(f"{name} {by(value)}")
    if groups > 1:
        text.append(f"groups {groups}")
    if bias:
        text.append("bias")
    for word, chain in (("fuse", fuse), ("fuse_input", fuse_input)):
        if chain:
            text.append(f"{word} " + ", ".join(name + (f"({', '.join(map(str, a))})" if a else "") for name, *a in chain))
    text += [f"input {by((batch, *size))}", "dtype f64", f"layout {layout}"]
    result = {"layer": "; ".join(text), "y_shape": list(y.shape), "y": numbers(y.reshape(-1).tolist())}
    if not fuse and not fuse_input:  # gradients are those of the convolution alone
        names = ["grad_x", "grad_weight"] + (["grad_bias"] if bias else [])
        grads = torch.autograd.grad(y, [leaf, w] + ([b] if bias else []), tensor(y.shape, 4))
        GRADIENTS.append({"layer": result["layer"]} | {name: grad.reshape(-1).tolist() for name, grad in zip(names, grads)})
    return result


def numbers(sequence):
    """JSON has no NaN and no infinities: they are strings, the others are exact as Python prints them."""
    return [v if math.isfinite(v) else str(v) for v in sequence]


def random_layers(count, seed, dims, ends=False):
    """Small layers; with `ends`, padding that differs before and after."""
    draw = random.Random(seed)
    layers = []
    while len(layers) < count:
        each = lambda low, high: tuple(draw.randint(low, high) for _ in range(dims))
        groups = draw.choice((1, 1, 2, 3))
        size, kernel, stride, dilation, padding = each(1, 4), each(1, 4), each(1, 3), each(1, 3), each(0, 3)
        output_padding = tuple(draw.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation))
        padding = tuple(zip(padding, each(0, 3))) if ends else padding
        batch, cin, cout = draw.randint(1, 2), groups * draw.randint(1, 2), groups * draw.randint(1, 2)
        out = [(n - 1) * s - (sum(p) if ends else 2 * p) + d * (k - 1) + o + 1
               for n, k, s, p, o, d in zip(size, kernel, stride, padding, output_padding, dilation)]
        if min(out) >= 1 and batch * cout * math.prod(out) <= 256:
            layers.append(layer(dims, cin, cout, kernel, size, batch, stride, padding, output_padding, dilation, groups,
                                draw.random() < 0.5, layout=draw.choice(("nchw", "nhwc"))))
    return layers


LAYERS = [
    layer(2, 1, 1, 1, 1),
    layer(2, 1, 1, 3, 4),
    layer(2, 2, 3, 3, 4),
    layer(2, 3, 2, (3, 7), (5, 6), padding=(1, 3)),
    layer(2, 2, 2, (1, 4), (3, 5)),
    layer(2, 2, 2, (4, 1), (5, 3), batch=2),
    layer(2, 2, 2, 3, 4, stride=2),
    layer(2, 2, 2, 3, 4, stride=2, padding=1, output_padding=1),
    layer(2, 2, 2, 4, 4, stride=2, padding=1, bias=True),
    layer(2, 4, 6, (3, 7), (4, 3), stride=(2, 3), padding=(1, 2), output_padding=(1, 2), bias=True),
    layer(2, 4, 8, (3, 7), (4, 3), stride=(2, 3), padding=(1, 2), output_padding=(1, 2), bias=True, groups=4),
    layer(2, 4, 4, 3, 3, groups=2),
    layer(2, 4, 4, 3, 3, stride=2, groups=4, bias=True),
    layer(2, 4, 2, 3, 3, groups=2, layout="nhwc"),
    layer(2, 2, 4, 3, 3, groups=2, stride=(3, 1), layout="nhwc", bias=True),
    layer(2, 2, 2, 2, 4, stride=3),
    layer(2, 2, 2, 1, 4, stride=4, output_padding=3),
    layer(2, 2, 2, 1, 3, stride=2, bias=True),
    layer(2, 2, 2, 3, 4, dilation=2),
    layer(2, 2, 2, 3, 4, dilation=3, padding=2, stride=2, output_padding=2),
    layer(2, 2, 2, 3, 4, dilation=2, stride=2, padding=1),
    layer(2, 2, 2, 3, 4, dilation=4, stride=2, padding=3, output_padding=3, bias=True),
    layer(2, 2, 2, 3, 3, dilation=(6, 2), stride=(4, 3), padding=(5, 0), output_padding=(1, 2)),
    layer(2, 2, 2, 3, 5, padding=2),
    layer(2, 2, 2, 3, 4, padding=3, stride=3),
    layer(2, 2, 2, 5, 2, padding=2),
    layer(2, 2, 2, 6, 1, padding=2, bias=True),
    layer(2, 1, 1, 9, 2, stride=2, padding=4),
    layer(2, 2, 3, 3, 3, batch=3, layout="nhwc", stride=2, output_padding=1, padding=1),
    layer(2, 8, 1, 3, 3, stride=2),
    layer(2, 1, 8, 3, 3, stride=2, layout="nhwc"),
    layer(1, 2, 3, 3, 7),
    layer(1, 2, 3, 4, 7, stride=2, padding=1, bias=True),
    layer(1, 4, 4, 5, 6, stride=3, padding=2, output_padding=2, dilation=2, groups=2),
    layer(1, 3, 2, 16, 4, stride=8, padding=4, batch=2),
    layer(1, 2, 2, 3, 5, stride=4, output_padding=1, layout="nhwc", bias=True, fuse=[("tanh",)]),
    layer(2, 2, 2, 3, 3, fuse=[("relu",)]),
    layer(2, 2, 2, 3, 3, fuse=[("leaky_relu", 0.2)], bias=True),
    layer(2, 2, 2, 3, 3, fuse=[("gelu",), ("scale", 2.0)]),
    layer(2, 2, 2, 3, 3, stride=2, fuse=[("mish",), ("add", 0.5), ("hardtanh", -1.0, 1.0)], bias=True),
    layer(2, 2, 2, 3, 3, stride=2, fuse=[("scale", 0.25), ("clamp", 0.0, 1.0), ("scale", 2.0)], layout="nhwc"),
    layer(2, 2, 2, 3, 3, fuse=[("add", -1.0), ("silu",), ("sigmoid",)]),
    layer(2, 2, 2, 3, 3, fuse=[("gelu_tanh",), ("tanh",)]),
    layer(2, 2, 2, 3, 3, fuse=[("elu", 1.0), ("scale", 2.0)], bias=True),
    layer(1, 2, 2, 4, 7, stride=2, padding=1, bias=True, fuse_input=[("leaky_relu", 0.1)]),
    layer(2, 2, 3, 3, 3, stride=2, padding=1, bias=True, fuse=[("relu",)], fuse_input=[("sigmoid",), ("add", 0.5)]),
    layer(2, 4, 2, 3, 3, groups=2, layout="nhwc", fuse_input=[("elu", 0.5)]),
    layer(3, 2, 2, 2, 3, stride=2, padding=1, fuse_input=[("gelu",)]),
    *random_layers(100, 3, dims=3),
    *random_layers(12, 4, dims=2, ends=True),
    *random_layers(12, 5, dims=3, ends=True),
]

POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.75, -2.75, 10.0, -10.0, 25.0, -25.0, 40.0, -40.0, 100.0, -100.0, 800.0,
          -800.0, 1e-8, -1e-8, 1e-300, -1e-300, 5e-324, 1e30, -1e30, 1e300, -1e300, math.inf, -math.inf, math.nan]
STEPS = [("relu",), ("leaky_relu", 0.2), ("leaky_relu", 0.0), ("leaky_relu", -0.5), ("gelu",), ("gelu_tanh",),
         ("silu",), ("mish",), ("tanh",), ("sigmoid",), ("hardtanh", -1.0, 1.0), ("hardtanh", 0.0, 6.0),
         ("clamp", -0.5, 2.0), ("clamp", 2.0, -0.5), ("scale", 3.0), ("scale", -0.0), ("add", 1.5), ("add", -1e300), ("elu", 1.0),
         ("elu", -0.5)]

# What torch makes of floats in its 16-bit types, as bit patterns: ties, the borders of overflow, subnormals.
FLOATS = [0.0, -0.0, 1.0, -1.0, 1 / 3, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, 1 + 2**-8, 1 + 3 * 2**-8, 65504.0,
          65519.0, 65520.0, -65520.0, 1e6, 2**-14, 2**-15, 2**-24, 2**-25, 3 * 2**-25, 2**-25 + 2**-40, 5e-8, 1e-10,
          3.3895313892515355e38, 3.3961775292304957e38, 2**-126, 2**-133, 2**-134, 3 * 2**-134, 1e-40, math.inf,
          -math.inf] + [v * 1.0009765625 for v in values(40, 7)] + [v * 0.00001 for v in values(20, 8)]


def bits_of(dtype):
    rounded = torch.tensor(FLOATS, dtype=torch.float32).to(dtype)
    return [b & 0xffff for b in rounded.view(torch.int16).tolist()]


def write(path, results):
    """One value of the top level, or one layer, a line: differences stay readable."""
    dump = lambda value: json.dumps(value, allow_nan=False)
    lines = []
    for key, value in results.items():
        if key in ("layers", "activations"):
            lines.append(f"{dump(key)}: [\n  " + ",\n  ".join(map(dump, value)) + "\n]")
        else:
            lines.append(f"{dump(key)}: {dump(value)}")
    with open(path, "w", encoding="ascii") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    made_by = f"torch {torch.__version__.split('+')[0]}, float64 on the CPU"
    write(sys.argv[1], {
        "made_by": made_by,
        "layers": LAYERS,
        "activation_inputs": numbers(POINTS),
        "activations": [{"step": [name, *arguments],
                         "y": numbers(ACTIVATIONS[name](torch.tensor(POINTS, dtype=torch.float64),
                                                        *arguments).tolist())} for name, *arguments in STEPS],
        "floats": numbers(torch.tensor(FLOATS, dtype=torch.float32).tolist()),
        "f16_bits": bits_of(torch.float16),
        "bf16_bits": bits_of(torch.bfloat16),
    })
    write(sys.argv[2], {"made_by": made_by, "layers": GRADIENTS})


if __name__ == "__main__":
    main()
