"""XLA's calls of kernels: the library `_jax.so`, the devices, and the kernels that programs are compiled with."""

import ctypes
import functools
from pathlib import Path

import jax
import jaxlib
import numpy as np

from .._native import ffi, lib
from ..core import DIRECTIONS, Device
from ..core import Layer as CheckedLayer
from ..nvrtc import use_nvrtc_of

_TARGET = "convtgen_kernel"
_WORKSPACE_ALIGNMENT = 128


def _load():
    """The library, whose handlers XLA knows from then on."""
    file = Path(__file__).parents[1] / "_jax.so"
    if not file.exists():
        raise ImportError("convtgen was built without its library for JAX; in a checkout: CONVTGEN_JAX=1 pip install .")
    library = ctypes.CDLL(str(file))
    library.convtgen_jax_functions.restype = ctypes.c_char_p
    names = library.convtgen_jax_functions().decode().split()
    addresses = [int(ffi.cast("uintptr_t", ffi.addressof(lib, name))) for name in names]
    library.convtgen_jax_connect((ctypes.c_void_p * len(names))(*addresses))
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(library.convtgen_jax_cpu), platform="cpu")
    stages = {"initialize": library.convtgen_jax_cuda_initialize, "execute": library.convtgen_jax_cuda}
    jax.ffi.register_ffi_target(_TARGET, {stage: jax.ffi.pycapsule(one) for stage, one in stages.items()},
                                platform="CUDA")
    return library


_library = _load()


@functools.cache
def _device(platform):
    """The Device that programs are compiled for: the first GPU of this process, or the host device."""
    if platform == "cpu":
        gpu, device = -1, Device("host")
    else:
        use_nvrtc_of(jaxlib)
        gpu = jax.local_devices(backend="cuda")[0].local_hardware_id
        device = Device(f"cuda:{gpu}")
    _library.convtgen_jax_use(ctypes.c_int32(gpu), ctypes.c_void_p(int(ffi.cast("uintptr_t", device.handle))))
    return device


def prepare(platform, text, direction):
    """The Kernel of "cuda" or "cpu" for a layer with all its sizes and a direction.

    Raises:
      Error: there is no kernel (Status.UNSUPPORTED), no device or no compiler.
    """
    return _device(platform).prepare(CheckedLayer(text), direction)


def call(first, second, kernel, text, direction, result):
    """The result of a Kernel of prepare() with these arguments, of a jax.ShapeDtypeStruct, in a traced program."""
    workspace_bytes = kernel.workspace()[0]
    scratch = jax.ShapeDtypeStruct((workspace_bytes + _WORKSPACE_ALIGNMENT if workspace_bytes else 0,), np.uint8)
    run = jax.ffi.ffi_call(_TARGET, (result, scratch))
    return run(first, second, layer=text, direction=np.int32(DIRECTIONS[direction]))[0]
