"""ConvTranspose1d and ConvTranspose2d: torch's modules with convtgen's kernels."""

import torch

from . import functional, settings


class _Convtgen:
    """What both modules have beside torch's: the compute mode, the policy (policy.py), and a forward of their own."""

    compute = None
    policy = "always"

    def __init__(self, *arguments, compute=None, **named):
        settings.check_compute(compute)
        super().__init__(*arguments, **named)
        self.compute = compute

    def _forward(self, dimensions, torchs, input, output_size):
        if self.policy == "never" and not functional.is_collecting():
            return torchs(self, input, output_size)
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        output_padding = self.output_padding
        if output_size is not None:
            output_padding = tuple(self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size,
                                                        dimensions, self.dilation))
        return functional.conv_transpose(dimensions, self, input, self.weight, self.bias, self.stride, self.padding,
                                         output_padding, self.groups, self.dilation, self.compute, self.policy)

    def extra_repr(self):
        text = super().extra_repr()
        text = text if self.compute is None else f"{text}, compute={self.compute!r}"
        return text if self.policy == "always" else f"{text}, policy={self.policy!r}"


class ConvTranspose1d(_Convtgen, torch.nn.ConvTranspose1d):
    """torch.nn.ConvTranspose1d by conv_transpose1d(): the same arguments, parameters and state_dict, and `compute`."""

    def forward(self, input, output_size=None):
        """(batch, in_channels, length) or (in_channels, length) to the same with out_channels and the output's length."""
        return self._forward(1, torch.nn.ConvTranspose1d.forward, input, output_size)


class ConvTranspose2d(_Convtgen, torch.nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d by conv_transpose2d(): the same arguments, parameters and state_dict, and `compute`."""

    def forward(self, input, output_size=None):
        """(batch, in_channels, height, width) or (in_channels, height, width) to the same of the output."""
        return self._forward(2, torch.nn.ConvTranspose2d.forward, input, output_size)


class LazyConvTranspose1d(_Convtgen, torch.nn.LazyConvTranspose1d):
    """torch.nn.LazyConvTranspose1d that becomes a ConvTranspose1d of convtgen."""

    cls_to_become = ConvTranspose1d
    forward = ConvTranspose1d.forward


class LazyConvTranspose2d(_Convtgen, torch.nn.LazyConvTranspose2d):
    """torch.nn.LazyConvTranspose2d that becomes a ConvTranspose2d of convtgen."""

    cls_to_become = ConvTranspose2d
    forward = ConvTranspose2d.forward
