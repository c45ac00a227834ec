"""conv_transpose1d / 2d / 3d and their gradients against torch's own in float64."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from conftest import ALL, DEVICE
from layers import TORCHS, Sample, assert_close

import convtgen.torch as ct
from convtgen.torch import geometry

OURS = {1: ct.conv_transpose1d, 2: ct.conv_transpose2d, 3: ct.conv_transpose3d}
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("seed", range(40 if ALL else 3))
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_and_gradients(dtype, seed, launches):
    sample = Sample(f"{torch.initial_seed()} {seed}", DEVICE, dtype)
    tensors = sample.tensors()
    exact_tensors = [tensor.detach().double().requires_grad_() for tensor in tensors]
    y, exact = sample.ours(*tensors), sample.torchs(*exact_tensors)
    assert launches.take() == ["forward"]
    assert_close(y, exact, dtype, f"{sample} y")
    # On a GPU float64 never has channels last; on the CPU it may, and with three axes other types may have none.
    if DEVICE != "cpu" or (dtype != torch.float64 and sample.dimensions < 3):
        assert y.stride() == sample.torchs(*tensors).stride(), sample
    grad_y = torch.randn_like(exact).to(dtype)
    grads = torch.autograd.grad(y, tensors, grad_y)
    assert sorted(launches.take()) == ["grad_input", "grad_weight"]
    wanted = torch.autograd.grad(exact, exact_tensors, grad_y.double())
    positive = [tensor.detach().abs().requires_grad_() for tensor in exact_tensors]
    magnitudes = torch.autograd.grad(sample.torchs(*positive), positive, grad_y.double().abs())
    for grad, of_torch, magnitude, tensor in zip(grads, wanted, magnitudes, tensors):
        assert grad.dtype == dtype
        assert_close(grad, of_torch, dtype, f"{sample} gradient of {tuple(tensor.shape)}", magnitude)


def test_strides_are_torchs():
    """Of torch's own operators in both formats, by shapes alone."""
    for seed in range(400):
        sample = Sample(f"{torch.initial_seed()} {seed}", DEVICE, torch.float32)
        parameters = geometry.Parameters(*(sample.arguments[name] for name in geometry.Parameters._fields))
        y = sample.torchs(*sample.tensors())
        channels_last = geometry.is_channels_last(sample.x, sample.weight, parameters)
        if sample.dimensions == 3 and DEVICE == "cpu" and channels_last and y.is_contiguous():
            continue  # torch's plain operator for CPUs knows no other format
        # On the CPU torch's strides of an axis of one element are at times others, which nothing can tell.
        told = [size > 1 or DEVICE != "cpu" for size in y.shape]
        strides = geometry.format_strides(y.shape, channels_last)
        assert list(itertools.compress(y.stride(), told)) == list(itertools.compress(strides, told)), sample


@pytest.mark.parametrize("seed", range(100 if ALL else 6))
def test_gradcheck(seed):
    sample = Sample(f"{torch.initial_seed()} {seed}", DEVICE, torch.float64)
    assert torch.autograd.gradcheck(sample.ours, sample.tensors(), fast_mode=not ALL)
    assert torch.autograd.gradgradcheck(sample.ours, sample.tensors(), fast_mode=not ALL)


def test_gradients_of_some_tensors_alone(launches):
    sample = Sample("bias", DEVICE, torch.float32, 2)
    x, weight = sample.x.detach(), sample.weight.detach()
    bias = torch.randn(weight.shape[1] * sample.arguments["groups"], device=DEVICE)
    for needs, wanted in (((1, 0, 0), ["grad_input"]), ((0, 1, 0), ["grad_weight"]), ((0, 0, 1), []),
                          ((0, 1, 1), ["grad_weight"]), ((0, 0, 0), None)):
        own = [tensor.detach().requires_grad_(bool(need)) for tensor, need in zip((x, weight, bias), needs)]
        y = sample.ours(*own)
        assert launches.take() == ["forward"]
        assert y.requires_grad == any(needs)
        if wanted is not None:
            y.sum().backward()
            assert launches.take() == wanted
            theirs = [tensor.detach().requires_grad_(bool(need)) for tensor, need in zip((x, weight, bias), needs)]
            sample.torchs(*theirs).sum().backward()
            for ours, expected in zip(own, theirs):
                assert (ours.grad is None) == (expected.grad is None)
                if ours.grad is not None:
                    torch.testing.assert_close(ours.grad, expected.grad)


def test_without_a_batch(launches):
    weight = torch.randn(4, 3, 3, 2, device=DEVICE, requires_grad=True)
    x = torch.randn(4, 5, 6, device=DEVICE, requires_grad=True)
    y = ct.conv_transpose2d(x, weight, stride=2)
    assert launches.take() == ["forward"]
    torch.testing.assert_close(y, F.conv_transpose2d(x, weight, stride=2))
    assert torch.autograd.grad(y.sum(), x)[0].shape == x.shape
    torch.testing.assert_close(ct.conv_transpose1d(x[:, 0], weight[:, :, 0]), F.conv_transpose1d(x[:, 0], weight[:, :, 0]))
    torch.testing.assert_close(ct.conv_transpose3d(x[:, None], weight[:, :, None]),
                               F.conv_transpose3d(x[:, None], weight[:, :, None]))


