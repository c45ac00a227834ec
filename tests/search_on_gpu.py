#!/usr/bin/env python3
"""Searches random legal layers, in all directions, for one whose kernel is wrong: on GPUs, against PyTorch in fp64.

    search_on_gpu.py --library libconvtgen.so.0.2 --tool convtgen [--seconds 300] [--seed 1] [--jobs 16]
                     [--device cuda:0,cuda:1] [--nvrtc DIR]... [--json OUT] [--more EARLIER.json]...
    search_on_gpu.py --library libconvtgen.so.0.2 --arch sm_80 [--seconds 300] ...
    search_on_gpu.py --library libconvtgen.so.0.2 --tool convtgen --volumes [--seconds 300] ...
    search_on_gpu.py --library libconvtgen.so.0.2 --tool convtgen --again 'LAYER | NxHxW' --seed N

Layers are drawn by class (tests/search/goals.py): the class that is the farthest from its number of layers comes first.
The planner chooses the template; the tool prints which, so that few are compiled that no class needs. A class that the
planner serves by none of many layers is given up. Each layer runs in one direction, with poisoned outputs and guards
around all arrays, twice, and once with the weights packed before; the results must have the same bits and be right by
norm and by element (tests/search/judge.py). The layers of tests/end_to_end/failed_layers.txt, which failed once, run
first, with each NVRTC. The search stops at the given time and prints how many layers it ran of each class, and for each
failure the line that runs it again. It exits with 1 if a layer failed or none ran. Workers take turns among the GPUs and
among the NVRTCs. A search that goes on with --more adds its counts to earlier ones; it needs another seed.

--arch sm_80 runs the kernels of that older chip (CONVTGEN_ARCHITECTURE). Layers are drawn for all classes, and run by
whatever template serves them there.

--device host takes the CPU, which the planner gives the direct templates alone: it shows that the search works, slowly.
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

import goals
from draw import FACTS, GENERAL_TEMPLATES, ON_GPU, ON_HOST, Case, Draw
from planner import templates_of

FAILED = os.path.join(HERE, "end_to_end", "failed_layers.txt")
_MOST_SEEDS = 1_000_000  # cases of a worker
_AIMS, _TRIES = 12, 4  # goals that layers are drawn for at once, and layers of each
_PATIENCE = 60  # seconds after the end in which a worker may finish its case


def failed_cases():
    """The cases that failed once, one a line. Without those whose padding differs at its ends: PyTorch has no such
    convolution, and the net runs them against the definition."""
    with open(FAILED, encoding="utf-8") as file:
        cases = [Case.of(line.strip()) for line in file if line.strip() and not line.startswith("#")]
    return [case for case in cases if ":" not in case.property("padding")]


def with_one(options, worker):
    """(GPU or "", NVRTC or "") of a worker, which take turns among those of the options."""
    worker %= options.jobs
    turn = lambda names, at: names[at % len(names)] if names else ""
    devices = [] if options.device in ("cuda", "host") else options.device.split(",")
    return turn(devices, worker // max(1, len(options.nvrtc))), turn(options.nvrtc, worker)


def drawn_cases(draw, chance, counts, misses, options):
    """Cases to run next, for the goals that are the farthest from being reached: for each the first drawn one that the
    planner serves as it is wanted."""
    on_host = options.device == "host"

    def may_aim(goal):
        if options.volumes and (goal.cell is None or not FACTS[goal.cell.template]["depth"]):
            return False
        if on_host and not options.arch:
            return goal.cell is not None and goal.cell.template in GENERAL_TEMPLATES
        return not options.template or goal.cell is not None and goal.cell.template in options.template

    numbers = goals.aims(counts, misses, chance, _AIMS, may_aim)
    drawn = [(number, draw.case(goals.cell_for(goals.GOALS[number], chance), goals.GOALS[number].wanted))
             for number in numbers for _ in range(1 if on_host or options.arch else _TRIES)]
    if on_host or options.arch:
        return [case for _, case in drawn]
    chosen = {}
    for (number, case), template in zip(drawn, templates_of(options.tool, [case for _, case in drawn])):
        if number in goals.goals_of(case, template):
            misses[number] = 0
            chosen.setdefault(number, case)
        else:
            misses[number] += 1
    return list(chosen.values())


def work(options, worker, first, counts, misses, results, end):
    """Runs cases until the time is over: those of `first`, then drawn ones. Puts ("begin" | "done", ...) in `results`."""
    gpu, nvrtc = with_one(options, worker)
    if nvrtc:
        os.environ["CONVTGEN_NVRTC" if os.path.isfile(nvrtc) else "CONVTGEN_NVRTC_DIR"] = nvrtc
    if options.arch:
        os.environ["CONVTGEN_ARCHITECTURE"] = options.arch
    import torch

    from convtgen_api import Library
    from run_case import run_case

    torch.set_num_threads(1)
    on_host = options.device == "host"
    turn = worker % options.jobs // max(1, len(options.nvrtc))
    where = "cpu" if on_host else gpu or f"cuda:{turn % torch.cuda.device_count()}"
    if not on_host:
        torch.cuda.set_device(where)
    library = Library(options.library)
    device = library.device("host" if on_host else where)
    seed = options.seed * 1_000 * _MOST_SEEDS + worker * _MOST_SEEDS
    chance = random.Random(seed)
    draw = Draw(chance, ON_HOST if on_host else ON_GPU, **({"volumes": 1} if options.volumes else {}),
                **({"slices": 0.7} if options.slices else {}), **({"fuse_input": 1} if options.fuse_input else {}))
    todo = [case for case in first if len(case.sizes) == 4 or not options.volumes]
    while time.time() < end:
        seed += 1
        if not todo:
            if options.again:
                break
            todo = drawn_cases(draw, chance, counts, misses, options)
            continue
        case = todo.pop(0)
        number = options.seed if options.again else seed
        results.put(("begin", worker, str(case), number))
        case, template, fault = run_case(library, device, where, case, number)
        with counts.get_lock():
            for goal in goals.goals_of(case, template):
                counts[goal] += 1
        results.put(("done", worker, str(case), number, template, fault))
        if fault and not on_host:
            break  # the context may be broken; a new process goes on
    results.put(("end", worker))


class Search:
    """The workers and what they found."""

    def __init__(self, options, earlier):
        self.options = options
        self.context = multiprocessing.get_context("spawn")
        self.results = self.context.Queue()
        self.counts = self.context.Array("q", len(goals.GOALS))  # layers
        self.misses = self.context.Array("q", len(goals.GOALS))
        self.layers = collections.Counter()  # by NVRTC; "" is the machine's
        self.failures = []  # {"case": ..., "seed": ..., "template": ..., "fault": ..., "nvrtc": ...}
        self.seeds = [options.seed]
        for each in earlier:
            goals.add_earlier(each["goals"], self.counts, self.misses)
            self.layers.update(each["nvrtc"])
            self.failures += each["failures"]
            self.seeds += each["seeds"]
        self.failed_before = len(self.failures)
        self.running = {}  # worker: (process, its cases that it has not begun)
        self.begun = {}  # worker: (case, seed)
        self.workers = 0
        self.unfinished = 0  # cases, a minute after the end
        self.end = time.time() + options.seconds

    def start(self, cases, like=None):
        """A worker; where it goes on for another one, with the same GPU and NVRTC."""
        if like is not None:
            self.workers += (like - self.workers) % self.options.jobs
        process = self.context.Process(target=work, args=(self.options, self.workers, cases, self.counts, self.misses,
                                                          self.results, self.end), daemon=True)
        process.start()
        self.running[self.workers] = (process, cases)
        self.workers += 1

    def new_failures(self):
        return len(self.failures) - self.failed_before

    def fail(self, worker, case, seed, template, fault):
        nvrtc = with_one(self.options, worker)[1]
        self.failures.append({"case": case, "seed": seed, "template": template, "fault": fault, "nvrtc": nvrtc})
        print(f"WRONG ({template or 'no kernel'}): {fault}\n  {self.again(worker, case, seed)}", flush=True)

    def again(self, worker, case, seed):
        gpu, nvrtc = with_one(self.options, worker)
        words = ["python3 tests/search_on_gpu.py", f"--library {self.options.library}", f"--device {gpu or self.options.device}"]
        words += [f"--tool {self.options.tool}"] if self.options.tool else []
        words += [f"--arch {self.options.arch}"] if self.options.arch else []
        words += [f"--nvrtc {nvrtc}"] if nvrtc else []
        return " ".join([*words, f"--seed {seed} --again '{case}'"])

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
                self.layers[with_one(self.options, worker)[1]] += 1
            if fault:
                self.fail(worker, case, seed, template, fault)
        else:
            self.finish(worker)

    def finish(self, worker):
        """Of a worker that ended; where it was by a failure, another one goes on with the cases it had left."""
        process, cases = self.running.pop(worker)
        process.join(30)
        if worker in self.begun:
            case, seed = self.begun.pop(worker)
            self.fail(worker, case, seed, "", f"the process ended with status {process.exitcode}")
        elif process.exitcode:
            self.fail(worker, "", 0, "", f"a worker ended with status {process.exitcode} between cases")
        if time.time() < self.end and (cases or not self.options.again) and self.new_failures() < self.options.most_failures:
            self.start(cases, worker)

    def run(self):
        jobs, nvrtcs = self.options.jobs, max(1, len(self.options.nvrtc))
        for job in range(jobs):
            if self.options.again:
                cases = [Case.of(self.options.again)]
            else:  # of the jobs with one NVRTC each takes a part
                cases = failed_cases()[job // nvrtcs :: len(range(job % nvrtcs, jobs, nvrtcs))]
            self.start(cases)
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
                print(f"{self.end - told:.0f} s left: {self.layers.total()} layers, {self.new_failures()} wrong", flush=True)
        for worker, (process, _) in self.running.items():
            process.terminate()
            if worker in self.begun:
                self.unfinished += 1
                print(f"not finished in time: {self.again(worker, *self.begun[worker])}")

    def print_tables(self):
        counts, misses = list(self.counts), list(self.misses)
        print("", *goals.table(counts, misses), "", *goals.summary(counts, misses), sep="\n")
        for nvrtc, layers in self.layers.items():
            print(f"NVRTC {nvrtc or 'of this machine'}: {layers} layers")
        print(f"\n{self.layers.total()} layers ran, {len(self.failures)} wrong; {self.unfinished} not finished in time")

    def as_json(self):
        return {"seeds": self.seeds, "layers": self.layers.total(), "nvrtc": dict(self.layers),
                "goals": goals.as_json(self.counts, self.misses), "failures": self.failures}


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="the shared library of convtgen")
    parser.add_argument("--tool", help="convtgen, the command line tool of the same version; for GPUs alone")
    parser.add_argument("--device", default="cuda", help="cuda: all GPUs; some of them, as in cuda:0,cuda:1; host")
    parser.add_argument("--arch", default="", help="the older chip whose kernels run, as in sm_80; else the GPU's own")
    parser.add_argument("--nvrtc", action="append", default=[], metavar="DIR",
                        help="a folder or file of an NVRTC; may be given several times. Else the machine's own")
    parser.add_argument("--seconds", type=float, default=300, help="when to stop")
    parser.add_argument("--seed", type=int, default=1, help="other layers for another seed; with --again that of the inputs")
    parser.add_argument("--template", action="append", help="draws layers for this template alone; may be given several times")
    parser.add_argument("--volumes", action="store_true", help="layers of three axes alone")
    parser.add_argument("--slices", action="store_true", help="x and y are channels of larger tensors in most layers")
    parser.add_argument("--fuse-input", action="store_true", help="x is activated in all forward layers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each with its compiler")
    parser.add_argument("--most-failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--again", metavar="CASE", help="this case alone, as a failure prints it")
    parser.add_argument("--json", help="where the counts and failures go")
    parser.add_argument("--more", action="append", default=[], metavar="JSON",
                        help="what an earlier search wrote: its counts are added; may be given several times")
    options = parser.parse_args(words)
    if options.device != "host" and not options.arch and not options.again and not options.tool:
        parser.error("--tool: layers are drawn by what the planner says of them; give the path of convtgen")
    if options.again:
        options.jobs = 1
    if options.jobs < len(options.nvrtc):
        parser.error(f"--jobs: {options.jobs} for {len(options.nvrtc)} NVRTCs; at least one for each")
    return options


def read_earlier(options):
    """What --more names. Errors: SystemExit for a seed that was searched already, whose layers would be the same."""
    earlier = []
    for name in options.more:
        with open(name, encoding="utf-8") as file:
            earlier.append(json.load(file))
        if options.seed in earlier[-1]["seeds"]:
            raise SystemExit(f"--seed: {options.seed} is a seed of {name}; another one draws other layers")
    seeds = [seed for each in earlier for seed in each["seeds"]]
    if len(set(seeds)) < len(seeds):
        raise SystemExit(f"--more: a search holds those that it went on from, so name the last alone; seeds {seeds}")
    return earlier


def main(words):
    options = options_of(words)
    search = Search(options, read_earlier(options))
    search.run()
    search.print_tables()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(search.as_json(), file, indent=1)
    return 1 if search.failures or not search.layers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
