"""Is the result of a case right? Against PyTorch's own convolution and its gradients in fp64, by relative L2 and element
by element.

The bounds are those of runtime/reference/compare.cpp: 6 * sqrt(terms) * eps * sum|x||w| for a sum, carried through the
fuse chain, and the rounding of the output's dtype.
"""

import math
import re

import torch

from pytorch_layer import backward, convolve
from verify import RELATIVE_L2 as _RELATIVE_L2

RELATIVE_L2 = _RELATIVE_L2 | {"f64": 1e-14}
# Unit roundoff of a product or an addition. In fp64 the reference errs as much as what is judged.
_EPS = {"f64": 2.0**-52, "f32": 2.0**-24, "f32x3": 2.0**-22, "tf32": 2.0**-11, "f16": 2.0**-24, "bf16": 2.0**-24}
_SUM_EPS = {"f64": 2.0**-53}  # of the fuse chain; else fp32's
_SUM_LEAST = {"f64": 0.0}  # what a term of a sum loses below the normal numbers; else fp32's
_OUTPUT_EPS = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
_LEAST = {"f64": 0.0, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
_TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
_SAFETY = 6


def _softplus(v):
    return torch.clamp(v, min=0) + torch.log1p(torch.exp(-v.abs()))


# name: (function, bound of its slope, whether an implementation rounds by the size of its input too)
_STEPS = {
    "relu": (lambda v: torch.clamp(v, min=0), 1, False),
    "gelu": (lambda v: torch.nn.functional.gelu(v), 1.13, True),
    "gelu_tanh": (lambda v: torch.nn.functional.gelu(v, approximate="tanh"), 1.13, True),
    "silu": (lambda v: torch.nn.functional.silu(v), 1.13, True),
    "mish": (lambda v: v * torch.tanh(_softplus(v)), 1.13, True),
    "tanh": (torch.tanh, 1, False),
    "sigmoid": (torch.sigmoid, 0.25, False),
    "leaky_relu": (lambda v, slope: torch.where(v >= 0, v, v * slope), None, False),
    "hardtanh": (lambda v, low, high: torch.clamp(v, low, high), 1, True),
    "clamp": (lambda v, low, high: torch.clamp(v, low, high), 1, True),
    "scale": (lambda v, c: v * c, None, False),
    "add": (lambda v, c: v + c, 1, True),
    "elu": (lambda v, alpha: torch.where(v < 0, alpha * torch.expm1(v), v), None, False),
}


def steps_of(chain):
    """[(name, numbers)] of "leaky_relu(0.2), relu"."""
    return [(name, [float(number) for number in numbers.split(",")] if numbers else [])
            for name, numbers in re.findall(r"(\w+)(?:\(([^)]*)\))?", chain)] if chain else []


def carry(chain, value, radius, eps):
    """A value and the bound of its error through a fuse chain, whose steps round as well."""
    for name, numbers in steps_of(chain):
        function, slope, rounds_input = _STEPS[name]
        out = function(value, *numbers)
        if slope is None:
            slope = max(1.0, abs(numbers[0])) if name in ("leaky_relu", "elu") else abs(numbers[0])
        size = out.abs() + (value.abs() + sum(abs(number) for number in numbers) if rounds_input else 0)
        value, radius = out, slope * radius + 8 * eps * size + 2.0**-126
    return value, radius


def activated(chain, x, mode, dtype):
    """x after `fuse_input`, rounded to the dtype, and how far a kernel's may be from it."""
    value, radius = carry(chain, x, torch.zeros_like(x), _SUM_EPS.get(mode, 2.0**-24))
    rounded, most, least = (each.to(_TORCH[dtype]).double() for each in (value, value + radius, value - radius))
    return rounded, torch.maximum(most - rounded, rounded - least)


def _terms(layer, role):
    """The products that an element adds up, at most."""
    if role == "y":
        return layer.terms_of_an_output()
    if role == "grad_x":
        return layer.out_channels // layer.groups * layer.taps
    return layer.batch * math.prod(layer.extents if role == "grad_weight" else layer.out_extents)


def _results(layer, direction, of):
    """What a call gives, in fp64; `of` has its inputs by role."""
    if direction == "forward":
        return {"y": convolve(layer, of["x"], of["weight"], of.get("bias"))}
    grad_y = of["grad_y"]
    if direction == "grad_bias":
        return {"grad_bias": grad_y.sum((0, *range(2, grad_y.dim())))}
    # Of what a gradient does not depend on, only the shape is read.
    x = of.get("x", grad_y.new_zeros(layer.x_shape))
    weight = of.get("weight", grad_y.new_zeros(layer.weight_shape))
    roles = ["grad_x"] if direction == "grad_input" else ["grad_weight", "grad_bias"]
    return dict(zip(roles, backward(layer, grad_y, x, weight, direction)))


def underflow(mode, terms, factors):
    """What a sum may lose below the normal numbers; `factors` are its operands. tf32 rounds them, too, to multiples of
    2^-136 there."""
    of_operands = 2.0**-136 * sum(float(factor.abs().max()) for factor in factors) if mode == "tf32" else 0.0
    return terms * (_SUM_LEAST.get(mode, 2.0**-149) + of_operands)


class Reference:
    """What a case's results should be, with the bounds of their errors. `inputs` are those of its direction by role."""

    def __init__(self, case, layer, inputs):
        self._layer, self._mode, self._dtype = layer, case.property("compute"), case.property("dtype")
        self._chain = case.property("fuse")
        self._carried = 0  # to y, of errors of x
        with torch.backends.cudnn.flags(enabled=False):
            inputs = {role: array.double().contiguous() for role, array in inputs.items()}
            if case.property("fuse_input"):
                inputs["x"], errors = activated(case.property("fuse_input"), inputs["x"], self._mode, self._dtype)
                self._carried = convolve(layer, errors, inputs["weight"].abs(), None)
            self._want = _results(layer, case.direction(), inputs)
            self._magnitude = _results(layer, case.direction(), {role: array.abs() for role, array in inputs.items()})
        self._factors = [array for role, array in inputs.items() if role != "bias"]

    def _bounds(self, role):
        """(what it should be, the bound of each element's error, the limit of the norm of all errors)."""
        mode, magnitude = self._mode, self._magnitude[role]
        terms = max(1, _terms(self._layer, role))
        root, lost = math.sqrt(terms), underflow(mode, terms, self._factors)
        chain, eps = self._chain if role == "y" else "", _SUM_EPS.get(mode, 2.0**-24)
        want, radius = carry(chain, self._want[role], _SAFETY * root * _EPS[mode] * magnitude + self._carried + lost, eps)
        # A sum of thousands of terms, added in a row, is off by up to sqrt(terms / 3) * eps of itself; gradients of
        # weights and of the bias must be added up in parts. Where few outputs cancel by chance, a relative error says
        # nothing: then the typical size of a sum counts.
        _, typical = carry(chain, self._want[role], (RELATIVE_L2[mode] * magnitude + self._carried) / root + lost, eps)
        typical = typical + _LEAST[self._dtype] / 2
        relative = max(RELATIVE_L2[mode], root / math.sqrt(3) * eps if role in ("y", "grad_x") else 0)
        limit = max(relative * float(torch.linalg.vector_norm(want)), float(torch.linalg.vector_norm(typical)))
        return want, radius, limit

    def fault(self, role, values):
        """"" where the values are right, else what is wrong with them."""
        want, radius, limit = self._bounds(role)
        got = values.double()
        if not bool(torch.isfinite(got).all()):
            count = int((~torch.isfinite(got)).sum())
            return f"{count} of {got.numel()} elements of {role} are not finite"
        error = (got - want).abs()
        bound = radius + _OUTPUT_EPS[self._dtype] * want.abs() + _LEAST[self._dtype]
        beyond = error > bound
        if bool(beyond.any()):
            worst = int(torch.argmax(error - bound))
            return (f"{int(beyond.sum())} of {got.numel()} elements of {role} are wrong: element {worst} is "
                    f"{float(got.flatten()[worst]):.9g}, should be {float(want.flatten()[worst]):.9g} within "
                    f"{float(bound.flatten()[worst]):.3g}")
        norm = float(torch.linalg.vector_norm(error))
        return "" if norm <= limit else f"the norm of the errors of {role} is {norm:.3g}, more than {limit:.3g}"
