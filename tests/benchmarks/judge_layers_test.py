"""benchmarks/suite/judge_layers.py without a GPU or PyTorch: what it runs, and what it says of results."""

import contextlib
import io
import os
import sys
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "suite"))

import judge_layers
from results import write_results


def row(layer, ours, wrong="", **more):
    return {"layer": layer, "mode": "tf32", "layout": "nchw", **more, "cudnn": {"ms": 1.0, "wrong": ""},
            "convtgen": {"ms": ours, "wrong": wrong}}


def judged(*rows):
    """What is printed of such results, and the exit status."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        path = os.path.join(folder, "results.json")
        write_results(path, {"rows": list(rows)})
        return judge_layers.main(["--results", path]), out.getvalue()


class JudgeTest(unittest.TestCase):
    def test_layers_below_the_bound_of_their_direction_are_counted(self):
        status, out = judged(row("a", 0.5), row("b", 1.1), row("a", 1.1, direction="grad_input"),
                             row("b", 2.0, direction="grad_input"))
        self.assertEqual(status, 0)
        self.assertIn("forward tf32 nchw: 1.35 times cuDNN over 2 layers, 1 below 1.0; slowest b 0.91, a 2.00\n", out)
        self.assertIn("grad_input tf32 nchw: 0.67 times cuDNN over 2 layers, 1 below 0.8; slowest b 0.50, a 0.91\n", out)

    def test_a_wrong_result_fails_and_counts_in_no_mean(self):
        status, out = judged(row("a", 0.5), row("b", 0.1, wrong="3 elements"))
        self.assertEqual(status, 1)
        self.assertIn("2.00 times cuDNN over 1 layers, 0 below 1.0; slowest a 2.00; WRONG: b\n", out)

    def test_both_files_are_measured_in_all_directions(self):
        options = types.SimpleNamespace(mode=None, layout=["nchw"], direction=None, library="lib.so", folder="out")
        made = [(name, os.path.basename(command[1]), path) for name, command, path in judge_layers.commands(options)]
        self.assertEqual(made, [(name, program, os.path.join("out", f"{name}_{kind}.json"))
                                for name in ("judge", "judge_3d")
                                for program, kind in (("compare.py", "forward"), ("compare_gradients.py", "gradients"))])
        for _, command, _ in judge_layers.commands(options):
            self.assertTrue(os.path.exists(command[2]), command[2])
        options.direction = ["grad_weight"]
        ends = [command[-4:-2] for _, command, _ in judge_layers.commands(options)]
        self.assertEqual(ends, [["--direction", "grad_weight"]] * 2)


if __name__ == "__main__":
    unittest.main()
