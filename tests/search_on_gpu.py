#!/usr/bin/env python3
"""Searches random legal layers for one whose kernel is wrong: on a GPU, against PyTorch in fp64.

    search_on_gpu.py --library libconvtgen.so.0.2 [--seconds 300] [--seed 1] [--jobs 16] [--json OUT]
    search_on_gpu.py --library libconvtgen.so.0.2 --again 'LAYER | NxHxW' --seed N

Layers are drawn for the template and compute mode that had the fewest so far; the planner chooses the template. Each
runs with poisoned outputs and guards around all arrays, twice, and once with the weights packed before; the results
must have the same bits and be right by norm and by element (tests/search/judge.py). The layers of
tests/end_to_end/failed_layers.txt, which failed once, run first. The search stops at the given time and prints how many
layers it ran by template, mode and layout, and for each failure the line that runs it again. It exits with 1 if a layer
failed or none ran.

--device host takes the CPU, which the planner gives `direct` alone: it shows that the search works, slowly.
"""

import argparse
import collections
import json
import multiprocessing
import os
import queue
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(HERE, "search"), os.path.join(ROOT, "benchmarks", "suite")]

from draw import LAYOUTS, LAYOUTS_OF, TEMPLATES, Case, Draw

FAILED = os.path.join(HERE, "end_to_end", "failed_layers.txt")
CELLS = [(template, mode) for template, modes in TEMPLATES.items() for mode in modes]
_MOST_SEEDS = 1_000_000  # cases of a worker
_PATIENCE = 120  # seconds behind the end in which a worker may finish its case


def failed_cases():
    """The cases that failed once, one a line. Without those whose padding differs at its ends: PyTorch has no such
    convolution, and the net runs them against the definition."""
    with open(FAILED, encoding="utf-8") as file:
        cases = [Case.of(line.strip()) for line in file if line.strip() and not line.startswith("#")]
    return [case for case in cases if ":" not in case.property("padding")]


def aim(counts, chance, wanted):
    """A wanted template and its mode, of those with the fewest cases: one of four, so that workers take different ones."""
    cells = [cell for cell, (template, _) in enumerate(CELLS) if not wanted or template in wanted]
    return CELLS[chance.choice(sorted(cells, key=lambda cell: (counts[cell], chance.random()))[:4])]


def work(options, worker, first, counts, results, end):
    """Runs cases until the time is over: those of `first`, then drawn ones. Puts ("begin" | "done", ...) in `results`."""
    import torch

    from convtgen_api import Library
    from run_case import run_case

    torch.set_num_threads(1)
    where = "cpu" if options.device == "host" else "cuda"
    library = Library(options.library)
    device = library.device(options.device)
    seed = options.seed * 1_000 * _MOST_SEEDS + worker * _MOST_SEEDS
    chance = random.Random(seed)
    draw = Draw(chance)
    todo = list(first)
    while time.time() < end:
        seed += 1
        if todo:
            case = todo.pop(0)
        elif options.again:
            break
        else:
            template, mode = aim(counts, chance, options.template)
            case = draw.case(template, mode, chance.choice(LAYOUTS_OF.get(template, LAYOUTS)))
        number = options.seed if options.again else seed
        results.put(("begin", worker, str(case), number))
        case, template, fault = run_case(library, device, where, case, number)
        cell = (template, case.property("compute"))
        if cell in CELLS:
            with counts.get_lock():
                counts[CELLS.index(cell)] += 1
        results.put(("done", worker, str(case), number, template, fault))
        if fault and where == "cuda":
            break  # the context may be broken; a new process goes on
    results.put(("end", worker))


