"""Times the layers of a .convt file: convtgen against PyTorch (cuDNN, benchmark mode on), in one run.

    compare.py FILE.convt [--mode tf32]... [--layout nchw]... [--layer NAME]... [--library libconvtgen.so] [--json OUT]

Modes: f32 (strict), f32x3 (against cuDNN's strict fp32), tf32, f16, bf16; layouts: nchw, nhwc (PyTorch's channels_last).
Every result is checked against fp64 before its time counts. Times are medians by CUDA events, the L2 cache flushed
before each run, on random inputs. Exits 1 if a result of ours is wrong.
Weights lie as PyTorch makes them. Where a kernel of ours packs them, and where cuDNN has them converted (channels_last),
"ms" is with that in every run, and "ahead" without it, as where weights stay the same. The ratio is of the former, and
"ahead" in the last columns of the latter.
plot.py draws the pictures of such a JSON file, wherever matplotlib is; so does --pictures at once.
"""

import argparse
import json
import math
import statistics
import sys

import torch

from convtgen_api import ConvtgenError, Library
from layer import MODES, Layer, names_in, with_mode
from pytorch_layer import convolve, set_precision, tensors
from verify import Reference

FLUSH_BYTES = 256 << 20  # some times the L2 cache


def median_ms(call, flush, repeats):
    times = []
    for repeat in range(repeats + 3):  # three to warm up
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        if repeat >= 3:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


class Measurement:
    def __init__(self, library, device, options):
        self.library, self.device, self.options = library, device, options
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def measure(self, layer, canonical, mode, layout):
        """A row of the table, as it goes into the JSON file."""
        row = {"layer": layer.name, "mode": mode, "layout": layout, "gflop": layer.flops() / 1e9,
               "gbyte": layer.bytes(mode) / 1e9, "floor_ms": layer.floor_ms(mode)}
        set_precision(mode)
        x, weight, bias = tensors(layer, mode, layout)
        reference = Reference(layer, x, weight, bias)
        row["cudnn"] = self.cudnn(layer, mode, layout, x, weight, bias, reference)
        torch.cuda.empty_cache()
        row["convtgen"] = self.ours(layer, with_mode(canonical, mode, layout), mode, layout, x, weight, bias, reference)
        return row

    def cudnn(self, layer, mode, layout, x, weight, bias, reference):
        y = convolve(layer, x, weight, bias)
        relative, wrong = reference.check(y, mode)
        del y
        ms = ms_ahead = median_ms(lambda: convolve(layer, x, weight, bias), self.flush, self.options.repeats)
        if layout == "nhwc":
            ahead = weight.to(memory_format=torch.channels_last)
            ms_ahead = median_ms(lambda: convolve(layer, x, ahead, bias), self.flush, self.options.repeats)
        return {"relative_l2": relative, "wrong": wrong, "ms": ms, "ms_ahead": ms_ahead}

    def ours(self, layer, text, mode, layout, x, weight, bias, reference):
        y = torch.full((layer.batch, layer.out_channels, layer.out_height, layer.out_width), math.nan, dtype=x.dtype,
                       device="cuda")
        y = y.to(memory_format=torch.channels_last) if layout == "nhwc" else y
        try:
            handle = self.library.layer(text)
            if self.options.tune:
                self.library.tune(self.device, handle)
            kernel = self.library.prepare(self.device, handle)
        except ConvtgenError as error:
            return {"wrong": str(error), "ms": math.nan, "ms_ahead": math.nan, "relative_l2": math.nan, "template": ""}
        stream = torch.cuda.current_stream().cuda_stream
        workspace = torch.full((self.library.workspace(kernel),), 255, dtype=torch.uint8, device="cuda")  # NaNs

        def call(weight_address=weight.data_ptr()):
            self.library.launch(kernel, x.data_ptr(), weight_address, bias.data_ptr() if layer.bias else 0,
                                y.data_ptr(), workspace.data_ptr(), workspace.numel(), stream)

        def timed(way):
            """(relative L2, what is wrong, milliseconds): the time of a right result alone."""
            y.fill_(math.nan)
            way()
            torch.cuda.synchronize()
            relative, wrong = reference.check(y, mode)
            return relative, wrong, math.nan if wrong else median_ms(way, self.flush, self.options.repeats)

        relative, wrong, ms = timed(call)
        ms_ahead = ms
        if workspace.numel() and not wrong:
            _, wrong, ms_ahead = timed(lambda: call(0))  # by the copy that the calls before have left
            wrong = wrong and f"with weights packed before: {wrong}"
        row = {"relative_l2": relative, "wrong": wrong, "template": self.library.template(kernel),
               "workspace_bytes": workspace.numel(), "ms": ms, "ms_ahead": ms_ahead}
        self.library.destroy_kernel(kernel)
        return row


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else math.nan


