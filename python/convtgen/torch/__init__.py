"""PyTorch's transposed convolutions by convtgen's kernels (docs/pytorch.md).

    convtgen.torch.accelerate(model)             # all transposed convolutions of a model, where that is faster
    from convtgen.torch import ConvTranspose2d   # for torch.nn.ConvTranspose2d
    from convtgen.torch import conv_transpose2d  # for torch.nn.functional.conv_transpose2d
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("convtgen.torch needs PyTorch 2.6 or later: pip install torch") from error

# Each module uses those before it: settings (torch's switches), geometry (shapes, memory formats), calls (kernels of a
# call, launches), torchs (torch's operators), policy (which of both runs), whole (whether a whole model gains), gradients
# (autograd), operators (registered ones; conv_transpose is composite), slices (out=), functional, modules, accelerate,
# upcat; streaming uses calls alone.
from .accelerate import Report, accelerate, describe, freeze, prepare, undo
from .functional import conv_transpose1d, conv_transpose2d, conv_transpose3d
from .modules import (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, LazyConvTranspose1d, LazyConvTranspose2d,
                      LazyConvTranspose3d)
from .settings import use_host_device
from .streaming import StreamingConvTranspose1d
from .upcat import UpCat

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
           "LazyConvTranspose3d", "Report", "StreamingConvTranspose1d", "UpCat", "accelerate",
           "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "describe", "freeze", "prepare", "undo", "use_host_device"]
