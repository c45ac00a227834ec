"""UpCat: an up-sampling and its skip connection as one tensor, which the kernel writes where it lies."""

import torch

from . import calls, functional, geometry, gradients, operators, settings, slices
from . import policy as policies


class _Joined(torch.autograd.Function):
    """torch.cat() of y and skip along the channels."""

    @staticmethod
    def forward(ctx, x, weight, bias, skip, call, skip_first):
        channels = call.y_shape[1], skip.shape[1]
        ctx.save_for_backward(x, weight)
        ctx.call, ctx.first, ctx.channels = call, (skip.shape[1], 0) if skip_first else (0, channels[0]), channels
        shape = (call.y_shape[0], sum(channels), *call.y_shape[2:])
        joined = torch.empty_strided(shape, geometry.format_strides(shape, call.channels_last), dtype=call.dtype,
                                     device=call.device)
        slices.forward_into(call, x, weight, bias, joined.narrow(1, ctx.first[0], channels[0]))
        joined.narrow(1, ctx.first[1], channels[1]).copy_(skip)
        return joined

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        wants_x, wants_weight, wants_bias, wants_skip, *_ = ctx.needs_input_grad
        grad_y, grad_skip = (grad.narrow(1, first, count) for first, count in zip(ctx.first, ctx.channels))
        grad_skip = grad_skip if wants_skip else None
        if not torch.is_grad_enabled():
            found = slices.gradients_of(ctx.call, grad_y, x, weight, (wants_x, wants_weight, wants_bias))
            return (*found, grad_skip, None, None)
        of_x = gradients.grad_input(ctx.call, grad_y, weight) if wants_x else None
        of_weight = gradients.grad_weight(ctx.call, grad_y, x, False)[0] if wants_weight else None
        of_bias = grad_y.sum((0, *range(2, grad_y.dim()))) if wants_bias else None
        return of_x, of_weight, of_bias, grad_skip, None, None


class UpCat(torch.nn.Module):
    """torch.cat((up(x), skip), 1), as the decoder of a U-Net has it: up's kernel writes into the concatenated tensor, and its
    gradients read their channels of that tensor's gradient, so that neither is copied.

    Where `up` runs by torch's operator, as its policy may choose, and for what kernels don't take (docs/pytorch.md), both
    modules are called one after the other.

    Args:
      up: a transposed convolution, torch's or convtgen's. accelerate() may change it later.
      skip_first: torch.cat((skip, up(x)), 1) instead.

    Raises:
      TypeError: `up` is another module.
    """

    def __init__(self, up, *, skip_first=False):
        super().__init__()
        if not isinstance(up, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)):
            raise TypeError(f"up is a {type(up).__name__}; legal are ConvTranspose1d, ConvTranspose2d and ConvTranspose3d")
        self.up, self.skip_first = up, skip_first

    def forward(self, x, skip):
        """(batch, in_channels, *sizes) and (batch, any channels, *sizes of up's output), to one with both channels."""
        server = self._server(x, skip)
        if server is None:
            y = self.up(x)
            return torch.cat((skip, y) if self.skip_first else (y, skip), 1)
        call, x, weight, bias = server
        return _Joined.apply(x, weight, bias, skip, call, self.skip_first)

    def _server(self, x, skip):
        """(Call, x, weight, bias) where a kernel writes the output; None where the modules are called."""
        up = self.up
        if (not slices.runs_kernels(x, skip) or functional.is_collecting() or up._forward_hooks or
                up._forward_pre_hooks or up._backward_hooks or up._backward_pre_hooks or up.padding_mode != "zeros"):
            return None
        of_policy, compute = getattr(up, "policy", "always"), getattr(up, "compute", None)
        weight, bias = up.weight, up.bias
        if of_policy == "never" or not slices.runs_kernels(weight, bias):
            return None
        if torch.is_autocast_enabled(x.device.type):
            x, weight, bias = operators.autocast(x.device.type, x, weight, bias)
        if x.dim() != len(up.kernel_size) + 2 or not settings.takes(x.device, x.dtype):
            return None
        parameters = geometry.Parameters(up.stride, up.padding, up.output_padding, up.dilation, up.groups)
        call = calls.call_of(x, weight, parameters, compute)
        if (call is None or skip.dtype != call.dtype or skip.device != call.device or skip.dim() != x.dim() or
                skip.shape[0] != call.y_shape[0] or skip.shape[2:] != call.y_shape[2:] or 0 in skip.shape or
                (bias is not None and (bias.dtype != x.dtype or bias.device != x.device))):
            return None
        if of_policy == "auto":
            asked = "training" if gradients.tracks(x, weight, bias) else functional.asked_of(up)
            left = (call, asked) in functional.state_of(up).left
            if left or (call.chosen or policies.chosen(call)).serves(asked, bias is not None) is not call:
                return None
        return call, x, weight, bias

    def extra_repr(self):
        return "skip_first=True" if self.skip_first else ""
