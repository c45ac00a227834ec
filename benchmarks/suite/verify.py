"""Is a result right? By relative L2 and element by element, against PyTorch's own (not cuDNN's) convolution in fp64."""

import math

import torch

from pytorch_layer import backward, convolve

RELATIVE_L2 = {"f32": 2e-6, "f32x3": 2e-6, "tf32": 1e-3, "f16": 1e-3, "bf16": 8e-3}
# Unit roundoff of what a product or a sum loses; and of the output's dtype.
_EPS = {"f32": 2.0**-24, "f32x3": 2.0**-22, "tf32": 2.0**-10, "f16": 2.0**-24, "bf16": 2.0**-24}
_OUTPUT_EPS = {"f32": 2.0**-24, "f32x3": 2.0**-24, "tf32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
# What a term of a sum loses below the normal numbers, and half of the output's least number.
_TERM_LEAST = 2.0**-149
_OUTPUT_LEAST = {"f32": 2.0**-150, "f32x3": 2.0**-150, "tf32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134}
_SAFETY = 6


def _wrong_elements(got, want, magnitude, terms, mode):
    """(relative L2, how many elements are beyond their bounds)."""
    error = (got - want).abs()
    lost = terms * _TERM_LEAST + _OUTPUT_LEAST[mode]
    relative = float(torch.linalg.vector_norm((error - lost).clamp(min=0)) / torch.linalg.vector_norm(want))
    bound = _SAFETY * math.sqrt(terms) * _EPS[mode] * magnitude + _OUTPUT_EPS[mode] * want.abs() + lost
    return relative, int((error > bound).sum())


def _judge(relative, wrong, mode):
    if wrong:
        return relative, f"{wrong} elements beyond their bounds"
    return relative, "" if relative <= RELATIVE_L2[mode] else f"relative L2 beyond {RELATIVE_L2[mode]:g}"


def check_array(layer, arrays, direction, mode):
    """(relative L2, "" or what is wrong) of a gradient. That of the input is checked in the first and the last image,
    those of the weights and of the bias as sums over the whole batch, by images one after the other."""
    roles = ["grad_x"] if direction == "grad_input" else ["grad_weight"] + (["grad_bias"] if layer.bias else [])
    for role in roles:
        if not bool(torch.isfinite(arrays[role]).all()):
            return math.nan, f"elements of {role} are not finite"
    weight = arrays["weight"].double().contiguous()

    def in_fp64(image, way):
        grad_y, x = (arrays[name][image : image + 1].double().contiguous() for name in ("grad_y", "x"))
        return backward(layer, way(grad_y), way(x), way(weight), direction)

    if direction == "grad_input":
        terms = layer.out_channels // layer.groups * layer.taps
        worst, wrong = 0.0, 0
        for image in sorted({0, layer.batch - 1}):
            (want,), (magnitude,) = in_fp64(image, lambda t: t), in_fp64(image, torch.abs)
            relative, beyond = _wrong_elements(arrays["grad_x"][image : image + 1].double(), want, magnitude, terms, mode)
            worst, wrong = max(worst, relative), wrong + beyond
        return _judge(worst, wrong, mode)
    want, magnitude = in_fp64(0, lambda t: t), in_fp64(0, torch.abs)
    for image in range(1, layer.batch):
        want = [a + b for a, b in zip(want, in_fp64(image, lambda t: t))]
        magnitude = [a + b for a, b in zip(magnitude, in_fp64(image, torch.abs))]
    places = {"grad_weight": math.prod(layer.extents), "grad_bias": math.prod(layer.out_extents)}
    worst, wrong = 0.0, 0
    for role, each, most in zip(roles, want, magnitude):
        relative, beyond = _wrong_elements(arrays[role].double(), each, most, layer.batch * places[role], mode)
        worst, wrong = max(worst, relative), wrong + beyond
    return _judge(worst, wrong, mode)


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
        return _judge(*_wrong_elements(got, self.want, self._magnitude, self._terms, mode), mode)
