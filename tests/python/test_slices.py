"""out= of the functions, and UpCat: kernels that write and read channels of larger tensors."""

import copy
import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from conftest import DEVICE, number_of, part

import convtgen.torch
from convtgen.torch import UpCat, conv_transpose1d, conv_transpose2d, conv_transpose3d, slices

FUNCTIONS = {1: (conv_transpose1d, F.conv_transpose1d), 2: (conv_transpose2d, F.conv_transpose2d),
             3: (conv_transpose3d, F.conv_transpose3d)}
MODULES = {1: torch.nn.ConvTranspose1d, 2: torch.nn.ConvTranspose2d, 3: torch.nn.ConvTranspose3d}
GUARD = -77.0


def _format(dimensions, channels_last):
    return {"memory_format": torch.channels_last_3d if dimensions == 3 else torch.channels_last} if channels_last else {}


def _whole(shape, channels_last, fill=None):
    """A tensor of that format, random or filled."""
    tensor = torch.randn(shape) if fill is None else torch.full(shape, fill)
    return tensor.to(DEVICE).contiguous(**_format(len(shape) - 2, channels_last))


def _sizes(dimensions):
    return (3, 4, 5)[-dimensions:]


# PyTorch has no such format of one axis.
FORMATS = [(1, False), (2, False), (2, True), (3, False), (3, True)]


@pytest.mark.parametrize("form, around", part(itertools.product(FORMATS, ((0, 8), (8, 0), (4, 12), (3, 2))), "out", 3))
def test_out_is_channels_of_a_tensor(form, around, launches):
    (dimensions, channels_last), (before, after) = form, around
    ours, theirs = FUNCTIONS[dimensions]
    x = _whole((2, 8, *_sizes(dimensions)), channels_last)
    weight, bias = torch.randn(8, 8, *[2] * dimensions, device=DEVICE), torch.randn(8, device=DEVICE)
    expected = theirs(x, weight, bias, 2)
    joined = _whole((2, before + 8 + after, *expected.shape[2:]), channels_last, GUARD)
    out = joined.narrow(1, before, 8)
    version = joined._version
    assert ours(x, weight, bias, 2, out=out, compute="f32") is out
    assert launches.take() == ["forward"]
    assert joined._version > version
    torch.testing.assert_close(out, expected)
    assert (joined.narrow(1, 0, before) == GUARD).all() and (joined.narrow(1, before + 8, after) == GUARD).all()


@pytest.mark.parametrize("channels_last", (False, True))
def test_input_and_output_are_channels_of_one_tensor(channels_last, launches):
    joined = _whole((2, 24, 5, 5), channels_last)
    before = joined.clone()
    x, out = joined.narrow(1, 0, 8), joined.narrow(1, 8, 8)
    weight = torch.randn(8, 8, 3, 3, device=DEVICE)
    expected = F.conv_transpose2d(x, weight, padding=1)
    conv_transpose2d(x, weight, padding=1, out=out, compute="f32")
    assert launches.take() == ["forward"]
    torch.testing.assert_close(out, expected)
    assert torch.equal(joined[:, :8], before[:, :8]) and torch.equal(joined[:, 16:], before[:, 16:])


def test_input_overlaps_output():
    joined = _whole((2, 24, 5, 5), False)
    with pytest.raises(convtgen.Error, match="y overlaps x"):
        conv_transpose2d(joined[:, :8], torch.randn(8, 8, 3, 3, device=DEVICE), padding=1, out=joined[:, 4:12])


def test_whole_out(launches):
    x, weight = _whole((2, 8, 4, 4), False), torch.randn(8, 3, 2, 2, device=DEVICE)
    out = torch.empty(2, 3, 8, 8, device=DEVICE)
    conv_transpose2d(x, weight, stride=2, out=out, compute="f32")
    assert launches.take() == ["forward"]
    torch.testing.assert_close(out, F.conv_transpose2d(x, weight, stride=2))
    single = torch.empty(3, 8, 8, device=DEVICE)
    conv_transpose2d(x[0], weight, stride=2, out=single, compute="f32")
    torch.testing.assert_close(single, out[0])


def test_strides_that_are_no_channels():
    x, weight = _whole((2, 8, 4, 4), False), torch.randn(8, 3, 2, 2, device=DEVICE)
    for out in (torch.empty(2, 3, 8, 16, device=DEVICE)[..., ::2], torch.empty(2, 3, 8, 8, device=DEVICE).transpose(2, 3),
                torch.empty(1, 3, 8, 8, device=DEVICE).expand(2, 3, 8, 8), torch.empty(2, 6, 8, 8, device=DEVICE)[:, ::2]):
        with pytest.raises(RuntimeError, match="out has strides .* legal are the strides of"):
            conv_transpose2d(x, weight, stride=2, out=out)


