"""The judgements of tests/search_on_gpu.py and of the benchmarks, of results below the normal numbers."""

import os
import sys

import pytest
import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "search"), os.path.join(ROOT, "benchmarks", "suite")]

import judge
import verify
from draw import Case
from layer import Layer
from pytorch_layer import convolve


def _judged(layer, mode, x, weight):
    case = Case.of(f"conv_transpose2d 8 -> 8; dtype f32; compute {mode} | 1x5x6")
    return judge.Reference(case, layer, {"x": x, "weight": weight})


def _tiny():
    layer = Layer.of("tiny", "conv_transpose2d 8 -> 8; kernel 3x3; stride 2x2; input 1x5x6")
    torch.manual_seed(1)
    return layer, 1e-42 * torch.rand(1, 8, 5, 6), torch.rand(8, 8, 3, 3) - 0.5


@pytest.mark.parametrize("mode", ["f32", "f32x3"])
def test_fp32_results_below_the_normal_numbers_are_right(mode):
    layer, x, weight = _tiny()
    y = torch.nn.functional.conv_transpose2d(x, weight, stride=2)
    reference = _judged(layer, mode, x, weight)
    assert reference.fault("y", y) == ""
    assert "wrong" in reference.fault("y", torch.ones_like(y)) and reference.fault("y", y + 1e-41) != ""
    assert verify.Reference(layer, x, weight, None).check(y, mode)[1] == ""
    assert verify.Reference(layer, x, weight, None).check(y + 1e-41, mode)[1] != ""


def test_tf32_may_lose_operands_below_its_least_number():
    layer, x, weight = _tiny()
    zeros = torch.zeros_like(convolve(layer, x, weight, None))
    assert _judged(layer, "tf32", x, weight).fault("y", zeros) == ""
    assert _judged(layer, "f32", x, weight).fault("y", zeros) != ""
