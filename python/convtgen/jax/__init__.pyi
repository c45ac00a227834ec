from collections.abc import Sequence
from typing import Any, Literal

from jax import Array
from jax.typing import ArrayLike, DTypeLike

Compute = Literal["f32", "tf32", "f32x3"]
Policy = Literal["auto", "always", "only", "never"]

def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
    *,
    compute: Compute | None = None,
    policy: Policy = "always",
) -> Array: ...
def use_host_device(enabled: bool = True) -> bool: ...