@pytest.mark.parametrize("compute", ["f32", "tf32", "f32x3"])
def test_compute_modes(compute):
    x, weight = torch.randn(2, 8, 5, 6, device=DEVICE), torch.randn(8, 4, 3, 3, device=DEVICE)
    exact = F.conv_transpose2d(x.double(), weight.double())
    y = ct.conv_transpose2d(x, weight, compute=compute)
    error = ((y.double() - exact).norm() / exact.norm()).item()
    assert error < (1e-3 if compute == "tf32" else 2e-6)


def test_compute_follows_torchs_switches(monkeypatch):
    from convtgen.torch import calls

    seen = []
    find = calls.find_call
    monkeypatch.setattr(calls, "find_call", lambda *key: seen.append(key[-1]) or find(*key))
    x, weight = torch.randn(1, 2, 3, 3, device=DEVICE), torch.randn(2, 2, 3, 1, device=DEVICE)
    for allowed in (False, True, False):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=allowed):
            ct.conv_transpose2d(x, weight, None, [1, 1])  # a list has no hash, so this is looked up each time
    assert seen == ["f32", "tf32", "f32"]


def test_other_dtypes_are_torchs(launches):
    for dtype in (torch.complex64, torch.int64) if DEVICE == "cpu" else (torch.complex64,):
        x, weight = torch.ones(1, 2, 3, 3, dtype=dtype, device=DEVICE), torch.ones(2, 2, 3, 3, dtype=dtype, device=DEVICE)
        torch.testing.assert_close(ct.conv_transpose2d(x, weight), F.conv_transpose2d(x, weight))
    assert launches.take() == []


def test_cpu_tensors_are_torchs_unless_asked(launches):
    ct.use_host_device(False)
    x, weight = torch.randn(1, 2, 3, 3), torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(ct.conv_transpose2d(x, weight), F.conv_transpose2d(x, weight))
    assert launches.take() == []


def test_the_switch_is_seen_by_calls_of_known_shapes(launches):
    x, weight = torch.randn(1, 2, 3, 3), torch.randn(2, 2, 3, 3)
    for enabled in (True, False, True):
        ct.use_host_device(enabled)
        ct.conv_transpose2d(x, weight)
        assert launches.take() == ["forward"] * enabled


def test_empty_batch():
    weight = torch.randn(2, 3, 3, 3, device=DEVICE, requires_grad=True)
    y = ct.conv_transpose2d(torch.randn(0, 2, 4, 4, device=DEVICE), weight)
    assert y.shape == (0, 3, 6, 6)
    y.sum().backward()
    assert weight.grad.abs().sum() == 0


def test_vmap_and_forward_mode_are_torchs(launches):
    x, weight = torch.randn(3, 1, 2, 4, 4, device=DEVICE), torch.randn(2, 3, 3, 3, device=DEVICE)
    torch.testing.assert_close(torch.vmap(lambda one: ct.conv_transpose2d(one, weight))(x),
                               torch.vmap(lambda one: F.conv_transpose2d(one, weight))(x))
    y, tangent = torch.func.jvp(lambda one: ct.conv_transpose2d(one, weight), (x[0],), (x[1],))
    torch.testing.assert_close(tangent, F.conv_transpose2d(x[1], weight))
    grad = torch.func.grad(lambda w: ct.conv_transpose2d(x[0], w).square().sum())(weight)
    torch.testing.assert_close(grad, torch.func.grad(lambda w: F.conv_transpose2d(x[0], w).square().sum())(weight))
    assert launches.take() == []


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype, dimensions, launches):
    shapes = (1, 2, *[4] * dimensions), (2, 3, *[3] * dimensions), (3,)
    x, weight, bias = (torch.randn(*shape, device=DEVICE, requires_grad=True) for shape in shapes)
    own, torchs = OURS[dimensions], TORCHS[dimensions]
    with torch.autocast(torch.device(DEVICE).type, dtype=dtype):
        y = own(x, weight, bias)
        assert y.dtype == dtype == torchs(x, weight, bias).dtype
        assert own(x.double(), weight.double()).dtype == torch.float64
    y.float().sum().backward()
    assert x.grad.dtype == weight.grad.dtype == bias.grad.dtype == torch.float32
    assert launches.take() == ["forward", "forward", "grad_input", "grad_weight"]


