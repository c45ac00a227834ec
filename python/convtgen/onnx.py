"""ONNX models: their transposed convolutions as layers."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from .core import Error, Layer, Status
from .program import _PROGRAM


class ImportedLayer(NamedTuple):
    """A ConvTranspose that became a layer.

    Attributes:
      name: of the layer, made of the node's.
      layer: the Layer.
      node: the node's name in the model.
      x, y: the values of the model that the layer reads and gives; the latter after the nodes that are fused.
      weight, bias: .npy files, where a folder for them was given and the model has them; else None.
      notes: what else is to be known, as a list of texts.
    """

    name: str
    layer: Layer
    node: str
    x: str
    y: str
    weight: str | None
    bias: str | None
    notes: list


class NotTaken(NamedTuple):
    """A ConvTranspose that did not: the node, the attribute or input that is at fault, its value, and the reason."""

    node: str
    attribute: str
    value: str
    reason: str


class ImportedModel(NamedTuple):
    """Attributes: layers, not_taken (lists)."""

    layers: list
    not_taken: list


def import_onnx(model, *, weights=None, auto_pad_as="standard"):
    """The transposed convolutions of an ONNX model, as `convtgen import` has them (docs/onnx.md).

    Args:
      model: the path of an .onnx file, or its bytes.
      weights: a folder for weights and biases as .npy files; None: none are written. Tensors in other files are read only
        from the model's folder.
      auto_pad_as: "onnxruntime" takes ONNX Runtime's reading where ONNX's own sources contradict each other.

    Returns:
      An ImportedModel.

    Raises:
      Error: the file is no ONNX model, can't be read, or its tensors can't be.
    """
    is_bytes = isinstance(model, bytes | bytearray | memoryview)
    call = [_PROGRAM, "import", "-" if is_bytes else Path(model), "--json", "--auto-pad-as", auto_pad_as]
    if weights is not None:
        call += ["--weights", Path(weights)]
    done = subprocess.run(call, input=bytes(model) if is_bytes else b"", capture_output=True, check=False)
    if not done.stdout:
        raise Error(Status.INVALID_ARGUMENT, done.stderr.decode(errors="replace").strip())
    found = json.loads(done.stdout)
    layers = [ImportedLayer(row["name"], Layer(row["layer"]), row["node"], row["x"], row["y"], row.get("weight"),
                            row.get("bias"), row["notes"]) for row in found["layers"]]
    return ImportedModel(layers, [NotTaken(**row) for row in found["not_taken"]])
