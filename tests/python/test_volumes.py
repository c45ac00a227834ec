"""Three axes, wherever the other tests have two: PyTorch's samples in channels_last_3d, gradients of first and second
order, operators, compilation, graphs, whole models."""

import copy

import pytest
import torch
import torch.nn.functional as F
from conftest import ALL, DEVICE
from layers import Sample, assert_close
from torch.testing._internal.common_methods_invocations import op_db

import convtgen.torch as ct
from convtgen.torch import calls, geometry, operators

FORMATS = [torch.contiguous_format, torch.channels_last_3d]
LAST = torch.channels_last_3d


def volume(*shape, **named):
    return torch.randn(*shape, device=DEVICE, **named)


def drawn(seed, dtype=torch.float64, has_bias=True):
    """A random layer with a bias."""
    sample = Sample(f"{torch.initial_seed()} {seed}", DEVICE, dtype, 3)
    channels = sample.weight.shape[1] * sample.arguments["groups"]
    sample.bias = volume(channels).to(dtype).requires_grad_() if has_bias else None
    return sample


def arguments_of(sample):
    return geometry.Parameters(*(sample.arguments[name] for name in geometry.Parameters._fields))


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("seed", range(20 if ALL else 2))
def test_gradcheck(seed, memory_format, launches):
    sample = drawn(seed)
    tensors = [tensor.detach().contiguous(memory_format=memory_format) if tensor.dim() == 5 else tensor.detach()
               for tensor in sample.tensors()]
    tensors = tuple(tensor.requires_grad_() for tensor in tensors)
    assert torch.autograd.gradcheck(sample.ours, tensors, fast_mode=not ALL)
    assert torch.autograd.gradgradcheck(sample.ours, tensors, fast_mode=not ALL)
    assert set(launches.take()) == {"forward", "grad_input", "grad_weight"}


@pytest.mark.parametrize("seed", range(30 if ALL else 2))
def test_opcheck(seed):
    sample = drawn(seed, has_bias=seed % 2 == 0)
    parameters = arguments_of(sample)
    torch.library.opcheck(operators.conv_transpose,
                          (sample.x, sample.weight, sample.bias, *operators.as_arguments(parameters, "f32")))
    x, weight = sample.x.detach(), sample.weight.detach()
    bias, layer = None if sample.bias is None else sample.bias.detach(), operators.as_layer(parameters, "f32")
    grad_y = torch.randn_like(sample.ours(x, weight))
    for last in (False, True):
        if last:
            x, weight, grad_y = (tensor.float().contiguous(memory_format=LAST) for tensor in (x, weight, grad_y))
            bias = None if bias is None else bias.float()
        torch.library.opcheck(operators.conv_transpose_forward, (x, weight, bias, layer))
        torch.library.opcheck(operators.conv_transpose_grad_input, (grad_y, weight, list(x.shape), layer))
        torch.library.opcheck(operators.conv_transpose_grad_weight, (grad_y, x, list(weight.shape), last, layer))