def test_tensors_that_are_not_contiguous_or_aligned():
    whole = torch.randn(2, 6, 9, 11, device=DEVICE)
    x = whole[:, 1:5, ::2, 1:10]
    weight = torch.randn(3, 3, 3, 4, device=DEVICE).permute(3, 0, 1, 2)
    torch.testing.assert_close(ct.conv_transpose2d(x, weight), F.conv_transpose2d(x, weight))
    flat = torch.randn(2 * 4 * 8 * 8 + 1, device=DEVICE)
    x = flat[1:].view(2, 4, 8, 8)  # off by four bytes
    torch.testing.assert_close(ct.conv_transpose2d(x, weight), F.conv_transpose2d(x, weight))
    # Weights in 16 bits with channels last are copied as they lie.
    x = torch.randn(2, 16, 4, 4, device=DEVICE).bfloat16().contiguous(memory_format=torch.channels_last)
    off = torch.randn(16 * 8 * 4 * 4 + 1, device=DEVICE).bfloat16()[1:].view(16, 8, 4, 4)  # by two bytes
    torch.testing.assert_close(ct.conv_transpose2d(x, off, stride=2, padding=1),
                               F.conv_transpose2d(x, off, stride=2, padding=1), atol=0.1, rtol=0.02)
    x = torch.randn(1, 4, 1, 1, device=DEVICE).expand(2, 4, 5, 5)
    y = ct.conv_transpose2d(x, weight)
    torch.testing.assert_close(y, F.conv_transpose2d(x, weight))
    bias = torch.randn(6, device=DEVICE)[::2]
    torch.testing.assert_close(ct.conv_transpose2d(x, weight, bias), F.conv_transpose2d(x, weight, bias))


def test_volumes(launches):
    """A layer of three axes with its gradients of first and second order, in both formats."""
    for seed, memory_format in enumerate((torch.contiguous_format, torch.channels_last_3d)):
        sample = Sample(f"volumes {seed}", DEVICE, torch.float64, 3)
        x, weight = (tensor.detach().contiguous(memory_format=memory_format).requires_grad_()
                     for tensor in (sample.x, sample.weight))
        assert torch.autograd.gradcheck(sample.ours, (x, weight), fast_mode=True)
        assert torch.autograd.gradgradcheck(sample.ours, (x, weight), fast_mode=True)
        assert set(launches.take()) == {"forward", "grad_input", "grad_weight"}
        x, weight = x.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
        y = sample.ours(x, weight)
        assert y.is_contiguous(memory_format=memory_format)
        of_x, of_weight = torch.autograd.grad(y.square().sum(), (x, weight))
        assert of_x.is_contiguous(memory_format=memory_format) and of_weight.is_contiguous(memory_format=memory_format)
        launches.take()


def test_gradients_that_are_expanded():
    sample = Sample("expanded", DEVICE, torch.float32, 2)
    for ours, theirs in zip(torch.autograd.grad(sample.ours(*sample.tensors()).sum(), sample.tensors()),
                            torch.autograd.grad(sample.torchs(*sample.tensors()).sum(), sample.tensors())):
        torch.testing.assert_close(ours, theirs)


WRONG = {
    "channels": lambda f, n: f(torch.randn(1, 3, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE)),
    "dtype": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE).double()),
    "bias": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                           torch.randn(5, device=DEVICE)),
    "bias dtype": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                                 torch.randn(2, device=DEVICE).double()),
    "stride": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE), stride=0),
    "padding": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                              padding=-1),
    "too much padding": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                                       padding=9),
    "output_padding": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                                     output_padding=1),
    "groups": lambda f, n: f(torch.randn(1, 3, *[4] * n, device=DEVICE), torch.randn(3, 2, *[3] * n, device=DEVICE), groups=2),
    "dimensions": lambda f, n: f(torch.randn(*[2] * (n + 3), device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE)),
    "stride of too many": lambda f, n: f(torch.randn(1, 2, *[4] * n, device=DEVICE), torch.randn(2, 2, *[3] * n, device=DEVICE),
                                         stride=(2,) * (n + 1)),
    "no tensor": lambda f, n: f([1.0], torch.randn(2, 2, *[3] * n, device=DEVICE)),
}


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments_raise_what_torch_raises(what, dimensions):
    if what == "bias dtype" and DEVICE == "cpu":
        what = "bias"  # torch takes a bias of another type on the CPU
    with pytest.raises((RuntimeError, TypeError, ValueError)) as torchs:
        WRONG[what](TORCHS[dimensions], dimensions)
    own = OURS[dimensions]
    with pytest.raises(type(torchs.value)) as ours:
        WRONG[what](own, dimensions)
    assert str(ours.value) == str(torchs.value)


def test_a_wrong_compute_mode():
    with pytest.raises(ValueError, match="'fp8'; legal are None and 'f32', 'tf32', 'f32x3'"):
        ct.conv_transpose2d(torch.randn(1, 2, 3, 3, device=DEVICE), torch.randn(2, 2, 3, 3, device=DEVICE), compute="fp8")


def test_a_layer_beyond_a_limit_is_torchs(launches):
    # 4096 taps are the most of a kernel.
    x, weight = torch.randn(1, 1, 3, 3, device=DEVICE), torch.randn(1, 1, 65, 64, device=DEVICE)
    torch.testing.assert_close(ct.conv_transpose2d(x, weight), F.conv_transpose2d(x, weight))
    assert launches.take() == []
