"""The layers that tests/search_on_gpu.py draws and how it counts them, without a GPU or PyTorch."""

import json
import os
import random
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import goals
import search_on_gpu
from draw import (CELLS, FACTS, GENERAL_TEMPLATES, ON_GPU, ON_HOST, PROPERTIES, TEMPLATES, Case, Cell, Draw,
                  is_bearable)
from planner import templates_of

CASES_OF_A_CELL = 40
OF_PROPERTIES = 3


def drawn():
    draw = Draw(random.Random(1))
    return [(cell, draw.case(cell)) for cell in CELLS for _ in range(CASES_OF_A_CELL)]


def number_of(cell, wanted=""):
    return goals.NUMBERS[str(goals.Goal(cell, wanted))]


def template_for(layers, mode):
    """The first template that is searched with these layers in the mode."""
    return next(name for name, facts in FACTS.items() if facts["layers"] == layers and mode in facts["computes"])


def general(direction):
    """The template that takes every layer."""
    return next(name for name in TEMPLATES[direction] if name in GENERAL_TEMPLATES)


SHIFTED = template_for("shifts", "f16")
F16 = Cell("grad_input", SHIFTED, "f16", "nhwc")
ODD = Case.of("conv_transpose2d 17 -> 32; kernel 2x7; stride 2x3; input 2x32x64; dtype f16; compute f16; layout nhwc; "
              "directions grad_input | 2x32x64")


class DrawTest(unittest.TestCase):
    def test_a_case_is_what_its_line_says(self):
        for cell, case in drawn():
            self.assertEqual(Case.of(str(case)), case)
            self.assertEqual((case.direction(), case.property("compute"), case.property("layout")),
                             (cell.direction, cell.mode, cell.layout))
            layer = case.layer()
            self.assertTrue(is_bearable(layer, ON_GPU), case)
            self.assertEqual((layer.batch, *layer.extents), case.sizes)

    def test_a_case_has_the_wanted_property(self):
        draw = Draw(random.Random(3))
        for cell in CELLS:
            for wanted, holds in PROPERTIES.items():
                for _ in range(OF_PROPERTIES):
                    case = draw.case(cell, wanted)
                    self.assertTrue(holds(case.layer()), f"{cell}: {wanted}: {case}")

    def test_cases_of_the_host_are_small(self):
        draw = Draw(random.Random(4), ON_HOST)
        for cell in CELLS:
            self.assertTrue(is_bearable(draw.case(cell).layer(), ON_HOST))

    def test_a_line_without_sizes_is_told(self):
        with self.assertRaisesRegex(ValueError, "sizes of the call are missing"):
            Case.of("conv_transpose2d 1 -> 1; kernel 2x2")

    def test_rare_properties_occur(self):
        layers = [(case, case.layer()) for _, case in drawn()]
        for name, holds in {
            "output_padding with stride 1": lambda c, l: l.output_padding[1] > 0 and l.stride[1] == 1,
            "padding beyond the reach": lambda c, l: l.padding[0] > l.dilation[0] * (l.kernel[0] - 1),
            "a kernel larger than the image": lambda c, l: l.kernel[0] > l.extents[0],
            "a stride larger than the kernel": lambda c, l: l.stride[1] > l.kernel[1],
            "groups": lambda c, l: l.groups > 1,
            "three dimensions": lambda c, l: len(l.kernel) == 3 and l.stride[0] > 1 and l.dilation[0] > 1,
            "one dimension": lambda c, l: c.text.startswith("conv_transpose1d"),
            "an open width": lambda c, l: c.property("input").endswith("?"),
            "channels-last weights": lambda c, l: c.property("weight_layout") == "channels_last",
            "a chain": lambda c, l: "," in c.property("fuse"),
            "gradients with a bias": lambda c, l: c.direction() == "grad_weight" and l.bias,
        }.items():
            self.assertGreater(sum(holds(*each) for each in layers), 5, name)

    def test_cases_that_failed_once_have_a_reference(self):
        self.assertTrue(search_on_gpu.failed_cases())
        for case in search_on_gpu.failed_cases():
            case.layer()  # raises where PyTorch has no such convolution

    @unittest.skipUnless("CONVTGEN_LIBRARY" in os.environ, "CONVTGEN_LIBRARY names no libconvtgen that this interpreter could load")
    def test_cases_are_legal_layers(self):
        from convtgen_api import Library

        library = Library(os.environ["CONVTGEN_LIBRARY"])
        draw = Draw(random.Random(5))
        forced = [draw.case(cell, wanted) for cell in CELLS for wanted in PROPERTIES]
        for case in [case for _, case in drawn()] + forced + search_on_gpu.failed_cases():
            library.destroy_layer(library.layer(case.text))  # raises if it is invalid

    @unittest.skipUnless("CONVTGEN_TOOL" in os.environ, "CONVTGEN_TOOL names no convtgen")
    def test_the_tool_tells_which_template_serves_a_case(self):
        other = Case.of("conv_transpose2d 8 -> 12; kernel 2x2; input 1x4x4; dtype f64; layout nchw; bias; directions "
                        "grad_weight | 1x4x4")
        forward = Case.of("conv_transpose1d 8 -> 4; kernel 2; input ?x?; dtype f64; layout nchw | 1x1x4")
        self.assertEqual(templates_of(os.environ["CONVTGEN_TOOL"], [ODD, other, forward]),
                         [SHIFTED, general("grad_weight"), general("forward")])


