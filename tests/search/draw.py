"""Draws random legal layers, each with the sizes of one call, aimed at a direction, a template, a compute mode and a
layout."""

import dataclasses
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks", "suite"))

from layer import Layer

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates.json"), encoding="utf-8") as file:
    # Of each template in the planner's order: its directions, compute modes and layouts, and what its layers are like. It
    # is made of tests/template_facts (template_facts_test).
    FACTS = {each["name"]: each for each in json.load(file)}
DIRECTIONS = ("forward", "grad_input", "grad_weight", "grad_bias")
TEMPLATES = {direction: [name for name, facts in FACTS.items() if direction in facts["directions"]]
             for direction in DIRECTIONS}
GENERAL_TEMPLATES = tuple(name for name, facts in FACTS.items() if facts["takes_all"])  # a direction's, one each
DTYPES = {"f64": "f64", "f32": "f32", "tf32": "f32", "f32x3": "f32", "f16": "f16", "bf16": "bf16"}
PLAIN_STEPS = ("relu", "gelu", "gelu_tanh", "silu", "mish", "tanh", "sigmoid")


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a case may cost. The reference needs the taps of all outputs of an image at once, in fp64, for one image
    after the other."""

    elements: int  # of an array
    columns: int  # taps of all outputs of an image
    all_columns: int  # of all images


ON_GPU = Limits(3_000_000, 20_000_000, 120_000_000)
ON_HOST = Limits(30_000, 100_000, 300_000)


@dataclasses.dataclass(frozen=True)
class Cell:
    """Layers of one kind of kernel."""

    direction: str
    template: str
    mode: str
    layout: str

    def __str__(self):
        return f"{self.direction} {self.template} {self.mode} {self.layout}"


CELLS = [Cell(direction, template, mode, layout) for direction, templates in TEMPLATES.items()
         for template in templates for mode in FACTS[template]["computes"] for layout in FACTS[template]["layouts"]]
PROPERTIES = {  # of a layer
    "strided": lambda layer: max(layer.stride) > 1,
    "grouped": lambda layer: layer.groups > 1,
    "odd channels": lambda layer: layer.in_channels // layer.groups % 2 == 1 or layer.out_channels // layer.groups % 2 == 1,
    "odd width": lambda layer: layer.width % 2 == 1,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer in its one-line form, and the (batch, height, width) of a call, or (batch, depth, height, width)."""

    text: str
    sizes: tuple

    @staticmethod
    def of(line):
        """From a line as tests/end_to_end/failed_layers.txt has them: "LAYER | 2x3x4", and maybe " | " with more."""
        text, sizes = (line.split("|") + [""])[:2]
        if not re.fullmatch(r"\d+x\d+x\d+(x\d+)?", sizes.strip()):
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

    def direction(self):
        return self.property("directions", "forward")

    def layer(self):
        """As the benchmark knows it, at the sizes of the call; without the chains."""
        kept = [part.strip() for part in self.text.split(";") if part.strip().split(" ")[0] not in ("fuse", "fuse_input", "input")]
        flat = self.text.startswith("conv_transpose1d")
        sizes = (self.sizes[0], self.sizes[2]) if flat else self.sizes
        kept = [part if flat else _of_each_axis(part, len(sizes) - 1) for part in kept]
        return Layer.of("case", "; ".join([*kept, f"input {'x'.join(str(size) for size in sizes)}"]))


def _of_each_axis(part, axes):
    """`kernel 3` as `kernel 3x3`."""
    return re.sub(r"^(kernel|stride|padding|output_padding|dilation) (\d+)$", r"\1 \2" + r"x\2" * (axes - 1), part)


def is_bearable(layer, limits):
    """Whether a case may be drawn: what it gives is not empty, and what it and its reference need is not too much."""
    if min(layer.out_extents) < 1:
        return False
    x, y, weights = (math.prod(shape) for shape in (layer.x_shape, layer.y_shape, layer.weight_shape))
    columns = layer.out_channels * layer.taps * math.prod(layer.extents)
    return (max(x, y, weights) <= limits.elements and columns <= limits.columns
            and layer.batch * columns <= limits.all_columns)


