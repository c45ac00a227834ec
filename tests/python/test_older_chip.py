"""CONVTGEN_ARCHITECTURE, on the host device."""

import pytest
import torch

import convtgen
from convtgen.torch import policy

LAYER = "conv_transpose2d 4 -> 8; kernel 3x5; stride 2; padding 1x2; bias"


def test_an_architecture_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVTGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_120")
    device = convtgen.Device("host")
    assert "kernels of sm_120" in device.name
    assert "for sm_120" in device.prepare(convtgen.Layer(LAYER)).source
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_42")
    with pytest.raises(convtgen.Error, match="CONVTGEN_ARCHITECTURE: unknown architecture 'sm_42'; known are sm_75") as error:
        convtgen.Device("host")
    assert error.value.status == convtgen.Status.INVALID_ARGUMENT


def test_choices_of_an_older_chips_kernels_are_apart(monkeypatch):
    device = torch.device("cpu")
    own = policy.key_of("a layer", device)
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_80")
    older = policy.key_of("a layer", device)
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_75")
    assert len({own, older, policy.key_of("a layer", device)}) == 3


def test_a_gpus_own_architecture_changes_no_choice(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    device = torch.device("cuda", 0)
    own = policy.key_of("a layer", device)
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_90a")
    assert policy.key_of("a layer", device) == own
    monkeypatch.setenv("CONVTGEN_ARCHITECTURE", "sm_80")
    assert "NVIDIA H200 as sm_80" in policy.key_of("a layer", device)
