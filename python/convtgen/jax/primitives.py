"""The three operators as JAX has them. Each is linear in both operands, and its derivatives are made of the others, so
that any order of derivatives, forward and reverse, needs no further kernels:

    y           = forward(x, weight)
    grad_x      = grad_input(grad_y, weight)
    grad_weight = grad_weight(x, grad_y)
"""

import functools

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from ..core import Error, Status
from . import choices, handlers, jaxs, settings

_DIRECTIONS = ("forward", "grad_input", "grad_weight")
_primitives = {direction: Primitive(f"convtgen_{direction}") for direction in _DIRECTIONS}


def _bind(direction, first, second, layer):
    return _primitives[direction].bind(first, second, layer=layer)


def _varying(array):
    """The axes of a shard_map's mesh along which an array varies."""
    aval = jax.typeof(array)
    return aval.mat.varying if hasattr(aval, "mat") else aval.vma  # as JAX 0.11 or 0.10 has them


def forward(x, weight, layer):
    """y of a geometry.Layer, for arrays that lie as it says; differentiable."""
    axes = _varying(x) | _varying(weight)
    x, weight = (jax.lax.pcast(each, tuple(axes - _varying(each)), to="varying") for each in (x, weight))
    return _bind("forward", x, weight, layer)


def _shape_of_result(direction, first, second, layer):
    if direction == "forward":
        return layer.arranged(first[0], layer.channels_of(second), layer.output_extents())
    if direction == "grad_input":
        return layer.arranged(first[0], second[0], layer.extents)
    return layer.arranged(layer.channels_of(first), layer.channels_of(second), layer.kernel)


def _abstract(direction, first, second, *, layer):
    """The result of abstract arrays. On a mesh with explicit axes it is divided as the images' batch, or not at all."""
    shape = _shape_of_result(direction, first.shape, second.shape, layer)
    batch = None if direction == "grad_weight" else first.sharding.spec[0]
    sharding = NamedSharding(first.sharding.mesh, PartitionSpec(batch, *[None] * (len(shape) - 1)))
    return first.update(shape=shape, sharding=sharding, weak_type=False)


def _evaluate(direction):
    """A call outside of jit: a program of this operator alone."""

    @functools.lru_cache(maxsize=4096)
    def compiled(layer):
        return jax.jit(functools.partial(_bind, direction, layer=layer))

    def run(first, second, *, layer):
        with jax.disable_jit(False):
            return compiled(layer)(first, second)

    return run


# ---- Programs ----


def _text(direction, first, second, layer, dtype):
    """The layer with the batch and the channels that the operands have."""
    in_channels = layer.channels_of(first) if direction == "grad_weight" else second[0]
    return layer.text(first[0], in_channels, layer.channels_of(second), settings.DTYPES[dtype])


def _kernel(platform, direction, operands, text, layer):
    """What a program on "cuda" or "cpu", or with None on another platform, calls; None where JAX's operator serves."""
    if platform is None or (platform == "cpu" and not layer.on_host):
        if layer.policy == "only":
            raise NotImplementedError(f"policy is 'only', and {platform or 'this platform'} has no kernels; legal are "
                                      "'cuda', and 'cpu' after use_host_device()")
        return None
    try:
        kernel = handlers.prepare(platform, text, direction)
    except Error as error:
        if error.status != Status.UNSUPPORTED or layer.policy == "only":
            raise
        return None
    if layer.policy == "auto":
        ours, theirs = (functools.partial(_bind, direction, layer=layer._replace(policy=policy))
                        for policy in ("only", "never"))
        what = f"{text}; {direction}; {kernel.architecture}"
        return kernel if choices.is_faster(platform, what, ours, theirs, operands) else None
    return kernel


def _lowering(platform, direction):
    """What makes a program of the operator on a platform."""

    def rule(context, *values, layer):
        first, second = operands = context.avals_in
        text = _text(direction, first.shape, second.shape, layer, first.dtype)
        result = jax.ShapeDtypeStruct(_shape_of_result(direction, first.shape, second.shape, layer), first.dtype)
        kernel = None if layer.policy == "never" else _kernel(platform, direction, operands, text, layer)
        if kernel is None:
            run = functools.partial(jaxs.run, direction=direction, result=result, layer=layer)
        else:
            run = functools.partial(handlers.call, kernel=kernel, text=text, direction=direction, result=result)
        return mlir.lower_fun(run, multiple_results=False)(context, *values)

    return rule


# ---- vmap ----


def _in_one_batch(direction, first, second, axis, layer):
    """Where only images have the new axis."""
    first = jnp.moveaxis(first, axis, 0)
    result = _bind(direction, first.reshape(-1, *first.shape[2:]), second, layer)
    return result.reshape(*first.shape[:2], *result.shape[1:]), 0


def _one_by_one(direction, operands, axes, layer):
    """Where weights or their gradient have it: one call after the other."""
    mapped = tuple(jnp.moveaxis(operand, axis, 0) for operand, axis in zip(operands, axes) if axis is not None)

    def one(own):
        own = iter(own)
        both = (operand if axis is None else next(own) for operand, axis in zip(operands, axes))
        return _bind(direction, *both, layer)

    return jax.lax.map(one, mapped), 0


def _batched(direction):
    def run(operands, axes, *, layer):
        if direction != "grad_weight" and axes[1] is None:
            return _in_one_batch(direction, *operands, axes[0], layer)
        return _one_by_one(direction, operands, axes, layer)

    return run


# ---- Rules ----

# Of (direction, operand): the cotangent of that operand, of the result's cotangent and the other operand.
_COTANGENTS = {
    ("forward", 0): lambda of_y, weight, layer: _bind("grad_input", of_y, weight, layer),
    ("forward", 1): lambda of_y, x, layer: _bind("grad_weight", x, of_y, layer),
    ("grad_input", 0): lambda of_x, weight, layer: _bind("forward", of_x, weight, layer),
    ("grad_input", 1): lambda of_x, grad_y, layer: _bind("grad_weight", of_x, grad_y, layer),
    ("grad_weight", 0): lambda of_weight, grad_y, layer: _bind("grad_input", grad_y, of_weight, layer),
    ("grad_weight", 1): lambda of_weight, x, layer: _bind("forward", x, of_weight, layer),
}


def _define(direction):
    primitive = _primitives[direction]
    primitive.def_impl(_evaluate(direction))
    primitive.def_abstract_eval(functools.partial(_abstract, direction))
    ad.defbilinear(primitive,
                   lambda ct, first, second, *, layer: _COTANGENTS[direction, 0](ct, second, layer),
                   lambda ct, first, second, *, layer: _COTANGENTS[direction, 1](ct, first, layer))
    batching.primitive_batchers[primitive] = _batched(direction)
    for platform in (None, "cpu", "cuda"):
        mlir.register_lowering(primitive, _lowering(platform, direction), platform=platform)


for _direction in _DIRECTIONS:
    _define(_direction)
