import enum
from collections.abc import Callable, Sequence
from typing import Any

DIRECTIONS: dict[str, int]

class Status(enum.IntEnum):
    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_LAYER = 2
    UNSUPPORTED = 3
    NO_DEVICE = 4
    NO_COMPILER = 5
    COMPILE_FAILED = 6
    DRIVER = 7
    NOT_PREPARED = 8
    CANCELLED = 9
    OUT_OF_MEMORY = 10
    FORKED = 11
    KERNEL_FAULT = 12
    INTERNAL = 13

class Error(RuntimeError):
    status: Status
    def __init__(self, status: int, message: str) -> None: ...

class Layer:
    def __init__(self, text: str, name: str | None = None) -> None: ...
    @property
    def text(self) -> str: ...
    def shape(self, sizes: Sequence[int] | None = None) -> dict[str, Any]: ...
    def stream(self) -> dict[str, int]: ...

class Kernel:
    def workspace(self, sizes: Sequence[int] | None = None) -> tuple[int, int]: ...
    def launch(
        self,
        sizes: Sequence[int],
        *,
        x: int = 0,
        weight: int = 0,
        bias: int = 0,
        y: int = 0,
        grad_y: int = 0,
        grad_x: int = 0,
        grad_weight: int = 0,
        grad_bias: int = 0,
        workspace: int = 0,
        workspace_bytes: int = 0,
        stream: int = 0,
    ) -> None: ...
    @property
    def source(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def architecture(self) -> str: ...

class Device:
    def __init__(self, which: str = "auto") -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def is_host(self) -> bool: ...
    def prepare(self, layer: Layer, direction: str = "forward") -> Kernel: ...
    def tune(
        self,
        layer: Layer,
        direction: str = "forward",
        sizes: Sequence[int] | None = None,
        *,
        again: bool = False,
        memory_limit: int = 0,
        progress: Callable[[str, float], object] | None = None,
    ) -> float: ...

def choice(key: str, made: str | None = None) -> str: ...
def counters() -> dict[str, int]: ...
def version() -> str: ...
