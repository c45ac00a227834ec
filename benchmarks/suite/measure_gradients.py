"""Times a layer's gradients, and whole training steps: convtgen against PyTorch (cuDNN)."""

import math

import torch

from convtgen_api import ConvtgenError
from layer import GRADIENTS, with_directions, with_mode, with_weights
from pytorch_layer import WRITTEN, addresses, arrays_by_role, backward, convolve, memory_format, set_precision
from timing import Flush, median_ms
from verify import check_array


class Measurement:
    """Rows of the table for each layer, mode and layout, one for each direction, in one round."""

    def __init__(self, library, device, options):
        self.library, self.device, self.options = library, device, options
        self.flush = Flush(options.flush == "read")
        self.kernels = []  # of the layer that is measured

    def measure(self, case, is_first):
        """As they go into the JSON file; results are checked, and plans are tuned, in the first round."""
        layer, mode, layout = case.layer, case.mode, case.layout
        set_precision(mode)
        arrays = arrays_by_role(layer, mode, layout, self.options.weights)
        text = with_weights(with_mode(case.canonical, mode, layout), self.options.weights)
        text = with_directions(text, ["forward", *GRADIENTS])
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
        roles = addresses(arrays, direction)
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
        result = arrays[WRITTEN[direction][0]]
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
