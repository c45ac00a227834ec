"""What a call follows: torch's switches, and whether CPU tensors run on the host device."""

import functools
import os

import torch

#: The compute modes of float32 tensors. Those of other types have one, their own.
FLOAT32_MODES = ("f32", "tf32", "f32x3")
#: The language's words for the types that have kernels.
DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

host_device = os.environ.get("CONVTGEN_TORCH_HOST_DEVICE", "0") not in ("", "0")


def use_host_device(enabled=True):
    """Whether CPU tensors run on convtgen's host device, which checks every access of a kernel and takes seconds where
    torch takes milliseconds: for tests where no GPU is. $CONVTGEN_TORCH_HOST_DEVICE=1 does the same from the start.

    Returns:
      What was set before.
    """
    global host_device
    before, host_device = host_device, bool(enabled)
    return before


def takes(device, dtype):
    """Whether tensors of this device and type have kernels; else the operators are torch's own."""
    return (device.type == "cuda" or (host_device and device.type == "cpu")) and dtype in DTYPES


def check_compute(compute):
    """Raises ValueError for a word that is no compute mode; None follows torch's switches."""
    if compute is not None and compute not in FLOAT32_MODES:
        raise ValueError(f"compute is {compute!r}; legal are None and {', '.join(map(repr, FLOAT32_MODES))}")


if hasattr(torch._C, "_get_fp32_precision_getter"):  # from torch 2.9 on; older settings are seen through it

    #: What torch's switch for float32 convolutions says, in its own words.
    switch = functools.partial(torch._C._get_fp32_precision_getter, "cuda", "conv")
else:
    switch = torch._C._get_cudnn_allow_tf32
_TF32 = ("tf32", True)


def compute_mode(dtype, compute):
    """The language's compute mode for tensors of `dtype`. For float32 it is `compute`, or where that is None tf32 as
    torch's convolutions do (torch.backends.cudnn), else strict f32."""
    if dtype != torch.float32:
        return DTYPES[dtype]
    if compute is not None:
        return compute
    return "tf32" if switch() in _TF32 else "f32"
