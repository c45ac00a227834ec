"""What JAX makes of the operator: derivatives, vmap, programs, threads, several devices."""

import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import runs_kernels
from jax import lax
from jax.sharding import AxisType, Mesh, PartitionSpec
from jax.test_util import check_grads

import convtgen.jax as cj

_LAYER = {"strides": (2, 1), "padding": ((1, 2), (1, 1))}
ours = functools.partial(cj.conv_transpose, policy="only", **_LAYER)
jaxs = functools.partial(lax.conv_transpose, **_LAYER)
close = functools.partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)


@pytest.fixture
def arrays(normal):
    return normal(2, 3, 4, 2), normal(3, 2, 2, 3)


def test_derivatives_of_any_order_and_both_modes(arrays):
    check_grads(ours, arrays, order=2, modes=("fwd", "rev"))
    assert runs_kernels(jax.grad(lambda *both: ours(*both).sum(), (0, 1)), *arrays) == 3 - 1  # y itself is not needed


@pytest.mark.parametrize("argument", [0, 1])
def test_third_derivatives(arrays, argument):
    def third(function):
        loss = lambda *both: (function(*both) ** 3).sum()  # noqa: E731
        for _ in range(3):
            inner = loss
            loss = lambda *both, inner=inner: jax.grad(inner, argument)(*both).sum()  # noqa: E731
        return jax.jit(loss)(*arrays)

    close(third(ours), third(jaxs))


def test_jvp_and_linear_transpose(arrays, normal):
    tangents = normal(*arrays[0].shape), normal(*arrays[1].shape)
    for own, expected in zip(jax.jvp(ours, arrays, tangents), jax.jvp(jaxs, arrays, tangents)):
        close(own, expected)
    y = normal(*jaxs(*arrays).shape)
    for argument in (0, 1):
        def partial(one, function, argument=argument):
            return function(*(one if place == argument else other for place, other in enumerate(arrays)))

        transposed = [jax.linear_transpose(functools.partial(partial, function=function), arrays[argument])(y)[0]
                      for function in (ours, jaxs)]
        close(*transposed)


@pytest.mark.parametrize("axes", [(0, None), (3, None), (None, 0), (None, 2), (0, 0), (1, 4)])
def test_vmap(axes, normal):
    shapes = [2, 3, 4, 2], [3, 2, 2, 3]
    operands = []
    for shape, axis in zip(shapes, axes):
        own = list(shape)
        if axis is not None:
            own.insert(axis, 3)
        operands.append(normal(*own))
    mapped = lambda function: jax.vmap(function, axes)  # noqa: E731
    close(mapped(ours)(*operands), mapped(jaxs)(*operands))
    loss = lambda function: lambda *both: (mapped(function)(*both) ** 2).sum()  # noqa: E731
    for own, expected in zip(jax.grad(loss(ours), (0, 1))(*operands), jax.grad(loss(jaxs), (0, 1))(*operands)):
        close(own, expected, rtol=1e-10)
    # Gradients of each of a batch's examples.
    each = lambda function: mapped(jax.grad(lambda *both: (function(*both) ** 2).sum(), (0, 1)))  # noqa: E731
    for own, expected in zip(each(ours)(*operands), each(jaxs)(*operands)):
        close(own, expected, rtol=1e-10)


def test_a_batch_of_images_is_one_call(normal):
    lhs, rhs = normal(5, 2, 3, 4, 2), normal(3, 2, 2, 3)
    assert runs_kernels(jax.vmap(ours, (0, None)), lhs, rhs) == 1


def test_within_other_transforms(arrays):
    expected = jaxs(*arrays)
    close(jax.jit(jax.checkpoint(ours))(*arrays), expected)
    with jax.disable_jit():
        close(ours(*arrays), expected)
    total, _ = lax.scan(lambda sum, weight: (sum + ours(arrays[0], weight), None), jnp.zeros_like(expected),
                        jnp.stack([arrays[1], 2 * arrays[1]]))
    close(total, 3 * expected)
    close(lax.cond(True, ours, lambda lhs, rhs: 0 * expected, *arrays), expected)


def test_programs_can_be_exported(arrays):
    check = jax.export.DisabledSafetyCheck.custom_call("convtgen_kernel")
    program = jax.export.export(jax.jit(ours), disabled_checks=[check])(*arrays)
    close(program.call(*arrays), jaxs(*arrays))


def test_several_threads(normal):
    """Calls of the same programs and of others, at once."""
    lhs = [normal(1, extent, 4, 2) for extent in (2, 3, 4)]
    rhs = normal(3, 2, 2, 3)
    expected = [jaxs(one, rhs) for one in lhs]
    function, failures = jax.jit(ours), []

    def work():
        try:
            for _ in range(3):
                for one, own in zip(lhs, expected):
                    close(function(one, rhs), own)
        except Exception as error:  # a thread's own would be lost
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("check_vma", [False, True])
def test_a_batch_over_devices(check_vma, normal):
    devices = jax.local_devices()
    mesh = Mesh(devices, ("batch",))
    lhs, rhs = normal(2 * len(devices), 3, 4, 2), normal(3, 2, 2, 3)
    split, whole = PartitionSpec("batch"), PartitionSpec()
    shared = jax.jit(jax.shard_map(ours, mesh=mesh, in_specs=(split, whole), out_specs=split, check_vma=check_vma))
    close(shared(lhs, rhs), jaxs(lhs, rhs))
    grads = jax.grad(lambda *both: (shared(*both) ** 2).sum(), (0, 1))(lhs, rhs)
    for own, expected in zip(grads, jax.grad(lambda *both: (jaxs(*both) ** 2).sum(), (0, 1))(lhs, rhs)):
        close(own, expected, rtol=1e-10)


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_sharded_arguments_of_jit(axis_type, normal):
    devices = jax.local_devices()
    lhs, rhs = normal(2 * len(devices), 3, 3), normal(4, 3, 3)
    mesh = jax.make_mesh((len(devices),), ("batch",), (axis_type,), devices=devices)
    loss = lambda function: lambda *both: (function(*both, (2,), "SAME") ** 2).sum()  # noqa: E731
    expected = jax.grad(loss(lax.conv_transpose), (0, 1))(lhs, rhs)
    with jax.set_mesh(mesh):
        sharded = [jax.device_put(each, jax.NamedSharding(mesh, spec))
                   for each, spec in ((lhs, PartitionSpec("batch")), (rhs, PartitionSpec()))]
        grads = jax.jit(jax.grad(loss(functools.partial(cj.conv_transpose, policy="only")), (0, 1)))(*sharded)
    for own, theirs in zip(grads, expected):
        close(own, theirs, rtol=1e-10)
