"""torch's own samples of these operators and modules."""

import copy

import pytest
import torch
from conftest import ALL, DEVICE, part
from layers import assert_close
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import convtgen.torch as ct

OPERATORS = {"nn.functional.conv_transpose1d": ct.conv_transpose1d, "nn.functional.conv_transpose2d": ct.conv_transpose2d,
             "nn.functional.conv_transpose3d": ct.conv_transpose3d}
MODULES = {torch.nn.ConvTranspose1d: ct.ConvTranspose1d, torch.nn.ConvTranspose2d: ct.ConvTranspose2d,
           torch.nn.ConvTranspose3d: ct.ConvTranspose3d, torch.nn.LazyConvTranspose1d: ct.LazyConvTranspose1d,
           torch.nn.LazyConvTranspose2d: ct.LazyConvTranspose2d, torch.nn.LazyConvTranspose3d: ct.LazyConvTranspose3d}
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.complex64]


def assert_same(ours, theirs):
    """Within the roundings of both sums, whose terms are as large as the largest element, and may cancel."""
    wide = theirs.dtype in (torch.float32, torch.complex64) and theirs.numel() > 0
    bounds = {"rtol": 1.3e-6, "atol": max(1e-5, 1e-6 * theirs.detach().abs().max().item())} if wide else {}
    torch.testing.assert_close(ours, theirs, **bounds)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [op for op in op_db if op.name in OPERATORS], ids=lambda op: op.name)
def test_samples(op, dtype):
    own = OPERATORS[op.name]
    count = 0
    for sample in part(op.sample_inputs(DEVICE, dtype, requires_grad=True), f"{op.name} {dtype}", 3):
        tensors = [tensor for tensor in (sample.input, *sample.args) if isinstance(tensor, torch.Tensor)]
        y, expected = own(sample.input, *sample.args, **sample.kwargs), op(sample.input, *sample.args, **sample.kwargs)
        if dtype == torch.bfloat16:
            wide = [tensor.double() if isinstance(tensor, torch.Tensor) else tensor for tensor in (sample.input, *sample.args)]
            assert_close(y, op(*wide, **sample.kwargs), dtype, sample)
        else:
            assert_same(y, expected)
        assert y.stride() == expected.stride(), sample
        if y.numel() and dtype != torch.bfloat16:
            for ours, theirs in zip(torch.autograd.grad(y.abs().sum(), tensors), torch.autograd.grad(expected.abs().sum(), tensors)):
                assert_same(ours, theirs)
        count += 1
    assert count >= (5 if ALL else 3)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("info", [info for info in module_db if info.module_cls in MODULES], ids=lambda info: info.name)
def test_modules(info, dtype, training):
    count = 0
    for sample in info.module_inputs_func(info, device=DEVICE, dtype=dtype, requires_grad=False, training=training):
        built, called = sample.constructor_input, sample.forward_input
        if called is None:
            continue
        reference = info.module_cls(*built.args, **built.kwargs, device=DEVICE, dtype=dtype)
        own = MODULES[info.module_cls](*built.args, **built.kwargs, device=DEVICE, dtype=dtype)
        reference(*called.args, **called.kwargs)  # a lazy one has parameters then
        own.load_state_dict(copy.deepcopy(reference.state_dict()))
        y, expected = own(*called.args, **called.kwargs), reference(*called.args, **called.kwargs)
        torch.testing.assert_close(y, expected)
        assert type(own) in (ct.ConvTranspose1d, ct.ConvTranspose2d, ct.ConvTranspose3d)
        count += 1
    assert count >= 1
