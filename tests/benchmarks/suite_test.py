"""benchmarks/suite without a GPU, PyTorch or matplotlib: what it computes of layers, and what it prints."""

import itertools
import math
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = os.path.join(ROOT, "benchmarks", "suite")
sys.path.insert(0, SUITE)

from convtgen_api import Library
from layer import Layer, layers_in, names_in, with_mode, with_weights
from machine_code import code_of, stored_code
from same_code import verdict

REST = "; dtype f32; compute f32; layout nchw"
FORMS = [
    "conv_transpose2d 2 -> 3; kernel 3x2; stride 2x3; padding 1x0; output_padding 1x2; dilation 2x1; input 2x4x5; bias",
    "conv_transpose2d 4 -> 6; kernel 2x4; stride 2x2; padding 0x1; groups 2; input 3x3x5",
    "conv_transpose2d 1 -> 1; kernel 2x2; stride 3x3; input 1x2x2",
    "conv_transpose1d 3 -> 2; kernel 5; stride 2; padding 2; output_padding 1; dilation 3; input 2x7; bias",
    "conv_transpose1d 2 -> 4; kernel 3; groups 2; input 1x6",
    "conv_transpose3d 2 -> 4; kernel 3x2x1; stride 2x1x3; padding 1x0x0; dilation 2x1x1; groups 2; input 2x4x3x5; bias",
]


def axis_pairs(layer, axis):
    """The output that each (input, tap) of an axis reaches, where it lies inside."""
    size, out = layer.extents[axis], layer.out_extents[axis]
    reached = (i * layer.stride[axis] - layer.padding[axis] + k * layer.dilation[axis]
               for i, k in itertools.product(range(size), range(layer.kernel[axis])))
    return [o for o in reached if 0 <= o < out]


