"""torch's own operators, as both the registered operators and the policy call them."""

import torch

_backward = torch.ops.aten.convolution_backward.default


def forward(x, weight, bias, parameters):
    """y."""
    stride, padding, output_padding, dilation, groups = parameters
    return torch.convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


def bias_gradient(grad_y):
    """The sum over all but the channels."""
    return grad_y.sum((0, *range(2, grad_y.dim())))


def gradients(grad_y, x, weight, parameters, wanted):
    """(grad_x, grad_weight, grad_bias), each None unless it is wanted; of x or weight that no wanted gradient needs only
    shape and strides are read."""
    stride, padding, output_padding, dilation, groups = parameters
    found = _backward(grad_y, x, weight, [grad_y.shape[1]], stride, padding, dilation, True, output_padding, groups,
                      wanted[:3])
    return tuple(each if is_wanted else None for each, is_wanted in zip(found, wanted))
