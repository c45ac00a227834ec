from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

Compute = Literal["f32", "tf32", "f32x3"]
Policy = Literal["auto", "always", "never"]
_Extent = int | tuple[int, ...]

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Extent = 1,
    padding: _Extent = 0,
    output_padding: _Extent = 0,
    groups: int = 1,
    dilation: _Extent = 1,
    *,
    compute: Compute | None = None,
    policy: Policy = "always",
    out: Tensor | None = None,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Extent = 1,
    padding: _Extent = 0,
    output_padding: _Extent = 0,
    groups: int = 1,
    dilation: _Extent = 1,
    *,
    compute: Compute | None = None,
    policy: Policy = "always",
    out: Tensor | None = None,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Extent = 1,
    padding: _Extent = 0,
    output_padding: _Extent = 0,
    groups: int = 1,
    dilation: _Extent = 1,
    *,
    compute: Compute | None = None,
    policy: Policy = "always",
    out: Tensor | None = None,
) -> Tensor: ...

class ConvTranspose1d(nn.ConvTranspose1d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class ConvTranspose2d(nn.ConvTranspose2d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class ConvTranspose3d(nn.ConvTranspose3d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class LazyConvTranspose1d(nn.LazyConvTranspose1d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class LazyConvTranspose2d(nn.LazyConvTranspose2d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class LazyConvTranspose3d(nn.LazyConvTranspose3d):
    compute: Compute | None
    policy: Policy
    def __init__(self, *arguments: Any, compute: Compute | None = None, **named: Any) -> None: ...

class StreamingConvTranspose1d(nn.Module):
    module: nn.ConvTranspose1d
    compute: Compute | None
    def __init__(self, module: nn.ConvTranspose1d, *, compute: Compute | None = None) -> None: ...
    def forward(self, chunk: Tensor) -> Tensor: ...
    def flush(self) -> Tensor: ...
    def reset(self) -> None: ...
    def whole(self, input: Tensor) -> Tensor: ...

class UpCat(nn.Module):
    up: nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d
    skip_first: bool
    def __init__(
        self, up: nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d, *, skip_first: bool = False
    ) -> None: ...
    def forward(self, x: Tensor, skip: Tensor) -> Tensor: ...

class Line:
    name: str
    why_not: str | None
    @property
    def module(self) -> nn.Module | None: ...
    def rows(self) -> list[tuple[str, str, str, str, str, str]]: ...

class Report:
    lines: list[Line]
    def rows(self) -> list[tuple[str, str, str, str, str, str]]: ...
    def undo(self) -> None: ...

def accelerate(
    model: nn.Module,
    *,
    filter_fn: Callable[[nn.Module, str], object] | None = None,
    policy: Policy = "auto",
    compute: Compute | None = None,
) -> Report: ...
def undo(model: nn.Module) -> None: ...
def freeze(model: nn.Module, frozen: bool = True) -> None: ...
def describe(model: nn.Module, *example: Any, **keywords: Any) -> str: ...
def prepare(model: nn.Module, *example: Any, progress: bool = True, threads: int = 0, **keywords: Any) -> None: ...
def use_host_device(enabled: bool = True) -> bool: ...