@pytest.mark.parametrize("of_weight", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_torchs_samples_with_channels_last(dtype, of_weight, launches):
    """Of torch's samples, with the input or the weights in that format; against float64."""
    op, = (op for op in op_db if op.name == "nn.functional.conv_transpose3d")
    count = 0
    for sample in op.sample_inputs(DEVICE, torch.float64):
        x, (weight, *rest) = sample.input, sample.args
        if x.dim() != 5 or not x.numel():
            continue
        exact = [tensor.to(dtype).double().requires_grad_() for tensor in (x, weight)]
        own = [tensor.detach().to(dtype) for tensor in exact]
        own[of_weight] = own[of_weight].contiguous(memory_format=LAST)
        own = [tensor.requires_grad_() for tensor in own]
        rest = [each.to(dtype) if isinstance(each, torch.Tensor) else each for each in rest]
        y = ct.conv_transpose3d(*own, *rest, **sample.kwargs)
        wide = [each.double() if isinstance(each, torch.Tensor) else each for each in rest]
        expected = F.conv_transpose3d(*exact, *wide, **sample.kwargs)
        assert_close(y, expected, dtype, sample)
        if DEVICE != "cpu":
            assert y.stride() == F.conv_transpose3d(*own, *rest, **sample.kwargs).stride(), sample
        assert launches.take() == ["forward"]
        grad_y = torch.randn_like(y)
        magnitude = torch.autograd.grad(
            F.conv_transpose3d(*(each.abs() for each in exact), *wide, **sample.kwargs), exact, grad_y.double().abs())
        for ours, theirs, most, of in zip(torch.autograd.grad(y, own, grad_y),
                                          torch.autograd.grad(expected, exact, grad_y.double()), magnitude, own):
            assert_close(ours, theirs, dtype, sample, most.abs())
        assert sorted(launches.take()) == ["grad_input", "grad_weight"]
        count += 1
    assert count >= 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = ct.ConvTranspose3d(4, 6, 2, stride=2)
        self.flat = ct.ConvTranspose3d(6, 3, (1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1), output_padding=(0, 1, 1))

    def forward(self, x):
        return self.flat(torch.relu(self.up(x)))


@pytest.mark.parametrize("memory_format", FORMATS)
def test_compile_with_dynamic_shapes_and_autocast(memory_format, launches):
    net = Net().to(DEVICE).to(memory_format=memory_format)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager", dynamic=True)
    for depth in (2, 3, 5):
        x = volume(1, 4, depth, 3, 4).contiguous(memory_format=memory_format)
        y = compiled(x)
        launches.take()
        torch.testing.assert_close(y, net(x))
        assert launches.take() == ["forward"] * 2
        with torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16):
            y = compiled(x)
            assert y.dtype == torch.bfloat16
            torch.testing.assert_close(y, net(x))
            y.float().square().sum().backward()
    for parameter in net.parameters():
        assert parameter.grad.dtype == torch.float32 and parameter.grad.isfinite().all()


def test_export_with_dynamic_shapes():
    net, x = Net().to(DEVICE).eval(), volume(2, 4, 3, 4, 5)
    batch, depth = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("depth", min=2, max=64)
    program = torch.export.export(net, (x,), dynamic_shapes=({0: batch, 2: depth},))
    assert sum("convtgen.conv_transpose" in str(node.target) for node in program.graph.nodes) == 2
    for shape in ((2, 4, 3, 4, 5), (1, 4, 7, 4, 5)):
        x = volume(*shape)
        torch.testing.assert_close(program.module()(x), net(x))


@pytest.mark.skipif(DEVICE == "cpu", reason="graphs are of GPUs")
@pytest.mark.parametrize("memory_format", FORMATS)
def test_a_graph_replays_a_training_step(memory_format):
    net = Net().to(DEVICE).to(memory_format=memory_format)
    x = volume(2, 4, 3, 4, 5).contiguous(memory_format=memory_format)

    def step():
        for parameter in net.parameters():
            parameter.grad = None
        y = net(x)
        y.square().sum().backward()
        return y

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step()
    captured = [parameter.grad for parameter in net.parameters()]
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    replayed = [each.clone() for each in (y, *captured)]
    expected = step()
    for ours, theirs in zip(replayed, (expected, *(parameter.grad for parameter in net.parameters()))):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("memory_format", FORMATS)
