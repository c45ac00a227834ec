"""What needs neither torch nor a GPU nor a compiler."""

import os
import subprocess
import sys

import pytest

import convtgen

LAYER = "conv_transpose2d 4 -> 8; kernel 3x5; stride 2; padding 1x2; bias; directions forward, grad_weight"


def test_import_loads_no_torch():
    code = "import sys, convtgen; assert not any(name.split('.')[0] == 'torch' for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_layers_have_a_canonical_text():
    layer = convtgen.Layer(LAYER)
    assert layer == convtgen.Layer(layer.text) and hash(layer) == hash(convtgen.Layer(layer.text))
    assert "kernel 3x5; stride 2x2" in layer.text
    file = convtgen.Layer("layer a { conv_transpose1d 4 -> 2; kernel 3 }\nlayer b { conv_transpose1d 2 -> 2; kernel 3 }", "b")
    assert file.text.startswith("conv_transpose1d 2 -> 2")


def test_shape():
    shape = convtgen.Layer(LAYER).shape((2, 5, 7))
    assert shape["out"] == [1, 9, 13] and shape["y_elements"] == 2 * 8 * 9 * 13
    with pytest.raises(convtgen.Error, match="batch") as error:
        convtgen.Layer(LAYER).shape((-3, 5, 7))
    assert error.value.status == convtgen.Status.INVALID_ARGUMENT


def test_a_wrong_layer_is_an_error_that_names_the_field():
    with pytest.raises(convtgen.Error, match="kernel 0 must be at least 1") as error:
        convtgen.Layer("conv_transpose2d 4 -> 8; kernel 0")
    assert error.value.status == convtgen.Status.INVALID_LAYER


def test_emit_and_explain():
    source = convtgen.emit(LAYER, arch="sm_80")
    assert '__global__' in source and source == convtgen.emit(convtgen.Layer(LAYER), arch="sm_80")
    assert convtgen.emit(LAYER, direction="grad_weight") != source
    assert "grad_weight" in convtgen.explain(LAYER, direction="grad_weight")
    with pytest.raises(convtgen.Error, match="sm_1"):
        convtgen.emit(LAYER, arch="sm_1")
    with pytest.raises(convtgen.Error, match="grad_input"):
        convtgen.emit(LAYER, direction="grad_input")


def test_the_program():
    done = subprocess.run([sys.executable, "-c", "from convtgen.program import main; main()", "--version"],
                          capture_output=True, text=True, check=True)
    assert convtgen.__version__ in done.stdout


def test_torchs_nvrtc_compiles(tmp_path, monkeypatch):
    import torch

    from convtgen.nvrtc import use_nvrtc_of

    monkeypatch.delenv("CONVTGEN_NVRTC", raising=False)
    monkeypatch.delenv("CONVTGEN_NVRTC_DIR", raising=False)
    use_nvrtc_of(torch)
    assert os.environ["CONVTGEN_NVRTC_DIR"] in torch.__file__
    code = "from convtgen.program import main; main()"
    environment = {**os.environ, "CONVTGEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, "compile", "-e", LAYER, "--arch", "sm_80", "--direction", "forward",
                           "-o", str(tmp_path)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.cubin"))


def test_kernels_of_the_host_device():
    device = convtgen.Device("host")
    assert device.is_host
    kernel = device.prepare(convtgen.Layer(LAYER))
    assert kernel.keeps_weights == (kernel.workspace((1, 5, 7))[1] > 0)
    assert kernel.architecture == "host" and "__global__" in kernel.source and "kernel 3x5" in kernel.layer
    with pytest.raises(convtgen.Error, match="direction"):
        device.prepare(convtgen.Layer(LAYER), "backward")
    with pytest.raises(convtgen.Error, match="grad_input"):
        device.prepare(convtgen.Layer(LAYER), "grad_input")
    with pytest.raises(convtgen.Error, match="null"):
        kernel.launch((1, 5, 7))
    assert convtgen.counters()["prepared"] >= 1


@pytest.mark.parametrize("axes", [1, 2])
def test_sizes_of_another_number_of_axes_are_refused_before_anything_is_written(axes):
    layer = convtgen.Layer(f"conv_transpose{axes}d 1 -> 1; kernel 1")
    device = convtgen.Device("host")
    kernel = device.prepare(layer)
    written = convtgen._native.ffi.new("float[64]")
    address = int(convtgen._native.ffi.cast("uintptr_t", written))
    for sizes in ((), (9,), (1, 3), (1, 3, 3), (1, 3, 3, 3), (1, 1, 3, 3, 3), None):
        if sizes is not None and len(sizes) == axes + 1:
            continue
        calls = [lambda: kernel.launch(sizes, x=address, weight=address, y=address)]
        if sizes is not None:  # None: the layer's own
            calls += [lambda: kernel.workspace(sizes), lambda: layer.shape(sizes), lambda: device.tune(layer, sizes=sizes)]
        for call in calls:
            with pytest.raises(convtgen.Error, match=f"legal are {axes + 1} numbers") as error:
                call()
            assert error.value.status == convtgen.Status.INVALID_ARGUMENT
    assert not any(written)


def test_a_wrong_device():
    with pytest.raises(convtgen.Error) as error:
        convtgen.Device("tpu")
    assert error.value.status == convtgen.Status.INVALID_ARGUMENT
