"""A layer as PyTorch runs it."""

import math

import torch

from layer import MODES

READ = {"forward": ["x", "weight", "bias"], "grad_input": ["grad_y", "weight"], "grad_weight": ["x", "grad_y"]}
WRITTEN = {"forward": ["y"], "grad_input": ["grad_x"], "grad_weight": ["grad_weight", "grad_bias"]}
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


def arrays_by_role(layer, mode, layout, weights="contiguous"):
    """All tensors of a layer, None for those of a bias that it lacks; those that are written hold NaNs. With weights
    "channels_last" theirs lie as (Cin, KH, KW, Cout / groups)."""
    form = memory_format(layer, layout)
    x, weight, bias = tensors(layer, mode, layout)
    if weights == "channels_last":
        weight = weight.to(memory_format=memory_format(layer, "nhwc"))  # empty_like() keeps it
    y = torch.empty(layer.y_shape, dtype=x.dtype, device="cuda").to(memory_format=form)
    # Gradients of weights stay near 1, so that f16 can hold them.
    grad_y = torch.randn(y.shape, device="cuda").to(x.dtype).to(memory_format=form)
    grad_y /= math.sqrt(layer.batch * math.prod(layer.extents))
    arrays = {"x": x, "weight": weight, "bias": bias, "y": y, "grad_y": grad_y, "grad_x": torch.empty_like(x),
              "grad_weight": torch.empty_like(weight), "grad_bias": torch.empty_like(bias) if layer.bias else None}
    for role in sum(WRITTEN.values(), []):
        if arrays[role] is not None:
            arrays[role].fill_(math.nan)
    return arrays


def addresses(arrays, direction):
    """{role: address} of what a direction reads and writes."""
    return {role: arrays[role].data_ptr() for role in READ[direction] + WRITTEN[direction] if arrays[role] is not None}


def set_precision(mode):
    """Convolutions by cuDNN's fastest algorithm; tf32 in that mode alone, so that f32x3 is held against strict fp32."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = mode == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
