"""ConvTranspose1d / 2d / 3d as modules: torch's arguments, state, copies; weights that change unseen."""

import copy
import io
import pickle

import pytest
import torch
from conftest import DEVICE

import convtgen.torch as ct

OURS = {torch.nn.ConvTranspose1d: ct.ConvTranspose1d, torch.nn.ConvTranspose2d: ct.ConvTranspose2d,
        torch.nn.ConvTranspose3d: ct.ConvTranspose3d}


def both(theirs=torch.nn.ConvTranspose2d, *arguments, **named):
    """torch's module and ours with the same parameters."""
    reference = theirs(*arguments, **named).to(DEVICE)
    own = OURS[theirs](*arguments, **named).to(DEVICE)
    own.load_state_dict(reference.state_dict())
    return reference, own


def image(*shape):
    return torch.randn(*shape, device=DEVICE)


def test_state_dict_goes_both_ways():
    reference, own = both(torch.nn.ConvTranspose2d, 4, 6, (3, 2), stride=2, padding=1, groups=2)
    assert isinstance(own, torch.nn.ConvTranspose2d)
    assert list(own.state_dict()) == list(reference.state_dict())
    reference.load_state_dict(own.state_dict())
    x = image(2, 4, 5, 6)
    torch.testing.assert_close(own(x), reference(x))
    assert "compute" not in repr(own) and "compute='tf32'" in repr(ct.ConvTranspose2d(4, 6, 3, compute="tf32"))


def test_output_size():
    for theirs, shape, size in ((torch.nn.ConvTranspose2d, (1, 3, 5, 6), (10, 12)), (torch.nn.ConvTranspose1d, (1, 3, 5), (10,)),
                                (torch.nn.ConvTranspose3d, (1, 3, 2, 3, 4), (4, 5, 8))):
        reference, own = both(theirs, 3, 2, 3, stride=2, padding=1)
        x = image(*shape)
        torch.testing.assert_close(own(x, output_size=size), reference(x, output_size=size))
        with pytest.raises(ValueError, match="output size"):
            own(x, output_size=[size[0] + 5] * len(size))


def test_wrong_arguments():
    with pytest.raises(ValueError, match="compute is 'fp64'"):
        ct.ConvTranspose2d(1, 1, 1, compute="fp64")
    with pytest.raises(ValueError, match="zeros"):
        ct.ConvTranspose2d(1, 1, 1, padding_mode="reflect")


def test_copies_and_pickles():
    own = ct.ConvTranspose2d(3, 2, 3, stride=2, compute="f32x3").to(DEVICE)
    x = image(1, 3, 4, 4)
    y = own(x)
    buffer = io.BytesIO()
    torch.save(own, buffer)
    buffer.seek(0)
    for copied in (copy.deepcopy(own), pickle.loads(pickle.dumps(own)), torch.load(buffer, weights_only=False)):
        assert type(copied) is ct.ConvTranspose2d and copied.compute == "f32x3"
        assert torch.equal(copied(x), y)
        with torch.no_grad():
            copied.weight.zero_()
        assert torch.equal(own(x), y)


@pytest.mark.parametrize("change", ["data.copy_", "data", "no_grad", "set_", "load_state_dict"])
def test_weights_that_change_unseen(change):
    reference, own = both(torch.nn.ConvTranspose2d, 4, 4, 3)
    x = image(1, 4, 6, 6)
    own(x)
    new = torch.randn_like(own.weight)
    if change == "data.copy_":
        own.weight.data.copy_(new)
    elif change == "data":
        own.weight.data = new.clone()
    elif change == "no_grad":
        with torch.no_grad():
            own.weight.copy_(new)
    elif change == "set_":
        with torch.no_grad():
            own.weight.set_(new.clone())
    else:
        own.load_state_dict({"weight": new, "bias": own.bias.detach()})
    reference.load_state_dict({"weight": new, "bias": reference.bias.detach()})
    torch.testing.assert_close(own(x), reference(x))


@pytest.mark.parametrize("normed", [torch.nn.utils.weight_norm, torch.nn.utils.parametrizations.weight_norm,
                                    torch.nn.utils.parametrizations.spectral_norm])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weights_that_are_made_in_each_call(normed):
    reference, own = both(torch.nn.ConvTranspose1d, 4, 2, 4, stride=2)
    torch.manual_seed(1)
    reference = normed(reference, dim=0) if normed is not torch.nn.utils.parametrizations.spectral_norm else normed(reference)
    torch.manual_seed(1)
    own = normed(own, dim=0) if normed is not torch.nn.utils.parametrizations.spectral_norm else normed(own)
    x = image(2, 4, 7)
    for module in (reference, own):
        optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)  # larger steps amplify roundings
        torch.manual_seed(2)
        for _ in range(3):
            optimizer.zero_grad()
            module(x).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(own(x), reference(x), rtol=1e-4, atol=1e-5)


def test_inference_tensors(launches):
    reference, own = both(torch.nn.ConvTranspose2d, 3, 2, 3)
    with torch.inference_mode():
        x = image(1, 3, 4, 4)
        y = own(x)
        assert y.is_inference() and launches.take() == ["forward"]
        torch.testing.assert_close(y, reference(x))


@pytest.mark.parametrize("theirs, extents, memory_format", [
    (torch.nn.ConvTranspose2d, (4, 5), torch.channels_last), (torch.nn.ConvTranspose3d, (3, 4, 5), torch.channels_last_3d)])
def test_channels_last_models(theirs, extents, memory_format):
    reference, own = both(theirs, 3, 2, 3, stride=2)
    reference, own = (module.to(memory_format=memory_format) for module in (reference, own))
    x = image(2, 3, *extents).contiguous(memory_format=memory_format).requires_grad_()
    y, expected = own(x), reference(x)
    assert y.stride() == expected.stride()
    y.square().sum().backward()
    grad, x.grad = x.grad, None
    expected.square().sum().backward()
    torch.testing.assert_close(grad, x.grad)
    torch.testing.assert_close(own.weight.grad, reference.weight.grad, rtol=1e-4, atol=1e-5)
    assert own.weight.grad.stride() == reference.weight.grad.stride()
