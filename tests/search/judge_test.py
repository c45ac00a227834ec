"""What tests/search_on_gpu.py takes for right and for wrong, with PyTorch but without a GPU: a library that is not there
gives the results."""

import ctypes
import os
import random
import sys
import unittest

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import search_on_gpu  # which adds the benchmark's modules to the path
from draw import CELLS, ON_HOST, Case, Draw
from pytorch_layer import convolve
from run_case import _TORCH, _has_second_axis_last, _in_memory, _inputs, _shape, _tensor_channels, run_case

_BIASED = "conv_transpose2d 5 -> 4; kernel 3x2; stride 2x1; padding 1x0; input 2x6x7; bias; dtype {mode}; compute {mode}; layout nhwc"
_GRADIENTS = ("forward", "grad_input", "grad_weight", "grad_bias")


def case_of(direction, mode="f32"):
    return Case.of(f"{_BIASED.format(mode=mode)}; directions {direction} | 2x6x7")


class FakeLibrary:
    """Gives results that are right, by autograd of PyTorch, until `change` changes the bytes of a call."""

    def __init__(self, change=lambda call, roles, results: None):
        self._change, self._calls = change, 0

    def layer(self, text):
        self._text = text
        return self

    def canonical(self, handle):
        return self._text

    def prepare(self, device, handle, direction):
        return direction

    def template(self, kernel):
        return "fake"

    def workspaces(self, kernel, sizes):
        return 0, 0

    def destroy_kernel(self, kernel):
        pass

    def destroy_layer(self, handle):
        pass

    def launch_roles(self, kernel, roles, workspace, workspace_bytes, stream, sizes):
        case = Case(self._text, sizes)
        layer = case.layer()
        random_numbers = torch.Generator()
        random_numbers.manual_seed(7)
        inputs = _inputs(case, layer, "cpu", random_numbers)
        results = {}
        for role, values in by_autograd(case, layer, inputs).items():
            values = values.to(_TORCH[case.property("dtype")])
            results[role] = _in_memory(values, _has_second_axis_last(case, role)).contiguous()
        self._calls += 1
        self._change(self._calls, roles, results)
        for role, values in results.items():
            # Of a slice the channels of each pixel or image lie together, and the next ones at the tensor's distance.
            runs, distance = 1, 1
            if channels := _tensor_channels(case, role):
                own = _shape(layer, role)[1]
                runs = layer.batch if case.property("layout") == "nchw" else values.numel() // own
                distance = channels / own
            step = values.numel() * values.itemsize // max(1, runs)
            for i in range(runs):
                ctypes.memmove(roles[role] + round(i * step * distance), values.data_ptr() + i * step, step)


def by_autograd(case, layer, inputs):
    """Results in fp64 by PyTorch's autograd, apart from the reference's way."""
    of = {role: values.double() for role, values in inputs.items()}
    x = of.get("x", torch.zeros(layer.x_shape, dtype=torch.float64))
    weight = of.get("weight", torch.zeros(layer.weight_shape, dtype=torch.float64))
    bias = of.get("bias", torch.zeros(layer.out_channels, dtype=torch.float64)) if layer.bias else None
    leaves = {"grad_x": x, "grad_weight": weight, "grad_bias": bias}
    wanted = {"grad_input": ["grad_x"], "grad_weight": ["grad_weight", "grad_bias"], "grad_bias": ["grad_bias"]}
    roles = [role for role in wanted.get(case.direction(), []) if leaves[role] is not None]
    for role in roles:
        leaves[role].requires_grad_()
    y = convolve(layer, x, weight, bias)
    if case.direction() == "forward":
        return {"y": y.detach()}
    return dict(zip(roles, torch.autograd.grad(y, [leaves[role] for role in roles], of["grad_y"])))


def fault_of(case, change=lambda call, roles, results: None):
    return run_case(FakeLibrary(change), None, "cpu", case, 7)[2]


class JudgeTest(unittest.TestCase):
    def test_autograds_results_are_right(self):
        draw = Draw(random.Random(1), ON_HOST)
        for cell in CELLS:
            case = draw.case(cell)
            if cell.template in search_on_gpu.GENERAL_TEMPLATES and "fuse" not in case.text:
                self.assertEqual(fault_of(case), "", case)

    def test_an_element_that_is_off_is_wrong(self):
        for direction in _GRADIENTS:
            for mode, off in (("f32", 1e-4), ("f16", 0.02), ("bf16", 0.1)):
                def change(call, roles, results):
                    for values in results.values():
                        values[-1] += off * values.abs().max()

                self.assertIn("are wrong", fault_of(case_of(direction, mode), change), direction)

    def test_a_gradient_of_the_bias_is_judged_with_that_of_the_weights(self):
        def change(call, roles, results):
            results["grad_bias"][0] += 1

        self.assertIn("elements of grad_bias are wrong", fault_of(case_of("grad_weight"), change))

    def test_a_small_error_of_all_elements_is_wrong_by_norm(self):
        def change(call, roles, results):
            for values in results.values():
                values *= 1 + 1e-5

        for direction in _GRADIENTS:
            self.assertNotEqual(fault_of(case_of(direction), change), "", direction)

    def test_an_element_that_was_not_written_is_wrong(self):
        def change(call, roles, results):
            for role, values in results.items():
                results[role] = values[:-1]

        for direction in _GRADIENTS:
            self.assertIn("not finite", fault_of(case_of(direction), change), direction)

    def test_what_is_beside_an_array_is_looked_at(self):
        def change(call, roles, results):
            for role, values in results.items():
                results[role] = torch.cat([values, torch.zeros(1, dtype=values.dtype)])

        for direction in _GRADIENTS:
            self.assertIn("memory next to", fault_of(case_of(direction), change), direction)

    def test_an_input_that_is_written_is_told(self):
        def change(call, roles, results):
            if call == 2:
                ctypes.memset(roles["grad_y"], 0, 4)

        self.assertEqual(fault_of(case_of("grad_input"), change), "grad_y was written")

    def test_other_bits_in_a_second_call_are_told(self):
        def change(call, roles, results):
            for values in results.values():
                values[0] *= 1 + 1e-7 * call

        for direction in _GRADIENTS:
            self.assertEqual(fault_of(case_of(direction), change), "a second run gives other bits", direction)

    @unittest.skipUnless("CONVTGEN_LIBRARY" in os.environ, "CONVTGEN_LIBRARY names no libconvtgen that this interpreter could load")
    def test_the_host_devices_results_are_right(self):
        from convtgen_api import Library

        library = Library(os.environ["CONVTGEN_LIBRARY"])
        device = library.device("host")
        for direction in _GRADIENTS:
            case, template, fault = run_case(library, device, "cpu", case_of(direction), 3)
            self.assertEqual((fault, template.startswith(("direct", "thin", "grad_bias"))), ("", True), case)


if __name__ == "__main__":
    unittest.main()
