"""Layers beyond a limit of convtgen's kernels: torch's operator serves them, and the report says why."""

import pytest
import torch
from conftest import DEVICE

import convtgen.torch as ct
from convtgen.torch import calls, functional
from convtgen.torch import policy as policies


def phases(policy, **named):
    """torch's module with more phases than kernels have, and convtgen's."""
    calls._calls.clear()
    functional._fast.clear()
    theirs = torch.nn.ConvTranspose1d(1, 1, 1, stride=20000, **named).to(DEVICE)
    own = torch.nn.ConvTranspose1d(1, 1, 1, stride=20000, **named).to(DEVICE)
    own.load_state_dict(theirs.state_dict())
    return theirs, own, ct.accelerate(own, policy=policy)


def check_step(theirs, own):
    x = torch.randn(1, 1, 2, device=DEVICE)
    with torch.no_grad():
        torch.testing.assert_close(own(x), theirs(x))
    grads = []
    for module in (theirs, own):
        leaf = x.clone().requires_grad_()
        module(leaf).square().sum().backward()
        grads.append([leaf.grad, *(parameter.grad for parameter in module.parameters())])
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("bias", [False, True])
def test_phases_beyond_the_limit_with_the_policy_always(bias):
    theirs, own, report = phases("always", bias=bias)
    check_step(theirs, own)
    ct.freeze(own)
    check_step(theirs, own)
    rows = {row[2]: row for row in report.rows()}
    assert rows["forward"][3] == "torch" and "20000 phases; at most 16384" in rows["forward"][5]
    assert ct.prepare(own, torch.ones(1, 1, 2, device=DEVICE), progress=False) is None
    assert all(row[3:] == ("convtgen", "", "policy 'always'") for row in report.rows() if "phases" not in row[5])


def test_phases_beyond_the_limit_are_not_measured(monkeypatch):
    monkeypatch.setattr(policies, "kept_choice", lambda key, made=None: made or "")
    theirs, own, report = phases("auto")
    with pytest.warns(UserWarning, match="20000 phases"):
        check_step(theirs, own)
    rows = {row[2]: row for row in report.rows()}
    assert rows["forward"][3:5] == ("torch", "") and "20000 phases" in rows["forward"][5]


@pytest.mark.parametrize("policy", ["auto", "always"])
def test_layers_beyond_the_language_have_a_reason(policy):
    own = torch.nn.ConvTranspose1d(1, 1, 4097).to(DEVICE)
    report = ct.accelerate(own, policy=policy)
    own(torch.ones(1, 1, 2, device=DEVICE))
    own(torch.ones(1, 1, 2, device=DEVICE))
    (_, shape, asked, runs, gain, why), = report.rows()
    assert (shape, asked, runs, gain) == ("1x1x2 f32", "all", "torch", "") and "4096" in why
