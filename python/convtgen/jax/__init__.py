"""JAX's transposed convolution by convtgen's kernels (docs/jax.md).

    from convtgen.jax import conv_transpose   # for jax.lax.conv_transpose
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise ImportError("convtgen.jax needs JAX 0.10 or later: pip install jax") from error

# Each module uses those before it: settings (words of the arguments), geometry (layers of JAX's arguments), handlers
# (XLA's calls of kernels), jaxs (JAX's operators), choices (which of both runs), primitives (one a direction, with
# their derivatives), functional.
from .functional import conv_transpose
from .settings import use_host_device

__all__ = ["conv_transpose", "use_host_device"]