class GoalsTest(unittest.TestCase):
    def setUp(self):
        self.counts = [goals.GOALS[number].layers for number in range(len(goals.GOALS))]
        self.misses = [0] * len(goals.GOALS)

    def aims(self, most=4, may_aim=lambda goal: True):
        return set(goals.aims(self.counts, self.misses, random.Random(2), most, may_aim))

    def test_a_layer_counts_for_each_class_that_it_is_of(self):
        names = {str(goals.GOALS[number]) for number in goals.goals_of(ODD, SHIFTED)}
        self.assertEqual(names, {str(F16), f"{F16}: strided", f"{F16}: odd channels", "all f16", "all grad_input: strided"})

    def test_a_layer_counts_by_the_template_that_serves_it(self):
        other = general("grad_input")
        self.assertIn(number_of(Cell("grad_input", other, "f16", "nhwc")), goals.goals_of(ODD, other))
        self.assertEqual(goals.goals_of(ODD, ""), [])

    def test_the_aim_is_what_has_the_fewest_layers_of_those_wanted(self):
        few = {number_of(F16), number_of(F16, "odd width"), number_of(CELLS[0], "strided"), len(goals.GOALS) - 1}
        for number in few:
            self.counts[number] = goals.GOALS[number].layers // 2
        self.assertEqual(self.aims(), few)

    def test_the_aim_goes_on_when_all_are_reached(self):
        self.assertEqual(len(self.aims()), 4)

    def test_what_the_planner_does_not_serve_is_given_up(self):
        given_up = number_of(F16, "grouped")
        self.counts[given_up], self.misses[given_up] = 0, goals.PATIENCE
        self.assertNotIn(given_up, self.aims(len(goals.GOALS)))
        lines = list(goals.table(self.counts, self.misses))
        of_direction = next(number for number, line in enumerate(lines) if line.startswith("grad_input "))
        line = next(line for line in lines[of_direction:] if line.split()[:3] == [SHIFTED, "f16", "nhwc"])
        self.assertEqual(line.split()[3:], ["40", "40", "-", "40", "40"])
        classes = len(CELLS) * len(goals.OF_A_CELL)
        self.assertIn(f"{classes} classes: {classes - 1} have 40 layers or more; the planner serves 1 by no drawn", list(goals.summary(self.counts, self.misses))[-1])

    def test_the_aim_is_of_the_wanted_templates(self):
        wanted = template_for("unit_groups", "f16")
        aimed = self.aims(may_aim=lambda goal: goal.cell is not None and goal.cell.template == wanted)
        self.assertEqual({goals.GOALS[number].cell.template for number in aimed}, {wanted})

    def test_cells_for_goals_across_cells_are_of_them(self):
        chance = random.Random(6)
        for _ in range(50):
            self.assertEqual(goals.cell_for(goals.GOALS[-2], chance).mode, "f16")
            self.assertEqual(goals.cell_for(goals.GOALS[-1], chance).direction, "grad_input")

    def test_drawn_cases_are_those_that_the_planner_serves_as_wanted(self):
        options = types.SimpleNamespace(device="cuda", template=None, tool="", arch="", volumes=False)
        self.counts = [0] * len(goals.GOALS)
        kept, search_on_gpu.templates_of = search_on_gpu.templates_of, lambda tool, cases: [
            general("forward") if case.direction() == "forward" else "none" for case in cases]
        try:
            cases = search_on_gpu.drawn_cases(Draw(random.Random(7)), random.Random(7), self.counts, self.misses, options)
        finally:
            search_on_gpu.templates_of = kept
        self.assertTrue(all(case.direction() == "forward" for case in cases))
        self.assertEqual(sum(self.misses) % search_on_gpu._TRIES, 0)
        self.assertGreater(sum(self.misses), 0)

    def test_as_an_older_chip_all_that_is_drawn_runs(self):
        options = types.SimpleNamespace(device="cuda", template=None, arch="sm_80", volumes=False)  # without the tool
        self.counts = [0] * len(goals.GOALS)
        drawn_for = [search_on_gpu.drawn_cases(Draw(random.Random(7)), random.Random(7), self.counts, self.misses, options)
                     for _ in range(5)]
        self.assertEqual({len(cases) for cases in drawn_for}, {search_on_gpu._AIMS})
        self.assertFalse(any(self.misses))

    def test_volumes_alone(self):
        options = types.SimpleNamespace(device="cuda", template=None, arch="sm_80", volumes=True)
        self.counts = [0] * len(goals.GOALS)
        draw = Draw(random.Random(7), volumes=1)
        for _ in range(5):
            cases = search_on_gpu.drawn_cases(draw, random.Random(7), self.counts, self.misses, options)
            self.assertEqual({len(case.sizes) for case in cases}, {4})

    def test_kernels_that_are_their_strides_stay_so_in_volumes(self):
        cells = [cell for cell in goals.CELLS if FACTS[cell.template]["layers"] == "patches" and FACTS[cell.template]["depth"]]
        draw = Draw(random.Random(8), volumes=1)
        for case in [draw.case(cell) for cell in cells for _ in range(10)]:
            layer = case.layer()
            self.assertEqual((len(layer.kernel), layer.kernel), (3, layer.stride))
            self.assertFalse(any(layer.padding))


