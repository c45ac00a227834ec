"""The examples and benchmarks/pytorch in tiny sizes: they run, and the results of the architectures are torch's."""

import json
import sys
from pathlib import Path

import pytest
import torch
from conftest import DEVICE, part

import convtgen.torch as ct

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT / "examples" / "pytorch"), str(_ROOT / "benchmarks" / "pytorch")]

import architectures  # noqa: E402
import call_cost  # noqa: E402
import chunks  # noqa: E402
import compiled  # noqa: E402
import dcgan  # noqa: E402
import hifigan  # noqa: E402
import lengths  # noqa: E402
import measuring  # noqa: E402
import models  # noqa: E402
import unet  # noqa: E402
import unet3d  # noqa: E402
import upcat  # noqa: E402

_TINY = ["--small", "--device", DEVICE]
# (architecture, kind, policy). A training has the forward kernels too. Kernels for the host of 256 or 81 taps take long
# to compile, and pix2pix has 256 x 256 pixels at least.
_CASES = part(((name, "training", "always") for name in models.ARCHITECTURES if name not in ("pix2pix", "fcn8s", "fsrcnn")),
              "architectures", 4)
_CASES += [("hifigan", "inference", "always"), ("fcn8s", "inference", "always"), ("fsrcnn", "inference", "always"),
           ("pix2pix", "training", "never")]


@pytest.fixture(autouse=True)
def switches():
    """The scripts set torch's switches."""
    before = torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    yield
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("name,kind,policy", _CASES)
def test_an_architecture_gives_what_torch_gives(name, kind, policy, launches):
    model, inputs = measuring.build(name, kind, "tf32", True, DEVICE)
    ours, report = architectures.prepared_copy(model, inputs, "tf32", policy)
    layers = models.ARCHITECTURES[name].layers
    assert sum(line.why_not is None for line in report.lines) == layers == len(report.lines)
    launches.take()
    with measuring.strict():
        theirs, found = (measuring.results(each, inputs, "tf32", kind) for each in (model, ours))
    launched = launches.take()
    assert launched.count("forward") == (0 if policy == "never" else layers)
    assert launched.count("grad_weight") == (layers if policy == "always" and kind == "training" else 0)
    assert set(found) == ({"output"} if kind == "inference" else {"output", "gradients"})
    for what, value in found.items():
        assert measuring.distance(value, theirs[what]) <= 1e-5, what


@pytest.mark.parametrize("name", models.ARCHITECTURES)
def test_sizes_of_an_architecture(name):
    with torch.device("meta"):
        architecture = models.ARCHITECTURES[name]
        model = architecture.make(False)
        for kind in ("inference", "training"):
            assert model(*(torch.empty(shape) for shape in architecture.shapes(kind, False))).numel() > 0
    assert sum(isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d)) for module in model.modules()) == \
        architecture.layers


@pytest.mark.parametrize("example", [unet, unet3d, dcgan])
def test_a_training_by_kernels(example, tmp_path, capsys, launches):
    pytest.importorskip("matplotlib")
    json_path, picture = tmp_path / "found.json", tmp_path / "curves.png"
    code = example.main([*_TINY, "--host-device", "--policy", "always", "--compute", "tf32", "--steps", "2", "--seeds", "2",
                         "--json", str(json_path), "--picture", str(picture)])
    directions = launches.take()
    assert code == 0 and {"forward", "grad_input", "grad_weight"} <= set(directions)
    found = read(json_path)
    assert all(row["within"] for row in found["rows"]) and len(found["runs"]) == 4
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "policy 'always'" in capsys.readouterr().out


def test_a_training_in_all_modes(tmp_path, launches):
    code = dcgan.main([*_TINY, "--policy", "never", "--steps", "2", "--seeds", "2", "--json", str(tmp_path / "found.json"),
                       "--picture", str(tmp_path / "curves.png")])
    rows = read(tmp_path / "found.json")["rows"]
    assert code == 0 and launches.take() == []
    assert [(row["compute"], row["loss"]) for row in rows] == \
        [(compute, loss) for compute in ("f32x3", "tf32", "bf16") for loss in ("generator", "discriminator")]


def test_losses_that_differ_are_seen():
    import comparison

    def run(last):
        return {"losses": {"loss": [9.0, *[last] * 20]}, "ms": [1.0] * 21}

    runs = {"torch": [run(1.0), run(1.2)], "convtgen": [run(1.1), run(1.3)]}
    assert comparison._rows("tf32", runs)[0]["within"]
    runs["convtgen"] = [run(1.5), run(1.4)]
    assert not comparison._rows("tf32", runs)[0]["within"]
    assert not comparison.print_table(comparison._rows("tf32", runs))


def test_hifigan(tmp_path):
    assert hifigan.main([*_TINY, "--host-device", "--policy", "always", "--json", str(tmp_path / "found.json")]) == 0
    rows = read(tmp_path / "found.json")["rows"]
    assert [row["compute"] for row in rows] == ["f32x3", "tf32", "bf16"] and all(row["right"] for row in rows)


def test_architectures(tmp_path, capsys):
    architectures.main([*_TINY, "--model", "mask_rcnn", "--model", "yolo_proto", "--policy", "never", "--blocks", "2",
                        "--block-ms", "1", "--json", str(tmp_path / "found.json")])
    rows = read(tmp_path / "found.json")["rows"]
    assert len(rows) == 2 * 3 * 2 and all(each["right"] for row in rows for each in row["compared"].values())
    assert "geom. mean" in capsys.readouterr().out


def test_call_cost(tmp_path):
    if DEVICE == "cpu":
        ct.use_host_device(False)
    call_cost.main(["--device", DEVICE, "--calls", "4", "--json", str(tmp_path / "found.json")])
    rows = read(tmp_path / "found.json")["rows"]
    assert len(rows) == 16 and all(row["forward_us"] > 0 and row["training_us"] > 0 for row in rows)


def test_lengths_share_kernels_that_are_made_once(tmp_path):
    lengths.main([*_TINY, "--mode", "tf32", "--blocks", "2", "--block-ms", "1", "--json",
                  str(tmp_path / "found.json")])
    row, = read(tmp_path / "found.json")["rows"]
    assert len(row["singly_ms"]) == 8 and row["kernels"] == (1 if DEVICE == "cpu" else 5) and not any(row["made"].values())


def test_upcat(tmp_path):
    upcat.main([*_TINY, "--mode", "tf32", "--blocks", "1", "--block-ms", "1", "--json", str(tmp_path / "found.json")])
    row, = read(tmp_path / "found.json")["rows"]
    assert row["right"] and row["upcat_ms"] > 0 and row["ratio"] > 0


def test_chunks(tmp_path):
    chunks.main([*_TINY, "--mode", "tf32", "--frames", "3", "--blocks", "1", "--block-ms", "1", "--json",
                 str(tmp_path / "found.json")])
    row, = read(tmp_path / "found.json")["rows"]
    assert row["right"] and row["streaming_ms"] > 0 and row["ratio"] > 0


def test_compiled(tmp_path):
    compiled.main([*_TINY, "--model", "sam", "--policy", "always", "--backend", "aot_eager", "--graph", "none", "--blocks",
                   "1", "--block-ms", "1", "--json", str(tmp_path / "found.json")])
    rows = read(tmp_path / "found.json")["rows"]
    assert len(rows) == 2 and all(each["right"] for row in rows for each in row["compared"].values())
