"""Times a layer's gradients, and whole training steps: convtgen against PyTorch (cuDNN)."""

import math

import torch

from convtgen_api import ConvtgenError
from layer import GRADIENTS, with_mode, with_weights
from pytorch_layer import backward, convolve, memory_format, set_precision, tensors
from timing import Flush, median_ms
from verify import check_array

_ROLES = {"forward": ["y"], "grad_input": ["grad_x"], "grad_weight": ["grad_weight", "grad_bias"]}
_READ = {"forward": ["x", "weight", "bias"], "grad_input": ["grad_y", "weight"], "grad_weight": ["x", "grad_y"]}


class Measurement:
    """Rows of the table for each layer, mode and layout, one for each direction, in one round."""

    def __init__(self, library, device, options):
        self.library, self.device, self.options = library, device, options
        self.flush = Flush(options.flush == "read")
        self.kernels = []  # of the layer that is measured

    def arrays(self, layer, mode, layout):
        """All tensors of a layer by their roles; those that are written hold NaNs."""
        form = memory_format(layer, layout)
        x, weight, bias = tensors(layer, mode, layout)
        if self.options.weights == "channels_last":
            # (Cin, KH, KW, Cout / groups); empty_like() keeps it
            weight = weight.to(memory_format=memory_format(layer, "nhwc"))
        y = torch.empty(layer.y_shape, dtype=x.dtype, device="cuda").to(memory_format=form)
        # Gradients of weights stay near 1, so that f16 can hold them.
        grad_y = torch.randn(y.shape, device="cuda").to(x.dtype).to(memory_format=form)
        grad_y /= math.sqrt(layer.batch * math.prod(layer.extents))
        arrays = {"x": x, "weight": weight, "bias": bias, "y": y, "grad_y": grad_y, "grad_x": torch.empty_like(x),
                  "grad_weight": torch.empty_like(weight), "grad_bias": torch.empty_like(bias) if layer.bias else None}
        for role in ("y", "grad_x", "grad_weight", "grad_bias"):
            if arrays[role] is not None:
                arrays[role].fill_(math.nan)
        return arrays

    def measure(self, case, is_first):
        """As they go into the JSON file; results are checked, and plans are tuned, in the first round."""
        layer, mode, layout = case.layer, case.mode, case.layout
        set_precision(mode)
        arrays = self.arrays(layer, mode, layout)
        text = with_weights(with_mode(case.canonical, mode, layout), self.options.weights)
        kept = [part for part in text.split("; ") if not part.startswith("directions ")]
        text = "; ".join([*kept, f"directions {', '.join(['forward', *GRADIENTS])}"])
        row = {"layer": layer.name, "mode": mode, "layout": layout, "weights": self.options.weights,
               "text": case.canonical}
        calls = {}
        for direction in self.options.direction or GRADIENTS:
            cudnn = {"ms": self.cudnn(layer, layout, arrays, direction)}
            ours, calls[direction] = self.ours(layer, text, mode, arrays, direction, is_first)
            yield row | {"direction": direction, "gflop": layer.flops() / 1e9, "floor_ms": layer.floor_ms(mode),
                         "cudnn": cudnn, "convtgen": ours}
        if self.options.step and all(calls.get(direction) for direction in GRADIENTS):
            yield row | {"direction": "step", "gflop": 3 * layer.flops() / 1e9, "floor_ms": 3 * layer.floor_ms(mode),
                         **self.step(layer, text, layout, arrays, calls, is_first)}
        for kernel in self.kernels:
            self.library.destroy_kernel(kernel)
        self.kernels.clear()

    @staticmethod
    def cudnn_weight(layer, layout, arrays):
        """Ready, as cuDNN requires it."""
        return arrays["weight"].contiguous(memory_format=memory_format(layer, layout))

    def cudnn(self, layer, layout, arrays, direction):
        weight = self.cudnn_weight(layer, layout, arrays)
        return median_ms(lambda: backward(layer, arrays["grad_y"], arrays["x"], weight, direction), self.flush,
                         self.options.repeats)

    def caller(self, layer, text, arrays, direction, is_first):
        """(a function that runs the direction once, its kernel). Raises ConvtgenError."""
        library = self.library
        handle = library.layer(text)
        if self.options.tune and is_first:
            library.tune(self.device, handle, direction)
        kernel = library.prepare(self.device, handle, direction)
        library.destroy_layer(handle)
        self.kernels.append(kernel)
        workspace = torch.full((library.workspace(kernel),), 255, dtype=torch.uint8, device="cuda")  # NaNs
        roles = {role: arrays[role].data_ptr() for role in _READ[direction] + _ROLES[direction] if arrays[role] is not None}
        stream = torch.cuda.current_stream().cuda_stream

        def call():
            library.launch_roles(kernel, roles, workspace.data_ptr(), workspace.numel(), stream)

        return call, kernel

    def ours(self, layer, text, mode, arrays, direction, is_first):
        """(its part of the row, a function that runs the direction once or None)."""
        try:
            call, kernel = self.caller(layer, text, arrays, direction, is_first)
        except ConvtgenError as error:
            return {"wrong": str(error), "ms": math.nan, "relative_l2": math.nan, "template": ""}, None
        relative, wrong = self.checked(layer, mode, arrays, direction, call) if is_first else (math.nan, "")
        ms = math.nan if wrong else median_ms(call, self.flush, self.options.repeats)
        return {"relative_l2": relative, "wrong": wrong, "template": self.library.template(kernel), "ms": ms}, call

    def checked(self, layer, mode, arrays, direction, call):
        """(relative L2, "" or what is wrong)."""
        call()
        torch.cuda.synchronize()
        relative, wrong = check_array(layer, arrays, direction, mode)
        result = arrays[_ROLES[direction][0]]
        first = result.clone()
        result.fill_(math.nan)
        for _ in range(self.options.again):
            call()
            torch.cuda.synchronize()
            if not wrong and not torch.equal(first, result):
                wrong = "another call gave other bits"
        return relative, wrong

    def step(self, layer, text, layout, arrays, calls, is_first):
        forward, _ = self.caller(layer, text, arrays, "forward", is_first)
        weight = self.cudnn_weight(layer, layout, arrays)

        def ours():
            forward()
            for direction in GRADIENTS:
                calls[direction]()

        def cudnn():
            convolve(layer, arrays["x"], weight, arrays["bias"])
            backward(layer, arrays["grad_y"], arrays["x"], weight, "both")

        return {"cudnn": {"ms": median_ms(cudnn, self.flush, self.options.repeats)},
                "convtgen": {"ms": median_ms(ours, self.flush, self.options.repeats), "wrong": "", "template": "",
                             "relative_l2": 0.0}}
