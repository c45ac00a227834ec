"""The policy of a module under tensor subclasses, function modes and torch.fx; what quantization and scripting say."""

import copy
import warnings

import pytest
import torch
import torch.ao.quantization.quantize_fx as quantize_fx
from conftest import DEVICE
from torch.ao.quantization import QConfigMapping
from torch.overrides import TorchFunctionMode

import convtgen.torch as ct


class Subclass(torch.Tensor):
    pass


class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))


def net(policy="auto", **named):
    model = torch.nn.Sequential(torch.nn.ConvTranspose2d(4, 4, 3, **named)).to(DEVICE).eval()
    return model, ct.accelerate(model, policy=policy)


def image():
    return torch.ones(1, 4, 5, 5, device=DEVICE)


def ways(model):
    """Calls of a model as code of others makes them."""
    def in_mode(x):
        with Mode():
            return model(x)

    def on_device(x):
        with torch.device(DEVICE):
            return model(x)

    return {"subclass": lambda x: model(x.as_subclass(Subclass)), "mode": in_mode, "device": on_device,
            "fx": torch.fx.symbolic_trace(model)}


@pytest.mark.parametrize("slower", [False, True])
@pytest.mark.parametrize("way", ["subclass", "mode", "device", "fx"])
def test_auto_is_kept(way, slower, measured, launches):
    model, report = net()
    measured["forward"] = (2.0, 1.0) if slower else (1.0, 2.0)
    with torch.no_grad():
        expected = model(image())
        launches.take()
        torch.testing.assert_close(ways(model)[way](image()).as_subclass(torch.Tensor), expected)
    assert launches.take() == ([] if slower else ["forward"])


@pytest.mark.parametrize("way", ["mode", "device", "fx"])
def test_a_first_call_is_measured_and_reported(way, measured, launches):
    model, report = net()
    measured["forward"] = (2.0, 1.0)
    with torch.no_grad():
        ways(model)[way](image())
    assert measured["asked"] == ["forward"] and launches.take() == []
    assert [row[2:4] for row in report.rows()] == [("forward", "torch")]


def test_weights_stay_packed_in_a_mode(launches, monkeypatch):
    model, _ = net("always")
    ct.freeze(model)
    packed = []
    monkeypatch.setattr(ct.calls.Packed, "find", lambda self, *arguments: packed.append(arguments))
    with torch.no_grad(), Mode():
        model(image())
    assert len(packed) == 1


def test_graphs_call_the_module():
    model, _ = net()
    graph = torch.fx.symbolic_trace(model).graph
    assert [node.target for node in graph.nodes if node.op != "placeholder" and node.op != "output"] == ["0"]


@pytest.mark.parametrize("policy", ["auto", "always", "never"])
def test_graphs_of_modules_with_hooks_have_the_operator(policy, measured, launches):
    model, _ = net(policy)
    calls = []
    model[0].register_forward_hook(lambda module, arguments, y: calls.append(1) or y * 2)
    measured["forward"] = (2.0, 1.0)
    with torch.no_grad():
        expected = model(image())
        traced = torch.fx.symbolic_trace(model)
        calls.clear()
        launches.take()
        torch.testing.assert_close(traced(image()), expected)
    assert calls == [] and launches.take() == (["forward"] if policy == "always" else [])


def test_graphs_of_a_layer_itself_and_of_an_output_size():
    model, _ = net("always", stride=2)
    torch.testing.assert_close(torch.fx.symbolic_trace(model[0], {"output_size": None})(image()), model(image()))

    class Sized(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = model[0]

        def forward(self, x):
            return self.up(x, output_size=(12, 12))

    assert torch.fx.symbolic_trace(Sized())(image()).shape[2:] == (12, 12)


def test_policies_of_functions(measured, launches):
    x, weight = image(), torch.ones(4, 4, 3, 3, device=DEVICE)
    measured["forward"] = (2.0, 1.0)
    for policy, expected in (("auto", []), ("never", []), ("always", ["forward"])):
        ct.conv_transpose2d(x, weight, policy=policy)
        assert launches.take() == expected
    measured["asked"].clear()
    with pytest.raises(ValueError, match="policy is 'sometimes'"):
        ct.conv_transpose2d(x, weight, policy="sometimes")


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
def test_quantization_says_what_it_leaves():
    model = torch.nn.Sequential(torch.nn.ConvTranspose2d(4, 4, 3), torch.nn.BatchNorm2d(4)).to(DEVICE).eval()
    expected = model(image())
    ct.accelerate(model, policy="always")
    with pytest.warns(UserWarning, match="convtgen: torch.ao.quantization .*undo"):
        fused = quantize_fx.fuse_fx(copy.deepcopy(model))
    torch.testing.assert_close(fused(image()), expected)
    with pytest.warns(UserWarning, match="convtgen: torch.ao.quantization .*undo"):
        quantize_fx.prepare_fx(copy.deepcopy(model), QConfigMapping(), (image(),))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        torch.fx.symbolic_trace(model)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning", "ignore:.*torch.jit.script:DeprecationWarning")
def test_scripting_says_what_is_legal():
    model, report = net()
    with pytest.raises(RuntimeError, match="torch.jit.script can't compile an accelerated ConvTranspose2d; legal"):
        torch.jit.script(model)
    report.undo()
    torch.testing.assert_close(torch.jit.script(model)(image()), model(image()))
