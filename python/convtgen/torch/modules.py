"""ConvTranspose1d, ConvTranspose2d and ConvTranspose3d: torch's modules with convtgen's kernels."""

import torch
from torch.fx import Proxy

from . import functional, settings, tracing


class _Convtgen:
    """What these modules have besides torch's: the compute mode, the policy (policy.py), and a forward of their own."""

    compute = None
    policy = "always"

    def __init__(self, *arguments, compute=None, **named):
        settings.check_compute(compute)
        super().__init__(*arguments, **named)
        self.compute = compute

    def forward(self, input, output_size=None):
        """(batch, in_channels, *sizes), or the same without the batch, to the same with out_channels and the output's
        sizes."""
        if isinstance(input, Proxy):
            traced = tracing.module_call(self, input, output_size)
            if traced is not None:
                return traced
        if self.policy == "never" and not functional.is_collecting():
            return super().forward(input, output_size)
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        dimensions, output_padding = len(self.kernel_size), self.output_padding
        if output_size is not None:
            output_padding = tuple(self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size,
                                                        dimensions, self.dilation))
        # Where a parametrization or weight_norm has taken a parameter's place, it is an attribute. Others are found
        # without torch's __getattr__, which is Python's.
        parameters = self._parameters
        weight = parameters["weight"] if "weight" in parameters else self.weight
        bias = parameters["bias"] if "bias" in parameters else self.bias
        return functional.conv_transpose(dimensions, self, input, weight, bias, self.stride, self.padding,
                                         output_padding, self.groups, self.dilation, self.compute, self.policy)

    def __prepare_scriptable__(self):
        tracing.refuse_script(self)

    def extra_repr(self):
        text = super().extra_repr()
        text = text if self.compute is None else f"{text}, compute={self.compute!r}"
        return text if self.policy == "always" else f"{text}, policy={self.policy!r}"


class ConvTranspose1d(_Convtgen, torch.nn.ConvTranspose1d):
    """torch.nn.ConvTranspose1d by conv_transpose1d(): the same arguments, parameters and state_dict, and `compute`."""


class ConvTranspose2d(_Convtgen, torch.nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d by conv_transpose2d(): the same arguments, parameters and state_dict, and `compute`."""


class ConvTranspose3d(_Convtgen, torch.nn.ConvTranspose3d):
    """torch.nn.ConvTranspose3d by conv_transpose3d(): the same arguments, parameters and state_dict, and `compute`."""


class LazyConvTranspose1d(_Convtgen, torch.nn.LazyConvTranspose1d):
    """torch.nn.LazyConvTranspose1d that becomes a ConvTranspose1d of convtgen."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_Convtgen, torch.nn.LazyConvTranspose2d):
    """torch.nn.LazyConvTranspose2d that becomes a ConvTranspose2d of convtgen."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_Convtgen, torch.nn.LazyConvTranspose3d):
    """torch.nn.LazyConvTranspose3d that becomes a ConvTranspose3d of convtgen."""

    cls_to_become = ConvTranspose3d
