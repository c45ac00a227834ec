from os import PathLike
from typing import NamedTuple

from .core import Layer

class ImportedLayer(NamedTuple):
    name: str
    layer: Layer
    node: str
    x: str
    y: str
    weight: str | None
    bias: str | None
    notes: list[str]

class NotTaken(NamedTuple):
    node: str
    attribute: str
    value: str
    reason: str

class ImportedModel(NamedTuple):
    layers: list[ImportedLayer]
    not_taken: list[NotTaken]

def import_onnx(
    model: str | PathLike[str] | bytes, *, weights: str | PathLike[str] | None = None, auto_pad_as: str = "standard"
) -> ImportedModel: ...
