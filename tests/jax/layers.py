"""Random calls of conv_transpose, and the errors of their results."""

import random

import jax
import numpy as np
from jax import lax

#: Of each element, for each compute mode, in parts of the sum of its terms' absolute values.
BOUNDS = {"f64": 1e-14, "f32": 5e-7, "f32x3": 2e-6, "tf32": 1.1e-3, "f16": 1e-3, "bf16": 8e-3}
DTYPES = {"f64": "float64", "f16": "float16", "bf16": "bfloat16"}  # of others float32
_AXES = {1: "H", 2: "HW", 3: "DHW"}


class Sample:
    """A random layer of one to three axes that the language has, and the arguments of a call."""

    def __init__(self, seed):
        draw = random.Random(seed)
        n = draw.choice((1, 2, 2, 3))

        def each(low, high):
            return tuple(draw.randint(low, high) for _ in range(n))

        while True:
            strides, dilation, kernel, extents = each(1, 4), each(1, 2), each(1, 4), each(1, 4)
            taps = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
            form = draw.choice(("SAME", "VALID", "pairs", "consistent"))
            # Pairs count zeros around the input, up to what the language's output_padding adds after them.
            pairs = tuple((draw.randint(0, k - 1), draw.randint(0, k - 1 + s - 1)) for k, s in zip(taps, strides))
            out = [(e - 1) * s + 2 + sum(pair) - k for e, s, pair, k in zip(extents, strides, pairs, taps)]
            if min(out) >= 1:
                break
        if form == "consistent":
            pairs = tuple((k - 1 - before, k - 1 - after) for k, (before, after) in zip(taps, pairs))
        channels = draw.randint(1, 5), draw.randint(1, 5)
        axes = _AXES[n]
        last = "N" + axes + "C"
        orders = draw.choice((None, ("NC" + axes, "OI" + axes, "NC" + axes), ("NC" + axes, "IO" + axes, last),
                              (last, axes + "OI", last), (axes + "NC", "I" + axes + "O", "C" + axes + "N")))
        self.arguments = {"strides": strides, "padding": form if form.isupper() else pairs, "rhs_dilation": dilation,
                          "dimension_numbers": orders, "transpose_kernel": draw.random() < 0.5,
                          "use_consistent_padding": form == "consistent"}
        self.mode = draw.choice(tuple(BOUNDS))
        known = (last, axes + "IO") if orders is None else orders
        ends = channels[::-1] if self.arguments["transpose_kernel"] else channels
        sizes = {"N": draw.randint(1, 3), "C": channels[0], **dict(zip(axes, extents))}
        taps = {"I": ends[0], "O": ends[1], **dict(zip(axes, kernel))}
        self.shapes = tuple(sizes[axis] for axis in known[0]), tuple(taps[axis] for axis in known[1])
        self.dtype = jax.numpy.dtype(DTYPES.get(self.mode, "float32"))

    def arrays(self, seed):
        """lhs, rhs and the gradient of y."""
        draw = np.random.default_rng(seed)
        y = jax.eval_shape(self.exact, *(jax.ShapeDtypeStruct(shape, np.float64) for shape in self.shapes))
        return tuple(np.asarray(draw.normal(size=shape)).astype(self.dtype) for shape in (*self.shapes, y.shape))

    def exact(self, lhs, rhs):
        """JAX's own."""
        return lax.conv_transpose(lhs, rhs, precision="highest", **self.arguments)

    def __repr__(self):
        return f"Sample({self.mode}, {self.shapes}, {self.arguments})"


def results(function, lhs, rhs, grad_y):
    """y and both gradients, as one program."""

    def run(lhs, rhs, grad_y):
        y, gradients = jax.vjp(function, lhs, rhs)
        return y, *gradients(grad_y)

    return jax.jit(run)(lhs, rhs, grad_y)


def exact_results(function, *arrays):
    """The same in float64 on the CPU, and the sums of the terms' absolute values."""
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        arrays = [np.asarray(array, np.float64) for array in arrays]
        return results(function, *arrays), results(function, *map(np.abs, arrays))


def assert_close(values, exact, magnitudes, mode, what):
    """Each element within the mode's bound."""
    for name, value, own, magnitude in zip(("y", "gradient of lhs", "gradient of rhs"), values, exact, magnitudes):
        assert value.shape == own.shape, f"{what}: {name}"
        error = np.abs(np.asarray(value, np.float64) - np.asarray(own))
        excess = error - BOUNDS[mode] * np.asarray(magnitude)
        assert np.all(excess <= 0), f"{what}: {name} is off by {error.max()} at the most"
