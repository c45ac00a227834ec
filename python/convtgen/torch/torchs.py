"""torch's own operators, as both the registered operators and the policy call them."""

import torch


def forward(x, weight, bias, parameters):
    """y."""
    stride, padding, output_padding, dilation, groups = parameters
    return torch.ops.aten.convolution(x, weight, bias, list(stride), list(padding), list(dilation), True,
                                      list(output_padding), groups)


def _backward(grad_y, x, weight, parameters, wanted):
    stride, padding, output_padding, dilation, groups = parameters
    return torch.ops.aten.convolution_backward(grad_y, x, weight, [grad_y.shape[1]], list(stride), list(padding),
                                               list(dilation), True, list(output_padding), groups, wanted)


def grad_input(grad_y, weight, x, parameters):
    """grad_x; of x only shape and strides are read."""
    return _backward(grad_y, x, weight, parameters, [True, False, False])[0]


def grad_weight(grad_y, x, weight, parameters, with_bias):
    """grad_weight and grad_bias (None unless it is wanted); of weight only shape and strides are read."""
    return _backward(grad_y, x, weight, parameters, [False, True, with_bias])[1:]
