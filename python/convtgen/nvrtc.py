"""Which NVRTC compiles kernels, where another package brings one."""

import os
from pathlib import Path


def use_nvrtc_of(package):
    """Lets the library search the NVIDIA packages that stand next to an imported package, as PyTorch and JAX install them:
    their NVRTC is the one that the driver serves. Who names another in the environment gets that."""
    if os.environ.get("CONVTGEN_NVRTC") or os.environ.get("CONVTGEN_NVRTC_DIR"):
        return
    packages = Path(package.__file__).parent.parent
    if any(packages.glob("nvidia/*/lib/libnvrtc.so.*")):
        os.environ["CONVTGEN_NVRTC_DIR"] = str(packages)
