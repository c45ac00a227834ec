"""The layers that tests/search_on_gpu.py draws, without a GPU or PyTorch."""

import os
import random
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import search_on_gpu
from draw import LAYOUTS, Case, Draw, is_bearable

CASES_OF_A_CELL = 40


def drawn():
    draw = Draw(random.Random(1))
    return [(template, mode, layout, draw.case(template, mode, layout)) for template, mode in search_on_gpu.CELLS
            for layout in LAYOUTS for _ in range(CASES_OF_A_CELL)]


class DrawTest(unittest.TestCase):
    def test_a_case_is_what_its_line_says(self):
        for _, mode, layout, case in drawn():
            self.assertEqual(Case.of(str(case)), case)
            self.assertEqual((case.property("compute"), case.property("layout")), (mode, layout))
            layer = case.layer()
            self.assertTrue(is_bearable(layer), case)
            self.assertEqual((layer.batch, layer.height, layer.width), case.sizes)

    def test_a_line_without_sizes_is_told(self):
        with self.assertRaisesRegex(ValueError, "sizes of the call are missing"):
            Case.of("conv_transpose2d 1 -> 1; kernel 2x2")

    def test_rare_properties_occur(self):
        layers = [(case, case.layer()) for _, _, _, case in drawn()]
        for name, holds in {
            "output_padding with stride 1": lambda c, l: l.output_padding[1] > 0 and l.stride[1] == 1,
            "padding beyond the reach": lambda c, l: l.padding[0] > l.dilation[0] * (l.kernel[0] - 1),
            "a kernel larger than the image": lambda c, l: l.kernel[0] > l.height,
            "a stride larger than the kernel": lambda c, l: l.stride[1] > l.kernel[1],
            "groups": lambda c, l: l.groups > 1,
            "one dimension": lambda c, l: c.text.startswith("conv_transpose1d"),
            "an open width": lambda c, l: c.property("input").endswith("?"),
            "channels-last weights": lambda c, l: c.property("weight_layout") == "channels_last",
            "a chain": lambda c, l: "," in c.property("fuse"),
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
        for case in [case for _, _, _, case in drawn()] + search_on_gpu.failed_cases():
            library.destroy_layer(library.layer(case.text))  # raises where it is none

    def test_the_aim_is_a_cell_with_few_cases(self):
        counts = [9] * len(search_on_gpu.CELLS)
        counts[3] = counts[5] = counts[7] = counts[8] = 1
        chance = random.Random(2)
        aims = {search_on_gpu.aim(counts, chance, None) for _ in range(100)}
        self.assertEqual(aims, {search_on_gpu.CELLS[i] for i in (3, 5, 7, 8)})

    def test_the_aim_is_of_the_wanted_templates(self):
        counts = [0] * len(search_on_gpu.CELLS)
        chance = random.Random(2)
        aims = {search_on_gpu.aim(counts, chance, ["mma_rows", "direct"])[0] for _ in range(100)}
        self.assertEqual(aims, {"mma_rows", "direct"})


if __name__ == "__main__":
    unittest.main()