def test_wrong_out():
    x, weight = _whole((2, 8, 4, 4), False), torch.randn(8, 3, 2, 2, device=DEVICE)
    with pytest.raises(RuntimeError, match=r"out has shape \(2, 3, 8, 7\); legal is \(2, 3, 8, 8\)"):
        conv_transpose2d(x, weight, stride=2, out=torch.empty(2, 3, 8, 7, device=DEVICE))
    with pytest.raises(RuntimeError, match="out is torch.float64; legal is that of input, torch.float32"):
        conv_transpose2d(x, weight, stride=2, out=torch.empty(2, 3, 8, 8, dtype=torch.float64, device=DEVICE))
    with pytest.raises(RuntimeError, match="out is on meta"):
        conv_transpose2d(x, weight, stride=2, out=torch.empty(2, 3, 8, 8, device="meta"))


@pytest.mark.parametrize("which", ("input", "weight", "bias", "out"))
def test_out_under_autograd(which):
    tensors = {"input": torch.randn(2, 8, 4, 4), "weight": torch.randn(8, 3, 2, 2), "bias": torch.randn(3),
               "out": torch.empty(2, 3, 8, 8)}
    tensors = {name: tensor.to(DEVICE) for name, tensor in tensors.items()}
    tensors[which].requires_grad_()
    a = torch.randn(3, device=DEVICE, requires_grad=True)
    with pytest.raises(RuntimeError) as theirs:
        torch.mul(a, 2, out=torch.empty(3, device=DEVICE))
    with pytest.raises(RuntimeError) as ours:
        conv_transpose2d(**tensors, stride=2)
    assert str(ours.value) == str(theirs.value).replace("mul()", "conv_transpose2d()")
    with torch.no_grad():
        conv_transpose2d(**tensors, stride=2)


def test_torchs_operator_serves_out(launches):
    x, weight = torch.randn(2, 8, 4, 4, device=DEVICE), torch.randn(8, 3, 2, 2, device=DEVICE)
    joined = torch.full((2, 7, 8, 8), GUARD, device=DEVICE)
    conv_transpose2d(x, weight, stride=2, out=joined[:, 2:5], policy="never")
    assert launches.take() == []
    torch.testing.assert_close(joined[:, 2:5], F.conv_transpose2d(x, weight, stride=2))
    assert (joined[:, :2] == GUARD).all() and (joined[:, 5:] == GUARD).all()
    compiled = torch.compile(lambda x, out: conv_transpose2d(x, weight, stride=2, out=out), backend="eager")
    other = torch.zeros(2, 3, 8, 8, device=DEVICE)
    compiled(x, other)
    torch.testing.assert_close(other, joined[:, 2:5])


def test_tensor_channels():
    whole = torch.empty(2, 24, 3, 5)
    last = whole.contiguous(memory_format=torch.channels_last)
    assert slices.tensor_channels(whole, False) == 24 and slices.tensor_channels(whole, True) is None
    assert slices.tensor_channels(whole[:, 4:9], False) == 24
    assert slices.tensor_channels(last[:, 4:9], True) == 24 and slices.tensor_channels(last[:, 4:9], False) is None
    assert slices.tensor_channels(whole[:1, 4:9], False) == 5  # one image: nothing says how far away a second one is
    assert slices.tensor_channels(whole[:, :, :, 1:], False) is None
    assert slices.tensor_channels(torch.empty(0, 3, 2, 2), False) is None


# ---- UpCat ----


def _pair(dimensions, channels_last, skip_first, dtype=torch.float32, bias=True, channels=(6, 4, 3)):
    """(UpCat, x, skip), of tensors that record gradients."""
    up = MODULES[dimensions](channels[0], channels[1], 2, stride=2, bias=bias).to(DEVICE, dtype)
    x = _whole((2, channels[0], *_sizes(dimensions)), channels_last).to(dtype).requires_grad_()
    skip = _whole((2, channels[2], *[2 * size for size in _sizes(dimensions)]), channels_last).to(dtype).requires_grad_()
    return UpCat(up, skip_first=skip_first), x, skip


def _reference(module, x, skip):
    up = copy.deepcopy(module.up)
    theirs, like = (tensor.detach().clone().requires_grad_() for tensor in (x, skip))
    function = FUNCTIONS[len(up.kernel_size)][1]
    y = function(theirs, up.weight, up.bias, up.stride)
    return torch.cat((like, y) if module.skip_first else (y, like), 1), (theirs, like, *up.parameters())


@pytest.mark.parametrize("form, skip_first, channels",
                         part(itertools.product(FORMATS, (False, True), ((6, 4, 3), (8, 8, 8))), "upcat", 3))
def test_upcat_is_cat(form, skip_first, channels, launches):
    dimensions, channels_last = form
    module, x, skip = _pair(dimensions, channels_last, skip_first, channels=channels)
    joined = module(x, skip)
    expected, theirs = _reference(module, x, skip)
    assert joined.shape == expected.shape and joined.stride() == expected.stride()
    torch.testing.assert_close(joined, expected)
    grad = torch.randn_like(joined)
    joined.backward(grad)
    assert launches.take() == ["forward", "grad_input", "grad_weight"]
    expected.backward(grad)
    for own, other in zip((x, skip, *module.parameters()), theirs):
        torch.testing.assert_close(own.grad, other.grad, rtol=1e-4, atol=1e-4)  # sums of many terms


