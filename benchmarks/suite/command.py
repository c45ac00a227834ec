"""What compare.py and compare_gradients.py do alike: options, rounds of measurements, results, the comparison."""

import argparse
import datetime
import os
import statistics
import sys

from against import BY, compare, print_comparison
from layer import MODES, Layer, names_in
from results import ResultsError, is_right, joined, key_of, read_results, write_results


def parser_of(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="layers with fixed sizes")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: tf32")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: nchw")
    parser.add_argument("--layer", action="append", help="these layers alone")
    parser.add_argument("--library", default="libconvtgen.so.0.2", help="the shared library")
    parser.add_argument("--rounds", type=int, default=5, help="all layers are timed this many times, in turn (default: 5)")
    parser.add_argument("--repeats", type=int, default=10, help="runs of a layer in a round (default: 10)")
    parser.add_argument("--flush", choices=["written", "read"], default="written",
                        help="the L2 cache before each run: full of lines that were written, or of lines that were read, which "
                             "need not go to memory first (default: written)")
    parser.add_argument("--tune", action="store_true", help="measure the planner's candidates first")
    parser.add_argument("--commit", default="", help="goes into the JSON file")
    parser.add_argument("--json", help="where the numbers go")
    parser.add_argument("--results", metavar="JSON", help="measure nothing: take these results. Needs no GPU")
    parser.add_argument("--against", metavar="JSON", help="earlier results: exit with 1 where a layer is slower by more than "
                                                          "its noise")
    parser.add_argument("--by", choices=list(BY), help="what --against compares (default: times where chip and clocks are "
                                                       "the same, else ratios)")
    return parser


def checked(parser, words):
    options = parser.parse_args(words)
    if bool(options.file) == bool(options.results):
        parser.error("give either a file of layers or --results")
    if options.rounds < 1 or options.repeats < 1:
        parser.error("--rounds and --repeats are at least 1")
    if options.by and not options.against:
        parser.error("--by goes with --against")
    return options


def _layers_of(program, options, library):
    """[(Layer, canonical form)] of the file. Exits where a layer can't be measured."""
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    names = names_in(text)
    if unknown := set(options.layer or []) - set(names):
        sys.exit(f"{program}: {options.file} has no layer {', '.join(sorted(unknown))}; it has {', '.join(names)}")
    layers = []
    for name in options.layer or names:
        canonical = library.canonical(library.layer(text, name))
        try:
            layers.append((Layer.of(name, canonical), canonical))
        except ValueError as error:
            sys.exit(f"{program}: {options.file}: {error}")
    return layers


def in_rounds(count, cases, measure):
    """The joined rows of `measure(case, is_first)`, which gives rows for each case, over all rounds. A case with a wrong
    result is not timed again."""
    rounds = {}
    for round_ in range(count):
        for case in cases:
            for row in measure(case, round_ == 0):
                rounds.setdefault(key_of(row), []).append(row)
        if round_ == 0:
            cases = _right_cases(cases, rounds)
    return [joined(rows) for rows in rounds.values()]


def _right_cases(cases, rounds):
    wrong = {(key.mode, key.layout, key.layer) for key, rows in rounds.items() if not is_right(rows[0])}
    return [case for case in cases if (case.mode, case.layout, case.layer.name) not in wrong]


class Case:
    """A layer to measure in a mode and a layout."""

    def __init__(self, layer, canonical, mode, layout):
        self.layer, self.canonical, self.mode, self.layout = layer, canonical, mode, layout


def measured(program, words, options, measurement_class):
    """Results as JSON has them. Exits where there is no GPU."""
    import torch

    from convtgen_api import Library
    from timing import clocks_under_load

    if not torch.cuda.is_available():
        sys.exit(f"{program}: PyTorch sees no GPU here")
    library = Library(options.library)
    measurement = measurement_class(library, library.device(), options)
    cases = [Case(layer, canonical, mode, layout) for mode in options.mode or ["tf32"]
             for layout in options.layout or ["nchw"] for layer, canonical in _layers_of(program, options, library)]
    clocks = []

    def measure(case, is_first):
        if case is cases[0]:
            clocks.append(clocks_under_load(measurement.flush))
        yield from measurement.measure(case, is_first)
        torch.cuda.empty_cache()

    rows = in_rounds(options.rounds, cases, measure)
    known = [each for each in clocks if each]
    return {"gpu": torch.cuda.get_device_name(), "pytorch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "clocks": {name: statistics.median(each[name] for each in known) for name in known[0]} if known else {},
            "convtgen": library.version(), "commit": options.commit,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), "flush": options.flush,
            "rounds": options.rounds, "repeats": options.repeats, "command": " ".join([program, *words]), "rows": rows}


def selected(options):
    """The rows of --results that --mode, --layout, --layer and --direction name."""
    results = read_results(options.results)
    for name in ("mode", "layout", "layer", "direction"):
        if wanted := getattr(options, name, None):
            results["rows"] = [row for row in results["rows"] if getattr(key_of(row), name) in wanted]
    if not results["rows"]:
        raise ResultsError(f"{options.results}: no row is what was asked for")
    return results


def finish(options, results, before, print_table):
    """Prints, writes and compares. The exit status: 1 where a result of ours is wrong or a layer slower."""
    print("; ".join(f"{key} {value}" for key, value in results.items() if value and key != "rows"))
    print_table(results["rows"])
    if options.json:
        write_results(options.json, results)
    fine = all(is_right(row) for row in results["rows"])
    if before:
        found = compare(before, results, options.by)
        print_comparison(found, before, os.path.basename(options.against))
        fine = fine and found.passes
    return 0 if fine else 1


def run(program, words, options, measurement_of, print_table):
    """The whole command; `measurement_of` gives the class that measures, which needs PyTorch. Returns (results, status)."""
    try:
        # Before the measuring: then a file that holds no results costs no time.
        before = read_results(options.against) if options.against else None
        results = selected(options) if options.results else measured(program, words, options, measurement_of())
        return results, finish(options, results, before, print_table)
    except ResultsError as error:
        sys.exit(f"{program}: {error}")
