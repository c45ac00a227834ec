"""The layers that benchmarks/suite/draw_layers.py draws, and the files of them: draw_layers_test.py CONVTGEN"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCHMARKS = os.path.join(ROOT, "benchmarks")
sys.path.insert(0, os.path.join(BENCHMARKS, "suite"))

import draw_layers
from architectures import FAMILIES
from architectures_3d import FAMILIES_3D
from layer import Layer, layers_in

CONVTGEN = None
# Fixed before the fit: another seed would be a choice by what it gives.
SEEDS = {"fit": (1, 240), "judge_1": (2, 60), "judge": (3, 60), "judge_3d": (3, 30)}


def path_of(name):
    return os.path.join(BENCHMARKS, f"{name}.convt")


def text_of(name):
    with open(path_of(name), encoding="utf-8") as file:
        return file.read()


def shapes_of(name):
    return {draw_layers.shape_of(layer) for layer in layers_in(text_of(name))}


class CommittedTest(unittest.TestCase):
    def test_files_are_what_the_command_in_them_writes(self):
        for name, seed_and_count in SEEDS.items():
            text = text_of(name)
            head = " ".join(line.strip("# ") for line in text.split("\n\n")[0].splitlines()[1:])
            program, *words = shlex.split(head)
            self.assertEqual(program, "benchmarks/suite/draw_layers.py")
            self.assertEqual(tuple(int(words[words.index(option) + 1]) for option in ("--seed", "--count")), seed_and_count)
            ended = subprocess.run([sys.executable, "-B", program, *words], cwd=ROOT, capture_output=True, check=True)
            self.assertEqual(ended.stdout, text.encode(), name)
            self.assertEqual(len(layers_in(text)), seed_and_count[1])

    def test_no_layer_is_in_two_files(self):
        names = ["layers", "outside", "layers_3d", *SEEDS]
        for i, one in enumerate(names):
            for other in names[:i]:
                self.assertFalse(shapes_of(one) & shapes_of(other), (one, other))

    def test_each_family_is_in_each(self):
        for name in SEEDS:
            families = {re.sub(r"_\d+$", "", layer.name) for layer in layers_in(text_of(name))}
            self.assertEqual(families, {*(FAMILIES_3D if name == "judge_3d" else FAMILIES), "random"}, name)

    def test_convtgen_takes_them_as_they_are_laid_out(self):
        for verb in (["check"], ["fmt", "--check"]):
            ended = subprocess.run([CONVTGEN, *verb, *map(path_of, SEEDS)], capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


class DrawTest(unittest.TestCase):
    def test_other_seeds_give_legal_layers_too(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{seed}.convt") for seed in range(10, 14)]
            for seed, path in enumerate(paths, 10):
                words = ["--seed", str(seed), "--count", "120", "--output", path, *(["--volumes"] if seed == 13 else [])]
                self.assertEqual(draw_layers.main(words), 0)
            for verb in (["check"], ["fmt", "--check"]):
                ended = subprocess.run([CONVTGEN, *verb, *paths], capture_output=True, text=True, check=False)
                self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_what_is_written_is_what_was_drawn(self):
        layers = draw_layers.drawn(5, 200) + draw_layers.drawn(5, 100, of_volumes=True)
        again = layers_in("\n".join(draw_layers.text_of(title, of) for title, of in layers))
        self.assertEqual(again, [of.layer for _, of in layers])
        self.assertTrue(all(draw_layers.is_bearable(layer) for layer in again))
        self.assertEqual(len({(draw_layers.shape_of(layer), layer.batch) for layer in again}), len(again))

    def test_excluded_layers_are_not_drawn_whatever_their_batch_and_bias(self):
        first = [of.layer for _, of in draw_layers.drawn(5, 100)]
        for layer in first:
            layer.batch, layer.bias = 999, not layer.bias
        again = [of.layer for _, of in draw_layers.drawn(5, 100, first)]
        self.assertFalse({*map(draw_layers.shape_of, first)} & {*map(draw_layers.shape_of, again)})

    def test_layers_at_random_have_all_properties(self):
        layers = [of.layer for title, of in draw_layers.drawn(6, 1200) if title == "any legal layer"]
        for name, holds in {
            "dilation": lambda l: max(l.dilation) > 1,
            "groups": lambda l: l.groups > 1,
            "output_padding": lambda l: max(l.output_padding) > 0,
            "a stride beyond the kernel": lambda l: l.stride[0] > l.kernel[0],
            "one dimension": lambda l: l.height == l.kernel[0] == 1,
            "different axes": lambda l: l.kernel[0] != l.kernel[1] and l.stride[0] != l.stride[1],
            "odd channels": lambda l: l.in_channels % 8 and l.out_channels % 8,
            "one image": lambda l: l.batch == 1,
        }.items():
            self.assertGreater(sum(bool(holds(layer)) for layer in layers), 9, name)
        for values, all_of in (({k for l in layers for k in l.kernel}, range(1, 8)),
                               ({s for l in layers for s in l.stride}, range(1, 5))):
            self.assertEqual(values, set(all_of))

    def test_limits(self):
        fine = dict(name="", in_channels=64, out_channels=64, kernel=[3, 3], stride=[2, 2], padding=[1, 1], output_padding=[1, 1],
                    dilation=[1, 1], groups=1, bias=False, batch=8, height=64, width=64)
        self.assertTrue(draw_layers.is_bearable(Layer(**fine)))
        for wrong in ({"batch": 1, "height": 4}, {"batch": 4000}, {"output_padding": [2, 0]}, {"groups": 3},
                      {"kernel": [65, 64]}, {"height": 1, "padding": [2, 1]},
                      {"in_channels": 2048, "out_channels": 2048, "batch": 64}):
            self.assertFalse(draw_layers.is_bearable(Layer(**fine | wrong)), wrong)


class ParseTest(unittest.TestCase):
    def test_a_file_is_read_as_the_language_has_it(self):
        text = "# layer no { }\nlayer a {\n  conv_transpose2d 2 -> 4 # four\n  kernel  3; stride 2x1\n\n  input 1x5x6\n}\n" \
               "layer b { conv_transpose1d 3 -> 3; groups 3; kernel 4; padding 1; input 2x7; bias }"
        a, b = layers_in(text)
        self.assertEqual((a.name, a.kernel, a.stride, a.height, a.bias), ("a", [3, 3], [2, 1], 5, False))
        self.assertEqual((b.name, b.kernel, b.padding, b.groups, b.width, b.bias), ("b", [1, 4], [0, 1], 3, 7, True))

    def test_defaults_are_not_passed_over(self):
        with self.assertRaisesRegex(ValueError, "defaults"):
            layers_in("defaults { bias }\nlayer a { conv_transpose2d 2 -> 4; kernel 3; input 1x5x6 }")


if __name__ == "__main__":
    CONVTGEN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
