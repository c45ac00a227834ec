"""Times the gradients of the layers of a .convt file: convtgen against PyTorch (cuDNN, benchmark mode on), in one run.

    compare_gradients.py FILE.convt [--direction grad_input]... [--mode tf32]... [--layout nchw]... [--layer NAME]...
                         [--weights channels_last] [--library libconvtgen.so] [--json OUT]

PyTorch's is torch.ops.aten.convolution_backward, asked for that gradient alone. With --step also whole training steps:
forward and both gradients, one after the other. Modes, layouts and times are compare.py's; our packing of weights is in
every run, and so is the gradient of the bias, which a layer with one has beside that of the weights. Every result is
checked against PyTorch's convolution in fp64 before its time counts. Exits 1 if a result of ours is wrong.

With --weights channels_last our weights and their gradients lie in that memory order, as in a model that was moved to
channels_last. cuDNN always gets weights in the order of x, which it wants.
"""

import argparse
import json
import math
import sys

import torch

from compare import FLUSH_BYTES, geometric_mean, median_ms, with_nulls
from convtgen_api import DIRECTIONS, ConvtgenError, Library
from layer import MODES, Layer, names_in, with_mode, with_weights
from pytorch_layer import backward, set_precision, tensors
from verify import check_array

GRADIENTS = ["grad_input", "grad_weight"]
_ROLES = {"forward": ["y"], "grad_input": ["grad_x"], "grad_weight": ["grad_weight", "grad_bias"]}
_READ = {"forward": ["x", "weight", "bias"], "grad_input": ["grad_y", "weight"], "grad_weight": ["x", "grad_y"]}


class Measurement:
    """Rows of the table, one for each layer, mode, layout and direction."""

    def __init__(self, library, device, options):
        self.library, self.device, self.options = library, device, options
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def arrays(self, layer, mode, layout):
        """All tensors of a layer by their roles; those that are written hold NaNs."""
        form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        x, weight, bias = tensors(layer, mode, layout)
        if self.options.weights == "channels_last":
            weight = weight.to(memory_format=torch.channels_last)  # (Cin, KH, KW, Cout / groups); empty_like() keeps it
        y = torch.empty((layer.batch, layer.out_channels, layer.out_height, layer.out_width), dtype=x.dtype,
                        device="cuda").to(memory_format=form)
        # Gradients of weights stay near 1, so that f16 can hold them.
        grad_y = torch.randn(y.shape, device="cuda").to(x.dtype).to(memory_format=form)
        grad_y /= math.sqrt(layer.batch * layer.height * layer.width)
        arrays = {"x": x, "weight": weight, "bias": bias, "y": y, "grad_y": grad_y, "grad_x": torch.empty_like(x),
                  "grad_weight": torch.empty_like(weight), "grad_bias": torch.empty_like(bias) if layer.bias else None}
        for role in ("y", "grad_x", "grad_weight", "grad_bias"):
            if arrays[role] is not None:
                arrays[role].fill_(math.nan)
        return arrays

    def measure(self, layer, canonical, mode, layout, directions):
        set_precision(mode)
        arrays = self.arrays(layer, mode, layout)
        text = with_weights(with_mode(canonical, mode, layout), self.options.weights)
        text = "; ".join(p for p in text.split("; ") if not p.startswith("directions ")) + "; directions forward, grad_input, grad_weight"
        calls = {}
        for direction in directions:
            row = {"layer": layer.name, "mode": mode, "layout": layout, "direction": direction,
                   "gflop": layer.flops() / 1e9, "floor_ms": layer.floor_ms(mode)}
            row["cudnn"] = {"ms": self.cudnn(layer, layout, arrays, direction)}
            row["convtgen"], calls[direction] = self.ours(layer, text, mode, arrays, direction)
            yield row
        if self.options.step and all(calls.get(direction) for direction in GRADIENTS):
            yield self.step(layer, text, mode, layout, arrays, calls)

    @staticmethod
    def cudnn_weight(layout, arrays):
        """Ready, as cuDNN wants it."""
        return arrays["weight"].contiguous(
            memory_format=torch.channels_last if layout == "nhwc" else torch.contiguous_format)

    def cudnn(self, layer, layout, arrays, direction):
        weight = self.cudnn_weight(layout, arrays)
        return median_ms(lambda: backward(layer, arrays["grad_y"], arrays["x"], weight, direction), self.flush,
                         self.options.repeats)

    def caller(self, layer, text, arrays, direction):
        """(a function that runs the direction once, its kernel). Raises ConvtgenError."""
        library = self.library
        handle = library.layer(text)
        if self.options.tune:
            library.tune(self.device, handle, direction)
        kernel = library.prepare(self.device, handle, direction)
        workspace = torch.full((library.workspace(kernel),), 255, dtype=torch.uint8, device="cuda")  # NaNs
        roles = {role: arrays[role].data_ptr() for role in _READ[direction] + _ROLES[direction] if arrays[role] is not None}
        stream = torch.cuda.current_stream().cuda_stream

        def call():
            library.launch_roles(kernel, roles, workspace.data_ptr(), workspace.numel(), stream)

        return call, kernel

    def ours(self, layer, text, mode, arrays, direction):
        try:
            call, kernel = self.caller(layer, text, arrays, direction)
        except ConvtgenError as error:
            return {"wrong": str(error), "ms": math.nan, "relative_l2": math.nan, "template": ""}, None
        call()
        torch.cuda.synchronize()
        relative, wrong = check_array(layer, arrays, direction, mode)
        first = arrays[_ROLES[direction][0]].clone()
        arrays[_ROLES[direction][0]].fill_(math.nan)
        for _ in range(self.options.again):
            call()
            torch.cuda.synchronize()
            if not wrong and not torch.equal(first, arrays[_ROLES[direction][0]]):
                wrong = "another call gave other bits"
        ms = math.nan if wrong else median_ms(call, self.flush, self.options.repeats)
        return {"relative_l2": relative, "wrong": wrong, "template": self.library.template(kernel), "ms": ms}, call

    def step(self, layer, text, mode, layout, arrays, calls):
        forward, _ = self.caller(layer, text, arrays, "forward")
        weight = self.cudnn_weight(layout, arrays)

        def ours():
            forward()
            for direction in GRADIENTS:
                calls[direction]()

        def cudnn():
            torch.nn.functional.conv_transpose2d(arrays["x"], weight, arrays["bias"], layer.stride, layer.padding,
                                                 layer.output_padding, layer.groups, layer.dilation)
            backward(layer, arrays["grad_y"], arrays["x"], weight, "both")

        return {"layer": layer.name, "mode": mode, "layout": layout, "direction": "step", "gflop": 3 * layer.flops() / 1e9,
                "floor_ms": 3 * layer.floor_ms(mode), "cudnn": {"ms": median_ms(cudnn, self.flush, self.options.repeats)},
                "convtgen": {"ms": median_ms(ours, self.flush, self.options.repeats), "wrong": "", "template": "",
                             "relative_l2": 0.0}}


