"""Makes the models that the tests of this folder read: make_models.py [FOLDER]. Needs the package onnx.

  backend/  the ConvTranspose tests of ONNX's backend suite, with their inputs and outputs as .npy files
  models/   models of our own, small ones, for what a reader of the format meets
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_MODELS_OF_SUITE = ("pytorch-converted/test_ConvTranspose2d", "pytorch-converted/test_ConvTranspose2d_no_bias",
                    "pytorch-operator/test_operator_convtranspose")


def write_case(folder, name, model, inputs, output):
    """The model, x.npy, y.npy and those of w.npy and b.npy that are inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.onnx").write_bytes(model)
    for role, array in zip("xwb", inputs):
        np.save(folder / f"{name}.{role}.npy", array)
    np.save(folder / f"{name}.y.npy", output)


def make_backend(folder):
    import onnx.backend.test.case.node.convtranspose  # noqa: F401  # adds its cases
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases("ConvTranspose"):
        inputs, outputs = case.data_sets[0]
        write_case(folder, case.name, case.model.SerializeToString(), inputs, outputs[0])
    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    for path in _MODELS_OF_SUITE:
        case = data / path
        read = lambda file: numpy_helper.to_array(onnx.load_tensor(file))  # noqa: E731
        sets = case / "test_data_set_0"
        write_case(folder, case.name, (case / "model.onnx").read_bytes(), [read(sets / "input_0.pb")],
                   read(sets / "output_0.pb"))


def constant(name, *shape, dtype=np.float32):
    """The numbers 0.5, 1, 1.5, ..., so that files are the same each time."""
    return numpy_helper.from_array((np.arange(np.prod(shape)) % 7 / 2 + 0.5).astype(dtype).reshape(shape), name)


def value(name, shape, element_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element_type, shape)


def model(nodes, inputs, outputs, initializers=(), *, opset=17, functions=(), value_info=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers), value_info=list(value_info))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(f.domain, 1) for f in functions]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions),
                             producer_name="make_models.py")


def up(inputs, output, name="", **attributes):
    return helper.make_node("ConvTranspose", inputs, [output], name=name, **attributes)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def decoder():
    """Shapes through an encoder and a skip; activations before, after and between."""
    return model(
        [
            node("Conv", ["image", "wc"], "c0", strides=[2, 2], pads=[1, 1, 1, 1]),
            node("BatchNormalization", ["c0", "s", "s", "s", "s"], "c1"),
            node("Relu", ["c1"], "c2", name="before"),
            up(["c2", "w", "b"], "u0", "/dec/0/up", strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[4, 4]),
            node("LeakyRelu", ["u0"], "u1", alpha=0.2, name="after"),
            node("Concat", ["u1", "image4"], "u2", axis=1),
            up(["u2", "w2"], "u3", "/dec/1/up", strides=[2, 2]),
            node("Sigmoid", ["u3"], "gate"),
            node("Mul", ["u3", "gate"], "u4"),
            node("Elu", ["u4"], "y"),
        ],
        [value("image", ["batch", 3, 16, 12]), value("image4", ["batch", 4, 16, 12])],
        [value("y", None)],
        [constant("wc", 8, 3, 3, 3), constant("s", 8), constant("w", 8, 4, 4, 4), constant("b", 4), constant("w2", 8, 2, 2, 2)],
    )


def names():
    """Names that are no names of layers, and some that are the same."""
    return model([up(["x", "w"], f"y{i}", name) for i, name in
                  enumerate(["up", "up", "", "1/up:0", "oben \u00e4\u00f6", "\x1b[31m", "up_2", "///"])],
                 [value("x", [1, 2, 5])], [value(f"y{i}", None) for i in range(8)], [constant("w", 2, 3, 4)])