def test_an_accelerated_model(memory_format, launches, monkeypatch):
    packs = []
    pack = calls.Call.pack
    monkeypatch.setattr(calls.Call, "pack", lambda call, *arguments: packs.append(call) or pack(call, *arguments))
    # SiLU: what rounds otherwise in tf32 may have the other sign, and the gradient of a ReLU depends on that.
    net = torch.nn.Sequential(torch.nn.ConvTranspose3d(32, 16, 2, stride=2), torch.nn.BatchNorm3d(16), torch.nn.SiLU(),
                              torch.nn.ConvTranspose3d(16, 8, 3, stride=(1, 2, 2), padding=1)).to(DEVICE)
    net = net.to(memory_format=memory_format)
    reference = copy.deepcopy(net)
    report = ct.accelerate(net, policy="always", compute="tf32")
    x = volume(2, 32, 2, 3, 4).contiguous(memory_format=memory_format).requires_grad_()
    theirs = x.detach().requires_grad_()
    y, expected = net(x), reference(theirs)
    torch.testing.assert_close(y, expected, rtol=1e-2, atol=1e-2)
    assert y.is_contiguous(memory_format=memory_format)
    y.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(x.grad, theirs.grad, rtol=2e-2, atol=2e-2)
    assert x.grad.stride() == x.stride() and net[0].weight.grad.stride() == net[0].weight.stride()
    assert launches.take() == ["forward"] * 2 + ["grad_input", "grad_weight"] * 2
    ct.prepare(net, x.detach(), progress=False)
    assert "2x32x2x3x4" in str(report)
    assert ct.describe(net, x.detach()).count("conv_transpose3d") == 2
    net.eval(), reference.eval()
    ct.freeze(net)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(net(x), reference(x), rtol=1e-2, atol=1e-2)
    assert len(packs) == 2
    ct.undo(net)
    launches.take()
    torch.testing.assert_close(net(x), reference(x))
    assert launches.take() == [] and type(net[3]) is torch.nn.ConvTranspose3d


def test_fx_vmap_and_views(launches):
    x, weight, bias = volume(3, 1, 2, 3, 4, 4), volume(2, 3, 2, 3, 3), volume(3)
    torch.testing.assert_close(torch.vmap(lambda one: ct.conv_transpose3d(one, weight))(x),
                               torch.vmap(lambda one: F.conv_transpose3d(one, weight))(x))
    assert launches.take() == []
    strided, expanded = volume(2, 4, 5, 9, 11)[:, 1:3, ::2, :, 1:10], volume(1, 2, 1, 1, 1).expand(2, 2, 3, 4, 5)
    turned = volume(3, 3, 3, 2, 2).permute(4, 0, 3, 1, 2)
    for each in (strided, expanded, x[0], x[0, 0], x[0][:0]):
        for weights in (weight, turned):
            torch.testing.assert_close(ct.conv_transpose3d(each, weights, bias, (1, 2, 1), 1),
                                       F.conv_transpose3d(each, weights, bias, (1, 2, 1), 1))
    net = torch.nn.Sequential(torch.nn.ConvTranspose3d(2, 3, 3)).to(DEVICE).eval()
    ct.accelerate(net, policy="always")
    torch.testing.assert_close(torch.fx.symbolic_trace(net)(x[0]), net(x[0]))


def test_modules_become_what_they_are(launches):
    lazy = ct.LazyConvTranspose3d(3, (1, 2, 2), stride=(1, 2, 2)).to(DEVICE)
    x = volume(2, 4, 2, 3, 5).contiguous(memory_format=LAST)
    y = lazy(x)
    assert type(lazy) is ct.ConvTranspose3d and lazy.in_channels == 4 and launches.take() == ["forward"]
    torch.testing.assert_close(y, F.conv_transpose3d(x, lazy.weight, lazy.bias, (1, 2, 2)))
    copied = copy.deepcopy(lazy)
    assert torch.equal(copied(x), y)
    with torch.inference_mode():
        assert torch.equal(lazy(x), y)
    torch.testing.assert_close(lazy(x, output_size=(2, 7, 11)), F.conv_transpose3d(
        x, lazy.weight, lazy.bias, (1, 2, 2), output_padding=(0, 1, 1)))


def test_flops_are_counted():
    from torch.utils.flop_counter import FlopCounterMode

    x, weight = volume(2, 4, 2, 5, 6, requires_grad=True), volume(4, 3, 2, 3, 2, requires_grad=True)
    found = []
    for function in (F.conv_transpose3d, ct.conv_transpose3d):
        with FlopCounterMode(display=False) as counted:
            function(x, weight, stride=2).sum().backward()
        found.append(counted.get_total_flops())
    assert found[0] == found[1] > 0