def test_upcat_copies_nothing(monkeypatch):
    module, x, skip = _pair(2, False, True, channels=(8, 8, 8))
    copied = []
    ready = convtgen.torch.calls._ready

    def counted(tensor, channels_last):
        made = ready(tensor, channels_last)
        copied.append(tuple(tensor.shape)) if made.data_ptr() != tensor.data_ptr() else None
        return made

    monkeypatch.setattr(convtgen.torch.calls, "_ready", counted)
    joined = module(x, skip)
    joined.backward(torch.randn_like(joined))
    assert copied == []


@pytest.mark.parametrize("wanted", ("x", "weight", "bias", "skip"))
def test_upcat_with_one_gradient(wanted):
    module, x, skip = _pair(2, False, False)
    named = {"x": x, "skip": skip, "weight": module.up.weight, "bias": module.up.bias}
    for name, tensor in named.items():
        tensor.requires_grad_(name == wanted)
    expected, theirs = _reference(module, x, skip)
    for name, tensor in zip(("x", "skip", "weight", "bias"), theirs):
        tensor.requires_grad_(name == wanted)
    expected, theirs = _reference(module, x, skip)
    joined = module(x, skip)
    grad = torch.randn_like(joined)
    joined.backward(grad)
    expected.backward(grad)
    of = dict(zip(("x", "skip", "weight", "bias"), theirs))[wanted]
    torch.testing.assert_close(named[wanted].grad, of.grad)
    assert all(tensor.grad is None for name, tensor in named.items() if name != wanted)


@pytest.mark.parametrize("skip_first", (False, True))
@pytest.mark.parametrize("channels_last", (False, True))
def test_upcat_gradcheck(skip_first, channels_last):
    module, x, skip = _pair(2, channels_last, skip_first, torch.float64, channels=(2, 2, 1))
    parameters = dict(module.named_parameters())

    def function(x, skip, *values):
        return torch.func.functional_call(module, dict(zip(parameters, values)), (x, skip))

    arguments = (x, skip, *parameters.values())
    assert torch.autograd.gradcheck(function, arguments, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, arguments, fast_mode=True)


def test_upcat_of_other_tensors(launches):
    module, x, skip = _pair(2, False, False)
    half = skip.detach().half()
    assert module(x, half).dtype == torch.float32  # torch.cat's promotion
    assert launches.take() == []
    with pytest.raises(RuntimeError):
        module(x, skip[..., :-1])


def test_upcat_calls_hooks():
    module, x, skip = _pair(2, False, False)
    seen = []
    module.up.register_forward_hook(lambda *_: seen.append("hook"))
    module(x, skip)
    assert seen == ["hook"]


def test_upcat_follows_the_policy(launches):
    module, x, skip = _pair(2, False, False)
    convtgen.torch.accelerate(module, policy="never")
    module(x, skip)
    assert launches.take() == []
    convtgen.torch.accelerate(module, policy="always")
    module(x, skip)
    assert launches.take() == ["forward"]


def test_upcat_is_copied_and_printed():
    module, x, skip = _pair(2, False, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = copy.deepcopy(module)
    assert "skip_first=True" in repr(again)
    torch.testing.assert_close(again(x, skip), module(x, skip))
    assert list(module.state_dict()) == ["up.weight", "up.bias"]
    with pytest.raises(TypeError, match="up is a Conv2d"):
        UpCat(torch.nn.Conv2d(1, 1, 1))


def test_upcat_under_compile_and_autocast(launches):
    module, x, skip = _pair(2, False, False)
    expected = _reference(module, x, skip)[0]
    compiled = torch.compile(module, backend="eager")
    torch.testing.assert_close(compiled(x, skip), expected)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        y = module(x, skip.bfloat16())
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), expected, rtol=0.05, atol=0.05)


def test_random_slices(launches):
    generator = torch.Generator().manual_seed(number_of("random slices"))

    def number(least, most):
        return int(torch.randint(least, most + 1, (), generator=generator))

    for _ in range(6):
        channels_last, batch = bool(number(0, 1)), number(1, 3)
        before, channels, after = number(0, 9), number(1, 9), number(0, 9)
        x = _whole((batch, number(1, 9), number(1, 6), number(1, 6)), channels_last)
        weight = torch.randn(x.shape[1], channels, number(1, 4), number(1, 4), device=DEVICE)
        expected = F.conv_transpose2d(x, weight, stride=2)
        joined = _whole((batch, before + channels + after, *expected.shape[2:]), channels_last, GUARD)
        conv_transpose2d(x, weight, stride=2, out=joined.narrow(1, before, channels), compute="f32")
        torch.testing.assert_close(joined.narrow(1, before, channels), expected)
        assert (joined.narrow(1, 0, before) == GUARD).all()
        assert (joined.narrow(1, before + channels, after) == GUARD).all()
    assert launches.take() == ["forward"] * 6
