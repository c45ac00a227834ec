"""Shapes and memory formats of a transposed convolution, as torch has them."""

from typing import NamedTuple

import torch


class Parameters(NamedTuple):
    """The arguments of F.conv_transpose1d / 2d / 3d as tuples of 1 to 3."""

    stride: tuple
    padding: tuple
    output_padding: tuple
    dilation: tuple
    groups: int


def expanded(value, dimensions):
    """An argument of F.conv_transpose: one number for all axes, or one for each."""
    if isinstance(value, (tuple, list, torch.Size)):
        value = tuple(value)
        return value * dimensions if len(value) == 1 else value
    return (value,) * dimensions


def output_extents(extents, kernel, parameters):
    """(in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 for each axis."""
    return tuple(
        (extent - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1
        for extent, taps, stride, padding, output_padding, dilation in zip(
            extents, kernel, parameters.stride, parameters.padding, parameters.output_padding, parameters.dilation))


def _is_like_channels_last(tensor):
    # c10/core/MemoryFormat.h, is_channels_last_strides_2d and _3d: strides grow from channels over width, height and depth
    # to batch. A tensor of one dimension is seen with a height of 1, as torch's conv_transpose1d does it.
    shape, strides = tuple(tensor.shape), tensor.stride()
    if len(shape) == 3:
        shape = (shape[0], shape[1], 1, shape[2])
        strides = (strides[0], strides[1], shape[3] * strides[2], strides[2])
    if strides[1] == 0:
        return False
    least = 0
    for axis in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[axis] == 0 or strides[axis] < least or (axis == 0 and least == strides[1]):
            return False
        least = strides[axis] * (shape[axis] if shape[axis] > 1 else 1)
    return True


def is_channels_last(tensor, weight, parameters):
    """Whether torch's output has channels last: where the input or the weight has, but never in float64
    (aten/src/ATen/native/ConvUtils.h, cudnn_conv_suggest_memory_format); of one dimension only where the weight has
    (Convolution.cpp, _convolution); and not where cuDNN has no kernel for the output's padding (is_output_padding_big).
    """
    if tensor.dtype == torch.float64 or (tensor.device.type == "cuda" and any(
            padding >= stride for padding, stride in zip(parameters.output_padding, parameters.stride))):
        return False
    return _is_like_channels_last(weight) or (tensor.dim() > 3 and _is_like_channels_last(tensor))


def format_strides(shape, channels_last):
    """The strides that torch.empty gives a batch of this shape in one of both formats."""
    order = range(len(shape) - 1, -1, -1)
    if channels_last:
        order = (1, *range(len(shape) - 1, 1, -1), 0)
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step = step * shape[axis]
    return tuple(strides)


def _memory_format(tensor):
    return torch.channels_last_3d if tensor.dim() == 5 else torch.channels_last


def has_format(tensor, channels_last):
    """Whether a tensor lies in memory in that format, without gaps."""
    if not channels_last:
        return tensor.is_contiguous()
    tensor = tensor.unsqueeze(2) if tensor.dim() == 3 else tensor
    return tensor.is_contiguous(memory_format=_memory_format(tensor))


def weight_is_channels_last(weight):
    """Whether kernels read these weights, or a copy of them, with channels last. Those of one tap lie in both formats."""
    return not has_format(weight, False) and has_format(weight, True)


def in_format(tensor, channels_last):
    """The tensor, or a copy that lies in that format."""
    if not channels_last:
        return tensor.contiguous()
    if tensor.dim() == 3:
        return tensor.unsqueeze(2).contiguous(memory_format=torch.channels_last).squeeze(2)
    return tensor.contiguous(memory_format=_memory_format(tensor))
