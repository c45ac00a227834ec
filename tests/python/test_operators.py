"""The registered operators: opcheck, torch.compile, torch.export."""

import pytest
import torch
from conftest import ALL, DEVICE
from layers import MEMORY_FORMATS, Sample

import convtgen.torch as ct
from convtgen.torch import geometry, operators


@pytest.mark.parametrize("seed", range(100 if ALL else 4))
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


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_opcheck_of_channels_last(dtype, dimensions):
    of_depth = [3] * (dimensions - 2)
    x = torch.randn(2, 4, *of_depth, 5, 6, device=DEVICE).to(dtype, memory_format=MEMORY_FORMATS[dimensions]).requires_grad_()
    weight = torch.randn(4, 3, *of_depth, 3, 2, device=DEVICE).to(dtype).requires_grad_()
    one, none = (1,) * len(of_depth), (0,) * len(of_depth)
    arguments = operators.as_arguments(
        geometry.Parameters((*one, 2, 1), (*none, 1, 0), (*none, 1, 0), (*one, 1, 1), 1), None)
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


def test_a_volume_is_compiled_and_exported(launches):
    net = ct.ConvTranspose3d(2, 3, (1, 2, 2), stride=(1, 2, 2)).to(DEVICE)
    x = torch.randn(1, 2, 2, 3, 4, device=DEVICE).contiguous(memory_format=torch.channels_last_3d).requires_grad_()
    y = torch.compile(net, fullgraph=True, backend="aot_eager")(x)
    ours = torch.autograd.grad(y.square().sum(), (x, net.weight))
    assert set(launches.take()) == {"forward", "grad_input", "grad_weight"}
    expected = torch.nn.functional.conv_transpose3d(x, net.weight, net.bias, (1, 2, 2))
    torch.testing.assert_close(y, expected)
    for own, theirs in zip(ours, torch.autograd.grad(expected.square().sum(), (x, net.weight))):
        torch.testing.assert_close(own, theirs)
    exported = torch.export.export(net.eval(), (x.detach(),)).module()
    torch.testing.assert_close(exported(x), expected)


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


def biases(channels):
    """Of a wrong length, of other types, on another device."""
    return (torch.full((1,), 5.0, device=DEVICE), torch.full((channels + 1,), 5.0, device=DEVICE),
            torch.full((channels, 1), 5.0, device=DEVICE), torch.full((channels,), 5.0, dtype=torch.float64, device=DEVICE),
            torch.full((channels,), 5.0, dtype=torch.float16, device=DEVICE), torch.full((channels,), 5.0, device="meta"))


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("how", ["compiled", "dynamic", "exported", "operator"])
def test_a_wrong_bias_is_taken_or_refused_as_torch_does(how, number):
    x, weight = torch.randn(1, 4, 3, 3, device=DEVICE), torch.randn(4, 8, 3, 3, device=DEVICE)
    bias = biases(8)[number]

    class Function(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *tensors):
            return self.function(*tensors)

    def run(function):
        torch._dynamo.reset()
        module = Function(function)
        if how == "exported":
            return torch.export.export(module, (x, weight, bias)).module()(x, weight, bias)
        if how != "operator":
            module = torch.compile(module, backend="aot_eager", dynamic=how == "dynamic")
        return module(x, weight, bias)

    def ours(*tensors):
        if how == "operator":
            return operators.conv_transpose(*tensors, *operators.as_arguments(geometry.Parameters(
                (1, 1), (0, 0), (0, 0), (1, 1), 1)))
        return ct.conv_transpose2d(*tensors)

    if bias.is_meta:  # which torch's operator on the CPU takes, and reads what is not there
        with pytest.raises(Exception):
            run(ours)
        return
    try:
        expected = run(torch.nn.functional.conv_transpose2d)
    except Exception:
        with pytest.raises(Exception):
            run(ours)
    else:
        torch.testing.assert_close(run(ours), expected)


