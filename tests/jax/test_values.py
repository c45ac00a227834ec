"""Results and gradients of random layers against JAX's own in float64."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from layers import BOUNDS, DTYPES, Sample, assert_close, exact_results, results

import convtgen.jax as cj


@pytest.mark.parametrize("seed", range(100))
def test_random_layers(seed):
    sample = Sample(seed)
    compute = None if sample.mode in DTYPES else sample.mode
    arrays = sample.arrays(seed)

    def ours(lhs, rhs):
        return cj.conv_transpose(lhs, rhs, compute=compute, policy="only", **sample.arguments)

    values = results(ours, *arrays)
    assert all(value.dtype == sample.dtype for value in values)
    assert_close(values, *exact_results(sample.exact, *arrays), sample.mode, sample)


@pytest.mark.parametrize("precision,mode", [(None, "tf32"), ("high", "tf32"), ("highest", "f32"),
                                            ((lax.Precision.DEFAULT, lax.Precision.HIGHEST), "f32")])
def test_precision_chooses_the_compute_mode(precision, mode, normal):
    lhs, rhs = normal(1, 3, 4, 8, dtype="float32"), normal(2, 3, 8, 4, dtype="float32")

    def ours(lhs, rhs, **named):
        return cj.conv_transpose(lhs, rhs, (2, 2), "SAME", policy="only", **named)

    def text(**named):
        return jax.jit(lambda lhs, rhs: ours(lhs, rhs, **named)).lower(lhs, rhs).as_text()

    assert f"compute {mode};" in text(precision=precision)
    assert "compute f32x3;" in text(precision=precision, compute="f32x3")
    with jax.default_matmul_precision("highest"):
        assert "compute f32;" in text()
    exact = lax.conv_transpose(*(np.asarray(array, np.float64) for array in (lhs, rhs)), (2, 2), "SAME")
    error = np.abs(ours(lhs, rhs, precision=precision) - exact)
    assert error.max() <= BOUNDS[mode] * 8 * 6 * 16


def test_arrays_of_numpy_and_lists_of_arguments():
    lhs, rhs = np.ones((1, 4, 2), np.float32), np.ones((3, 2, 2), np.float32)
    y = cj.conv_transpose(lhs, rhs, [2], [[1, 2]], [1], ["NHC", "HIO", "NHC"], policy="only")
    np.testing.assert_array_equal(y, lax.conv_transpose(lhs, rhs, [2], [(1, 2)]))


def test_workspaces_are_aligned(normal):
    """Of a kernel that packs its weights."""
    lhs, rhs = normal(1, 4, 4, 64, dtype="float16"), normal(3, 3, 64, 64, dtype="float16")
    ours = lambda lhs, rhs: cj.conv_transpose(lhs, rhs, (1, 1), "SAME", policy="only")  # noqa: E731
    assert re.search(r"tensor<\d\d+xui8>", jax.jit(ours).lower(lhs, rhs).as_text())
    exact = lax.conv_transpose(jnp.asarray(lhs, jnp.float64), jnp.asarray(rhs, jnp.float64), (1, 1), "SAME")
    np.testing.assert_allclose(np.asarray(jax.jit(ours)(lhs, rhs), np.float64), exact, atol=0.05)


@pytest.mark.parametrize("orders", [("NHWC", "OHWI", "NHWC"), ("NCHW", "OIHW", "NCHW")])
def test_weights_that_lie_as_kernels_read_them_are_not_copied(orders, normal):
    sizes = {"N": 1, "C": 3, "H": 4, "W": 5}
    lhs, rhs = (normal(*(one[axis] for axis in order)) for one, order in
                zip((sizes, {"O": 3, "I": 2, "H": 3, "W": 2}), orders))
    arguments = {"strides": (2, 2), "padding": "SAME", "dimension_numbers": orders, "transpose_kernel": True}
    ours = lambda lhs, rhs: cj.conv_transpose(lhs, rhs, policy="only", **arguments)  # noqa: E731
    text = jax.jit(ours).lower(lhs, rhs).as_text()
    assert "custom_call" in text and "transpose %" not in text and "reverse" not in text
    np.testing.assert_allclose(ours(lhs, rhs), lax.conv_transpose(lhs, rhs, **arguments), rtol=1e-12, atol=1e-12)
