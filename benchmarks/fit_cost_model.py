#!/usr/bin/env python3
"""Fits the numbers of the cost models (generator/planner/chip/cost_factors.h) to what plans took on a chip.

  fit_cost_model.py --tool build/benchmarks/predict_plans [RECORDS.json...] [--only PREFIX] [--write] [--check]

RECORDS are tuning records (`convtgen tune --export`), by default the shipped ones. For each template, mode and layout it
prints how many measured plans there are, the median of measured / predicted, and how far the middle half of them lies
apart. For layers with several plans it prints the time of the plan that is predicted to be the fastest over that of the
fastest: the geometric mean, and the layers where it is above 1.4. Nothing is predicted of the general templates' plans
(direct's), so they are left out: `convtgen tune` reports how good the planner's first plan is among all.
Then it fits: it makes the mean of these ratios' logarithms least, in which the plans that are predicted to be nearly as
fast as the first count too. The mean square of log(predicted / measured) is added with a small weight, for the level, and
a penalty holds a factor at its value in the table where the measurements do not tell. It prints what would change;
--write puts that into the table.

What the shipped records can tell is little: each has its layer's fastest plan alone. So they give the level of what is
predicted, but not the differences between a layer's plans, by which plans are chosen. For these, export records of
tuning runs, which hold all plans that were measured, of layers that were drawn for it:

  (echo 'defaults { dtype f16; layout nhwc; directions forward, grad_input, grad_weight }'; cat benchmarks/fit.convt) |
    convtgen tune - --candidates 16 --export RECORDS.json

How templates compare, the first plans of all don't tell, since a template that is predicted too slow is not among them:
`--of-each 2` measures two of each.

benchmarks/results/fit_h100 and fit_h200 have such records of both chips; a file that ends in .gz is unpacked.
benchmarks/judge.convt has other layers, to judge the fit by. After --write, tests/planner/first_choices_test.cpp shows which choices changed.

--check fits nothing: it fails unless the table is read as it is compiled, and predictions are within a factor of 20.
"""

import argparse
import gzip
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "generator/planner/chip/cost_factors.h"
RECORDS = ROOT / "generator/planner/records"
LINE = re.compile(r'^(  FACTOR\((\w+), )([-+0-9.e]+)(, "([^"]*)"\).*)$', re.MULTILINE)
# How much a mean square error of log(predicted / measured) counts next to the mean logarithm of first / fastest.
LEVEL = 0.05
# How much a factor's change by e times counts, likewise.
PENALTY = 0.001
# Of two plans, the one that is predicted to be this much slower (a logarithm) counts e times less.
NEARLY = 0.03
# Layers whose first / fastest is above this are printed.
SLOW = 1.4
STEPS = (1.5, 1.2, 1.07)


def unpacked(record, folder):
    """The path of a file of records, which is unpacked into a folder where it ends in .gz."""
    if Path(record).suffix != ".gz":
        return str(record)
    out = Path(folder) / Path(record).stem
    out.write_bytes(gzip.decompress(Path(record).read_bytes()))
    return str(out)


