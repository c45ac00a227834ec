"""The three operators as autograd has them. Each one's gradients are made of the others, so that any order of
derivatives needs no further kernels:

    y           = forward(x, weight) + bias
    grad_x      = grad_input(grad_y, weight)
    grad_weight = grad_weight(grad_y, x)

`call` is a calls.Call, or what else has its methods `forward` and `gradients`.
"""

import torch

from . import torchs


def tracks(*tensors):
    """Whether a result of these tensors has a gradient; None stands for no tensor."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def forward(call, x, weight, bias):
    """y; differentiable."""
    if tracks(x, weight, bias):
        return Forward.apply(x, weight, bias, call)
    return call.forward(x, weight, bias)


def grad_input(call, grad_y, weight):
    """grad_x; differentiable."""
    if tracks(grad_y, weight):
        return _GradInput.apply(grad_y, weight, call)
    return call.gradients(grad_y, None, weight, (True, False, False))[0]


def grad_weight(call, grad_y, x, with_bias):
    """grad_weight and grad_bias (None unless it is wanted); differentiable."""
    if tracks(grad_y, x):
        return _GradWeight.apply(grad_y, x, call), torchs.bias_gradient(grad_y) if with_bias else None
    return call.gradients(grad_y, x, None, (False, True, with_bias))[1:]


class Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, call):
        ctx.save_for_backward(x, weight)
        ctx.call = call
        return call.forward(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_y):
        x, weight = ctx.saved_tensors
        wants_x, wants_weight, wants_bias, _ = wanted = ctx.needs_input_grad
        if not torch.is_grad_enabled():
            return (*ctx.call.gradients(grad_y, x, weight, wanted), None)
        of_x = grad_input(ctx.call, grad_y, weight) if wants_x else None
        of_weight = of_bias = None
        if wants_weight:
            of_weight, of_bias = grad_weight(ctx.call, grad_y, x, wants_bias)
        elif wants_bias:
            of_bias = torchs.bias_gradient(grad_y)
        return of_x, of_weight, of_bias, None


#: Forward.apply without what it does for transforms of functorch, which functional.py leaves to torch.
apply_forward = super(torch.autograd.Function, Forward).apply


class _GradInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_y, weight, call):
        ctx.save_for_backward(grad_y, weight)
        ctx.call = call
        return call.gradients(grad_y, None, weight, (True, False, False))[0]

    @staticmethod
    def backward(ctx, of_grad_x):
        grad_y, weight = ctx.saved_tensors
        of_grad_y = forward(ctx.call, of_grad_x, weight, None) if ctx.needs_input_grad[0] else None
        of_weight = grad_weight(ctx.call, grad_y, of_grad_x, False)[0] if ctx.needs_input_grad[1] else None
        return of_grad_y, of_weight, None


class _GradWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_y, x, call):
        ctx.save_for_backward(grad_y, x)
        ctx.call = call
        return call.gradients(grad_y, x, None, (False, True, False))[1]

    @staticmethod
    def backward(ctx, of_grad_weight):
        grad_y, x = ctx.saved_tensors
        of_grad_y = forward(ctx.call, x, of_grad_weight, None) if ctx.needs_input_grad[0] else None
        of_x = grad_input(ctx.call, grad_y, of_grad_weight) if ctx.needs_input_grad[1] else None
        return of_grad_y, of_x, None
