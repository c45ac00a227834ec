"""Is a result right? By relative L2 and element by element, against PyTorch's own (not cuDNN's) convolution in fp64."""

import math

import torch

from pytorch_layer import convolve

RELATIVE_L2 = {"f32": 2e-6, "f32x3": 2e-6, "tf32": 1e-3, "f16": 1e-3, "bf16": 8e-3}
# Unit roundoff of what a product or a sum loses; and of the output's dtype.
_EPS = {"f32": 2.0**-24, "f32x3": 2.0**-22, "tf32": 2.0**-10, "f16": 2.0**-24, "bf16": 2.0**-24}
_OUTPUT_EPS = {"f32": 2.0**-24, "f32x3": 2.0**-24, "tf32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
_SAFETY = 6


class Reference:
    """The first and the last image of a layer's result in fp64, with the sums of |x||w| that bound its errors."""

    def __init__(self, layer, x, weight, bias):
        self.images = sorted({0, x.shape[0] - 1})
        self._terms = layer.terms_of_an_output()
        with torch.backends.cudnn.flags(enabled=False):
            x, weight = x[self.images].double().contiguous(), weight.double()
            bias = bias.double() if bias is not None else None
            self.want = convolve(layer, x, weight, bias)
            self._magnitude = convolve(layer, x.abs(), weight.abs(), bias.abs() if bias is not None else None)

    def check(self, y, mode):
        """(relative L2, "" or what is wrong). `y` is all of the result; where it was poisoned NaN must be gone."""
        if not bool(torch.isfinite(y).all()):
            return math.nan, "elements are not finite"
        got = y[self.images].double()
        error = (got - self.want).abs()
        relative = float(torch.linalg.vector_norm(error) / torch.linalg.vector_norm(self.want))
        bound = (_SAFETY * math.sqrt(self._terms) * _EPS[mode] * self._magnitude + _OUTPUT_EPS[mode] * self.want.abs()
                 + (2.0**-25 if mode == "f16" else 0.0))
        wrong = int((error > bound).sum())
        if wrong:
            return relative, f"{wrong} elements beyond their bounds"
        return relative, "" if relative <= RELATIVE_L2[mode] else f"relative L2 beyond {RELATIVE_L2[mode]:g}"
