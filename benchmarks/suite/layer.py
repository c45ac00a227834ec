"""A layer of the benchmark: from its canonical form to its sizes, and to the least that it costs."""

import dataclasses
import math
import re

# The compute modes and the dtype of their arrays.
MODES = {"f32": "f32", "f32x3": "f32", "tf32": "f32", "f16": "f16", "bf16": "bf16"}
BYTES = {"f32": 4, "f16": 2, "bf16": 2}
GRADIENTS = ["grad_input", "grad_weight"]

# An H200's ceilings, measured through PyTorch: a large copy, large matrix products (flop/s).
COPY_BYTES_PER_SECOND = 4.2e12
FLOPS = {"f32": 51e12, "f32x3": 700e12 / 3, "tf32": 360e12, "f16": 700e12, "bf16": 700e12}


def names_in(text):
    """The names of a layer file's layers, in order."""
    return re.findall(r"\blayer\s+(\w+)\s*\{", re.sub(r"#.*", "", text))


def with_mode(canonical, mode, layout):
    """The canonical form with another compute mode and layout."""
    kept = [p for p in canonical.split("; ") if not p.startswith(("dtype ", "compute ", "layout "))]
    return "; ".join(kept + [f"dtype {MODES[mode]}", f"compute {mode}", f"layout {layout}"])


def with_weights(canonical, weights):
    """The canonical form with weights in another memory order: "contiguous" or "channels_last"."""
    kept = [p for p in canonical.split("; ") if not p.startswith("weight_layout ")]
    return "; ".join(kept + [f"weight_layout {weights}"])


def with_directions(canonical, directions):
    """The canonical form with these directions."""
    kept = [p for p in canonical.split("; ") if not p.startswith("directions ")]
    return "; ".join([*kept, f"directions {', '.join(directions)}"])


@dataclasses.dataclass
class Layer:
    """All fields as torch.nn.functional.conv_transpose2d has them, (height, width), or with a depth before these as
    conv_transpose3d has them; a 1-D layer is one of height 1."""

    name: str
    in_channels: int
    out_channels: int
    kernel: list
    stride: list
    padding: list
    output_padding: list
    dilation: list
    groups: int
    bias: bool
    batch: int
    height: int
    width: int
    depth: int = 1

    @staticmethod
    def of(name, canonical):
        parts = [part.split(" ", 1) for part in canonical.split("; ")]
        of = {part[0]: part[1] if len(part) > 1 else "" for part in parts}
        operator = next(word for word in of if word.startswith("conv_transpose"))
        flat, axes = operator == "conv_transpose1d", 3 if operator == "conv_transpose3d" else 2
        channels = of[operator].split(" -> ")

        def each(word, neutral):
            if word not in of:
                return [neutral] * axes
            if flat:
                return [neutral, int(of[word])]
            numbers = [int(n) for n in of[word].split("x")]
            return numbers * (axes // len(numbers))  # one stands for all axes

        if "fuse" in of:
            raise ValueError(f"layer {name}: fuse: PyTorch's convolution has no such chain; leave it out")
        if ":" in of.get("padding", ""):
            raise ValueError(f"layer {name}: padding: PyTorch's convolution has one number for both ends, as in 1x1")
        if "?" in of.get("input", "?"):
            raise ValueError(f"layer {name}: input: a size is open; fixed ones are measured, as in 8x64x64")
        sizes = [int(n) for n in of["input"].split("x")]
        if flat:
            sizes.insert(1, 1)
        depth = sizes[1] if axes == 3 else 1
        return Layer(name, int(channels[0]), int(channels[1]), each("kernel", 1), each("stride", 1), each("padding", 0),
                     each("output_padding", 0), each("dilation", 1), int(of.get("groups", 1)), "bias" in of, sizes[0],
                     *sizes[-2:], depth)

    @property
    def extents(self):
        """Of x, for each axis that `kernel` has."""
        return [self.depth, self.height, self.width][-len(self.kernel):]

    @property
    def out_extents(self):
        return [self._out(axis, size) for axis, size in enumerate(self.extents)]

    @property
    def out_height(self):
        return self.out_extents[-2]

    @property
    def out_width(self):
        return self.out_extents[-1]

    @property
    def taps(self):
        return math.prod(self.kernel)

    @property
    def x_shape(self):
        return (self.batch, self.in_channels, *self.extents)

    @property
    def y_shape(self):
        return (self.batch, self.out_channels, *self.out_extents)

    @property
    def weight_shape(self):
        return (self.in_channels, self.out_channels // self.groups, *self.kernel)

    def _out(self, axis, size):
        return ((size - 1) * self.stride[axis] - 2 * self.padding[axis]
                + self.dilation[axis] * (self.kernel[axis] - 1) + self.output_padding[axis] + 1)

    def terms_of_an_output(self):
        """The most products that one output sums."""
        taps = 1
        for k, s, d in zip(self.kernel, self.stride, self.dilation):
            phases = [sum(1 for t in range(k) if (d * t) % s == r) for r in range(s)]
            taps *= max(phases)
        return self.in_channels // self.groups * taps

    def _landing(self, axis, size, out):
        """Pairs of an input position and a tap whose product lands inside the output."""
        s, p, d = self.stride[axis], self.padding[axis], self.dilation[axis]
        count = 0
        for k in range(self.kernel[axis]):
            first = max(0, -(-(p - d * k) // s))
            last = min(size - 1, (out - 1 + p - d * k) // s)
            count += max(0, last - first + 1)
        return count

    def flops(self):
        """A multiply-add is two; only terms that land inside the output."""
        pairs = math.prod(self._landing(axis, *sizes) for axis, sizes in enumerate(zip(self.extents, self.out_extents)))
        return 2 * self.batch * self.in_channels * (self.out_channels // self.groups) * pairs

    def bytes(self, mode):
        """x, weight, bias and y, each moved once."""
        elements = (math.prod(self.x_shape) + math.prod(self.weight_shape) + math.prod(self.y_shape)
                    + (self.out_channels if self.bias else 0))
        return elements * BYTES[MODES[mode]]

    def floor_ms(self, mode):
        return 1e3 * max(self.bytes(mode) / COPY_BYTES_PER_SECOND, self.flops() / FLOPS[mode])


def layers_in(text):
    """The layers of a layer file without defaults, by its text alone. Errors: ValueError."""
    text = re.sub(r"#.*", "", text)
    if re.search(r"\bdefaults\b", text):
        raise ValueError("a layer file with defaults needs convtgen to be read")
    return [Layer.of(name, "; ".join(" ".join(part.split()) for part in re.split(r"[;\n]", body) if part.strip()))
            for name, body in re.findall(r"\blayer\s+(\w+)\s*\{([^}]*)\}", text)]
