"""The registered operators: opcheck, torch.compile, torch.export."""

import pytest
import torch
from conftest import ALL, DEVICE
from layers import Sample

import convtgen.torch as ct
from convtgen.torch import geometry, operators


@pytest.mark.parametrize("seed", range(100 if ALL else 6))
def test_opcheck(seed):
    sample = Sample(f"{torch.initial_seed()} {seed}", DEVICE, torch.float64)
    x, weight = sample.x, sample.weight
    parameters = geometry.Parameters(*(sample.arguments[name] for name in geometry.Parameters._fields))
    arguments = operators.as_arguments(parameters, "f32")
    torch.library.opcheck(operators.conv_transpose, (x, weight, sample.bias, *arguments))
    grad_y = torch.randn_like(sample.ours(x, weight)).requires_grad_()
    # These three have no autograd: conv_transpose calls them below its own.
    x, weight, grad_y = x.detach(), weight.detach(), grad_y.detach()
    bias, layer = None if sample.bias is None else sample.bias.detach(), operators.as_layer(parameters, "f32")
    torch.library.opcheck(operators.conv_transpose_forward, (x, weight, bias, layer))
    torch.library.opcheck(operators.conv_transpose_grad_input, (grad_y, weight, list(x.shape), layer))
    torch.library.opcheck(operators.conv_transpose_grad_weight, (grad_y, x, list(weight.shape), False, layer))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_opcheck_of_channels_last(dtype):
    x = torch.randn(2, 4, 5, 6, device=DEVICE).to(dtype, memory_format=torch.channels_last).requires_grad_()
    weight = torch.randn(4, 3, 3, 2, device=DEVICE).to(dtype).requires_grad_()
    arguments = operators.as_arguments(geometry.Parameters((2, 1), (1, 0), (1, 0), (1, 1), 1), None)
    torch.library.opcheck(operators.conv_transpose, (x, weight, None, *arguments))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = ct.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
        self.signal = ct.ConvTranspose1d(4, 2, 4, stride=2)

    def forward(self, x):
        y = torch.relu(self.up(x))
        return self.signal(y.flatten(2))


def test_compile_has_no_graph_break(launches):
    net, x = Net().to(DEVICE), torch.randn(2, 3, 4, 5, device=DEVICE)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    y = compiled(x)
    torch.testing.assert_close(y, net(x))
    launches.take()
    compiled(x).sum().backward()
    assert sorted(launches.take()) == ["forward", "forward", "grad_input", "grad_weight", "grad_weight"]
    ours = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    for compiled_grad, parameter in zip(ours, net.parameters()):
        torch.testing.assert_close(compiled_grad, parameter.grad)


def test_compile_with_dynamic_shapes():
    net = Net().to(DEVICE)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager", dynamic=True)
    for height in (3, 4, 7):
        x = torch.randn(2, 3, height, 5, device=DEVICE)
        torch.testing.assert_close(compiled(x), net(x))


def test_compile_under_autocast():
    net, x = Net().to(DEVICE), torch.randn(2, 3, 4, 5, device=DEVICE)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    with torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16):
        y = compiled(x)
        assert y.dtype == torch.bfloat16
        torch.testing.assert_close(y, net(x))


def test_export():
    net, x = Net().to(DEVICE).eval(), torch.randn(2, 3, 4, 5, device=DEVICE)
    program = torch.export.export(net, (x,))
    assert any("convtgen.conv_transpose" in str(node.target) for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(x), net(x))


def test_compile_says_what_torch_says_of_wrong_tensors():
    compiled = torch.compile(ct.conv_transpose2d, fullgraph=True, backend="aot_eager")
    x, weight = torch.randn(1, 2, 3, 3, device=DEVICE), torch.randn(2, 1, 2, 2, device=DEVICE)
    for wrong in ((x, weight.double()), (x, weight[:1]), (x, weight[..., 0])):
        with pytest.raises(RuntimeError):
            compiled(*wrong)


def test_double_backward_of_operators():
    sample = Sample("operators", DEVICE, torch.float64, 2)
    parameters = geometry.Parameters(*(sample.arguments[name] for name in geometry.Parameters._fields))
    arguments = operators.as_arguments(parameters, None)
    bias = torch.randn(sample.weight.shape[1] * parameters.groups, dtype=torch.float64, device=DEVICE, requires_grad=True)

    def own(x, weight, bias):
        return operators.conv_transpose(x, weight, bias, *arguments)

    assert torch.autograd.gradcheck(own, (sample.x, sample.weight, bias), fast_mode=True)
    assert torch.autograd.gradgradcheck(own, (sample.x, sample.weight, bias), fast_mode=True)


def test_operators_of_what_has_no_kernel_are_torchs(launches):
    # 4096 taps are the most of a kernel.
    x, weight = (torch.randn(*shape, device=DEVICE, requires_grad=True) for shape in ((1, 2, 3, 3), (2, 1, 65, 64)))
    arguments = operators.as_arguments(geometry.Parameters((1, 1), (0, 0), (0, 0), (1, 1), 1), None)
    y, expected = operators.conv_transpose(x, weight, None, *arguments), torch.nn.functional.conv_transpose2d(x, weight)
    torch.testing.assert_close(y, expected)
    grad_y = torch.randn_like(y)
    for ours, theirs in zip(torch.autograd.grad(y, (x, weight), grad_y), torch.autograd.grad(expected, (x, weight), grad_y)):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert launches.take() == []