def print_table(rows):
    width = max(len("layer"), *(len(row["layer"]) for row in rows)) + 1
    for mode, layout in dict.fromkeys((row["mode"], row["layout"]) for row in rows):
        part = [row for row in rows if (row["mode"], row["layout"]) == (mode, layout)]
        print(f"\n{mode} {layout}\n{'layer':<{width}}{'cuDNN ms':>10}{'ahead':>10}{'ours ms':>10}{'ahead':>10}"
              f"{'ratio':>8}{'ahead':>8}{'floor ms':>10}{'% floor':>9}{'rel. L2':>10}{'cuDNN L2':>10}  template")
        for row in part:
            ours, cudnn = row["convtgen"], row["cudnn"]
            print(f"{row['layer']:<{width}}{cudnn['ms']:>10.4f}{cudnn['ms_ahead']:>10.4f}{ours['ms']:>10.4f}"
                  f"{ours['ms_ahead']:>10.4f}{cudnn['ms'] / ours['ms']:>8.2f}"
                  f"{cudnn['ms_ahead'] / ours['ms_ahead']:>8.2f}"
                  f"{row['floor_ms']:>10.4f}{100 * row['floor_ms'] / ours['ms']:>9.1f}"
                  f"{ours['relative_l2']:>10.1e}{cudnn['relative_l2']:>10.1e}  {ours['template']}"
                  f"{'  WRONG: ' + ours['wrong'] if ours['wrong'] else ''}")
        right = [row for row in part if not row["convtgen"]["wrong"]]
        print(f"geometric means over {len(right)}: {geometric_mean([r['cudnn']['ms'] / r['convtgen']['ms'] for r in right]):.2f}"
              f" times cuDNN, {geometric_mean([r['cudnn']['ms_ahead'] / r['convtgen']['ms_ahead'] for r in right]):.2f}"
              f" with weights made ready ahead, "
              f"{100 * geometric_mean([r['floor_ms'] / r['convtgen']['ms'] for r in right]):.1f} % of the floor"
              f" (cuDNN {100 * geometric_mean([r['floor_ms'] / r['cudnn']['ms'] for r in right]):.1f} %)")


def with_nulls(value):
    """For JSON, which has no NaN."""
    if isinstance(value, dict):
        return {key: with_nulls(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_nulls(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="layers with fixed sizes")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: tf32")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: nchw")
    parser.add_argument("--layer", action="append", help="these layers alone")
    parser.add_argument("--library", default="libconvtgen.so.0.2", help="the shared library")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--tune", action="store_true", help="measure the planner's candidates first")
    parser.add_argument("--commit", default="", help="goes into the JSON file")
    parser.add_argument("--json", help="where the numbers go")
    parser.add_argument("--pictures", metavar="FOLDER", help="where plot.py's pictures go")
    return parser.parse_args(words)


def main(words):
    options = options_of(words)
    if not torch.cuda.is_available():
        sys.exit("compare.py: PyTorch sees no GPU here")
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    names = names_in(text)
    unknown = set(options.layer or []) - set(names)
    if unknown:
        sys.exit(f"compare.py: {options.file} has no layer {', '.join(sorted(unknown))}; it has {', '.join(names)}")
    if options.pictures:
        import plot  # now: what it lacks is to be told before the measuring
    library = Library(options.library)
    measurement = Measurement(library, library.device(), options)
    rows = []
    for mode in options.mode or ["tf32"]:
        for layout in options.layout or ["nchw"]:
            for name in options.layer or names:
                canonical = library.canonical(library.layer(text, name))
                try:
                    layer = Layer.of(name, canonical)
                except ValueError as error:
                    sys.exit(f"compare.py: {options.file}: {error}")
                rows.append(measurement.measure(layer, canonical, mode, layout))
                torch.cuda.empty_cache()
    head = {"gpu": torch.cuda.get_device_name(), "pytorch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "convtgen": library.version(), "commit": options.commit, "repeats": options.repeats,
            "command": " ".join(["compare.py", *words])}
    print("; ".join(f"{key} {value}" for key, value in head.items() if value))
    print_table(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(with_nulls(head | {"rows": rows}), file, indent=1, allow_nan=False)
    if options.pictures:
        plot.draw(with_nulls(head | {"rows": rows}), options.pictures)
    return 1 if any(row["convtgen"]["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
