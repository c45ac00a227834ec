"""convtgen: kernels for transposed convolutions, generated for one layer each.

    import convtgen
    layer = convtgen.Layer("conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; compute tf32")
    print(convtgen.explain(layer))   # the plan, and what it costs
    source = convtgen.emit(layer)    # the CUDA source

Neither needs a GPU, a compiler or PyTorch. `convtgen.torch` has PyTorch's operators and modules (docs/pytorch.md);
Device and Kernel are the C API (runtime/include/convtgen/convtgen.h) for those who have their own arrays.
"""

from .core import DIRECTIONS, Device, Error, Kernel, Layer, Status, counters, version
from .onnx import import_onnx
from .program import emit, explain

__version__ = version()
__all__ = ["DIRECTIONS", "Device", "Error", "Kernel", "Layer", "Status", "counters", "emit", "explain", "import_onnx",
           "version"]
