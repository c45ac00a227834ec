"""StreamingConvTranspose1d: chunks have the bits of the whole, with one kernel and a state that does not grow."""

import copy
import pickle
import random

import pytest
import torch
from conftest import ALL, DEVICE

import convtgen
import convtgen.torch as ct
from convtgen.core import counters


def drawn(draw, dtype=torch.float32):
    """A random layer, and a sequence for it."""
    stride, dilation, kernel = draw.randint(1, 6), draw.choice((1, 1, 2)), draw.randint(1, 9)
    groups = draw.choice((1, 1, 2))
    module = torch.nn.ConvTranspose1d(groups * draw.randint(1, 9), groups * draw.randint(1, 5), kernel, stride,
                                      draw.randint(0, dilation * (kernel - 1) // 2),
                                      draw.randrange(max(stride, dilation)), groups, draw.random() < 0.5, dilation)
    module = module.to(DEVICE, dtype)
    return module, torch.randn(draw.randint(1, 3), module.in_channels, draw.randint(10, 60), device=DEVICE, dtype=dtype)


def by_chunks(streaming, x, lengths):
    """All outputs, one after the other; `lengths` gives the next chunk's."""
    outputs, at = [], 0
    while at < x.shape[2]:
        n = lengths()
        outputs.append(streaming(x[:, :, at:at + n]))
        at += n
    return torch.cat((*outputs, streaming.flush()), 2)


@pytest.mark.parametrize("seed", range(60 if ALL else 6))
def test_chunks_have_the_bits_of_the_whole(seed):
    draw = random.Random(f"{torch.initial_seed()} {seed}")
    module, x = drawn(draw, draw.choice((torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float64)))
    streaming = ct.StreamingConvTranspose1d(module)
    y = by_chunks(streaming, x, lambda: draw.choice((0, 1, 1, draw.randint(2, 20))))
    assert torch.equal(y, streaming.whole(x))
    exact = copy.deepcopy(module).double()(x.double())
    bound = {torch.float64: 1e-13, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}[x.dtype]
    torch.testing.assert_close(y.double(), exact, rtol=bound, atol=bound)


def test_weights_are_packed_once():
    module = torch.nn.ConvTranspose1d(32, 16, 16, 8, 4).to(DEVICE, torch.float16)
    x = torch.randn(2, 32, 9, device=DEVICE, dtype=torch.float16)
    streaming = ct.StreamingConvTranspose1d(module)
    whole = streaming.whole(x)
    first = streaming(x[:, :, :4])
    packed = streaming._packed[0]
    assert packed is not None  # by a kernel for tensor cores
    second = streaming(x[:, :, 4:])
    assert streaming._packed[0] is packed
    assert torch.equal(torch.cat((first, second, streaming.flush()), 2), whole)
    with torch.no_grad():
        module.weight.mul_(2)
    assert torch.equal(by_chunks(streaming, x, lambda: 3), streaming.whole(x))


@pytest.mark.parametrize("mode", ["f32", "tf32", "f32x3"])
def test_compute_modes(mode):
    module = torch.nn.ConvTranspose1d(32, 16, 16, 8, 4).to(DEVICE)
    x = torch.randn(1, 32, 12, device=DEVICE)
    streaming = ct.StreamingConvTranspose1d(module, compute=mode)
    assert torch.equal(by_chunks(streaming, x, lambda: 5), streaming.whole(x))
    assert f"compute={mode!r}" in repr(streaming)


def test_one_kernel_and_bounded_state():
    module = torch.nn.ConvTranspose1d(4, 2, 7, 3, 1, dilation=2).to(DEVICE)
    streaming = ct.StreamingConvTranspose1d(module)
    streaming(torch.randn(2, 4, 3, device=DEVICE))
    before = counters()
    for n in [*range(1, 40), 375, 1, 2]:
        assert streaming(torch.randn(2, 4, n, device=DEVICE)).shape == (2, 2, 3 * n)
        assert streaming._kept.shape == (2, 4, 4)  # what the next output reads: 13 outputs of a frame, 3 of its own
        assert streaming._kept.untyped_storage().nbytes() == 2 * 4 * 4 * 4
        assert len(streaming._calls) <= 16
    after = counters()
    for name in ("prepared", "misses", "compiles", "loads"):
        assert after[name] == before[name], name


def test_sequences_follow_one_another():
    module, x = drawn(random.Random(3))
    streaming = ct.StreamingConvTranspose1d(module)
    first = by_chunks(streaming, x, lambda: 4)
    streaming(x[:, :, :5])
    streaming.reset()
    assert torch.equal(by_chunks(streaming, x, lambda: 7), first)
    with pytest.raises(RuntimeError, match="without a chunk"):
        streaming.flush()
    with torch.no_grad():
        module.weight.mul_(2)
    assert not torch.equal(streaming.whole(x), first)  # the parameters are the module's


def test_copies_begin_anew():
    module, x = drawn(random.Random(4))
    streaming = ct.StreamingConvTranspose1d(module)
    streaming(x)
    for other in (copy.deepcopy(streaming), pickle.loads(pickle.dumps(streaming))):
        assert torch.equal(by_chunks(other, x, lambda: 9), streaming.whole(x))
    assert list(streaming.state_dict()) == [f"module.{name}" for name in module.state_dict()]


def test_what_is_wrong_is_named():
    with pytest.raises(TypeError, match="Linear"):
        ct.StreamingConvTranspose1d(torch.nn.Linear(1, 1))
    module = torch.nn.ConvTranspose1d(4, 2, 3).to(DEVICE)
    with pytest.raises(ValueError, match="compute is 'fp8'"):
        ct.StreamingConvTranspose1d(module, compute="fp8")
    streaming = ct.StreamingConvTranspose1d(module)
    for wrong, words in ((torch.zeros(4, 3, device=DEVICE), "batch, 4, frames"),
                         (torch.zeros(1, 3, 3, device=DEVICE), "batch, 4, frames"),
                         (torch.zeros(1, 4, 3, device=DEVICE, dtype=torch.float16), "the weights are torch.float32")):
        with pytest.raises(ValueError, match=words):
            streaming(wrong)
    streaming(torch.zeros(2, 4, 3, device=DEVICE))
    with pytest.raises(ValueError, match="batch 2"):
        streaming(torch.zeros(1, 4, 3, device=DEVICE))
    with pytest.raises(convtgen.Error, match="output length"):
        ct.StreamingConvTranspose1d(torch.nn.ConvTranspose1d(1, 1, 1, padding=4).to(DEVICE)).whole(
            torch.zeros(1, 1, 3, device=DEVICE))
    hooked = torch.nn.ConvTranspose1d(4, 2, 3).to(DEVICE)
    hooked.register_forward_pre_hook(lambda *_: None)
    with pytest.raises(ValueError, match="hooks"):
        ct.StreamingConvTranspose1d(hooked)
    if DEVICE == "cpu":
        ct.use_host_device(False)
        with pytest.raises(ValueError, match="use_host_device"):
            ct.StreamingConvTranspose1d(module)(torch.zeros(1, 4, 3))


def test_layers_tell_how_they_stream():
    layer = convtgen.Layer("conv_transpose1d 8 -> 4; kernel 16; stride 8; padding 4; streaming")
    assert layer.stream() == {"context": 1, "stride": 8, "delay": 4, "rest": 4}
    with pytest.raises(convtgen.Error, match="streaming"):
        convtgen.Layer("conv_transpose1d 8 -> 4; kernel 16").stream()
