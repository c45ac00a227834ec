"""Draws random legal layers, each with the sizes of one call, aimed at a template, a compute mode and a layout."""

import dataclasses
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks", "suite"))

from layer import Layer

TEMPLATES = {  # and the compute modes of each
    "direct": ("f64", "f32", "tf32", "f32x3", "f16", "bf16"),
    "direct_rows": ("f64", "f32", "tf32", "f32x3", "f16", "bf16"),
    "mma_rows": ("f16", "bf16"),
    "shift_gemm": ("tf32", "f16", "bf16"),
    "f32x3_gemm": ("f32x3",),
    "halo_gemm": ("tf32", "f16", "bf16"),
    "roll_gemm": ("tf32", "f16", "bf16"),
    "overlap_gemm": ("f16", "bf16"),
    "patch_gemm": ("f16", "bf16"),
    "phase_gemm": ("f16", "bf16"),
    "mma_phases": ("tf32", "f16", "bf16"),
}
LAYOUTS = ("nchw", "nhwc")
LAYOUTS_OF = {"mma_rows": ("nhwc",), "patch_gemm": ("nhwc",), "phase_gemm": ("nhwc",), "mma_phases": ("nchw",)}  # the others take both
DTYPES = {"f64": "f64", "f32": "f32", "tf32": "f32", "f32x3": "f32", "f16": "f16", "bf16": "bf16"}
PLAIN_STEPS = ("relu", "gelu", "gelu_tanh", "silu", "mish", "tanh", "sigmoid")

