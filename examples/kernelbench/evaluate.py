#!/usr/bin/env python3
"""Runs KernelBench's own evaluation on the files that make.py wrote, on a GPU of sm_90a.

    evaluate.py KERNELBENCH SOLUTIONS [--jobs N] [--json FILE] [--commit WORD] [--builds FOLDER]

KERNELBENCH is a checkout of https://github.com/ScalingIntelligence/KernelBench, SOLUTIONS the folder of the files. Each
passes KernelBench's static checks, is compiled, and is compared with the problem's Model in 5 trials with fresh inputs,
N files at a time. Then each is timed alone on the GPU, next to its Model: the mean of 100 runs after 3, the L2 cache
flushed before each. All of this is done by functions of KernelBench with its defaults for fp32; this program calls them
and prints the table. It exits with 1 if a file fails.

Needs PyTorch, nvcc, ninja, and pydantic for KernelBench.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import io
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys
import unittest.mock

TRIALS = 5  # of correctness, and 100 runs: defaults of KernelBench's scripts
RUNS = 100
# KernelBench's package imports these, its evaluation does not use them: they need not be installed.
NOT_USED = ("dotenv", "litellm", "openai", "requests", "tqdm")


def import_kernelbench(checkout):
    """The package, from a checkout that is not installed."""
    for name in NOT_USED:
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            sys.modules[name] = unittest.mock.MagicMock()
    sys.path.insert(0, str(checkout / "src"))
    import kernelbench.dataset
    import kernelbench.eval
    import kernelbench.kernel_static_checker

    return kernelbench


def evaluate(checkout, kernelbench, entry, builds, trials, timed):
    """What eval_kernel_against_ref() found, as a dict that JSON can hold."""
    import torch

    dataset = kernelbench.dataset.construct_kernelbench_dataset(level=entry["level"], source="local",
                                                                base_path=str(checkout / "KernelBench"))
    problem = dataset.get_problem_by_id(entry["problem"])
    text = pathlib.Path(entry["file"]).read_text(encoding="utf-8")
    try:
        result = kernelbench.eval.eval_kernel_against_ref(
            problem.code, text, num_correct_trials=trials, num_perf_trials=RUNS, measure_performance=timed,
            build_dir=builds, device=torch.device("cuda:0"))
    except Exception as error:  # as KernelBench's scripts do: the other files go on
        return {"compiled": False, "correct": False, "metadata": {"error": repr(error)}}
    return {"compiled": result.compiled, "correct": result.correctness,
            "ms": result.runtime, "reference_ms": result.ref_runtime,
            "stats": result.runtime_stats, "reference_stats": result.ref_runtime_stats,
            "metadata": {name: str(value) for name, value in result.metadata.items()}}


def check(checkout, entry, builds):
    """Static checks, the compilation, and the trials."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        kernelbench = import_kernelbench(checkout)
        text = pathlib.Path(entry["file"]).read_text(encoding="utf-8")
        valid, errors, warnings = kernelbench.kernel_static_checker.validate_kernel_static(text, backend="cuda",
                                                                                          precision="fp32")
        found = evaluate(checkout, kernelbench, entry, builds, TRIALS, False)
    found |= {"static": errors + warnings, "passed": valid and found["correct"]}
    return entry | {"check": found | ({} if found["passed"] else {"printed": printed.getvalue()})}


def measure(checkout, entry, builds):
    """The times, after one more trial: eval_kernel_against_ref() times what is correct."""
    with contextlib.redirect_stdout(io.StringIO()):
        return entry | {"time": evaluate(checkout, import_kernelbench(checkout), entry, builds, 1, True)}


def versions():
    """What this runs on; in a process of its own, which gives the GPU's memory back."""
    program = ("import torch; print(torch.cuda.get_device_name(), torch.__version__, torch.backends.cudnn.version(), "
               "sep='\\n')")
    gpu, pytorch, cudnn = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                         check=True).stdout.split("\n")[:3]
    return {"gpu": gpu, "pytorch": pytorch, "cudnn": int(cudnn)}


def entries(folder):
    """The files, by level and number."""
    found = []
    for path in folder.glob("level_*_problem_*_sample_0_kernel.py"):
        level, number = map(int, re.match(r"level_(\d+)_problem_(\d+)_", path.name).groups())
        layer = re.search(r"^#   (conv_transpose.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1]
        found.append({"level": level, "problem": number, "file": str(path), "layer": layer})
    return sorted(found, key=lambda entry: (entry["level"], entry["problem"]))


def row(entry):
    """The entry's line of the table."""
    found, times = entry["check"], entry.get("time", {})
    ours, reference = times.get("ms", -1), times.get("reference_ms", -1)
    numbers = f"{'-':>12}  {'-':>8}  {'-':>6}"
    if ours > 0:
        numbers = f"{reference:12.3g}  {ours:8.3g}  {reference / ours:6.2f}"
    trials = found["metadata"].get("correctness_trials", "").strip("()").replace(" ", "")
    name = f"{entry['level']}/{entry['problem']}"
    layer = entry["layer"].split("; dtype")[0]
    return f"{name:8} {numbers}  {'yes' if found['passed'] else 'NO':6}  {trials:6}  {layer}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("solutions", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files that are checked at the same time")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--commit", default="unknown", metavar="WORD", help="of convtgen, for the results")
    parser.add_argument("--builds", default="builds", metavar="FOLDER", help="for PyTorch's extensions")
    options = parser.parse_args()
    checkout, builds = options.kernelbench.resolve(), str(pathlib.Path(options.builds).resolve())
    rows = entries(options.solutions)
    if not rows:
        parser.error(f"{options.solutions} has no file of make.py")
    about = versions() | {"commit": options.commit}
    print("; ".join(f"{name} {value}" for name, value in about.items()), flush=True)

    def save():
        if options.json:
            options.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n", encoding="utf-8")

    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=spawn) as pool:
        rows = list(pool.map(check, *zip(*((checkout, entry, builds) for entry in rows))))
    save()
    print(f"{'problem':8} {'reference ms':>12}  {'ours ms':>8}  {'ratio':>6}  passed  trials  layer", flush=True)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        for index, entry in enumerate(rows):
            if entry["check"]["passed"]:
                rows[index] = pool.submit(measure, checkout, entry, builds).result()
                rows[index]["check"]["passed"] = rows[index]["time"]["correct"]
                save()
            print(row(rows[index]), flush=True)
    failed = [entry for entry in rows if not entry["check"]["passed"]]
    for entry in rows:
        if "excessive_speedup" in entry.get("time", {}).get("metadata", {}):
            print(f"{entry['level']}/{entry['problem']}: KernelBench asks for a second look: the ratio is above 10")
    for entry in failed:
        print(f"\n{entry['file']}: {json.dumps(entry['check'], indent=1)}")
    print(f"{len(rows) - len(failed)} of {len(rows)} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