def print_table(rows):
    width = max(len("layer"), *(len(row["layer"]) for row in rows)) + 1
    for key in dict.fromkeys((row["direction"], row["mode"], row["layout"]) for row in rows):
        part = [row for row in rows if (row["direction"], row["mode"], row["layout"]) == key]
        print(f"\n{' '.join(key)}\n{'layer':<{width}}{'cuDNN ms':>10}{'ours ms':>10}{'ratio':>8}{'floor ms':>10}{'% floor':>9}"
              f"{'rel. L2':>10}  template")
        for row in part:
            ours, cudnn = row["convtgen"], row["cudnn"]
            print(f"{row['layer']:<{width}}{cudnn['ms']:>10.4f}{ours['ms']:>10.4f}{cudnn['ms'] / ours['ms']:>8.2f}"
                  f"{row['floor_ms']:>10.4f}{100 * row['floor_ms'] / ours['ms']:>9.1f}{ours['relative_l2']:>10.1e}  "
                  f"{ours['template']}{'  WRONG: ' + ours['wrong'] if ours['wrong'] else ''}")
        right = [row for row in part if not row["convtgen"]["wrong"]]
        ratios = [row["cudnn"]["ms"] / row["convtgen"]["ms"] for row in right]
        print(f"over {len(right)} of {len(part)}: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios, default=math.nan):.2f}; "
              f"{100 * geometric_mean([row['floor_ms'] / row['convtgen']['ms'] for row in right]):.1f} % of the floor")


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="layers with fixed sizes")
    parser.add_argument("--direction", action="append", choices=GRADIENTS, help="default: both")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: tf32")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: nchw")
    parser.add_argument("--weights", choices=["contiguous", "channels_last"], default="contiguous",
                        help="the memory order of our weights and of their gradients (default: contiguous)")
    parser.add_argument("--layer", action="append", help="these layers alone")
    parser.add_argument("--library", default="libconvtgen.so.0.2", help="the shared library")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--again", type=int, default=1, help="calls whose results must have the same bits as the first")
    parser.add_argument("--tune", action="store_true", help="measure the planner's candidates first")
    parser.add_argument("--step", action="store_true", help="also whole training steps")
    parser.add_argument("--commit", default="", help="goes into the JSON file")
    parser.add_argument("--json", help="where the numbers go")
    return parser.parse_args(words)


def main(words):
    options = options_of(words)
    if not torch.cuda.is_available():
        sys.exit("compare_gradients.py: PyTorch sees no GPU here")
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    library = Library(options.library)
    measurement = Measurement(library, library.device(), options)
    rows = []
    for mode in options.mode or ["tf32"]:
        for layout in options.layout or ["nchw"]:
            for name in options.layer or names_in(text):
                canonical = library.canonical(library.layer(text, name))
                layer = Layer.of(name, canonical)
                rows.extend(measurement.measure(layer, canonical, mode, layout, options.direction or GRADIENTS))
                torch.cuda.empty_cache()
    head = {"gpu": torch.cuda.get_device_name(), "pytorch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "convtgen": library.version(), "commit": options.commit, "repeats": options.repeats,
            "command": " ".join(["compare_gradients.py", *words])}
    print("; ".join(f"{key} {value}" for key, value in head.items() if value))
    print_table(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(with_nulls(head | {"rows": rows}), file, indent=1, allow_nan=False)
    return 1 if any(row["convtgen"]["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