class Search:
    """The workers and what they found."""

    def __init__(self, options):
        self.options = options
        self.context = multiprocessing.get_context("spawn")
        self.results = self.context.Queue()
        self.counts = self.context.Array("q", len(CELLS))
        self.running = {}  # worker: (process, its cases that it has not begun)
        self.begun = {}  # worker: (case, seed)
        self.workers = 0
        self.done = collections.Counter()  # (template, mode, layout)
        self.failures = []  # (case, seed, template, fault)
        self.end = time.time() + options.seconds

    def start(self, cases):
        process = self.context.Process(target=work, args=(self.options, self.workers, cases, self.counts, self.results,
                                                          self.end), daemon=True)
        process.start()
        self.running[self.workers] = (process, cases)
        self.workers += 1

    def fail(self, case, seed, template, fault):
        self.failures.append((case, seed, template, fault))
        print(f"WRONG ({template or 'no kernel'}): {fault}\n  {self.again(case, seed)}", flush=True)

    def again(self, case, seed):
        return (f"python3 tests/search_on_gpu.py --library {self.options.library} --device {self.options.device} "
                f"--seed {seed} --again '{case}'")

    def take(self, message):
        kind, worker, *rest = message
        if kind == "begin":
            self.begun[worker] = tuple(rest)
            cases = self.running[worker][1]
            if cases and str(cases[0]) == rest[0]:
                cases.pop(0)
        elif kind == "done":
            case, seed, template, fault = rest
            self.begun.pop(worker, None)
            if template:
                of = Case.of(case)
                self.done[template, of.property("compute"), of.property("layout")] += 1
            if fault:
                self.fail(case, seed, template, fault)
        else:
            self.finish(worker)

    def finish(self, worker):
        """Of a worker that ended; where it was by a failure, another one goes on with the cases it had left."""
        process, cases = self.running.pop(worker)
        process.join(30)
        if worker in self.begun:
            case, seed = self.begun.pop(worker)
            self.fail(case, seed, "", f"the process ended with status {process.exitcode}")
        if time.time() < self.end and (cases or not self.options.again) and len(self.failures) < self.options.most_failures:
            self.start(cases)

    def run(self):
        cases = [Case.of(self.options.again)] if self.options.again else failed_cases()
        jobs = 1 if self.options.again else self.options.jobs
        for job in range(jobs):
            self.start(cases[job::jobs])
        told = time.time()
        while self.running and time.time() < self.end + _PATIENCE:
            try:
                self.take(self.results.get(timeout=1))
            except queue.Empty:
                for worker, (process, _) in list(self.running.items()):
                    if not process.is_alive() and self.results.empty():
                        self.finish(worker)
            if time.time() > told + 30:
                told = time.time()
                print(f"{self.end - told:.0f} s left: {sum(self.done.values())} layers, {len(self.failures)} wrong",
                      flush=True)
        for worker, (process, _) in self.running.items():
            process.terminate()
            if worker in self.begun:
                print(f"not finished in time: {self.again(*self.begun[worker])}")

    def print_table(self):
        print(f"\n{'template':<14}{'mode':<8}{'nchw':>8}{'nhwc':>8}{'both':>8}")
        for template in TEMPLATES:
            of_template = 0
            for mode in TEMPLATES[template]:
                nchw, nhwc = (self.done[template, mode, layout] for layout in LAYOUTS)
                of_template += nchw + nhwc
                print(f"{template:<14}{mode:<8}{nchw:>8}{nhwc:>8}{nchw + nhwc:>8}")
            print(f"{template:<14}{'all':<8}{'':>16}{of_template:>8}")
        print(f"\n{sum(self.done.values())} layers ran, {len(self.failures)} wrong")


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="the shared library of convtgen")
    parser.add_argument("--device", default="cuda", choices=["cuda", "host"])
    parser.add_argument("--seconds", type=float, default=300, help="when to stop")
    parser.add_argument("--seed", type=int, default=1, help="other layers for another seed; with --again that of the inputs")
    parser.add_argument("--template", action="append", choices=list(TEMPLATES),
                        help="draws layers for this template alone; may be given several times")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each with its compiler")
    parser.add_argument("--most-failures", type=int, default=20, help="stop behind so many")
    parser.add_argument("--again", metavar="CASE", help="this case alone, as a failure prints it")
    parser.add_argument("--json", help="where the counts and failures go")
    return parser.parse_args(words)


def main(words):
    options = options_of(words)
    search = Search(options)
    search.run()
    search.print_table()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"seed": options.seed, "seconds": options.seconds, "layers": sum(search.done.values()),
                       "counts": [{"template": t, "mode": m, "layout": l, "layers": n}
                                  for (t, m, l), n in sorted(search.done.items())],
                       "failures": [{"case": c, "seed": s, "template": t, "fault": f}
                                    for c, s, t, f in search.failures]}, file, indent=1)
    return 1 if search.failures or not search.done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
