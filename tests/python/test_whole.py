"""Whole models: whether they gain by convtgen's kernels."""

import copy
import pickle
import warnings

import pytest
import torch
from conftest import DEVICE

import convtgen.torch as ct
from convtgen.torch import functional, policy, whole

NONE_GAINED = (1.0, 1.0)
SECONDS = whole._seconds  # which most tests replace


def accelerated(train=True):
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ConvTranspose2d(4, 2, 2))
    net = net.to(DEVICE).train(train)
    return net, ct.accelerate(net)


def image():
    return torch.ones(2, 3, 4, 5, device=DEVICE)


def launched(net, launches):
    """Launches of a step, or of a call without gradients in eval mode."""
    launches.take()
    with torch.set_grad_enabled(net.training):
        y = net(image())
    if net.training:
        y.sum().backward()
    return launches.take()


@pytest.mark.parametrize("train", [False, True])
def test_a_model_that_gains_nothing_is_torchs(train, measured, launches):
    net, report = accelerated(train)
    before = copy.deepcopy(net)
    measured["whole"] = NONE_GAINED
    ct.prepare(net, image(), progress=False)
    for _ in range(2):
        assert launched(net, launches) == []
    asked = "training" if train else "forward"
    rows = [row for row in report.rows() if row[2] == asked]
    assert [row[3:] for row in rows] == [("torch", "2.00", "the model gains nothing")] * 2
    # Another model of the same layers finds the answer, and a copy has it; what was not asked is not settled by it.
    ct.prepare(before, image(), progress=False)
    assert launched(before, launches) == [] == launched(copy.deepcopy(net), launches)
    assert len(measured["wholes"]) == 1
    assert launched(pickle.loads(pickle.dumps(net)), launches) != []
    assert launched(net.train(not train), launches) != []


@pytest.mark.parametrize("train", [False, True])
def test_a_model_that_gains_keeps_its_kernels(train, measured, launches):
    net, _ = accelerated(train)
    measured["whole"] = (0.9, 1.0)
    ct.prepare(net, image(), progress=False)
    assert len(launched(net, launches)) == (5 if train else 2) and len(measured["wholes"]) == 1
    key = next(key for key in measured["kept"] if "model" in key)
    assert policy.Choice.of(measured["kept"][key]).why == policy.WHOLE


def test_nothing_is_measured_where_torch_serves_all_layers(measured, launches):
    measured.update({name: (2.0, 1.0) for name in policy.DIRECTIONS})
    net, _ = accelerated()
    ct.prepare(net, image(), progress=False)
    assert measured["wholes"] == [] and launched(net, launches) == []


def test_models_differ_by_more_than_their_layers(measured):
    net, _ = accelerated()
    other = torch.nn.Sequential(net, torch.nn.ReLU())
    for model in (net, other, net):
        ct.prepare(model, image(), progress=False)
    assert len(measured["wholes"]) == 2


def test_ranks_measure_nothing_but_use_what_is_known(measured, launches, monkeypatch):
    net, _ = accelerated()
    measured["whole"] = NONE_GAINED
    monkeypatch.setattr(policy, "has_ranks", lambda: True)
    ct.prepare(net, image(), progress=False)
    assert measured["wholes"] == [] and len(launched(net, launches)) == 5
    monkeypatch.setattr(policy, "has_ranks", lambda: False)
    ct.prepare(net, image(), progress=False)
    assert launched(net, launches) == []
    ct.undo(net)
    ct.accelerate(net)
    monkeypatch.setattr(policy, "has_ranks", lambda: True)
    ct.prepare(net, image(), progress=False)
    assert launched(net, launches) == [] and len(measured["wholes"]) == 1


@pytest.mark.parametrize("train", [False, True])
def test_a_measured_model_runs_as_it_will(train, measured, launches, monkeypatch):
    net, _ = accelerated(train)
    state = copy.deepcopy(net.state_dict())
    runs = []

    def seconds(functions, device):
        launches.take()
        for function in functions:
            assert function()
            runs.append(launches.take())
        return NONE_GAINED

    monkeypatch.setattr(whole, "_seconds", seconds)
    ct.prepare(net, image(), progress=False)
    # The input of the first layer needs no gradient.
    assert runs == [["forward"] * 2 + ["grad_input", "grad_weight", "grad_weight"] if train else ["forward"] * 2, []]
    assert all(each.grad is None for each in net.parameters())
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())


def test_torchs_runs_are_looked_up_as_they_will_be(measured, monkeypatch):
    """After the first one no call goes further than what is known of its input."""
    net, _ = accelerated(False)
    looked_up = []

    def seconds(functions, device):
        for _ in range(3):
            functions[1]()
            looked_up.append([len(functional.state_of(layer).torchs) for layer in (net[0], net[2])])
        return NONE_GAINED

    monkeypatch.setattr(whole, "_seconds", seconds)
    torchs = functional.State.note_torchs
    noted = []
    monkeypatch.setattr(functional.State, "note_torchs", lambda state, input: noted.append(input) or torchs(state, input))
    ct.prepare(net, image(), progress=False)
    assert looked_up == [[1, 1]] * 3 and len(noted) == 2


def test_a_step_without_gradients_is_not_measured(measured, launches, monkeypatch):
    net, _ = accelerated()
    monkeypatch.setattr(whole, "_seconds", lambda runs, device: [1.0, 1.0] if all(run() for run in runs) else None)
    net.requires_grad_(False)
    ct.prepare(net, image(), progress=False)
    assert not any("model" in key for key in measured["kept"])
    net.requires_grad_(True)
    assert launched(net, launches) != []


@pytest.mark.parametrize("error", [RuntimeError("no step like this"), torch.OutOfMemoryError("no memory")])
def test_a_model_that_cannot_be_measured(error, measured, launches, monkeypatch):
    def seconds(runs, device):
        runs[1]()
        raise error

    net, _ = accelerated()
    monkeypatch.setattr(whole, "_seconds", seconds)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ct.prepare(net, image(), progress=False)
    said = [str(each.message) for each in found if "no step like this" in str(each.message)]
    assert len(said) == (0 if isinstance(error, torch.OutOfMemoryError) else 1)
    assert launched(net, launches) != [] and not functional.state_of(net[0]).left


def test_a_model_measured_in_earnest(measured, launches, monkeypatch):
    found = []
    monkeypatch.setattr(whole, "_seconds", lambda runs, device: found.append(SECONDS(runs, device)) or found[-1])
    net, _ = accelerated()
    ct.prepare(net, image(), progress=False)
    (ours, torchs), = found
    assert ours > 0 and torchs > 0 and (launched(net, launches) == []) == (ours > 0.99 * torchs)


@pytest.mark.parametrize("slow", [False, True])
def test_rounds_take_turns_and_the_least_counts(slow, monkeypatch):
    scale = 250 if slow else 1
    order, times = [], {"ours": iter([4e-3, 5.0] + [3e-3] * 9), "torch's": iter([5e-3, 4e-3] + [7.0] * 9)}

    def a_round(run, count, device):
        order.append((run(), count))
        return next(times[order[-1][0]]) * scale

    monkeypatch.setattr(whole, "_round", a_round)
    found = whole._seconds((lambda: "ours", lambda: "torch's"), torch.device("cuda"))
    if slow:  # a round takes longer than all may
        assert order[2:] == [("ours", 1), ("torch's", 1)] and found == [5.0 * scale, 4e-3 * scale]
    else:  # 20 ms of 4 and of 5 ms each
        assert order[2:] == [("ours", 6), ("torch's", 5)] * 7 and found == [3e-3, 4e-3]
