"""Calls that JAX's operator serves, and errors."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import DEVICE, runs_kernels
from jax import lax

import convtgen
import convtgen.jax as cj
from convtgen.jax import handlers

_OTHERS = {
    "types int32": ((1, 4, 2), (3, 2, 2), "int32", {}),
    "types complex64": ((1, 4, 2), (3, 2, 2), "complex64", {}),
    "preferred_element_type float32": ((1, 4, 2), (3, 2, 2), "bfloat16", {"preferred_element_type": "float32"}),
    "padding 'SAME_LOWER'": ((1, 4, 2), (3, 2, 2), "float32", {"strides": (1,), "padding": "SAME_LOWER"}),
    "padding -1": ((1, 4, 2), (3, 2, 2), "float32", {"padding": ((3, 1),)}),
    "output_padding 7": ((1, 4, 2), (3, 2, 2), "float32", {"padding": ((2, 9),)}),
    "0 spatial axes": ((2, 3), (3, 4), "float32", {"strides": (), "padding": ()}),
    "4 spatial axes": ((1, 2, 2, 2, 2, 1), (1, 1, 1, 1, 1, 1), "float32",
                       {"strides": (1,) * 4, "dimension_numbers": ("NABDEC", "ABDEIO", "NABDEC")}),
    "extents of at least 1": ((0, 4, 2), (3, 2, 2), "float32", {}),
    "4096": ((1, 4, 1), (5000, 1, 1), "float32", {}),
}


@pytest.mark.parametrize("why", _OTHERS)
def test_what_has_no_kernel_is_jaxs(why):
    lhs_shape, rhs_shape, dtype, named = _OTHERS[why]
    lhs, rhs = jnp.ones(lhs_shape, dtype), jnp.ones(rhs_shape, dtype)
    named = {"strides": (2,), "padding": "SAME", **named}
    assert runs_kernels(lambda *both: cj.conv_transpose(*both, **named), lhs, rhs) == 0
    if DEVICE == "cpu" or why not in ("types int32", "4 spatial axes"):  # which JAX does not have on GPUs
        y, expected = cj.conv_transpose(lhs, rhs, **named), lax.conv_transpose(lhs, rhs, **named)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected)
    with pytest.raises(NotImplementedError, match="policy is 'only'") as error:
        cj.conv_transpose(lhs, rhs, **named, policy="only")
    assert why in str(error.value)


def test_what_is_beyond_the_kernels_of_a_direction_is_jaxs(monkeypatch, normal):
    """In the direction that has none, which is found out when a program is made."""
    prepare = convtgen.Device.prepare

    def refusing(device, layer, direction="forward"):
        if direction == "grad_weight":
            raise convtgen.Error(convtgen.Status.UNSUPPORTED, "no kernel today")
        return prepare(device, layer, direction)

    monkeypatch.setattr(convtgen.Device, "prepare", refusing)
    lhs, rhs = normal(1, 5, 2), normal(4, 2, 3)
    loss = lambda function, **named: lambda *both: (function(*both, (3,), "SAME", **named) ** 2).sum()  # noqa: E731
    gradients = jax.grad(loss(cj.conv_transpose), (0, 1))
    assert runs_kernels(gradients, lhs, rhs) == 2
    for own, expected in zip(gradients(lhs, rhs), jax.grad(loss(lax.conv_transpose), (0, 1))(lhs, rhs)):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    with pytest.raises(convtgen.Error, match="no kernel today"):
        jax.grad(loss(cj.conv_transpose, policy="only"), 1)(lhs, rhs)


def test_policies_and_the_cpu(normal):
    lhs, rhs = normal(1, 6, 2), normal(4, 2, 3)
    call = lambda **named: lambda *both: cj.conv_transpose(*both, (3,), "SAME", **named)  # noqa: E731
    assert runs_kernels(call(), lhs, rhs) == runs_kernels(call(policy="only"), lhs, rhs) == 1
    assert runs_kernels(call(policy="never"), lhs, rhs) == 0
    if DEVICE == "cpu":
        assert cj.use_host_device(False)
        assert runs_kernels(call(), lhs, rhs) == 0
        gradients = jax.grad(lambda *both: (call()(*both) ** 2).sum(), (0, 1))(lhs, rhs)
        expected = jax.grad(lambda *both: (call(policy="never")(*both) ** 2).sum(), (0, 1))(lhs, rhs)
        for own, jaxs in zip(gradients, expected):
            np.testing.assert_allclose(own, jaxs, rtol=1e-12)
        with pytest.raises(NotImplementedError, match="use_host_device"):
            call(policy="only")(lhs, rhs)


def test_programs_of_other_platforms(monkeypatch, normal):
    """As they are made where no such device is: for GPUs with kernels, for others with JAX's operator."""
    monkeypatch.setattr(handlers, "_device", lambda platform: convtgen.Device("host:sm_90a"))
    lhs, rhs = normal(1, 7, 2), normal(4, 2, 3)
    step = jax.jit(jax.grad(lambda *both: (cj.conv_transpose(*both, (3,), "SAME") ** 2).sum(), (0, 1)))
    for platform, kernels in (("cuda", 3), ("tpu", 0), ("rocm", 0)):
        text = step.trace(lhs, rhs).lower(lowering_platforms=(platform,)).as_text()
        assert text.count("@convtgen_kernel") == kernels, platform


