"""examples/kernelbench without a GPU, PyTorch and KernelBench: the files that make.py writes follow KernelBench's rules
and compile, and evaluate.py prints what an evaluation found. CONVTGEN_BINARY is the program convtgen."""

import ast
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "kernelbench"
sys.path.insert(0, str(EXAMPLE))

import evaluate
import make

CONVTGEN = os.environ["CONVTGEN_BINARY"]
NVCC = next((path for path in (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc")
             if path and os.access(path, os.X_OK)), None)
# What KernelBench's static checks forbid, in text whose # and // comments are removed.
FORBIDDEN = (r"\btry\s*:", r"\bexcept\s*:", r"\bexcept\s+\w+", r"\bpass\b", r"threading|multiprocessing",
             r"concurrent\.futures|PoolExecutor", r"_make_subclass", r"class\s+\w+.*\((torch\.)?Tensor\)",
             r"torch\.Tensor\.__new__",
             r"(Event|synchronize|perf_counter|record|elapsed_time|time\.time)\s*=[^=]", r"torch\.cuda\.[sS]tream",
             r"wait_stream|record_stream", r"torch\.nn\.(?!Module)", r"functional", r"__float2half|\.half\s*\(|float16")


def without_comments(text):
    """As KernelBench removes them: what follows a # or a // of any language."""
    return re.sub(r"(#|//)[^\n]*", "", text)


def source(text, name):
    """One of the file's two sources."""
    return re.search(rf'^{name} = r"""(.*?)"""', text, re.MULTILINE | re.DOTALL)[1]


def both(value):
    """A value of one axis or of several, as the canonical form has it."""
    return [value] if isinstance(value, int) else list(value)


class MakeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", EXAMPLE / "make.py", "--convtgen", CONVTGEN, "-o", folder],
                           check=True, stdout=subprocess.DEVNULL)
            cls.files = {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(folder).iterdir()}
        cls.texts = {problem.name: cls.files.get(problem.file) for problem in make.PROBLEMS}

    def test_there_is_a_file_for_each_problem(self):
        self.assertEqual(list(self.texts), [f"1/{number}" for number in (57, 58, 61, 64, 65, 68, 69, 70, 71, 72, 73, 74,
                                                                   75, 77, 78, 79, 81)]
                         + [f"2/{number}" for number in (2, 5, 13, 16, 20, 26, 61, 93, 100)])
        self.assertEqual(sorted(self.files), sorted(problem.file for problem in make.PROBLEMS))

    def test_files_follow_the_rules(self):
        for name, text in self.texts.items():
            code = without_comments(text)
            self.assertIn("__global__", code, name)
            self.assertIn("load_inline", code, name)
            for pattern in FORBIDDEN:
                self.assertIsNone(re.search(pattern, code), f"{name}: {pattern}")

    def test_files_are_python_that_imports_pytorch_alone(self):
        for name, text in self.texts.items():
            tree = ast.parse(text)
            imported = [node.module if isinstance(node, ast.ImportFrom) else alias.name for node in ast.walk(tree)
                        if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
            self.assertLessEqual(set(imported), {"torch", "torch.nn", "torch.utils.cpp_extension"}, name)
            self.assertEqual([node.name for node in tree.body if isinstance(node, ast.ClassDef)], ["ModelNew"], name)

    def test_sources_include_nothing_of_the_project(self):
        for name, text in self.texts.items():
            self.assertNotIn('#include "', text, name)
            self.assertNotIn("torch", source(text, "CUDA_SOURCE"), name)
            self.assertNotIn("@", source(text, "CPP_SOURCE"), name)

    def test_layer_and_module_are_the_same(self):
        for problem in make.PROBLEMS:
            layer = re.search(r"^#   (conv_transpose.*)$", self.texts[problem.name], re.MULTILINE)[1]
            self.assertIn(f"; compute {problem.compute};", layer)
            said = dict(re.findall(r"(\w+) ([^;]+)", layer))
            operator, axes = layer.split()[0], problem.axes
            module = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}
            module |= problem.arguments | problem.defaults
            self.assertEqual(said[operator], f"{module['in_channels']} -> {module['out_channels']}", problem.name)
            self.assertEqual(int(said.get("groups", 1)), module["groups"], problem.name)
            self.assertEqual("; bias;" in layer, problem.bias, problem.name)
            for word, name, usual in (("kernel", "kernel_size", None), ("stride", "stride", 1),
                                      ("padding", "padding", 0), ("output_padding", "output_padding", 0),
                                      ("dilation", "dilation", 1)):
                value = [int(number) for number in said.get(word, str(usual)).split("x")]
                length = max(len(value), axes)
                self.assertEqual(value * (length // len(value)),
                                 both(module[name]) * (length // len(both(module[name]))), f"{problem.name}: {word}")

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_sources_compile(self):
        for name in ("1/75", "2/93"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "source.cu"
                path.write_text(source(self.texts[name], "CUDA_SOURCE"), encoding="utf-8")
                command = [NVCC, "-gencode", "arch=compute_90a,code=sm_90a", "-std=c++17", "-c", path, "-o",
                           path.with_suffix(".o")]
                ended = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual((ended.returncode, ended.stdout + ended.stderr), (0, ""), name)

    def test_an_unknown_problem_is_an_error(self):
        ended = subprocess.run([sys.executable, "-B", EXAMPLE / "make.py", "1/59"], capture_output=True, text=True,
                               check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("unknown problem 1/59; there are 1/57, 1/58", ended.stderr)


# Stand-ins for PyTorch and KernelBench, which find problem 1/58 wrong and all others right.
STAND_INS = {
    "torch.py": """
from types import SimpleNamespace
__version__ = "2.0"
device = str
cuda = SimpleNamespace(get_device_name=lambda: "a GPU")
backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 90000))
""",
    "kernelbench/__init__.py": "import openai",
    "kernelbench/kernel_static_checker.py": """
def validate_kernel_static(code, backend, precision):
    return True, [], []
""",
    "kernelbench/dataset.py": """
from types import SimpleNamespace
def construct_kernelbench_dataset(level, source, base_path):
    return SimpleNamespace(get_problem_by_id=lambda number: SimpleNamespace(code=f"{level}/{number}"))
""",
    "kernelbench/eval.py": """
from types import SimpleNamespace
def eval_kernel_against_ref(problem, text, num_correct_trials, num_perf_trials, measure_performance, build_dir, device):
    correct = problem != "1/58"
    if problem == "1/59":
        raise RuntimeError("no such thing")
    assert num_perf_trials == 100 and num_correct_trials == (1 if measure_performance else 5)
    times = (1.5, 3.75) if measure_performance else (-1, -1)
    return SimpleNamespace(compiled=True, correctness=correct, runtime=times[0], ref_runtime=times[1], runtime_stats={},
                           ref_runtime_stats={},
                           metadata={"correctness_trials": "(5 / 5)" if correct else "(3 / 5)"}
                           | ({"excessive_speedup": True} if measure_performance and problem == "2/16" else {}))
""",
}


class EvaluateTest(unittest.TestCase):
    def test_the_table_has_what_was_found(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for name, text in STAND_INS.items():
                path = folder / "checkout" / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            for name in ("1_problem_58", "1_problem_59", "2_problem_16", "1_problem_57"):
                path = folder / f"level_{name}_sample_0_kernel.py"
                path.write_text("# A solution\n#   conv_transpose2d 8 -> 4; kernel 3; dtype f32\n", encoding="utf-8")
            ended = subprocess.run(
                [sys.executable, "-B", EXAMPLE / "evaluate.py", folder / "checkout", folder, "--jobs", "2", "--json",
                 folder / "found.json", "--commit", "1234567"], capture_output=True, text=True, check=False,
                env=os.environ | {"PYTHONPATH": str(folder / "checkout" / "src")})
            self.assertEqual(ended.returncode, 1, ended.stderr)
            lines = ended.stdout.splitlines()
            self.assertEqual(lines[0], "gpu a GPU; pytorch 2.0; cudnn 90000; commit 1234567")
            self.assertEqual([line.split()[:6] for line in lines[2:6]],
                             [["1/57", "3.75", "1.5", "2.50", "yes", "5/5"], ["1/58", "-", "-", "-", "NO", "3/5"],
                              ["1/59", "-", "-", "-", "NO", "conv_transpose2d"],
                              ["2/16", "3.75", "1.5", "2.50", "yes", "5/5"]])
            self.assertIn("no such thing", ended.stdout)
            self.assertEqual([line for line in lines if "second look" in line],
                             ["2/16: KernelBench asks for a second look: the ratio is above 10"])
            self.assertEqual(lines[-1], "2 of 4 passed")
            found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
            self.assertEqual([entry.get("time", {}).get("ms") for entry in found["rows"]], [1.5, None, None, 1.5])

    def test_a_folder_without_files_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as printed:
            sys.argv = ["evaluate.py", folder, folder]
            with self.assertRaises(SystemExit):
                evaluate.main()
        self.assertIn("has no file of make.py", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
