"""Cases of public bug reports of PyTorch and of models, by the Python package; the others are reports_test.cpp's."""

import pytest
import torch

import convtgen.torch as ct
from convtgen.torch import calls, geometry, operators


@pytest.fixture(autouse=True)
def on_kernels():
    """CPU tensors run on the host device, by numbers that are the same each time."""
    torch.manual_seed(0)
    before = ct.use_host_device(True)
    yield
    ct.use_host_device(before)


@pytest.fixture
def forwards(monkeypatch):
    """Calls of convtgen's forward kernels."""
    found, forward = [], calls.Call.forward
    monkeypatch.setattr(calls.Call, "forward", lambda call, *rest: found.append(call) or forward(call, *rest))
    return found


# kokoro#79: a depthwise upsampling with weight norm.
@pytest.mark.parametrize("normed", [torch.nn.utils.weight_norm, torch.nn.utils.parametrizations.weight_norm])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_kokoro_79(normed, forwards):
    theirs = normed(torch.nn.ConvTranspose1d(256, 256, 3, stride=2, groups=256, padding=1, output_padding=1))
    own = normed(torch.nn.ConvTranspose1d(256, 256, 3, stride=2, groups=256, padding=1, output_padding=1))
    own.load_state_dict(theirs.state_dict())
    ct.accelerate(own, policy="always", compute="f32")
    x = torch.randn(1, 256, 5)
    with torch.no_grad():
        assert theirs(x).shape == (1, 256, 10)
        torch.testing.assert_close(own(x), theirs(x))
    assert len(forwards) == 1


class Subclass(torch.nn.ConvTranspose2d):
    pass


# pytorch#125064: what weight norm does to a class, taken back later.
@pytest.mark.parametrize("cls", [torch.nn.ConvTranspose2d, Subclass])
def test_pytorch_125064(cls, forwards):
    theirs, own = cls(4, 4, 3), cls(4, 4, 3)
    own.load_state_dict(theirs.state_dict())
    torch.nn.utils.parametrizations.weight_norm(own)
    ct.accelerate(own, policy="always", compute="f32")
    x = torch.randn(1, 4, 3, 3)
    torch.testing.assert_close(own(x), theirs(x))
    torch.nn.utils.parametrize.remove_parametrizations(own, "weight")
    torch.testing.assert_close(own(x), theirs(x))
    assert len(forwards) == 2 and "weight" in dict(own.named_parameters())
    ct.undo(own)
    torch.testing.assert_close(own(x), theirs(x))
    assert type(own) is cls and len(forwards) == 2


# pytorch#184026: strides of compiled calls were others than those of eager ones where Cin == Cout.
@pytest.mark.parametrize("x_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("weight_format", [torch.contiguous_format, torch.channels_last])
def test_pytorch_184026(x_format, weight_format, forwards):
    x = torch.randn(2, 4, 3, 5).contiguous(memory_format=x_format)
    weight = torch.randn(4, 4, 3, 3).contiguous(memory_format=weight_format)
    expected = torch.nn.functional.conv_transpose2d(x, weight, stride=2)

    def layer(x, weight):
        return ct.conv_transpose2d(x, weight, stride=2, compute="f32")

    for function in (layer, torch.compile(layer, backend="aot_eager", fullgraph=True)):
        y = function(x, weight)
        torch.testing.assert_close(y, expected)
        assert y.stride() == expected.stride()
    assert len(forwards) == 2


# onnxruntime#26144: a bias of one element for eight channels was read beyond its end.
def test_onnxruntime_26144(forwards):
    x, weight, bias = torch.randn(1, 2, 3, 3), torch.randn(2, 8, 3, 3), torch.randn(1)
    parameters = geometry.Parameters((1, 1), (0, 0), (0, 0), (1, 1), 1)
    layer, arguments = operators.as_layer(parameters), operators.as_arguments(parameters)

    def compiled(x, weight, bias):
        return ct.conv_transpose2d(x, weight, bias)

    for function in (lambda: ct.conv_transpose2d(x, weight, bias),
                     lambda: operators.conv_transpose(x, weight, bias, *arguments),
                     lambda: operators.conv_transpose_forward(x, weight, bias, layer),
                     lambda: torch.compile(compiled, backend="aot_eager")(x, weight, bias)):
        with pytest.raises(RuntimeError, match="bias"):
            function()
    assert forwards == []
