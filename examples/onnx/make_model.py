"""Writes vocoder.onnx, frames.npy and samples.npy anew: make_model.py. Needs onnx and onnxruntime.

The model is the up-sampling stack of a HiFi-GAN vocoder without its residual blocks, narrow, with seeded weights: each
frame becomes 256 samples. Its samples are ONNX Runtime's, on the CPU.
"""

import os

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
CHANNELS = [32, 16, 8, 4, 1]
KERNELS_AND_STRIDES = [(16, 8), (16, 8), (4, 2), (4, 2)]
FRAMES = 12


def model():
    draw = numpy.random.default_rng(51)
    nodes, weights, value = [], [], "frames"
    for i, (kernel, stride) in enumerate(KERNELS_AND_STRIDES):
        inner, outer = CHANNELS[i], CHANNELS[i + 1]
        scale = 1.5 * (inner * kernel / stride) ** -0.5
        weights += [numpy_helper.from_array(scale * draw.standard_normal((inner, outer, kernel), dtype=numpy.float32), f"ups.{i}.weight"),
                    numpy_helper.from_array(0.1 * draw.standard_normal(outer, dtype=numpy.float32), f"ups.{i}.bias")]
        nodes += [helper.make_node("LeakyRelu", [value], [f"active{i}"], f"/LeakyRelu_{i}", alpha=0.1),
                  helper.make_node("ConvTranspose", [f"active{i}", f"ups.{i}.weight", f"ups.{i}.bias"], [f"up{i}"], f"/ups.{i}/ConvTranspose",
                                   kernel_shape=[kernel], strides=[stride], pads=[(kernel - stride) // 2] * 2)]
        value = f"up{i}"
    nodes.append(helper.make_node("Tanh", [value], ["samples"], "/Tanh"))
    graph = helper.make_graph(nodes, "vocoder", [helper.make_tensor_value_info("frames", TensorProto.FLOAT, [1, CHANNELS[0], "time"])],
                              [helper.make_tensor_value_info("samples", TensorProto.FLOAT, [1, 1, "samples"])], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def main():
    path = os.path.join(HERE, "vocoder.onnx")
    onnx.save(model(), path)
    frames = numpy.random.default_rng(52).standard_normal((1, CHANNELS[0], FRAMES), dtype=numpy.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    numpy.save(os.path.join(HERE, "frames.npy"), frames)
    numpy.save(os.path.join(HERE, "samples.npy"), session.run(None, {"frames": frames})[0])


if __name__ == "__main__":
    main()
