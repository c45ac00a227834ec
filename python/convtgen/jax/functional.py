"""convtgen.jax.conv_transpose."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..core import Error, Status
from ..core import Layer as CheckedLayer
from . import geometry, primitives, settings


def conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False,
                   precision=None, preferred_element_type=None, use_consistent_padding=False, *, compute=None,
                   policy="always"):
    """jax.lax.conv_transpose, with its arguments, by convtgen's kernels. It has derivatives of any order, forward and
    reverse, and goes with jit and vmap.

    Args:
      lhs: the input, of the shape that `dimension_numbers` says; by default (batch, height, width, channels), with one
        or three extents accordingly.
      rhs: the weights, by default (height, width, input channels, output channels).
      compute: how products of float32 arrays are formed: "f32", "tf32", "f32x3"; None: as `precision` says.
      policy: "always": convtgen's kernel, or JAX's operator where it has no kernel; "only": an error there; "auto": what
        was measured to be faster, when a program is compiled; "never": JAX's operator.

    Returns:
      The output, in the type of lhs.

    Raises:
      ValueError: a word that is no compute mode or no policy.
      NotImplementedError: policy "only", and no layer of the language or no kernels on the platform.
      convtgen.Error: no device or no compiler for the kernel; with the policy "only" also no kernel.
      Wrong arguments are JAX's own errors.
    """
    settings.check(compute, policy)
    lhs, rhs = jnp.asarray(lhs), jnp.asarray(rhs)
    arguments = _Arguments(
        tuple(strides), padding if isinstance(padding, str) else tuple(map(tuple, padding)),
        None if rhs_dilation is None else tuple(rhs_dilation),
        tuple(dimension_numbers) if isinstance(dimension_numbers, list) else dimension_numbers, bool(transpose_kernel),
        tuple(precision) if isinstance(precision, list) else precision, preferred_element_type,
        bool(use_consistent_padding))
    if policy == "never":
        return arguments.run(lhs, rhs)
    found = _find(lhs.shape, rhs.shape, lhs.dtype, rhs.dtype, arguments, jax.config.jax_default_matmul_precision,
                  compute, policy, settings.host_device)
    if isinstance(found, str):
        if policy == "only":
            raise NotImplementedError(f"policy is 'only', and there is no kernel: {found}")
        return arguments.run(lhs, rhs)
    return _run(lhs, rhs, found)


class _Arguments(NamedTuple):
    """Those of jax.lax.conv_transpose after both arrays."""

    strides: tuple
    padding: str | tuple
    rhs_dilation: tuple | None
    dimension_numbers: tuple | None
    transpose_kernel: bool
    precision: object
    preferred_element_type: object
    use_consistent_padding: bool

    def run(self, lhs, rhs):
        """JAX's operator."""
        return lax.conv_transpose(lhs, rhs, **self._asdict())


class _Call(NamedTuple):
    """A geometry.Layer, and how JAX's arrays are brought to its order: the axes of lhs, rhs and y as jnp.transpose
    takes them, and whether the weights are to be reversed."""

    layer: geometry.Layer
    of_lhs: tuple
    of_rhs: tuple
    of_y: tuple
    reverses: bool


@functools.lru_cache(maxsize=4096)
def _find(lhs_shape, rhs_shape, dtype, rhs_dtype, arguments, default_precision, compute, policy, on_host):
    """The _Call of such arrays, or a text: why JAX's operator serves."""
    jax.eval_shape(arguments.run, jax.ShapeDtypeStruct(lhs_shape, dtype), jax.ShapeDtypeStruct(rhs_shape, rhs_dtype))
    axes = len(lhs_shape) - 2
    if not all(isinstance(extent, int) and extent > 0 for extent in (*lhs_shape, *rhs_shape)):
        return f"shapes {lhs_shape} and {rhs_shape}; legal are extents of at least 1"
    if axes not in (1, 2, 3):
        return f"{axes} spatial axes; legal are 1, 2 and 3"
    if dtype not in settings.DTYPES or rhs_dtype != dtype:
        return f"types {dtype} and {rhs_dtype}; legal is one of {', '.join(map(str, settings.DTYPES))} for both"
    if arguments.preferred_element_type is not None and jnp.dtype(arguments.preferred_element_type) != dtype:
        return f"preferred_element_type {jnp.dtype(arguments.preferred_element_type)}; legal is the input's, {dtype}"
    try:
        precision = settings.precisions(arguments.precision)
    except ValueError:
        return f"precision {arguments.precision or default_precision}; legal are those of jax.lax.Precision"
    numbers = lax.conv_dimension_numbers(lhs_shape, rhs_shape, arguments.dimension_numbers or _DEFAULTS[axes])
    layout = "nchw" if numbers.lhs_spec == tuple(range(axes + 2)) else "nhwc"
    of_lhs, of_y = (_order(layout, *spec) for spec in (numbers.lhs_spec, numbers.out_spec))
    out_axis, in_axis, *spatial = numbers.rhs_spec
    if arguments.transpose_kernel:
        out_axis, in_axis = in_axis, out_axis
    of_rhs = _order(layout, in_axis, out_axis, *spatial)
    kernel = tuple(rhs_shape[axis] for axis in spatial)
    dilation = arguments.rhs_dilation or (1,) * axes
    pairs = geometry.padding_pairs(arguments.padding, kernel, arguments.strides, dilation,
                                   arguments.use_consistent_padding)
    if pairs is None:
        return f"padding {arguments.padding!r}; legal are 'SAME', 'VALID' and pairs"
    layer = geometry.Layer(layout, tuple(lhs_shape[axis] for axis in numbers.lhs_spec[2:]), kernel, arguments.strides,
                           *geometry.as_padding(pairs, kernel, dilation), dilation,
                           settings.compute_mode(dtype, precision, compute), precision, policy, on_host)
    try:
        CheckedLayer(layer.text(lhs_shape[of_lhs[0]], rhs_shape[in_axis], rhs_shape[out_axis], settings.DTYPES[dtype]))
    except Error as error:
        if error.status not in (Status.INVALID_LAYER, Status.UNSUPPORTED):
            raise
        return str(error).splitlines()[0]
    return _Call(layer, of_lhs, of_rhs, tuple(of_y.index(axis) for axis in range(axes + 2)),
                 not arguments.transpose_kernel)


#: dimension_numbers where none are given, as jax.lax.conv_transpose has them.
_DEFAULTS = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NHWDC", "HWDIO", "NHWDC")}


def _order(layout, first, second, *spatial):
    return (first, second, *spatial) if layout == "nchw" else (first, *spatial, second)


@functools.partial(jax.jit, static_argnums=2, inline=True)
def _run(lhs, rhs, call):
    weight = jnp.transpose(rhs, call.of_rhs)
    if call.reverses:
        weight = lax.rev(weight, call.layer.spatial_axes())
    return jnp.transpose(primitives.forward(jnp.transpose(lhs, call.of_lhs), weight, call.layer), call.of_y)
