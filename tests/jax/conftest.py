"""Tests of convtgen.jax. Without a GPU the CPU runs kernels on the host device. With $CONVTGEN_TEST_DEVICE=cuda all run
on a GPU, and only what they are held against on the CPU."""

import os

import jax
import numpy as np
import pytest

import convtgen.jax as cj

DEVICE = os.environ.get("CONVTGEN_TEST_DEVICE", "cpu").replace("host", "cpu")
jax.config.update("jax_platforms", "cpu" if DEVICE == "cpu" else "cuda,cpu")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True)
def on_kernels():
    """The CPU has kernels too."""
    before = cj.use_host_device(True)
    yield
    cj.use_host_device(before)


@pytest.fixture
def normal():
    """Arrays of random numbers, the same in each run."""
    draw = np.random.default_rng(0)

    def array(*shape, dtype="float64"):
        return jax.numpy.asarray(draw.normal(size=shape), dtype)

    return array


def runs_kernels(function, *arguments):
    """How many calls of kernels a function's program has."""
    return jax.jit(function).lower(*arguments).as_text().count("@convtgen_kernel")
