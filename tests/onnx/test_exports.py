"""Models as PyTorch's exporters write them: imported layers give the model's own intermediate tensors."""

import sys
from pathlib import Path

import onnx
import onnxruntime
import pytest
import torch
from running import BOUNDS, import_model, relative_error, run_layer

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "pytorch"), str(ROOT / "examples" / "pytorch")]

import models  # noqa: E402
import unet3d  # noqa: E402


def build(name):
    """(the model for inference, its input)"""
    torch.manual_seed(51)
    if name == "unet3d":
        return unet3d.UNet3d(2, 2).eval(), torch.randn(1, 1, 8, 8, 8)
    return models.build(name, "inference", small=True), models.inputs(name, "inference", small=True)[0]


def tensors_of(model, x):
    """(inputs of the transposed convolutions, outputs of all modules), in the order of the calls."""
    inputs, outputs = [], []

    def record(module, arguments, output):
        outputs.append(output.numpy())
        if isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)):
            inputs.append(arguments[0].numpy())

    handles = [module.register_forward_hook(record) for module in model.modules()]
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    return inputs, outputs


def values_of(path, names, x):
    model = onnx.load(path)
    for name in names:
        if name not in [output.name for output in model.graph.output]:
            model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0].name
    return dict(zip(names, session.run(names, {given: x.numpy()})))


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
@pytest.mark.parametrize("name", ["hifigan", "unet", "dcgan", "sam", "unet3d"])
def test_layers_give_the_models_tensors(name, dynamo, tmp_path):
    model, x = build(name)
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (x,), path, dynamo=dynamo)
    imported = import_model(path, tmp_path)
    inputs, outputs = tensors_of(model, x)
    assert imported["not_taken"] == [] and len(imported["layers"]) == len(inputs)
    assert all("?" not in row["layer"] for row in imported["layers"])
    values = values_of(path, sorted({row[role] for row in imported["layers"] for role in "xy"}), x)
    for row, given in zip(imported["layers"], inputs):
        assert relative_error(values[row["x"]], given) < 1e-5, row
        y = run_layer(row, tmp_path, values[row["x"]])
        assert relative_error(y, values[row["y"]]) <= BOUNDS["f32"], row
        same = [relative_error(y, output) for output in outputs if output.shape == y.shape]
        assert min(same) < 1e-5, row
