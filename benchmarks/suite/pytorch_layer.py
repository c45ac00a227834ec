"""A layer as PyTorch runs it."""

import math

import torch

from layer import MODES

_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def convolve(layer, x, weight, bias):
    return torch.nn.functional.conv_transpose2d(x, weight, bias, layer.stride, layer.padding, layer.output_padding,
                                                layer.groups, layer.dilation)


def tensors(layer, mode, layout):
    """Random x, weight, bias. Weights are scaled so that outputs have about the size of inputs."""
    dtype = _DTYPES[MODES[mode]]
    form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    x = torch.randn(layer.batch, layer.in_channels, layer.height, layer.width, device="cuda").to(dtype)
    weight = torch.randn(layer.in_channels, layer.out_channels // layer.groups, *layer.kernel, device="cuda")
    weight = (weight / math.sqrt(layer.terms_of_an_output())).to(dtype)
    bias = torch.randn(layer.out_channels, device="cuda").to(dtype) if layer.bias else None
    return x.to(memory_format=form), weight, bias


def set_precision(mode):
    """Convolutions by cuDNN's fastest algorithm; tf32 in that mode alone, so that f32x3 is held against strict fp32."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = mode == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
