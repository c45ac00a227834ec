// Sizes that follow from the nodes before a ConvTranspose.
#include <gtest/gtest.h>

#include "generator/onnx/graph_index.h"
#include "generator/onnx/shapes.h"
#include "generator/onnx/shown.h"
#include "tests/onnx/build_model.h"

namespace convtgen::onnx::test {
namespace {

/// The shape of "y" that a node gives of x, 2x6x8x10, and others; "none" where it is unknown.
std::string shape_after(const NodeFields& fields, const std::vector<std::string>& constants = {},
                        std::int64_t opset = 17, const std::vector<std::string>& values = {}) {
  const std::string bytes =
      model(opset, {.nodes = {node(fields)},
                    .inputs = {value("x", {2, 6, 8, 10}), value("z", {2, 3, 8, -1}), value("m", {4, 24})},
                    .initializers = constants,
                    .values = values});
  const auto read = read_model(bytes);
  EXPECT_TRUE(read);
  const GraphIndex index(read->graph);
  const ImportOptions options;
  ValueTypes types(read->graph, index, opset, options);
  types.add_outputs(read->graph.nodes.front());
  const auto& dims = types.type("y").dims;
  return dims ? shown(*dims) : "none";
}

TEST(OnnxShapes, OfCommonOperators) {
  EXPECT_EQ(shape_after({"Relu", {"x"}, {"y"}}), "2x6x8x10");
  EXPECT_EQ(shape_after({"Add", {"x", "c"}, {"y"}}, {floats("c", {6, 1, 1})}), "2x6x8x10");
  EXPECT_EQ(shape_after({"Mul", {"c", "z"}, {"y"}}, {floats("c", {5, 1, 1, 1, 1})}), "5x2x3x8x?");
  EXPECT_EQ(shape_after({"Conv", {"x", "w"}, {"y"}, {ints("strides", {2, 2}), ints("pads", {1, 1, 1, 1})}},
                        {floats("w", {4, 6, 3, 3})}),
            "2x4x4x5");
  EXPECT_EQ(shape_after({"Conv", {"x", "w"}, {"y"}, {text("auto_pad", "SAME_UPPER"), ints("strides", {3, 1})}},
                        {floats("w", {4, 6, 3, 3})}),
            "2x4x3x10");
  EXPECT_EQ(shape_after({"ConvTranspose", {"x", "w"}, {"y"}, {ints("strides", {2, 2})}}, {floats("w", {6, 4, 2, 2})}),
            "2x4x16x20");
  EXPECT_EQ(shape_after({"MaxPool", {"x"}, {"y"}, {ints("kernel_shape", {3, 3}), ints("strides", {2, 2})}}), "2x6x3x4");
  EXPECT_EQ(
      shape_after(
          {"MaxPool", {"x"}, {"y"}, {ints("kernel_shape", {3, 3}), ints("strides", {2, 2}), whole("ceil_mode", 1)}}),
      "2x6x4x5");
  EXPECT_EQ(shape_after({"GlobalAveragePool", {"x"}, {"y"}}), "2x6x1x1");
  EXPECT_EQ(shape_after({"Concat", {"x", "z"}, {"y"}, {whole("axis", 1)}}), "2x9x8x10");
  EXPECT_EQ(shape_after({"Reshape", {"x", "s"}, {"y"}}, {whole_tensor("s", {0, -1, 4})}), "2x120x4");
  EXPECT_EQ(shape_after({"Reshape", {"z", "s"}, {"y"}}, {whole_tensor("s", {0, -1, 4})}), "2x?x4");
  EXPECT_EQ(shape_after({"Flatten", {"x"}, {"y"}}), "2x480");
  EXPECT_EQ(shape_after({"Transpose", {"x"}, {"y"}, {ints("perm", {0, 2, 3, 1})}}), "2x8x10x6");
  EXPECT_EQ(shape_after({"Unsqueeze", {"x", "a"}, {"y"}}, {whole_tensor("a", {-1, 0})}), "1x2x6x8x10x1");
  EXPECT_EQ(shape_after({"Unsqueeze", {"x"}, {"y"}, {ints("axes", {1})}}, {}, 11), "2x1x6x8x10");
  EXPECT_EQ(shape_after({"Squeeze", {"x", "a"}, {"y"}}, {whole_tensor("a", {0})}), "6x8x10");
  EXPECT_EQ(shape_after({"Pad", {"x", "p"}, {"y"}}, {whole_tensor("p", {0, 0, 1, 2, 0, 0, 3, 4})}), "2x6x12x16");
  EXPECT_EQ(shape_after({"Slice", {"x", "b", "e", "a", "s"}, {"y"}},
                        {whole_tensor("b", {1, -9}), whole_tensor("e", {1LL << 62, -1}), whole_tensor("a", {2, -1}),
                         whole_tensor("s", {1, 2})}),
            "2x6x7x4");
  EXPECT_EQ(shape_after({"Slice", {"x", "b", "e"}, {"y"}}, {whole_tensor("b", {0, 2}), whole_tensor("e", {1, 5})}),
            "1x3x8x10");
  EXPECT_EQ(shape_after({"ReduceMean", {"x", "a"}, {"y"}}, {whole_tensor("a", {1})}), "2x1x8x10");
  EXPECT_EQ(shape_after({"ReduceMean", {"x"}, {"y"}, {ints("axes", {-1})}}, {}, 13), "2x6x8x1");
  EXPECT_EQ(shape_after({"Resize", {"x", "", "", "s"}, {"y"}}, {whole_tensor("s", {2, 6, 16, 20})}), "2x6x16x20");
  EXPECT_EQ(shape_after({"Gemm", {"m", "w"}, {"y"}, {whole("transB", 1)}}, {floats("w", {7, 24})}), "4x7");
  EXPECT_EQ(shape_after({"MatMul", {"m", "w"}, {"y"}}, {floats("w", {24, 5})}), "4x5");
}

TEST(OnnxShapes, WhatIsUnknownStaysOpen) {
  EXPECT_EQ(shape_after({"NonZero", {"x"}, {"y"}}), "none");
  EXPECT_EQ(shape_after({"Relu", {"x"}, {"y"}, {}, "", "com.example"}), "none");
  EXPECT_EQ(shape_after({"Reshape", {"x", "z"}, {"y"}}), "none");
  EXPECT_EQ(shape_after({"Transpose", {"x"}, {"y"}, {ints("perm", {0, 1, 2, 9})}}), "none");
  EXPECT_EQ(shape_after({"NonZero", {"x"}, {"y"}}, {}, 17, {value("y", {4, -1})}), "4x?");
  EXPECT_EQ(shape_after({"Relu", {"x"}, {"y"}}, {}, 17, {value("y", {-1, 6, 9, 10})}), "2x6x?x10");  // 8 or 9
  EXPECT_EQ(shape_after({"Relu", {"x"}, {"y"}}, {}, 17, {value("y", {6, 8})}), "none");
}

TEST(OnnxShapes, NumbersThatOverflowAreUnknown) {
  const std::int64_t huge = 1LL << 62;
  EXPECT_EQ(shape_after({"Pad", {"x", "p"}, {"y"}}, {whole_tensor("p", {0, 0, huge, 0, 0, 0, huge, 0})}), "2x6x?x10");
  EXPECT_EQ(shape_after({"Reshape", {"x", "s"}, {"y"}}, {whole_tensor("s", {huge, huge, -1})}), "?x?x?");
  EXPECT_EQ(shape_after({"MaxPool", {"x"}, {"y"}, {ints("kernel_shape", {huge, huge})}}), "none");
  EXPECT_EQ(shape_after({"MaxPool", {"x"}, {"y"}, {ints("kernel_shape", {1, 1}), ints("strides", {0, 0})}}), "none");
}

}  // namespace
}  // namespace convtgen::onnx::test