class Model:
    """The cost models, as a process that predicts for any factors."""

    def __init__(self, tool, records):
        with tempfile.TemporaryDirectory() as folder:
            command = [tool, *(unpacked(each, folder) for each in records)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.plans = json.loads(self.process.stdout.readline())

    def seconds(self, factors):
        self.process.stdin.write(" ".join(f"{name}={value!r}" for name, value in factors.items()) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"predict_plans ended with {self.process.wait()}")
        return json.loads(line)


def read_table():
    return {match[2]: float(match[3]) for match in LINE.finditer(TABLE.read_text(encoding="utf-8"))}


def write_table(factors):
    text = TABLE.read_text(encoding="utf-8")
    TABLE.write_text(LINE.sub(lambda m: f"{m[1]}{factors[m[2]]:.4g}{m[4]}", text), encoding="utf-8")


def ratios(plans, seconds):
    """log(predicted / measured) of the plans that are predicted, and which these are."""
    return [(plan, math.log(s / plan["seconds"])) for plan, s in zip(plans, seconds) if s > 0]


def print_groups(plans, seconds):
    groups = {}
    for plan, ratio in ratios(plans, seconds):
        groups.setdefault((plan["template"], plan["compute"], plan["layout"]), []).append(math.exp(-ratio))
    print("template     compute layout  plans  measured / predicted: median  a quarter below  a quarter above")
    for (template, compute, layout), all_of in sorted(groups.items()):
        low, middle, high = statistics.quantiles(all_of, n=4) if len(all_of) > 1 else all_of * 3
        print(f"{template:12} {compute:7} {layout:6} {len(all_of):6} {middle:29.2f} {low:16.2f} {high:16.2f}")


def layers_of(plans, seconds):
    """{(layer, direction): [(predicted, plan) ...]} of the plans that are predicted, where there are several."""
    layers = {}
    for plan, predicted in zip(plans, seconds):
        if predicted > 0:
            layers.setdefault((plan["layer"], plan["direction"]), []).append((predicted, plan))
    return {layer: found for layer, found in layers.items() if len(found) > 1}


def print_choices(plans, seconds):
    rows = []
    for (layer, direction), found in layers_of(plans, seconds).items():
        first = min(found, key=lambda each: each[0])
        fastest = min(found, key=lambda each: each[1]["seconds"])
        rows.append((first[1]["seconds"] / fastest[1]["seconds"], first, fastest, f"{direction} {layer}"))
    if not rows:
        return
    rows.sort(key=lambda row: -row[0])
    slow = [row for row in rows if row[0] > SLOW]
    mean = math.exp(statistics.fmean(math.log(row[0]) for row in rows))
    print(f"first / fastest: geometric mean {mean:.3f} of {len(rows)} layers, {len(slow)} above {SLOW}")
    for ratio, first, fastest, layer in slow:
        told = (f"{plan['template']} {plan['seconds'] * 1e6:.1f} us (predicted {predicted * 1e6:.1f})"
                for predicted, plan in (first, fastest))
        print(f"  {ratio:.2f}  {', fastest '.join(told)}: {layer}")


def chosen_loss(found):
    """The mean logarithm of a layer's times over the fastest one's, weighted by how near they are predicted to be."""
    least = min(predicted for predicted, _ in found)
    fastest = min(plan["seconds"] for _, plan in found)
    total = weights = 0
    for predicted, plan in found:
        weight = (least / predicted) ** (1 / NEARLY)
        total += weight * math.log(plan["seconds"] / fastest)
        weights += weight
    return total / weights


def loss(model, factors, start):
    seconds = model.seconds(factors)
    layers = layers_of(model.plans, seconds)
    chosen = statistics.fmean(map(chosen_loss, layers.values())) if layers else 0
    errors = statistics.fmean(ratio**2 for _, ratio in ratios(model.plans, seconds))
    moved = sum(math.log(factors[n] / start[n]) ** 2 for n in factors if start[n] > 0)
    return chosen + (LEVEL if layers else 1) * errors + PENALTY * moved


def fit(model, start, names):
    factors, best = dict(start), loss(model, start, start)
    predicted = model.seconds(start)
    names = [name for name in names if model.seconds({**start, name: start[name] * STEPS[0]}) != predicted]
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for name in names:
                for times in (step, 1 / step):
                    tried = {**factors, name: factors[name] * times}
                    if (found := loss(model, tried, start)) < best - 1e-6:
                        factors, best, improved = tried, found, True
                        break
    return factors


def show(model, factors):
    seconds = model.seconds(factors)
    print_groups(model.plans, seconds)
    print_choices(model.plans, seconds)


def check(model, table):
    """What is wrong: names and values that differ from the compiled ones, or predictions that are far off."""
    compiled = model.seconds({})
    if model.seconds(table) != compiled:
        yield f"{TABLE.name}: the values that this script reads are not the compiled ones"
    if not table:
        yield f"{TABLE.name}: no line is read"
    for plan, ratio in ratios(model.plans, compiled):
        if abs(ratio) > math.log(20):
            yield f"{plan['template']} {plan['layer']}: {math.exp(ratio):.2f} of what was measured is predicted"
    if len(ratios(model.plans, compiled)) < 100:
        yield "fewer than 100 plans are predicted"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("records", nargs="*", default=sorted(RECORDS.glob("*.json")))
    parser.add_argument("--only", default="", help="fit the factors whose names begin so")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--judge", action="store_true", help="print how good the table is, and fit nothing")
    options = parser.parse_args()
    table, model = read_table(), Model(options.tool, options.records)
    show(model, table)
    if options.judge:
        return 0
    if options.check:
        problems = list(check(model, table))
        print("\n".join(problems))
        return 1 if problems else 0
    names = [name for name, value in table.items() if name.startswith(options.only) and value > 0]
    fitted = fit(model, table, names)
    print()
    show(model, fitted)
    print()
    for name in names:
        if fitted[name] != table[name]:
            print(f"{name}: {table[name]:.4g} -> {fitted[name]:.4g}")
    if options.write:
        write_table(fitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