def parts():
    """ConvTranspose in an If and in a function; weights that are computed, quantised, and too few."""
    branch = lambda name: helper.make_graph([up(["x", "w"], name, "inner")], name, [], [value(name, None)])  # noqa: E731
    function = helper.make_function("local", "Block", ["x", "w"], ["y"], [up(["x", "w"], "y", "in_function")],
                                    [helper.make_opsetid("", 17)])
    short = constant("short", 2, 3, 4)
    short.raw_data = short.raw_data[:-4]
    return model(
        [
            helper.make_node("If", ["flag"], ["y0"], name="choice", then_branch=branch("a"), else_branch=branch("b")),
            helper.make_node("Block", ["x", "w"], ["y1"], domain="local"),
            node("Mul", ["w", "w"], "ww", name="square"),
            up(["x", "ww"], "y2", "computed"),
            node("DequantizeLinear", ["q", "scale"], "dq", name="dequantise"),
            up(["x", "dq"], "y3", "quantised"),
            up(["x", "short"], "y4", "short"),
            helper.make_node("ConvTranspose", ["x", "w"], ["y5"], name="other", domain="com.example"),
            up(["x", "w"], "y6", "taken"),
        ],
        [value("x", [1, 2, 5]), value("flag", [], TensorProto.BOOL)],
        [value(f"y{i}", None) for i in range(7)],
        [constant("w", 2, 3, 4), short, helper.make_tensor("q", TensorProto.INT8, [2, 3, 4], [1] * 24),
         helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5])],
        functions=[function],
    )


def types():
    """f16, f64 and bf16 weights, as raw bytes and as lists."""
    tensor = helper.make_tensor
    return model(
        [up(["x1", "h"], "y1", "half"), up(["x2", "d"], "y2", "double"), up(["x3", "g"], "y3", "brain"),
         up(["x4", "f"], "y4", "single")],
        [value("x1", [1, 1, 3], TensorProto.FLOAT16), value("x2", [1, 1, 3], TensorProto.DOUBLE),
         value("x3", [1, 1, 3], TensorProto.BFLOAT16), value("x4", [1, 1, 3])],
        [value("y1", None, TensorProto.FLOAT16), value("y2", None, TensorProto.DOUBLE),
         value("y3", None, TensorProto.BFLOAT16), value("y4", None)],
        [tensor("h", TensorProto.FLOAT16, [1, 1, 2], [0.5, -2]), tensor("d", TensorProto.DOUBLE, [1, 1, 2], [0.1, 1e300]),
         tensor("g", TensorProto.BFLOAT16, [1, 1, 2], [1.5, -3]), tensor("f", TensorProto.FLOAT, [1, 1, 2], [0.5, 0.25])],
        opset=22,
    )


def contradictions():
    """auto_pad and output_shape where the standard's sources differ, next to where they don't."""
    cases = [("same", {"auto_pad": "SAME_UPPER"}), ("lower", {"auto_pad": "SAME_LOWER"}),
             ("added", {"auto_pad": "SAME_UPPER", "output_padding": [1]}), ("valid", {"auto_pad": "VALID"}),
             ("larger", {"output_shape": [9]}), ("smaller", {"output_shape": [5]}),
             ("split", {"output_shape": [6], "auto_pad": "SAME_LOWER"})]
    return model([up(["x", "w"], f"y_{name}", name, strides=[2], **attributes) for name, attributes in cases],
                 [value("x", [1, 1, 3])], [value(f"y_{name}", None) for name, _ in cases], [constant("w", 1, 1, 3)])


def external(folder, name):
    made = model([up(["x", "w", "b"], "y", "up")], [value("x", [1, 4, 6])], [value("y", None)],
                 [constant("w", 4, 3, 5), constant("b", 3)])
    onnx.save(made, folder / f"{name}.onnx", save_as_external_data=True, location=f"{name}.data", size_threshold=0)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    make_backend(folder / "backend")
    models = folder / "models"
    models.mkdir(parents=True, exist_ok=True)
    for make in (decoder, names, parts, types, contradictions):
        (models / f"{make.__name__}.onnx").write_bytes(make().SerializeToString())
    (models / "external.data").unlink(missing_ok=True)
    external(models, "external")
    (models / "external.data").chmod(0o644)


if __name__ == "__main__":
    main()
