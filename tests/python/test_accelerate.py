"""accelerate(), its policy, freeze(), prepare() and describe()."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch
from conftest import DEVICE

import convtgen
import convtgen.torch as ct
from convtgen.torch import policy


class Own(torch.nn.ConvTranspose2d):
    """A subclass with a forward of its own."""

    def forward(self, input):
        return super().forward(input) * 2


class Named(torch.nn.ConvTranspose2d):
    """A subclass without."""

    def name(self):
        return "named"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(3, 4, 3, stride=2)
        self.own = Own(4, 4, 1)
        self.named = Named(4, 2, 2)
        self.cube = torch.nn.ConvTranspose3d(1, 1, 1)
        self.signal = torch.nn.utils.parametrizations.weight_norm(torch.nn.ConvTranspose1d(2, 2, 4, stride=2))

    def forward(self, x):
        y = self.named(self.own(torch.relu(self.up(x))))
        return self.signal(self.cube(y[:, :1, None])[:, :, 0].flatten(2).expand(-1, 2, -1))


@pytest.fixture
def both():
    net = Net().to(DEVICE)
    return copy.deepcopy(net), net


def image():
    return torch.randn(2, 3, 4, 5, device=DEVICE, requires_grad=True)


def test_modules_stay_the_same_objects(both, launches):
    reference, net = both
    calls = []
    net.up.register_forward_hook(lambda *_: calls.append("hook"))
    parameters = {name: id(parameter) for name, parameter in net.named_parameters()}
    modules = {name: id(module) for name, module in net.named_modules()}
    report = ct.accelerate(net, policy="always")
    assert parameters == {name: id(parameter) for name, parameter in net.named_parameters()}
    assert modules == {name: id(module) for name, module in net.named_modules()}
    assert isinstance(net.up, torch.nn.ConvTranspose2d) and net.named.name() == "named"
    x = image()
    y = net(x)
    assert calls == ["hook"] and launches.take() == ["forward"] * 4
    torch.testing.assert_close(y, reference(x))
    y.square().sum().backward()
    reference(x.detach()).square().sum().backward()
    for ours, theirs in zip(net.parameters(), reference.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)
    assert [line.name for line in report.lines] == ["up", "own", "named", "cube", "signal"]
    why = {line.name: line.why_not for line in report.lines}
    assert why["own"] == "Own has a forward of its own" and why["cube"] is None and why["up"] is None
    assert type(net.cube) is ct.ConvTranspose3d
    text = str(report)
    assert "2x3x4x5 f32" in text and "policy 'always'" in text and "Own has a forward of its own" in text
    assert "already" in str(ct.accelerate(ct.ConvTranspose2d(1, 1, 1)))


def test_undo(both, launches):
    reference, net = both
    classes = {name: type(module) for name, module in net.named_modules()}
    report = ct.accelerate(net, policy="always")
    x = image()
    net(x)
    assert launches.take()
    report.undo()
    assert {name: type(module) for name, module in net.named_modules() if name != "signal"} == \
        {name: cls for name, cls in classes.items() if name != "signal"}
    torch.testing.assert_close(net(x), reference(x))
    assert launches.take() == [] and "_convtgen" not in vars(net.up)
    torch.nn.utils.parametrize.remove_parametrizations(net.signal, "weight")
    assert type(net.signal) is torch.nn.ConvTranspose1d


def test_parametrizations_can_be_removed(both, launches):
    reference, net = both
    ct.accelerate(net, policy="always")
    torch.nn.utils.parametrize.remove_parametrizations(net.signal, "weight")
    assert type(net.signal) is ct.ConvTranspose1d
    x = image()
    torch.testing.assert_close(net(x), reference(x))
    assert launches.take() == ["forward"] * 4


def test_filter_and_compute(both):
    _, net = both
    report = ct.accelerate(net, filter_fn=lambda module, name: name != "up", compute="f32x3", policy="always")
    assert type(net.up) is torch.nn.ConvTranspose2d and net.named.compute == "f32x3"
    assert report.lines[0].why_not == "left out by filter_fn"
    for wrong in ({"policy": "sometimes"}, {"compute": "fp8"}):
        with pytest.raises(ValueError, match="legal are"):
            ct.accelerate(net, **wrong)


@pytest.mark.parametrize("lazy, theirs, own", [
    (torch.nn.LazyConvTranspose2d, torch.nn.ConvTranspose2d, ct.ConvTranspose2d),
    (torch.nn.LazyConvTranspose3d, torch.nn.ConvTranspose3d, ct.ConvTranspose3d)])
def test_lazy_modules(lazy, theirs, own, launches):
    net = torch.nn.Sequential(lazy(3, 2), lazy(2, 2)).to(DEVICE)
    ct.accelerate(net, policy="always")
    x = torch.randn(1, 4, *[3] * int(theirs.__name__[-2]), device=DEVICE)
    y = net(x)
    assert type(net[0]) is own and net[0].in_channels == 4 and launches.take() == ["forward"] * 2
    report_text = repr(net)
    ct.undo(net)
    assert type(net[0]) is theirs and f"{theirs.__name__}(4, 3" in report_text
    torch.testing.assert_close(net(x), y)


def test_copies_and_pickles_of_an_accelerated_model(launches):
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3), torch.nn.ReLU()).to(DEVICE)
    ct.accelerate(net, policy="always", compute="f32x3")
    x = image()
    y = net(x)
    launches.take()
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(copied(x), y) and launches.take() == ["forward"]
        assert copied[0].policy == "always" and copied[0].compute == "f32x3"


INITIALIZED = []


class Registered(torch.nn.ConvTranspose2d):
    """A class that counts its subclasses."""

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        INITIALIZED.append(cls.__name__)


class Slotted(torch.nn.ConvTranspose2d):
    __slots__ = ("mine",)


@pytest.mark.parametrize("cls", [torch.nn.ConvTranspose2d, Named, Registered])
@pytest.mark.parametrize("order", ["norm accelerate remove", "norm accelerate undo remove", "accelerate norm undo remove",
                                   "accelerate norm remove undo", "accelerate undo norm remove"])
def test_parametrizations_come_and_go_in_any_order(order, cls, launches):
    from torch.nn.utils import parametrizations, parametrize

    net = cls(4, 4, 3).to(DEVICE)
    x = torch.randn(1, 4, 3, 3, device=DEVICE)
    expected = net(x)
    is_ours = False
    for step in order.split():
        INITIALIZED.clear()
        if step == "norm":
            parametrizations.weight_norm(net)
        elif step == "accelerate":
            ct.accelerate(net, policy="always")
        elif step == "undo":
            ct.undo(net)
        else:
            parametrize.remove_parametrizations(net, "weight")
        is_ours = step == "accelerate" or (is_ours and step != "undo")
        assert INITIALIZED == [] or step == "norm"
        for each in (net, copy.deepcopy(net)):
            launches.take()
            torch.testing.assert_close(each(x), expected)
            assert launches.take() == ["forward"] * is_ours
    if not is_ours:
        assert type(net) is cls
    assert isinstance(net, cls)


def test_accelerated_subclasses_can_be_pickled_and_saved(tmp_path, launches):
    net = torch.nn.Sequential(Named(3, 4, 3), Registered(4, 2, 2)).to(DEVICE)
    ct.accelerate(net, policy="always", compute="f32x3")
    x = image()
    expected = net(x)
    torch.save(net, tmp_path / "net.pt")
    INITIALIZED.clear()
    copies = [pickle.loads(pickle.dumps(net, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for copied in (*copies, copy.deepcopy(net), torch.load(tmp_path / "net.pt", weights_only=False)):
        launches.take()
        assert torch.equal(copied(x), expected) and launches.take() == ["forward"] * 2
        assert type(copied[0]) is type(net[0]) and copied[0].name() == "named"
        ct.undo(copied)
        assert type(copied[0]) is Named and type(copied[1]) is Registered
    assert INITIALIZED == []


def test_a_layer_that_raises_leaves_the_model_as_it_was():
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3), Named(4, 4, 3), torch.nn.ConvTranspose2d(4, 2, 2))
    ct.accelerate(net[0], policy="never")

    def filter_fn(module, name):
        if name == "2":
            raise KeyError(name)
        return True

    with pytest.raises(KeyError):
        ct.accelerate(net, filter_fn=filter_fn, policy="always")
    assert type(net[1]) is Named and type(net[2]) is torch.nn.ConvTranspose2d and net[0].policy == "never"
    assert not hasattr(net[1], "policy")


def test_a_class_that_cannot_be_changed_is_reported():
    net = torch.nn.Sequential(Slotted(3, 4, 3), torch.nn.ConvTranspose2d(4, 2, 2))
    report = ct.accelerate(net, policy="always")
    assert "the class Slotted can't be changed" in report.lines[0].why_not and type(net[0]) is Slotted
    assert type(net[1]) is ct.ConvTranspose2d


def test_a_second_call_gives_its_policy(launches):
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3)).to(DEVICE)
    ct.accelerate(net, policy="always")
    report = ct.accelerate(net, policy="never")
    net(image())
    assert launches.take() == [] and report.rows()[0][3:] == ("torch", "", "policy 'never'")
    report = ct.accelerate(net, policy="always", compute="f32x3")
    net(image())
    assert launches.take() == ["forward"] and net[0].compute == "f32x3" and report.rows()[0][3] == "convtgen"
    left_out = ct.accelerate(net, policy="never", filter_fn=lambda *_: False)
    assert left_out.rows()[0][3:] == ("convtgen", "", "left out by filter_fn, policy 'always'")


def test_auto_chooses_each_direction_by_its_time(measured, launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    reference = copy.deepcopy(net)
    report = ct.accelerate(net)
    measured["grad_input"] = (2.0, 1.0)
    x = image()
    for _ in range(2):
        y = net(x)
        grads = torch.autograd.grad(y.square().sum(), [x, *net.parameters()])
        assert launches.take() == ["forward", "grad_weight"]
    assert measured["asked"] == ["forward", "grad_input", "grad_weight", "training"]
    expected = torch.autograd.grad(reference(x).square().sum(), [x, *reference.parameters()])
    for ours, theirs in zip(grads, expected):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    rows = {row[2]: row[3:5] for row in report.rows()}
    assert rows == {"forward": ("convtgen", "2.00"), "grad_input": ("torch", "0.50"), "grad_weight": ("convtgen", "2.00"),
                    "training": ("convtgen", "2.00")}


def test_auto_is_torchs_where_that_is_faster(measured, launches):
    for name in policy.DIRECTIONS:
        measured[name] = (1.0, 1.01)  # within the margin
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    ct.accelerate(net)
    x = image()
    for _ in range(2):
        y = net(x)
        y.sum().backward()
    assert launches.take() == [] and "ConvolutionBackward" in type(y.grad_fn).__name__
    assert measured["asked"] == list(policy.DIRECTIONS)  # a step of torch's alone needs no measurement


def test_auto_is_torchs_where_the_whole_step_is_faster(measured, launches):
    measured["training"] = (1.0, 1.01)
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    report = ct.accelerate(net)
    x = image()
    for _ in range(2):
        y = net(x)
        assert launches.take() == [] and "ConvolutionBackward" in type(y.grad_fn).__name__
    assert [row[2:4] for row in report.rows()][-1] == ("training", "torch")
    with torch.no_grad():
        net(x)
    assert launches.take() == ["forward"]


def test_auto_has_a_choice_of_its_own_for_frozen_weights(measured, launches):
    measured["forward"] = (2.0, 1.0)
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    ct.accelerate(net)
    x = image().detach()
    with torch.no_grad():
        for frozen in (False, True, False):
            ct.freeze(net, frozen)
            for _ in range(2):
                net(x)
            assert launches.take() == (["forward"] * 2 if frozen else [])
    assert measured["asked"] == ["forward", "frozen"]


def test_what_torch_serves_is_looked_up_by_what_changes(measured, launches):
    measured["forward"] = (2.0, 1.0)
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    ct.accelerate(net)
    with torch.no_grad():
        net(image())
        net(image())
        assert launches.take() == []
        measured["forward"] = (1.0, 2.0)
        net(torch.randn(2, 3, 9, 5, device=DEVICE))
        assert launches.take() == ["forward"]
        net.double()(image().double())
        assert launches.take() == ["forward"]


def test_choices_are_of_buckets_and_kept(measured):
    net = torch.nn.ConvTranspose2d(3, 4, 3).to(DEVICE)
    ct.accelerate(net)
    with torch.no_grad():
        for height in (5, 6, 8):
            net(torch.randn(2, 3, height, 5, device=DEVICE))
        assert measured["asked"] == ["forward"]
        net(torch.randn(2, 3, 9, 5, device=DEVICE))
        assert measured["asked"] == ["forward"] * 2
    key = next(iter(measured["kept"]))
    assert "input 2x8x8" in key and f"torch {torch.__version__}" in key


def test_never_measured_while_it_must_not(measured, monkeypatch, launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3).to(DEVICE)
    ct.accelerate(net)
    monkeypatch.setattr(policy, "_may_measure", lambda call: False)
    x = image()
    net(x)
    assert measured["asked"] == [] and launches.take() == []
    monkeypatch.undo()


def test_a_step_that_could_not_be_measured_is_measured_later(measured, monkeypatch, launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3).to(DEVICE)
    ct.accelerate(net)
    may = iter([True, True, True])
    monkeypatch.setattr(policy, "_may_measure", lambda call: next(may, False))
    x = image()
    net(x)
    assert measured["asked"] == list(policy.DIRECTIONS) and launches.take() == []
    monkeypatch.setattr(policy, "_may_measure", lambda call: True)
    net(x)
    assert measured["asked"] == [*policy.DIRECTIONS, "training"] and launches.take() == ["forward"]


def test_too_little_memory_to_measure(measured, monkeypatch, launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3).to(DEVICE)
    report = ct.accelerate(net)
    x = image()

    measured["forward"] = torch.OutOfMemoryError("no memory")
    with torch.no_grad():
        net(x)
        assert launches.take() == [] and "not measured yet" in str(report)
        measured["forward"] = (1.0, 2.0)
        net(x)
    assert launches.take() == ["forward"]


def test_never(both, launches):
    reference, net = both
    ct.accelerate(net, policy="never")
    x = image()
    assert torch.equal(net(x), reference(x)) and launches.take() == []


def test_a_choice_measured_in_earnest(launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    reference = copy.deepcopy(net)
    report = ct.accelerate(net)
    x = image()
    torch.testing.assert_close(net(x), reference(x))
    net(x).sum().backward()
    rows = [row for row in report.rows() if row[2]]
    assert {row[2] for row in rows} - {"training"} == set(policy.DIRECTIONS)
    assert all(row[3] in ("convtgen", "torch") and row[4] and row[5] == "measured" for row in rows)


def asked_for():
    counters = convtgen.counters()
    return counters["prepared"] + counters["reused"]


@pytest.mark.parametrize("train", [False, True])
def test_prepare(train, measured, launches, capsys):
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3), torch.nn.ConvTranspose2d(4, 2, 2)).to(DEVICE).train(train)
    ct.accelerate(net)
    x = torch.randn(2, 3, 4, 5, device=DEVICE)
    prepared = asked_for()
    ct.prepare(net, x)
    bar = capsys.readouterr().err
    assert f"] {9 if train else 5}/{9 if train else 5} measuring the model" in bar
    assert asked_for() - prepared == (6 if train else 2)
    assert len(measured["asked"]) == (8 if train else 2)
    prepared, asked = asked_for(), list(measured["asked"])
    launches.take()
    with torch.set_grad_enabled(train):
        y = net(x.requires_grad_(train))
    if train:
        y.sum().backward()
    assert asked_for() == prepared and measured["asked"] == asked
    assert len(launches.take()) == (6 if train else 2)


def test_describe(both):
    _, net = both
    ct.accelerate(net)
    text = ct.describe(net, image())
    assert "layer up {" in text and "layer signal {" in text and "input 2x3" not in text
    up = convtgen.Layer(text, "up")
    assert up.text == convtgen.Layer("conv_transpose2d 3 -> 4; kernel 3; stride 2; input 2x4x5; bias; "
                                     "directions forward, grad_input, grad_weight").text


def test_freeze(both, launches, monkeypatch):
    packs = []
    from convtgen.torch.calls import Call

    pack = Call.pack
    monkeypatch.setattr(Call, "pack", lambda call, *arguments: packs.append(call) or pack(call, *arguments))
    net = torch.nn.ConvTranspose2d(64, 64, 4, stride=2, padding=1).to(DEVICE)
    reference = copy.deepcopy(net)
    ct.accelerate(net, policy="always", compute="tf32")
    ct.freeze(net)
    x = torch.randn(1, 64, 5, 6, device=DEVICE)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(net(x), reference(x), rtol=1e-2, atol=1e-2)
        assert len(packs) == 1
        net.weight.mul_(2)
        reference.weight.mul_(2)
        torch.testing.assert_close(net(x), reference(x), rtol=1e-2, atol=1e-2)
        assert len(packs) == 2
        assert torch.equal(copy.deepcopy(net)(x), net(x))
        ct.freeze(net, False)
        net.weight.data.copy_(torch.zeros_like(net.weight))
        assert (net(x) - net.bias[:, None, None]).abs().max() == 0


@pytest.mark.parametrize("kind", ["autocast", "weight_norm"])
def test_freeze_packs_no_passing_weights(kind, launches, monkeypatch):
    """Weights that are made in each call have addresses that come again."""
    from convtgen.torch.calls import Call

    packs = []
    monkeypatch.setattr(Call, "pack", lambda call, weight, has_bias: packs.append(weight.clone()))
    net = torch.nn.ConvTranspose2d(4, 4, 3).to(DEVICE)
    if kind == "weight_norm":
        net = torch.nn.utils.parametrizations.weight_norm(net)
    ct.accelerate(net, policy="always")
    ct.freeze(net)
    x = torch.randn(1, 4, 3, 3, device=DEVICE)
    parameter = net.parametrizations.weight.original1 if kind == "weight_norm" else net.weight
    for _ in range(4):
        with torch.no_grad(), torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16, enabled=kind == "autocast"):
            parameter.mul_(2)
            net(x)
            net(x)
    assert len(packs) == (4 if kind == "autocast" else 0)


def test_prepare_changes_nothing_of_the_model(measured):
    net = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout()).to(DEVICE)
    ct.accelerate(net)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    ct.prepare(net, torch.ones(2, 3, 4, 5, device=DEVICE), progress=False)
    assert torch.equal(torch.rand(2), expected)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_two_processes_choose_alike(tmp_path):
    code = ("import convtgen.core as c, sys; print(c.choice('a key', sys.argv[1]), c.choice('a key'), "
            "repr(c.choice('another')))")
    import os

    environment = {**os.environ, "CONVTGEN_CACHE_DIR": str(tmp_path)}
    found = [subprocess.run([sys.executable, "-c", code, made], capture_output=True, text=True, check=True,
                            env=environment).stdout for made in ("first", "second")]
    assert found == ["first first ''\n"] * 2


def traced_targets(net, x):
    """Names of the operators in the forward and the backward graph that a compiler gets."""
    from torch._dynamo.backends.common import aot_autograd

    found = []

    def compiler(graph, _):
        found.append({str(node.target) for node in graph.graph.nodes if node.op == "call_function"})
        return graph.forward

    torch._dynamo.reset()
    y = torch.compile(net, fullgraph=True, backend=aot_autograd(fw_compiler=compiler))(x)
    if y.requires_grad:
        y.sum().backward()
    return found


@pytest.mark.parametrize("slower", [(), ("forward",), ("grad_weight",), ("training",), policy.DIRECTIONS])
def test_a_compiler_sees_what_runs(slower, measured, launches):
    measured.update({name: (2.0, 1.0) for name in slower})
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    ct.accelerate(net)
    x = image()
    ct.prepare(net, x, progress=False)
    asked = list(measured["asked"])
    launches.take()
    forward, backward = traced_targets(net, x)
    none_is_ours = "training" in slower or slower == policy.DIRECTIONS
    ours = {name for name in policy.DIRECTIONS if name not in slower and not none_is_ours}
    assert {name for name in policy.DIRECTIONS if f"convtgen.conv_transpose_{name}.default" in forward | backward} == ours
    assert ("aten.convolution.default" in forward) == ("forward" not in ours)
    assert ("aten.convolution_backward.default" in backward) == (not {"grad_input", "grad_weight"} <= ours)
    assert measured["asked"] == asked and set(launches.take()) == ours


def test_a_compiler_sees_torchs_operator_where_nothing_is_known(measured, launches):
    net = torch.nn.ConvTranspose2d(3, 4, 3, stride=2).to(DEVICE)
    ct.accelerate(net)
    with torch.no_grad():
        assert traced_targets(net, image()) == [{"aten.convolution.default"}]
    assert measured["asked"] == [] and launches.take() == []


def test_the_host_s_time_is_the_first_call_s(monkeypatch):
    """Calls after it find their code in the caches."""
    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self, stream):
            log.append("record")

        def synchronize(self):
            log.append("wait")

        def elapsed_time(self, end):
            return 6.0  # milliseconds

    class Stream:
        def synchronize(self):
            log.append("wait")

    log, clock = [], iter([1.0, 1.5])
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(policy.time, "perf_counter", lambda: log.append("time") or next(clock))
    assert policy._round(lambda: log.append("call"), 3, Stream()) == (2e-3, 0.5)
    assert log == ["wait", "record", "time", "call", "time", "call", "call", "record", "wait"]


def test_a_slow_round_decides_nothing(monkeypatch):
    """Both functions take turns, and the least of their rounds counts."""
    order, times = [], {"ours": iter([9e-3, 5.0, 2e-3] + [3e-3] * 9), "torch's": iter([9e-3, 4e-3, 7.0] + [4e-3] * 9)}

    def a_round(function, count, stream):
        order.append(function())
        assert count == 1  # one call takes longer than a round should
        return next(times[order[-1]]), 1e-3

    monkeypatch.setattr(policy, "_round", a_round)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    found = policy._seconds((lambda: "ours", lambda: "torch's"), torch.device("cuda"))
    assert found == [(2e-3, 1e-3), (4e-3, 1e-3)]
    assert order[2:] == ["ours", "torch's"] * (len(order) // 2 - 1)
