"""Times a layer's forward pass: convtgen against PyTorch (cuDNN)."""

import math

import torch

from convtgen_api import ConvtgenError
from layer import with_mode
from pytorch_layer import convolve, memory_format, set_precision, tensors
from timing import Flush, median_ms
from verify import Reference


class Measurement:
    """A row of the table for each layer, mode and layout, in one round."""

    def __init__(self, library, device, options):
        self.library, self.device, self.options = library, device, options
        self.flush = Flush(options.flush == "read")

    def measure(self, case, is_first):
        """As it goes into the JSON file; results are checked, and plans are tuned, in the first round."""
        layer, mode, layout = case.layer, case.mode, case.layout
        row = {"layer": layer.name, "mode": mode, "layout": layout, "text": case.canonical, "gflop": layer.flops() / 1e9,
               "gbyte": layer.bytes(mode) / 1e9, "floor_ms": layer.floor_ms(mode)}
        set_precision(mode)
        x, weight, bias = tensors(layer, mode, layout)
        reference = Reference(layer, x, weight, bias) if is_first else None
        row["cudnn"] = self.cudnn(layer, mode, layout, x, weight, bias, reference)
        torch.cuda.empty_cache()
        row["convtgen"] = self.ours(layer, with_mode(case.canonical, mode, layout), mode, layout, x, weight, bias, reference)
        yield row

    def cudnn(self, layer, mode, layout, x, weight, bias, reference):
        y = convolve(layer, x, weight, bias)
        relative, wrong = reference.check(y, mode) if reference else (math.nan, "")
        del y
        ms = ms_ahead = median_ms(lambda: convolve(layer, x, weight, bias), self.flush, self.options.repeats)
        if layout == "nhwc":
            ahead = weight.to(memory_format=memory_format(layer, layout))
            ms_ahead = median_ms(lambda: convolve(layer, x, ahead, bias), self.flush, self.options.repeats)
        return {"relative_l2": relative, "wrong": wrong, "ms": ms, "ms_ahead": ms_ahead}

    def ours(self, layer, text, mode, layout, x, weight, bias, reference):
        y = torch.full(layer.y_shape, math.nan, dtype=x.dtype, device="cuda").to(memory_format=memory_format(layer, layout))
        try:
            handle = self.library.layer(text)
            if self.options.tune and reference:
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
            relative, wrong = reference.check(y, mode) if reference else (math.nan, "")
            return relative, wrong, math.nan if wrong else median_ms(way, self.flush, self.options.repeats)

        relative, wrong, ms = timed(call)
        ms_ahead = ms
        if workspace.numel() and not wrong:
            _, wrong, ms_ahead = timed(lambda: call(0))  # by the copy that the calls before have left
            wrong = wrong and f"with weights packed before: {wrong}"
        row = {"relative_l2": relative, "wrong": wrong, "template": self.library.template(kernel),
               "workspace_bytes": workspace.numel(), "ms": ms, "ms_ahead": ms_ahead}
        self.library.destroy_kernel(kernel)
        self.library.destroy_layer(handle)
        return row
