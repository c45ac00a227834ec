"""import_onnx, which needs neither torch nor the package onnx. The bytes are those of one field after the other."""

import numpy as np
import pytest

import convtgen


def field(number, value):
    """A field of protobuf: a whole number, or bytes."""
    if isinstance(value, int):
        return bytes([number << 3]) + bytes([value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value


def model(auto_pad="NOTSET"):
    """One ConvTranspose "up" with stride 2 and weights (1, 1, 3) of 1, 2, 3."""
    strides = field(1, "strides") + field(8, 2) + b"\xa0\x01\x07"
    padding = field(1, "auto_pad") + field(4, auto_pad) + b"\xa0\x01\x03"
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(3, "up") + field(4, "ConvTranspose") + field(5, strides) + field(5, padding)
    weight = b"".join(field(1, extent) for extent in (1, 1, 3)) + field(2, 1) + field(8, "w")
    weight += field(9, np.array([1, 2, 3], "<f4").tobytes())
    return field(1, 8) + field(7, field(1, node) + field(5, weight)) + field(8, field(2, 17))


def test_layers_and_weights(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model())
    imported = convtgen.import_onnx(path, weights=tmp_path / "weights")
    assert imported.not_taken == [] and len(imported.layers) == 1
    layer = imported.layers[0]
    assert (layer.name, layer.node, layer.x, layer.y, layer.bias) == ("up", "up", "x", "y", None)
    assert layer.layer == convtgen.Layer("conv_transpose1d 1 -> 1; kernel 3; stride 2")
    assert np.load(layer.weight).tolist() == [[[1, 2, 3]]]
    assert convtgen.import_onnx(model()).layers[0].weight is None


def test_what_is_not_taken_has_a_reason():
    imported = convtgen.import_onnx(model("SAME"))
    assert imported.layers == []
    assert imported.not_taken == [("up", "auto_pad", "SAME", "legal are NOTSET, SAME_UPPER, SAME_LOWER, VALID")]


def test_what_is_no_model_is_an_error(tmp_path):
    with pytest.raises(convtgen.Error, match="not an ONNX model"):
        convtgen.import_onnx(b"no model")
    with pytest.raises(convtgen.Error, match="missing.onnx"):
        convtgen.import_onnx(tmp_path / "missing.onnx")
    with pytest.raises(convtgen.Error, match="auto-pad-as"):
        convtgen.import_onnx(model(), auto_pad_as="tensorrt")
