"""What a call follows: its precision and policy, and whether the CPU runs kernels on the host device."""

import os

import jax
import jax.numpy as jnp
from jax.lax import Precision

#: The compute modes of float32 arrays. Those of other types have one, their own.
FLOAT32_MODES = ("f32", "tf32", "f32x3")
#: The language's words for the types that have kernels.
DTYPES = {jnp.dtype(jnp.float64): "f64", jnp.dtype(jnp.float32): "f32", jnp.dtype(jnp.float16): "f16",
          jnp.dtype(jnp.bfloat16): "bf16"}
POLICIES = ("auto", "always", "only", "never")

host_device = os.environ.get("CONVTGEN_JAX_HOST_DEVICE", "0") not in ("", "0")


def use_host_device(enabled=True):
    """Whether the CPU runs convtgen's kernels on its host device, which checks every access of a kernel and takes
    seconds where JAX takes milliseconds: for tests where no GPU is. $CONVTGEN_JAX_HOST_DEVICE=1 does the same from the
    start. A function that is traced keeps what was set then.

    Returns:
      What was set before.
    """
    global host_device
    before, host_device = host_device, bool(enabled)
    return before


def check(compute, policy):
    """Raises ValueError for a word that is no compute mode or no policy; a compute mode of None follows `precision`."""
    if compute is not None and compute not in FLOAT32_MODES:
        raise ValueError(f"compute is {compute!r}; legal are None and {', '.join(map(repr, FLOAT32_MODES))}")
    if policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}; legal are {', '.join(map(repr, POLICIES))}")


def precisions(precision):
    """JAX's argument `precision` as a pair of Precision, of lhs and rhs; None stands for jax_default_matmul_precision.

    Raises:
      ValueError: an algorithm of dot products, which convolutions do not have.
    """
    if precision is None:
        precision = jax.config.jax_default_matmul_precision
    if precision is None:
        return Precision.DEFAULT, Precision.DEFAULT
    if isinstance(precision, (tuple, list)):
        first, second = precision
        return Precision(first), Precision(second)
    return Precision(precision), Precision(precision)


def compute_mode(dtype, pair, compute):
    """The language's compute mode for arrays of `dtype`. For float32 it is `compute`, or where that is None tf32, as
    XLA's convolutions on GPUs do it unless an operand's precision is HIGHEST."""
    if dtype != jnp.float32:
        return DTYPES[dtype]
    if compute is not None:
        return compute
    return "f32" if Precision.HIGHEST in pair else "tf32"