class SearchTest(unittest.TestCase):
    def options(self, *words):
        return search_on_gpu.options_of(["--library", "l", "--tool", "t", *words])

    def test_an_earlier_search_is_added(self):
        with tempfile.TemporaryDirectory() as folder:
            first = search_on_gpu.Search(self.options("--seed", "1"), [])
            first.counts[3], first.misses[4], first.layers[""] = 7, 5, 9
            path = os.path.join(folder, "first.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(first.as_json(), file)
            options = self.options("--seed", "2", "--more", path)
            second = search_on_gpu.Search(options, search_on_gpu.read_earlier(options))
            second.counts[3] += 1
            second.layers["DIR"] += 2
            self.assertEqual((second.counts[3], second.misses[4]), (8, 5))
            self.assertEqual(second.as_json()["layers"], 11)
            self.assertEqual(second.as_json()["seeds"], [2, 1])
            with self.assertRaisesRegex(SystemExit, "1 is a seed of"):
                search_on_gpu.read_earlier(self.options("--seed", "1", "--more", path))

    def test_workers_take_turns_among_gpus_and_nvrtcs(self):
        options = self.options("--jobs", "4", "--device", "cuda:0,cuda:1", "--nvrtc", "a", "--nvrtc", "b")
        self.assertEqual([search_on_gpu.with_one(options, worker) for worker in range(5)],
                         [("cuda:0", "a"), ("cuda:0", "b"), ("cuda:1", "a"), ("cuda:1", "b"), ("cuda:0", "a")])


if __name__ == "__main__":
    unittest.main()
