"""Tests of the Python package. Without a GPU CPU tensors run on the host device; with $CONVTGEN_TEST_DEVICE=cuda, all on it."""

import hashlib
import os

import pytest
import torch

import convtgen.torch

DEVICE = os.environ.get("CONVTGEN_TEST_DEVICE", "cpu").replace("host", "cpu")
ALL = os.environ.get("CONVTGEN_TEST_ALL", "") not in ("", "0")


def number_of(text):
    """Of a text and the seed: the same in each run of a tree."""
    seed = os.environ.get("CONVTGEN_TEST_SEED", "0") + text
    return int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16)


def part(cases, text, parts):
    """One of so many parts, which the seed chooses; all with $CONVTGEN_TEST_ALL."""
    return list(cases) if ALL else list(cases)[number_of(text) % parts::parts]


@pytest.fixture(autouse=True)
def on_kernels(request):
    """CPU tensors have kernels too; fresh random numbers for each test, the same in each run of a tree."""
    torch.manual_seed(number_of(request.node.nodeid))
    before = convtgen.torch.use_host_device(True)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield
    convtgen.torch.use_host_device(before)


class Launches:
    """Counts launches of convtgen's kernels by their direction."""

    def __init__(self, monkeypatch):
        from convtgen.torch.calls import Call

        self.directions = []
        launch = Call._launch

        def counted(call, direction, *arguments, **named):
            self.directions.append(direction)
            return launch(call, direction, *arguments, **named)

        monkeypatch.setattr(Call, "_launch", counted)

    def take(self):
        """Those since the last time."""
        taken, self.directions = self.directions, []
        return taken


@pytest.fixture
def launches(monkeypatch):
    """Launches of this test."""
    return Launches(monkeypatch)


@pytest.fixture
def measured(monkeypatch):
    """Times in the place of measured ones: {direction: (ours, torch's), or what measuring raises}, and "whole" for whole
    models; which were asked for, and the choices that are kept."""
    from convtgen.torch import calls, functional, policy, whole

    times, asked = {name: (1.0, 2.0) for name in (*policy.DIRECTIONS, "training", "frozen", "whole")}, []
    choose = policy.Chosen._choose

    def chosen(self, direction, measure):
        def given():
            asked.append(direction)
            if isinstance(times[direction], Exception):
                raise times[direction]
            return times[direction]

        return choose(self, direction, None if measure is None else given)

    monkeypatch.setattr(policy.Chosen, "_choose", chosen)
    kept, wholes = {}, []
    monkeypatch.setattr(policy, "kept_choice", lambda key, made=None: kept.setdefault(key, made) if made else kept.get(key, ""))
    monkeypatch.setattr(whole, "_seconds", lambda runs, device: wholes.append(runs) or times["whole"])
    calls._calls.clear()
    functional._fast.clear()
    times["asked"], times["wholes"], times["kept"] = asked, wholes, kept
    return times