class LayerTest(unittest.TestCase):
    def test_a_layer_of_one_dimension_has_height_1(self):
        layer = Layer.of("up", FORMS[3] + REST)
        self.assertEqual((layer.height, layer.out_height), (1, 1))
        self.assertEqual((layer.kernel, layer.stride, layer.padding), ([1, 5], [1, 2], [0, 2]))
        self.assertEqual((layer.output_padding, layer.dilation), ([0, 1], [1, 3]))
        self.assertEqual((layer.batch, layer.width, layer.bias, layer.groups), (2, 7, True, 1))
        self.assertEqual(layer.out_width, (7 - 1) * 2 - 2 * 2 + 3 * (5 - 1) + 1 + 1)

    def test_a_layer_of_three_dimensions_has_a_depth(self):
        layer = Layer.of("up", FORMS[5] + REST)
        self.assertEqual((layer.x_shape, layer.weight_shape), ((2, 2, 4, 3, 5), (2, 2, 3, 2, 1)))
        self.assertEqual(layer.y_shape, (2, 4, (4 - 1) * 2 - 2 + 2 * 2 + 1, 3 + 1, 4 * 3 + 1))

    def test_work_is_what_counting_gives(self):
        for form in FORMS:
            layer = Layer.of("up", form + REST)
            pairs = [axis_pairs(layer, axis) for axis in range(len(layer.kernel))]
            per_pair = layer.batch * layer.in_channels * layer.out_channels // layer.groups
            self.assertEqual(layer.flops(), 2 * per_pair * math.prod(map(len, pairs)), form)
            most = math.prod(max(of_axis.count(o) for o in of_axis) for of_axis in pairs)
            self.assertGreaterEqual(layer.terms_of_an_output(), layer.in_channels // layer.groups * most, form)
            weights = layer.in_channels * layer.out_channels // layer.groups * math.prod(layer.kernel)
            arrays = (layer.batch * layer.in_channels * math.prod(layer.extents) + weights
                      + layer.batch * layer.out_channels * math.prod(layer.out_extents)
                      + layer.bias * layer.out_channels)
            self.assertEqual([layer.bytes(mode) / arrays for mode in ("f32", "f32x3", "tf32", "f16", "bf16")],
                             [4, 4, 4, 2, 2], form)

    def test_a_mode_takes_the_place_of_the_layers_own(self):
        self.assertEqual(with_mode(FORMS[2] + "; dtype bf16; compute bf16; layout nhwc", "f32x3", "nchw"),
                         FORMS[2] + "; dtype f32; compute f32x3; layout nchw")

    def test_an_order_of_weights_takes_the_place_of_the_layers_own(self):
        for own in ("", "; weight_layout contiguous", "; weight_layout channels_last"):
            self.assertEqual(with_weights(FORMS[2] + own + REST, "channels_last"),
                             FORMS[2] + REST + "; weight_layout channels_last")

    def test_what_can_not_be_measured_is_told(self):
        for form, word in ((FORMS[2] + "; fuse relu", "fuse"), ("conv_transpose2d 1 -> 1; kernel 2x2", "input"),
                           ("conv_transpose2d 1 -> 1; kernel 2x2; padding 0:1x0; input 1x2x2", "padding"),
                           ("conv_transpose2d 1 -> 1; kernel 2x2; input ?x2x2", "input")):
            with self.assertRaisesRegex(ValueError, f"layer up: {word}: "):
                Layer.of("up", form + REST)


class FilesTest(unittest.TestCase):
    def test_every_layer_of_the_files_is_taken(self):
        if "CONVTGEN_LIBRARY" not in os.environ:
            self.skipTest("CONVTGEN_LIBRARY names no libconvtgen that this interpreter could load")
        library = Library(os.environ["CONVTGEN_LIBRARY"])
        counts = {"layers": 25, "outside": 10, "layers_3d": 12, "cliffs": 15, "fit": 240, "judge": 60, "judge_3d": 30}
        for file, count in counts.items():
            with open(os.path.join(ROOT, "benchmarks", f"{file}.convt"), encoding="utf-8") as stream:
                text = stream.read()
            names = names_in(text)
            self.assertEqual(len(names), count)
            for name, by_text in zip(names, layers_in(text), strict=True):
                canonical = library.canonical(library.layer(text, name))
                layer = Layer.of(name, canonical)
                self.assertEqual(layer, by_text)
                self.assertGreater(min(layer.out_height, layer.out_width), 0)
                for mode, layout in (("f32x3", "nchw"), ("f16", "nhwc")):
                    again = library.canonical(library.layer(with_mode(canonical, mode, layout)))
                    self.assertEqual(Layer.of(name, again), layer)
                    self.assertIn(f"compute {mode}; layout {layout}", again)
                    moved = library.canonical(library.layer(with_weights(again, "channels_last")))
                    self.assertEqual(Layer.of(name, moved), layer)
                    self.assertIn("; weight_layout channels_last", moved)
                    self.assertEqual(library.canonical(library.layer(with_weights(moved, "contiguous"))), again)


class MachineCodeTest(unittest.TestCase):
    def compiled(self, folder, source):
        """An ELF file with a section for each function."""
        path = os.path.join(folder, "code.o")
        subprocess.run(["g++", "-x", "c++", "-c", "-O1", "-ffunction-sections", "-o", path, "-"], input=source, text=True,
                       check=True)
        with open(path, "rb") as file:
            return file.read()

    def test_equal_functions_have_equal_code_whatever_their_names(self):
        with tempfile.TemporaryDirectory() as folder:
            one = code_of(self.compiled(folder, "int f(int a) { return a + 1; } int g(int a) { return a * 3; }"))
            renamed = code_of(self.compiled(folder, "int p(int a) { return a * 3; } int q(int a) { return a + 1; }"))
            other = code_of(self.compiled(folder, "int f(int a) { return a + 1; } int g(int a) { return a * 5; }"))
        self.assertEqual([bool(code) for code in one], [True, True])
        self.assertEqual(one, renamed)
        self.assertNotEqual(one, other)

    def test_an_entry_is_found_by_its_key(self):
        with tempfile.TemporaryDirectory() as folder:
            elf = self.compiled(folder, "int f(int a) { return a + 1; }")
            with open(os.path.join(folder, "a1b2-" + 16 * "c" + ".entry"), "wb") as file:
                file.write(b"head" + elf)
            self.assertEqual(stored_code(folder, 16 * "c" + 48 * "d"), code_of(elf))
            with self.assertRaisesRegex(FileNotFoundError, "no entry d4"):
                stored_code(folder, "d4")

    def test_two_versions_are_compared_by_source_then_ptx_then_code(self):
        class Fake:
            """A version that makes this source, PTX and code."""

            def __init__(self, source, ptx, elf):
                self.made = {"ptx": ptx, "cubin": elf}
                self.source = lambda case: source

            def compiled(self, case, kind):
                return self.made[kind]

        with tempfile.TemporaryDirectory() as folder:
            elf = self.compiled(folder, "int f(int a) { return a + 1; }")
            other = self.compiled(folder, "int f(int a) { return a + 2; }")
        before = Fake("a", b".version 1", elf)
        for after, expected in ((Fake("a", b"", b""), "source"), (Fake("b", b".version 1", b""), "PTX"),
                                (Fake("b", b".version 2", elf), "machine code"), (Fake("b", b".version 2", other), "")):
            self.assertEqual(verdict((before, after), None), expected)

    def test_ptx_is_equal_whatever_the_digests_and_constants_of_its_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            for key, digest, body in ("a", "0" * 16, "ret"), ("b", "f" * 16, "ret"), ("c", "0" * 16, "trap"):
                with open(os.path.join(folder, f"1-{key * 16}.entry"), "w", encoding="utf-8") as file:
                    constant = f".global .align 4 .u32 _ZN39_INTERNAL_{digest}_9_kernel_cu_8632d1b110kPitchE = 7{key};\n"
                    file.write(f"{key}.version 8.0\n{constant}.entry convtgen_direct_forward_{digest}_pack() {{ {body}; }}")
            one, renamed, other = (stored_code(folder, key * 64) for key in "abc")
        self.assertEqual(one, renamed)
        self.assertNotEqual(one, other)


class PlotTest(unittest.TestCase):
    def plot(self, arguments, before="pass"):
        """What it says where it ends with an error."""
        program = f"import sys; {before}; sys.argv[1:] = {arguments!r}; sys.path.insert(0, {SUITE!r}); import plot; " \
                  "plot.main(sys.argv[1:])"
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        return ended.stderr

    def test_that_matplotlib_is_missing_is_told(self):
        self.assertIn("need matplotlib, which is not here", self.plot(["a", "b"], "sys.modules['matplotlib'] = None"))

    def test_results_that_can_not_be_read_are_told(self):
        stand_in = "from unittest import mock; [sys.modules.__setitem__(m, mock.MagicMock()) for m in " \
                   "('matplotlib', 'matplotlib.pyplot', 'matplotlib.ticker')]"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            self.assertIn(f"plot.py: {path}: ", self.plot([path, folder], stand_in))
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            self.assertIn("no rows", self.plot([path, folder], stand_in))


if __name__ == "__main__":
    unittest.main()
