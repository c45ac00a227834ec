"""Times the kernels of two versions of libconvtgen alternately, in one process: is the newer one as fast?

    alternate.py FILE.convt --before OLD.so --after NEW.so [--mode tf32]... [--layout nchw]...
                 [--direction grad_input]... [--json OUT]

Both make the kernels of the file's layers. Kernels with equal machine code are not timed. The others run
alternately, each --repeats times by CUDA events, the L2 cache flushed before each run, on the same random inputs,
weights packed in each call; their results must agree within the bound of the mode. The ratio is the newer one's median
over the older one's. Exits with 1 where results differ, or where a mode, layout and direction has a geometric mean
beyond --most-mean (equal code counts as 1) or a layer beyond --most.
"""

import argparse
import concurrent.futures
import json
import math
import os
import statistics
import sys
import tempfile

import torch

from convtgen_api import Library
from layer import MODES, Layer, names_in, with_directions, with_mode
from machine_code import stored_code
from pytorch_layer import READ, WRITTEN, addresses, arrays_by_role
from results import geometric_mean
from timing import Flush
from verify import RELATIVE_L2


class Version:
    """One of the two libraries, and its kernels."""

    def __init__(self, path):
        self.library = Library(path)
        self.device = self.library.device()
        self.kernels = {}

    def prepare(self, name, text, direction):
        self.kernels[name] = self.library.prepare(self.device, self.library.layer(text), direction)

    def caller(self, name, roles):
        """A function that runs it once, on arrays with these addresses."""
        library, kernel = self.library, self.kernels[name]
        workspace = torch.full((library.workspace(kernel),), 255, dtype=torch.uint8, device="cuda")
        stream = torch.cuda.current_stream().cuda_stream

        def call():
            library.launch_roles(kernel, roles, workspace.data_ptr(), workspace.numel(), stream)

        return call


def disagreement(before, after, y):
    """The relative L2 distance of the two results; NaN where one has poison left."""
    results = []
    for call in (before, after):
        y.fill_(math.nan)
        call()
        results.append(y.double())
    return float(torch.linalg.vector_norm(results[1] - results[0]) / torch.linalg.vector_norm(results[0]))


def medians(calls, flush, repeats):
    """Of each call, in milliseconds. They take turns at being first."""
    times = [[] for _ in calls]
    for repeat in range(repeats + 3):  # three to warm up
        for which in (range(len(calls)) if repeat % 2 == 0 else reversed(range(len(calls)))):
            flush()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            calls[which]()
            end.record()
            end.synchronize()
            if repeat >= 3:
                times[which].append(begin.elapsed_time(end))
    return [statistics.median(of) for of in times]


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="layers with fixed sizes")
    parser.add_argument("--before", required=True, metavar="LIBRARY", help="the older shared library")
    parser.add_argument("--after", required=True, metavar="LIBRARY", help="the newer one")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: all but f32")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: both")
    parser.add_argument("--direction", action="append", choices=list(READ), help="default: forward")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--most-mean", type=float, default=1.01)
    parser.add_argument("--most", type=float, default=1.04)
    parser.add_argument("--commit", default="", help="goes into the JSON file")
    parser.add_argument("--json", help="where the numbers go")
    return parser.parse_args(words)


def prepare_all(options, versions):
    """{(mode, layout, direction, name): layer}, with the kernels ready in both versions."""
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    layers = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = []
        for mode in options.mode or [mode for mode in MODES if mode != "f32"]:
            for layout in options.layout or ["nchw", "nhwc"]:
                for name in names_in(text):
                    library = versions[0].library
                    canonical = library.canonical(library.layer(text, name))
                    for direction in options.direction or ["forward"]:
                        case = mode, layout, direction, name
                        layers[case] = Layer.of(name, canonical)
                        text_of_case = with_directions(with_mode(canonical, mode, layout), [direction])
                        waiting += [pool.submit(version.prepare, case, text_of_case, direction) for version in versions]
        for each in waiting:
            each.result()
    return layers


def measure(options, versions, layers, folder):
    """A row for each kernel."""
    flush = Flush(read=False)
    rows = []
    for case, layer in layers.items():
        mode, layout, direction, name = case
        row = {"layer": name, "mode": mode, "layout": layout, "direction": direction}
        codes = [stored_code(folder, version.library.key(version.kernels[case])) for version in versions]
        row["equal"] = codes[0] == codes[1]
        if not row["equal"]:
            arrays = arrays_by_role(layer, mode, layout)
            calls = [version.caller(case, addresses(arrays, direction)) for version in versions]
            row["distance"] = disagreement(*calls, arrays[WRITTEN[direction][0]])
            row["before_ms"], row["after_ms"] = medians(calls, flush, options.repeats)
            row["ratio"] = row["after_ms"] / row["before_ms"]
            del arrays, calls
            torch.cuda.empty_cache()
        rows.append(row)
    return rows


def print_table(options, rows):
    """Whether all is as fast and as right as it should be."""
    fine = True
    for key in dict.fromkeys((row["mode"], row["layout"], row["direction"]) for row in rows):
        mode, layout, direction = key
        part = [row for row in rows if (row["mode"], row["layout"], row["direction"]) == key]
        timed = [row for row in part if not row["equal"]]
        mean = geometric_mean([row.get("ratio", 1.0) for row in part])
        slow = [row for row in timed if row["ratio"] > options.most]
        wrong = [row for row in timed if not row["distance"] <= RELATIVE_L2[mode]]
        fine = fine and mean <= options.most_mean and not slow and not wrong
        print(f"{mode:<6}{layout:<5} {direction:<12}{len(part) - len(timed):>3} equal, {len(timed):>3} timed; geometric mean of new / old "
              f"{mean:.4f}, most {max([row['ratio'] for row in timed], default=1.0):.4f}")
        for row in timed:
            note = "  SLOWER" if row in slow else "  DIFFERENT RESULTS" if row in wrong else ""
            print(f"    {row['layer']:<10}{row['before_ms']:>9.4f}{row['after_ms']:>9.4f}{row['ratio']:>8.4f}"
                  f"{row['distance']:>10.1e}{note}")
    return fine


def main(words):
    options = options_of(words)
    if not torch.cuda.is_available():
        sys.exit("alternate.py: PyTorch sees no GPU here")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONVTGEN_CACHE_DIR"] = folder  # read when a library needs it
        torch.cuda.init()
        versions = [Version(options.before), Version(options.after)]
        layers = prepare_all(options, versions)
        rows = measure(options, versions, layers, folder)
    print(f"gpu {torch.cuda.get_device_name()}; pytorch {torch.__version__}; commit {options.commit}; "
          f"alternate.py {' '.join(words)}")
    fine = print_table(options, rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"gpu": torch.cuda.get_device_name(), "commit": options.commit, "command": ["alternate.py", *words],
                       "rows": rows}, file, indent=1)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