def test_wrong_arguments(normal):
    lhs, rhs = normal(1, 6, 2), normal(4, 2, 3)
    with pytest.raises(ValueError, match="compute is 'fp8'; legal are None and 'f32'"):
        cj.conv_transpose(lhs, rhs, (1,), "SAME", compute="fp8")
    with pytest.raises(ValueError, match="policy is 'sometimes'; legal are 'auto', 'always'"):
        cj.conv_transpose(lhs, rhs, (1,), "SAME", policy="sometimes")
    for arguments in ((lhs, normal(4, 5, 3), (1,), "SAME"), (lhs, normal(4, 2), (1,), "SAME"), (lhs, rhs, (1,), "WIDE"),
                      (lhs, rhs, (0,), "SAME"), (lhs, rhs.astype("float32"), (1,), "SAME")):
        with pytest.raises(Exception) as jaxs:  # noqa: B017
            lax.conv_transpose(*arguments)
        with pytest.raises(type(jaxs.value)) as own:
            cj.conv_transpose(*arguments)
        assert str(own.value) == str(jaxs.value)


@pytest.mark.skipif(DEVICE != "cpu", reason="programs for the host device")
@pytest.mark.parametrize("direction,bytes,message", [
    (7, 1 << 20, "direction"), (2, 1 << 20, "direction"), (0, 1, "workspace of 1 bytes is too small")])
def test_a_wrong_program_is_an_error(direction, bytes, message):
    """As one of another version or for another GPU would be."""
    layer = "conv_transpose2d 64 -> 64; kernel 3; padding 1; input 1x4x4; dtype f16; compute f16; layout nhwc"
    shape = jax.ShapeDtypeStruct((1, 4, 4, 64), jnp.float16)
    call = jax.ffi.ffi_call("convtgen_kernel", (shape, jax.ShapeDtypeStruct((bytes,), np.uint8)))
    with pytest.raises(Exception, match=message):
        jax.block_until_ready(call(jnp.zeros(shape.shape, shape.dtype), jnp.zeros((64, 64, 3, 3), shape.dtype),
                                   layer=layer, direction=np.int32(direction)))


def test_a_package_without_the_library_says_so(tmp_path):
    package = Path(convtgen.__file__).parent
    (tmp_path / "convtgen" / "jax").mkdir(parents=True)
    for file in (*package.glob("*.py"), package / "_native.abi3.so", *package.glob("jax/*.py")):
        (tmp_path / "convtgen" / file.relative_to(package)).symlink_to(file.resolve())
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", "import convtgen.jax"], cwd=tmp_path, capture_output=True, text=True,
                          env=environment, check=False)
    assert done.returncode == 1
    assert "CONVTGEN_JAX=1 pip install ." in done.stderr