class Draw:
    """Cases from a random.Random, where a template takes three axes in this share of them. In that share x, and in that
    share y, is channels of a larger tensor; in that share of forward layers x is activated."""

    def __init__(self, random, limits=ON_GPU, volumes=0.4, slices=0.1, fuse_input=0.25):
        self.random = random
        self.limits = limits
        self.volumes = volumes
        self.slices = slices
        self.fuse_input = fuse_input

    def case(self, cell, wanted=None):
        """One that the cell's template may well serve; the planner decides. It has the wanted one of PROPERTIES."""
        while True:
            fields = self._fields(cell)
            if wanted:
                self._force(wanted, fields)
            case = self._case(fields, cell)
            layer = case.layer()
            if is_bearable(layer, self.limits) and (not wanted or PROPERTIES[wanted](layer)):
                return case

    def _fields(self, cell):
        facts = FACTS[cell.template]
        fields = getattr(self, f"_{facts['layers']}")(cell.mode, cell.layout)
        if facts["depth"] and self._chance(self.volumes):
            self._add_depth(fields)
        if cell.direction == "grad_input" and "forward" in facts["directions"]:
            self._exchange(fields, cell)
        return fields

    def _add_depth(self, fields):
        """Makes the images of a layer volumes of smaller planes. A kernel as large as its stride stays so."""
        is_patch = fields["kernel"] == fields["stride"] and not any(fields["padding"] + fields["output_padding"])
        for name, value in {"kernel": self._any(1, 2, 2, 3, 3, 4, 5, 7), "stride": self._any(1, 1, 2, 2, 3, 5),
                            "dilation": self._any(1, 1, 1, 2, 3), "padding": 0, "output_padding": 0}.items():
            fields[name].insert(0, value)
        if is_patch:
            fields["stride"][0] = fields["kernel"][0]
            fields["dilation"][0] = 1
        batch, height, width = fields["sizes"]
        fields["sizes"] = [batch, self._to(1, 9), min(height, self._to(1, 24)), min(width, self._to(1, 40))]
        if not is_patch:
            self._reach(fields)

    def _exchange(self, fields, cell):
        """What a template of forward layers takes as a gradient of the input: a layer with input and output exchanged,
        of strides in the input, for the templates that take them."""
        fields["in"], fields["out"] = fields["out"], fields["in"]
        if not FACTS[cell.template]["strided_grad_input"] or self._chance(0.25):
            fields["stride"] = [1 for _ in fields["stride"]]
            fields["output_padding"] = [min(more, dilation - 1)
                                        for more, dilation in zip(fields["output_padding"], fields["dilation"])]
        unit = 4 if DTYPES[cell.mode] == "f32" else 8
        if cell.layout == "nchw" and fields["stride"][-1] == 1 and self._chance(0.8):
            fields["sizes"][-1] += -self._out_width(fields) % unit  # rows of the gradient that are whole vectors

    @staticmethod
    def _out_width(fields):
        return ((fields["sizes"][-1] - 1) * fields["stride"][-1] - 2 * fields["padding"][-1]
                + fields["dilation"][-1] * (fields["kernel"][-1] - 1) + fields["output_padding"][-1] + 1)

    def _force(self, wanted, fields):
        """Gives a layer a property that it may lack."""
        if wanted == "strided" and max(fields["stride"]) == 1:
            fields["stride"][self._any(0, 1, 1)] = self._any(2, 2, 3, 4)
        elif wanted == "grouped" and fields["groups"] == 1:
            fields["groups"] = self._any(2, 2, 3, 4)
            for name in ("in", "out"):
                fields[name] *= fields["groups"]
        elif wanted == "odd channels":
            for name in self._any(("in",), ("out",), ("in", "out")):
                fields[name] = fields["groups"] * (fields[name] // fields["groups"] | 1)
        elif wanted == "odd width":
            fields["sizes"][-1] |= 1

    def _any(self, *values):
        return self.random.choice(values)

    def _to(self, least, most):
        return self.random.randint(least, most)

    def _chance(self, probability):
        return self.random.random() < probability

    def _reach(self, fields):
        """Padding below, at and beyond what taps reach, and any output_padding that is legal."""
        for axis in range(len(fields["kernel"])):
            reach = fields["dilation"][axis] * (fields["kernel"][axis] - 1)
            fields["padding"][axis] = self._any(0, reach // 2, reach, self._to(0, reach + 2))
            most = max(fields["stride"][axis], fields["dilation"][axis]) - 1
            fields["output_padding"][axis] = self._any(0, self._to(0, most), most)

    def _any_layer(self, mode, layout):
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

    def _few_inputs(self, mode, layout):
        """Of few input channels, whose products take less than the memory."""
        fields = self._any_layer(mode, layout)
        groups = fields["groups"]
        fields["in"] = groups * self._to(1, 3 if groups > 1 else 12)
        fields["out"] = groups * self._any(1, 2, 3, 4, 8, 16, self._to(1, 24))
        return fields

    def _thin_groups(self, mode, layout):
        """Groups of few output channels; rows are whole vectors in half of the layers."""
        fields = self._any_layer(mode, layout)
        fields["out"] = fields["groups"] * self._to(1, 8 if fields["groups"] < 8 else 3)
        if self._chance(0.5):
            fields["sizes"][2] = 8 * self._to(1, 16)
        return fields

    def _unit_groups(self, mode, layout):
        """Groups of few channels, multiples of 8 in most layers; it takes channels last alone."""
        fields = self._any_layer(mode, layout)
        groups = self._any(1, 2, 3, 4, 8)
        fields["groups"] = groups
        fields["in"] = groups * 8 * self._any(1, 1, 2, 3, 4)
        fields["out"] = groups * 8 * self._any(1, 1, 2, 3, 4, 8)
        return fields

    def _kernel(self):
        return self._any(1, 2, 3, 3, 4, 5, 7, self._to(6, 33) if self._chance(0.3) else 3)

    def _shifts(self, mode, layout):
        groups = self._any(1, 1, 1, 2, 3, 4)
        fields = {"in": groups * self._channels(16 if groups > 1 else 8, 600 // groups, 8),
                  "out": groups * self._channels(8, 400 // groups, 8), "groups": groups,
                  "kernel": [self._any(1, 2, 3, 4, 5, 7, 9), self._any(1, 2, 3, 4, 5, 7, 11)],
                  "stride": [self._any(1, 1, 2, 2, 3, 4), self._any(1, 1, 2, 2, 3, 4, 6)],
                  "dilation": [self._any(1, 1, 1, 2, 3), self._any(1, 1, 1, 2, 3, 5)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode)}
        self._reach(fields)
        return fields

    def _long_shifts(self, mode, layout):
        """The same; a third of the layers have rows of more taps than a word has bits, and fewer channels."""
        fields = self._shifts(mode, layout)
        if self._chance(1 / 3):
            groups = fields["groups"]
            fields["in"] = groups * self._channels(16 if groups > 1 else 8, 96 // groups, 8)
            fields["out"] = groups * self._channels(8, 96 // groups, 8)
            fields["kernel"][1] = self._to(32, 140)
            fields["stride"][1] = self._any(1, 2, 8, 16, 32, 64)
            fields["sizes"] = [self._to(1, 3), self._to(1, 6), self._to(1, 40)]
            self._reach(fields)
        return fields

    def _halos(self, mode, layout):
        stride = [self._any(1, 1, 2, 2, 3, 4), self._any(1, 1, 2, 2, 3)]
        fields = {"in": self._channels(8, 500, 8, whole=0.9), "out": self._channels(16, 400, 8, whole=0.8), "groups": 1,
                  "kernel": [self._any(1, 2, 3, 3, 4, 5, 6), self._any(2, 3, 3, 4, 5, 6)], "stride": stride,
                  "dilation": [1 if stride[0] > 1 else self._any(1, 1, 1, 2), 1 if stride[1] > 1 else self._any(1, 1, 1, 2, 3)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode)}
        self._reach(fields)
        return fields

    def _rolling(self, mode, layout):
        fields = {"in": self._channels(8, 160, 8 if mode != "tf32" else 4, whole=1 if layout == "nhwc" else 0.6),
                  "out": self._channels(8, 160, 8, whole=0.6), "groups": 1,
                  "kernel": [self._to(1 if layout == "nhwc" else 2, 7), self._to(1, 8)],
                  "stride": [1, 1], "dilation": [1, self._any(1, 1, 2, 3, 4)],
                  "padding": [0, 0], "output_padding": [0, 0], "sizes": self._sizes(layout, mode, wide=True)}
        self._reach(fields)
        return fields

    def _overlaps(self, mode, layout):
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

    def _patches(self, mode, layout):
        """Kernels that are as large as their strides, of whole vectors of channels."""
        stride = self._any([1, 2], [2, 2], [2, 2], [1, 4], [4, 1], [2, 4], [4, 4], [3, 1], [3, 3], [1, 2])
        return {"in": 8 * self._to(1, 70), "out": 8 * self._to(1, 20), "groups": 1, "kernel": list(stride),
                "stride": list(stride), "dilation": [1, 1], "padding": [0, 0], "output_padding": [0, 0],
                "sizes": [self._to(1, 5), self._to(1, 40), self._to(1, 60)]}

    def _few_outputs(self, mode, layout):
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

    def _few_outputs_of_whole_rows(self, mode, layout):
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

    def _strided_units(self, mode, layout):
        """Strides, and whole vectors of channels."""
        fields = self._shifts(mode, layout)
        fields["groups"] = 1
        fields["in"], fields["out"] = self._channels(8, 400, 8, whole=1), self._channels(8, 400, 8, whole=1)
        self._force("strided", fields)
        return fields

    def _whole_channels(self, mode, layout):
        return self._of_whole_channels(mode, layout, 1 if layout == "nhwc" else 0.5)

    def _copied_channels(self, mode, layout):
        """Of known sizes where x and the gradient are copied to channels last."""
        return self._of_whole_channels(mode, layout, 1) | ({"known": 1} if layout == "nchw" else {})

    def _of_whole_channels(self, mode, layout, whole):
        fields = self._shifts(mode, layout)
        for name in ("in", "out"):
            fields[name] = fields["groups"] * self._channels(8, 400 // fields["groups"], 8, whole=whole)
        return fields

    def _even_rows(self, mode, layout):
        """Rows of an even, known width."""
        fields = self._of_whole_channels(mode, layout, 0.5) | {"known": 1}
        fields["sizes"][2] += fields["sizes"][2] % 2
        fields["padding"][1] = self._any(0, self._to(0, fields["dilation"][1] * fields["kernel"][1]))
        for legal in range(max(fields["stride"][1], fields["dilation"][1])):
            if self._out_width(fields | {"output_padding": [0, legal]}) % 2 == 0:
                fields["output_padding"][1] = legal
                break
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
                                   f"clamp({low:g}, {high:g})", f"scale({number():g})", f"add({number():g})",
                                   f"elu({number():g})"))
        return ", ".join(steps)

    def _fuse_input(self):
        """What vocoders have in half of the layers: templates of products take few other chains."""
        return f"leaky_relu({self._to(-96, 96) / 64:g})" if self._chance(0.5) else self._fuse()

    def _case(self, fields, cell):
        batch, *extents = fields["sizes"]
        flat = len(extents) == 2 and self._chance(0.08)
        each = lambda name: "x".join(str(value) for value in (fields[name][1:] if flat else fields[name]))
        if flat:
            extents[0] = 1
        parts = [f"conv_transpose{1 if flat else len(extents)}d {fields['in']} -> {fields['out']}",
                 f"kernel {each('kernel')}", f"stride {each('stride')}", f"padding {each('padding')}",
                 f"output_padding {each('output_padding')}", f"dilation {each('dilation')}", f"groups {fields['groups']}"]
        for word, channels in (("x_channels", fields["in"]), ("y_channels", fields["out"])):
            if self._chance(self.slices):
                parts.append(f"{word} {channels + self._any(self._to(1, 9), 8 * self._to(1, 5), channels)}")
        # A size that is left open is planned for another one than the call has. Rows of NCHW that are bulk copies must
        # be known.
        of_image = *[fields.get("known", 0.75)] * (len(extents) - 1), fields.get("known", 0.85)
        known = [str(size) if self._chance(p) else "?" for size, p in zip((batch, *extents), (0.7, *of_image))]
        parts.append("input " + "x".join(known[0::2] if flat else known))
        if self._chance(0.5) or cell.direction == "grad_bias":
            parts.append("bias")
        if self._chance(0.25) and cell.direction == "forward":
            parts.append(f"fuse {self._fuse()}")
        if self._chance(self.fuse_input) and cell.direction == "forward":
            parts.append(f"fuse_input {self._fuse_input()}")
        parts += [f"dtype {DTYPES[cell.mode]}", f"compute {cell.mode}", f"layout {cell.layout}"]
        if self._chance(0.4):
            parts.append("weight_layout channels_last")
        if cell.direction != "forward":
            parts.append(f"directions {cell.direction}")
        return Case("; ".join(parts), (batch, *extents))