def wrong_calls():
    """Calls of the operators of one direction with one wrong argument each, by a name."""
    def tensor(*shape, **named):
        return torch.zeros(shape, device=DEVICE).to(**named) if named else torch.zeros(shape, device=DEVICE)

    layer = operators.as_layer(geometry.Parameters((2, 1), (0, 0), (0, 0), (1, 1), 2), "f32")
    x, weight, grad_y, bias = tensor(1, 4, 3, 3), tensor(4, 3, 3, 3), tensor(1, 6, 7, 5), tensor(6)
    right = {"forward": (operators.conv_transpose_forward, [x, weight, bias, layer]),
             "grad_input": (operators.conv_transpose_grad_input, [grad_y, weight, [1, 4, 3, 3], layer]),
             "grad_weight": (operators.conv_transpose_grad_weight, [grad_y, x, [4, 3, 3, 3], False, layer])}
    wrong = {"forward": {0: [tensor(1, 3, 3, 3), tensor(4, 3, 3)], 1: [tensor(2, 3, 3, 3), tensor(4, 3, 3)],
                         2: [tensor(1), tensor(7), tensor(6, 1), tensor(6, dtype=torch.float64), tensor(6, device="meta")]},
             "grad_input": {0: [tensor(1, 6, 7, 4), tensor(2, 6, 7, 5), tensor(1, 5, 7, 5), tensor(6, 7, 5)],
                            1: [tensor(4, 2, 3, 3), tensor(2, 3, 3, 3)], 2: [[1, 4, 4, 3], [2, 4, 3, 3], [1, 2, 3, 3], [4, 3, 3]]},
             "grad_weight": {0: [tensor(1, 6, 7, 4), tensor(2, 6, 7, 5), tensor(1, 5, 7, 5)],
                             1: [tensor(1, 4, 4, 3), tensor(2, 4, 3, 3), tensor(4, 3, 3)],
                             2: [[4, 3, 4, 3], [4, 2, 3, 3], [2, 3, 3, 3], [4, 3, 3]]}}
    for direction, (operator, arguments) in right.items():
        for place in (0, 1):
            if isinstance(arguments[place], torch.Tensor):
                wrong[direction][place] += [arguments[place].double(), arguments[place].half(), arguments[place].to("meta"),
                                            arguments[place].to_sparse()]
        for place, values in wrong[direction].items():
            for number, value in enumerate(values):
                yield f"{direction} {place} {number}", operator, [*arguments[:place], value, *arguments[place + 1:]]
        for number, text in enumerate(("fp8", "sometimes")):
            bad = layer.replace("f32", text) if number == 0 else layer.replace("always", text)
            yield f"{direction} {text}", operator, [*arguments[:-1], bad]


@pytest.mark.parametrize("fake", [False, True])
def test_operators_of_a_direction_refuse_wrong_arguments(fake, launches):
    from torch._subclasses.fake_tensor import FakeTensorMode

    names = []
    for name, operator, arguments in wrong_calls():
        names.append(name)
        with pytest.raises(Exception):
            if fake:
                with FakeTensorMode() as mode:
                    operator(*(mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments))
            else:
                operator(*arguments)
            pytest.fail(f"{name} was taken", pytrace=False)
    assert len(names) > 40 and launches.take() == []


def test_a_view_with_the_other_sign(launches):
    x, weight, bias = (torch._neg_view(torch.randn(*shape, device=DEVICE)) for shape in ((1, 2, 3, 3), (2, 3, 2, 2), (3,)))
    torch.testing.assert_close(ct.conv_transpose2d(x, weight, bias), torch.nn.functional.conv_transpose2d(x, weight, bias))
    assert launches.take() == ["forward"]


def test_flops_are_counted():
    from torch.utils.flop_counter import FlopCounterMode

    x, weight = (torch.randn(*shape, device=DEVICE, requires_grad=True) for shape in ((2, 4, 5, 6), (4, 3, 3, 2)))
    found = []
    for function in (torch.nn.functional.conv_transpose2d, ct.conv_transpose2d):
        with FlopCounterMode(display=False) as forward:
            y = function(x, weight, stride=2)
        with FlopCounterMode(display=False) as step:
            function(x, weight, stride=2).sum().backward()
        found.append((forward.get_total_flops(), y.shape))
        assert step.get_total_flops() >= 3 * forward.get_total_flops()
    assert found[0] == found[1] and found[0][0] > 0
