"""Judges the planner by layers that no cost model was fitted to: judge.convt and judge_3d.convt, in all directions.

    judge_layers.py [--mode tf32]... [--layout nchw]... [--direction forward]... [--library libconvtgen.so] [--folder RESULTS]
    judge_layers.py --results RESULTS.json [--results RESULTS.json]...

Runs compare.py and compare_gradients.py on both files, which needs a GPU and PyTorch. The results of each file and kind
of direction go to the folder. Then, or of earlier results, it prints for each direction, mode and layout the geometric
mean of cuDNN's time over ours, how many layers are below the bound (1.0 forward, 0.8 of gradients), and the slowest
ones. Exits with 1 if a result of ours is wrong.
"""

import argparse
import os
import subprocess
import sys

from layer import GRADIENTS, MODES
from results import ResultsError, geometric_mean, is_right, key_of, read_results, ready_name

SUITE = os.path.dirname(os.path.abspath(__file__))
FILES = ("judge", "judge_3d")
SHOWN = 3  # slowest layers


def bound_of(direction):
    return 1.0 if direction == "forward" else 0.8


def verdicts(results):
    """For each direction, mode, layout and order of weights: {layer: cuDNN's time over ours}, or None where ours is wrong."""
    groups = {}
    for row in results["rows"]:
        key = key_of(row)
        ratio = row["cudnn"][ready_name(row)] / row["convtgen"]["ms"] if is_right(row) else None
        groups.setdefault(key[:4], {})[key.layer] = ratio
    return groups


def print_verdicts(name, groups):
    """Whether all results are right."""
    for (direction, mode, layout, _), ratios in groups.items():
        right = {layer: ratio for layer, ratio in ratios.items() if ratio is not None}
        wrong = [layer for layer, ratio in ratios.items() if ratio is None]
        bound = bound_of(direction)
        slowest = sorted(right.items(), key=lambda item: item[1])[:SHOWN]
        print(f"{name} {direction} {mode} {layout}: {geometric_mean(list(right.values())):.2f} times cuDNN over "
              f"{len(right)} layers, {sum(ratio < bound for ratio in right.values())} below {bound}; slowest "
              + ", ".join(f"{layer} {ratio:.2f}" for layer, ratio in slowest)
              + (f"; WRONG: {', '.join(wrong)}" if wrong else ""))
    return all(ratio is not None for ratios in groups.values() for ratio in ratios.values())


def commands(options):
    """[(name, command, file of results)]: what measures each file, forward and of gradients."""
    words = [word for mode in options.mode or ["tf32", "f16", "f32x3"] for word in ("--mode", mode)]
    words += [word for layout in options.layout or ["nchw", "nhwc"] for word in ("--layout", layout)]
    words += ["--library", options.library]
    directions = options.direction or ["forward", *GRADIENTS]
    gradients = [word for direction in directions if direction != "forward" for word in ("--direction", direction)]
    out = []
    for name in FILES:
        layers = os.path.join(os.path.dirname(SUITE), f"{name}.convt")
        for program, kind, more in (("compare.py", "forward", []), ("compare_gradients.py", "gradients", gradients)):
            if kind == "forward" and "forward" in directions or kind == "gradients" and gradients:
                results = os.path.join(options.folder, f"{name}_{kind}.json")
                out.append((name, [sys.executable, os.path.join(SUITE, program), layers, *words, *more, "--json", results],
                            results))
    return out


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: tf32, f16 and f32x3")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: both")
    parser.add_argument("--direction", action="append", choices=["forward", *GRADIENTS], help="default: all")
    parser.add_argument("--library", default="libconvtgen.so.0.2", help="the shared library")
    parser.add_argument("--folder", default=".", help="where the results go (default: here)")
    parser.add_argument("--results", action="append", metavar="JSON", help="measure nothing: judge these results")
    options = parser.parse_args(words)

    measured = [(os.path.basename(path), path) for path in options.results or []]
    if not measured:
        for name, command, path in commands(options):
            if os.path.exists(path):
                os.remove(path)  # a run that fails leaves none
            # Status 1: something is wrong, which the results say too.
            if subprocess.run(command).returncode not in (0, 1):
                return 2
            measured.append((name, path))
    try:
        return 0 if all([print_verdicts(name, verdicts(read_results(path))) for name, path in measured]) else 1
    except ResultsError as error:
        sys.exit(f"judge_layers.py: {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