# What a case may cost. The reference needs the taps of all outputs of an image at once, in fp64.
MOST_ELEMENTS = 6_000_000
MOST_COLUMNS = 60_000_000


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer in its one-line form, and the (batch, height, width) of a call."""

    text: str
    sizes: tuple

    @staticmethod
    def of(line):
        """From a line as tests/end_to_end/failed_layers.txt has them: "LAYER | 2x3x4", and maybe " | " with more."""
        text, sizes = (line.split("|") + [""])[:2]
        if not re.fullmatch(r"\d+x\d+x\d+", sizes.strip()):
            raise ValueError(f"{line!r}: the sizes of the call are missing, as in '... | 2x16x16'")
        return Case(text.strip(), tuple(int(size) for size in sizes.split("x")))

    def __str__(self):
        return f"{self.text} | {'x'.join(str(size) for size in self.sizes)}"

    def property(self, name, otherwise=""):
        for part in self.text.split(";"):
            word, _, value = part.strip().partition(" ")
            if word == name:
                return value.strip()
        return otherwise

    def layer(self):
        """As the benchmark knows it, at the sizes of the call; without the fuse chain."""
        kept = [part.strip() for part in self.text.split(";") if part.strip().split(" ")[0] not in ("fuse", "input")]
        flat = self.text.startswith("conv_transpose1d")
        sizes = (self.sizes[0], self.sizes[2]) if flat else self.sizes
        kept = [_twice(part) if not flat else part for part in kept]
        return Layer.of("case", "; ".join([*kept, f"input {'x'.join(str(size) for size in sizes)}"]))


def _twice(part):
    """`kernel 3` as `kernel 3x3`."""
    return re.sub(r"^(kernel|stride|padding|output_padding|dilation) (\d+)$", r"\1 \2x\2", part)


def is_bearable(layer):
    """Whether a case may be drawn: what it gives is not empty, and what it and its reference need is not too much."""
    if layer.out_height < 1 or layer.out_width < 1:
        return False
    x = layer.batch * layer.in_channels * layer.height * layer.width
    y = layer.batch * layer.out_channels * layer.out_height * layer.out_width
    weights = layer.in_channels * layer.out_channels // layer.groups * layer.kernel[0] * layer.kernel[1]
    columns = layer.out_channels * layer.kernel[0] * layer.kernel[1] * layer.height * layer.width
    return max(x, y, weights) <= MOST_ELEMENTS and columns <= MOST_COLUMNS


class Draw:
    """Cases from a random.Random."""

    def __init__(self, random):
        self.random = random

    def case(self, template, mode, layout):
        """One that `template` may well serve in this mode and layout; the planner decides."""
        while True:
            fields = getattr(self, f"_{template}")(mode, layout)
            case = self._case(fields, mode, layout)
            if is_bearable(case.layer()):
                return case

    def _any(self, *values):
        return self.random.choice(values)

    def _to(self, least, most):
        return self.random.randint(least, most)

    def _chance(self, probability):
        return self.random.random() < probability

    def _reach(self, fields):
        """Padding below, at and beyond what taps reach, and any output_padding that is legal."""
        for axis in (0, 1):
            reach = fields["dilation"][axis] * (fields["kernel"][axis] - 1)
            fields["padding"][axis] = self._any(0, reach // 2, reach, self._to(0, reach + 2))
            most = max(fields["stride"][axis], fields["dilation"][axis]) - 1
            fields["output_padding"][axis] = self._any(0, self._to(0, most), most)

    def _direct(self, mode, layout):
        groups = self._any(1, 1, 1, 2, 3, 4, 8, 24)
        least_in, most_in = (1, 3) if groups == 24 else (1, 40)
        fields = {"in": groups * self._to(least_in, most_in), "out": groups * self._to(1, 3 if groups > 4 else 40),
                  "groups": groups,
                  "kernel": [self._kernel(), self._kernel()],
                  "stride": [self._any(1, 1, 2, 2, 3, 4, 5, 8, 20), self._any(1, 1, 2, 2, 3, 4, 5, 8, 20)],
                  "dilation": [self._any(1, 1, 1, 2, 3, 4, 7, 12), self._any(1, 1, 1, 2, 3, 4, 7, 12)],
                  "padding": [0, 0], "output_padding": [0, 0],
                  "sizes": [self._to(1, 5), self._any(1, self._to(1, 12), self._to(1, 60)), self._to(1, 90)]}
        self._reach(fields)
        return fields

    def _direct_rows(self, mode, layout):
        """Of few input channels, whose products take less than the memory."""
        fields = self._direct(mode, layout)
        groups = fields["groups"]
        fields["in"] = groups * self._to(1, 3 if groups > 1 else 12)
        fields["out"] = groups * self._any(1, 2, 3, 4, 8, 16, self._to(1, 24))
        return fields

    def _mma_rows(self, mode, layout):
        """Groups of few channels, multiples of 8 in most layers; it takes channels last alone."""
        fields = self._direct(mode, layout)
        groups = self._any(1, 2, 3, 4, 8)
        fields["groups"] = groups
        fields["in"] = groups * 8 * self._any(1, 1, 2, 3, 4)
        fields["out"] = groups * 8 * self._any(1, 1, 2, 3, 4, 8)
        return fields

    def _kernel(self):
        return self._any(1, 2, 3, 3, 4, 5, 7, self._to(6, 33) if self._chance(0.3) else 3)

    def _shift_gemm(self, mode, layout):
        groups = self._any(1, 1, 1, 2, 3, 4)
        fields = {"in": groups * self._channels(16 if groups > 1 else 8, 600 // groups, 8),
                  "out": groups * self._channels(8, 400 // groups, 8), "groups": groups,
                  "kernel": [self._any(1, 2, 3, 4, 5, 7, 9), self._any(1, 2, 3, 4, 5, 7, 11)],
                  "stride": [self._any(1, 1, 2, 2, 3, 4), self._any(1, 1, 2, 2, 3, 4, 6)],
                  "dilation": [self._any(1, 1, 1, 2, 3), self._any(1, 1, 1, 2, 3, 5)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode)}
        self._reach(fields)
        return fields

    _f32x3_gemm = _shift_gemm

    def _halo_gemm(self, mode, layout):
        stride = [self._any(1, 1, 2, 2, 3, 4), self._any(1, 1, 2, 2, 3)]
        fields = {"in": self._channels(8, 500, 8, whole=0.9), "out": self._channels(16, 400, 8, whole=0.8), "groups": 1,
                  "kernel": [self._any(1, 2, 3, 3, 4, 5, 6), self._any(2, 3, 3, 4, 5, 6)], "stride": stride,
                  "dilation": [1 if stride[0] > 1 else self._any(1, 1, 1, 2), 1 if stride[1] > 1 else self._any(1, 1, 1, 2, 3)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode)}
        self._reach(fields)
        return fields

    def _roll_gemm(self, mode, layout):
        fields = {"in": self._channels(8, 160, 8 if mode != "tf32" else 4, whole=1 if layout == "nhwc" else 0.6),
                  "out": self._channels(8, 160, 8, whole=0.6), "groups": 1,
                  "kernel": [self._to(1 if layout == "nhwc" else 2, 7), self._to(1, 8)],
                  "stride": [1, 1], "dilation": [1, self._any(1, 1, 2, 3, 4)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode, wide=True)}
        self._reach(fields)
        return fields

    def _overlap_gemm(self, mode, layout):
        """Small images and few output channels, of kernels up to four strides. NCHW: images of a known size, of
        whole vectors of pixels, and any number of input channels."""
        stride = [self._any(1, 2, 2, 3, 4), self._any(1, 2, 2, 3, 4, 8)]
        small = [self._to(1, 40), self._to(1, 16), self._to(1, 16)]
        if layout == "nchw":
            width = self._any(2, 4, 6, 8, 12, 16, 24, 32)
            rows = 8 // math.gcd(width, 8)  # whose pixels are a multiple of 8
            small = [small[0], rows * self._to(1, max(1, 16 // rows)), width]
        whole, known = (1, 0.75) if layout == "nhwc" else (0.6, 1)
        fields = {"in": self._channels(8, 700, 8, whole=whole), "out": self._any(1, 2, 3, self._channels(8, 200, 8, whole=0.9)),
                  "groups": 1, "kernel": [self._to(1, 3 * stride[0]), self._to(1, 3 * stride[1])],
                  "stride": stride, "dilation": [1, 1], "padding": [0, 0], "output_padding": [0, 0], "known": known,
                  "sizes": self._any(self._sizes(layout, mode), small, small)}
        self._reach(fields)
        return fields

    def _patch_gemm(self, mode, layout):
        """Kernels that are as large as their strides, of whole vectors of channels."""
        stride = self._any([1, 2], [2, 2], [2, 2], [1, 4], [4, 1], [2, 4], [4, 4], [3, 1], [3, 3], [1, 2])
        return {"in": 8 * self._to(1, 70), "out": 8 * self._to(1, 20), "groups": 1, "kernel": list(stride),
                "stride": list(stride), "dilation": [1, 1], "padding": [0, 0], "output_padding": [0, 0],
                "sizes": [self._to(1, 5), self._to(1, 40), self._to(1, 60)]}

    def _phase_gemm(self, mode, layout):
        """Few output channels, of any width; sometimes many narrow images."""
        stride = [self._any(1, 2, 2, 3, 4), self._any(1, 2, 2, 3, 4, 8)]
        out = self._to(1, max(1, min(20, 60 // (stride[0] * stride[1]))))
        sizes = self._any([self._to(1, 5), self._to(1, 60), self._to(1, 300)], [self._to(6, 40), self._to(1, 9), self._to(1, 40)])
        fields = {"in": 8 * self._to(1, 20), "out": out, "groups": 1,
                  "kernel": [self._to(1, 3 * stride[0]), self._to(1, 4 * stride[1])],
                  "stride": stride, "dilation": [1, 1], "padding": [0, 0], "output_padding": [0, 0], "known": self._any(0, 1, 1),
                  "sizes": sizes}
        self._reach(fields)
        return fields

    def _mma_phases(self, mode, layout):
        """Few output channels, of rows of a known width that are whole pieces."""
        unit = 4 if DTYPES[mode] == "f32" else 8
        stride = [self._any(1, 2, 2, 3, 4), self._any(1, 2, 2, 3, 4, 8)]
        out = self._to(1, max(1, min(8, 64 // (stride[0] * stride[1]))))
        fields = {"in": self._to(1, 130), "out": out, "groups": 1,
                  "kernel": [self._to(1, 4 * stride[0]), self._to(1, 4 * stride[1])],
                  "stride": stride, "dilation": [1, 1], "padding": [0, 0], "output_padding": [0, 0], "known": 1,
                  "sizes": [self._to(1, 5), self._to(1, 60), unit * self._to(1, 160 // unit)]}
        self._reach(fields)
        return fields

    def _channels(self, least, most, unit, whole=0.7):
        """Small numbers as often as large ones; multiples of the unit as often as `whole` says."""
        count = int(least * (max(most, least) / least) ** self.random.random())
        return max(unit, count // unit * unit) if self._chance(whole) else count

    def _sizes(self, layout, mode, wide=False):
        unit = 4 if DTYPES[mode] == "f32" else 8
        batch = self._any(1, 1, 2, 3, self._to(4, 40))
        height = self._to(1, 12) if batch > 3 else self._to(1, 96)
        width = self._to(1, 40) if batch > 3 else self._to(8, 300 if wide else 130)
        if layout == "nchw" and self._chance(1 if wide else 0.6):
            width = max(unit, width // unit * unit)
        return [batch, height, width]

    def _fuse(self):
        steps = []
        for _ in range(self._any(1, 1, 2, 3)):
            number = lambda: self._to(-96, 96) / 64
            low, high = sorted((number(), number()))
            steps.append(self._any(*PLAIN_STEPS, f"leaky_relu({number():g})", f"hardtanh({low:g}, {high:g})",
                                   f"clamp({low:g}, {high:g})", f"scale({number():g})", f"add({number():g})"))
        return ", ".join(steps)

    def _case(self, fields, mode, layout):
        batch, height, width = fields["sizes"]
        flat = self._chance(0.08)
        pair = (lambda name: str(fields[name][1])) if flat else (lambda name: f"{fields[name][0]}x{fields[name][1]}")
        if flat:
            height = 1
        parts = [f"conv_transpose{1 if flat else 2}d {fields['in']} -> {fields['out']}", f"kernel {pair('kernel')}",
                 f"stride {pair('stride')}", f"padding {pair('padding')}", f"output_padding {pair('output_padding')}",
                 f"dilation {pair('dilation')}", f"groups {fields['groups']}"]
        # A size that is left open is planned for another one than the call has. Rows of NCHW that are bulk copies must
        # be known.
        of_image = fields.get("known", 0.75), fields.get("known", 0.85)
        known = [str(size) if self._chance(p) else "?" for size, p in zip((batch, height, width), (0.7, *of_image))]
        parts.append("input " + "x".join(known[0::2] if flat else known))
        if self._chance(0.5):
            parts.append("bias")
        if self._chance(0.25):
            parts.append(f"fuse {self._fuse()}")
        parts += [f"dtype {DTYPES[mode]}", f"compute {mode}", f"layout {layout}"]
        if self._chance(0.4):
            parts.append("weight_layout channels_last")
        return Case("; ".join(parts), (batch, height, width))
