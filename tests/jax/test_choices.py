"""The policy "auto": what was measured runs, and measured it is once."""

import json

import jax
import numpy as np
import pytest
from conftest import runs_kernels
from jax import lax

import convtgen.jax as cj
from convtgen.jax import choices


def _step(lhs, rhs):
    return jax.grad(lambda *both: (cj.conv_transpose(*both, (2,), "SAME", policy="auto") ** 2).sum(), (0, 1))(lhs, rhs)


def _store(kept):
    return lambda key, made=None: kept.setdefault(key, made) if made else kept.get(key, "")


@pytest.fixture
def measured(monkeypatch):
    """Seconds in the place of measured ones, the number of measurements, and the choices that are kept."""
    found = {"seconds": (1.0, 2.0), "count": 0, "kept": {}}

    def seconds(functions, operands):
        found["count"] += 1
        return found["seconds"]

    monkeypatch.setattr(choices, "_seconds", seconds)
    monkeypatch.setattr(choices, "kept_choice", _store(found["kept"]))
    return found


@pytest.mark.parametrize("seconds,kernels", [((1.0, 2.0), 3), ((0.99, 1.0), 0), ((2.0, 1.0), 0)])
def test_what_is_faster_runs(seconds, kernels, measured, normal):
    lhs, rhs = normal(1, 3, 2), normal(4, 2, 3)
    measured["seconds"] = seconds
    for _ in range(2):  # later programs find the choices
        assert runs_kernels(_step, lhs, rhs) == kernels
        assert measured["count"] == 3
        jax.clear_caches()
    assert [json.loads(text)["convtgen_ms"] for text in measured["kept"].values()] == [seconds[0] * 1e3] * 3
    expected = jax.grad(lambda *both: (lax.conv_transpose(*both, (2,), "SAME") ** 2).sum(), (0, 1))(lhs, rhs)
    for own, jaxs in zip(_step(lhs, rhs), expected):
        np.testing.assert_allclose(own, jaxs, rtol=1e-12)


def test_a_choice_of_another_version_is_measured_again(measured, monkeypatch, normal):
    monkeypatch.setattr(choices, "kept_choice", lambda key, made=None: made or "what nobody can read")
    assert runs_kernels(_step, normal(1, 5, 2), normal(4, 2, 3)) == 3
    assert measured["count"] == 3


def test_where_nothing_may_be_measured_jaxs_runs(measured, monkeypatch, normal):
    with monkeypatch.context() as several:
        several.setattr(jax, "process_count", lambda: 2)
        assert runs_kernels(_step, normal(1, 6, 2), normal(4, 2, 3)) == 0
    monkeypatch.setattr(choices, "_has_memory", lambda device, operands: False)
    assert runs_kernels(_step, normal(1, 7, 2), normal(4, 2, 3)) == 0
    assert not measured["count"] and not measured["kept"]


def test_it_measures(monkeypatch, normal):
    """In truth, while a program is made within another one."""
    kept = {}
    monkeypatch.setattr(choices, "kept_choice", _store(kept))
    lhs, rhs = normal(1, 8, 2), normal(4, 2, 3)

    def run(lhs, rhs):
        return jax.vmap(lambda one: cj.conv_transpose(one, rhs, (2,), "SAME", policy="auto"))(lhs)

    y = jax.jit(run)(lhs[None], rhs)
    np.testing.assert_allclose(y[0], lax.conv_transpose(lhs, rhs, (2,), "SAME"), rtol=1e-12, atol=1e-12)
    choice, = map(json.loads, kept.values())
    assert choice["convtgen_ms"] > 0 and choice["jax_ms"] > 0
    assert choice["runs"] == ("convtgen" if choice["convtgen_ms"] < 0.97 * choice["jax_ms"] else "jax")
