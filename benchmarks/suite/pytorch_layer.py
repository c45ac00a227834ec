"""A layer as PyTorch runs it."""

import math

import torch

from layer import MODES

_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def convolve(layer, x, weight, bias):
    own = torch.nn.functional.conv_transpose3d if len(layer.kernel) == 3 else torch.nn.functional.conv_transpose2d
    return own(x, weight, bias, layer.stride, layer.padding, layer.output_padding, layer.groups, layer.dilation)


def memory_format(layer, layout):
    if layout == "nchw":
        return torch.contiguous_format
    return torch.channels_last_3d if len(layer.kernel) == 3 else torch.channels_last


def backward(layer, grad_y, x, weight, direction):
    """One gradient, or with "both" that of the input and of the weights. Of the weights' with that of the bias, as the
    layer has one."""
    wanted = [direction in ("grad_input", "both"), direction in ("grad_weight", "both"),
              direction in ("grad_weight", "both") and layer.bias]
    grads = torch.ops.aten.convolution_backward(
        grad_y, x, weight, [layer.out_channels] if layer.bias else None, layer.stride, layer.padding, layer.dilation,
        True, layer.output_padding, layer.groups, wanted)
    return [grad for grad, is_wanted in zip(grads, wanted) if is_wanted]


def tensors(layer, mode, layout):
    """Random x, weight, bias. Weights are scaled so that outputs have about the size of inputs."""
    dtype = _DTYPES[MODES[mode]]
    x = torch.randn(layer.x_shape, device="cuda").to(dtype)
    weight = torch.randn(layer.weight_shape, device="cuda")
    weight = (weight / math.sqrt(layer.terms_of_an_output())).to(dtype)
    bias = torch.randn(layer.out_channels, device="cuda").to(dtype) if layer.bias else None
    return x.to(memory_format=memory_format(layer, layout)), weight, bias


def set_precision(mode):
    """Convolutions by cuDNN's fastest algorithm; tf32 in that mode alone, so that f32x3 is held against strict fp32."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = mode == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
