// Models that are built here: attributes, weights, names and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/onnx/import.h"
#include "tests/onnx/build_model.h"
#include "tests/onnx/check_import.h"

namespace convtgen::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Imported imported(const std::string& bytes, const ImportOptions& options = {}) {
  auto result = import_model(bytes, options);
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(broken_claim(bytes), "");
  return result ? *std::move(result) : Imported{};
}

/// The canonical form of the only layer.
std::string only_layer(const std::string& bytes) {
  const Imported all = imported(bytes);
  EXPECT_TRUE(all.not_taken.empty()) << all.not_taken.front().why.reason;
  EXPECT_EQ(all.layers.size(), 1U);
  return all.layers.empty() ? "" : canonical_form(all.layers.front().layer.layer);
}

/// "strides [0]: ..." of the only row.
std::string only_refusal(const std::string& bytes) {
  const Imported all = imported(bytes);
  EXPECT_TRUE(all.layers.empty()) << canonical_form(all.layers.front().layer.layer);
  EXPECT_EQ(all.not_taken.size(), 1U);
  if (all.not_taken.empty()) {
    return "";
  }
  const Refusal& why = all.not_taken.front().why;
  return why.attribute + " " + why.value + ": " + why.reason;
}

TEST(OnnxImport, AttributesBecomeProperties) {
  EXPECT_EQ(only_layer(one_node(11, {})),
            "conv_transpose1d 2 -> 3; kernel 4; input 1x5; dtype f32; compute f32; layout nchw");
  EXPECT_EQ(only_layer(one_node(22, {ints("strides", {2}), ints("pads", {1, 2}, true), ints("dilations", {3}),
                                     ints("output_padding", {1}), ints("kernel_shape", {4}), whole("group", 2)})),
            "conv_transpose1d 2 -> 6; kernel 4; stride 2; padding 1:2; output_padding 1; dilation 3; groups 2; input "
            "1x5; dtype f32; compute f32; layout nchw");
  EXPECT_EQ(only_layer(one_node(11, {ints("strides", {3}), ints("output_shape", {17})})),
            "conv_transpose1d 2 -> 3; kernel 4; stride 3; output_padding 1; input 1x5; dtype f32; compute f32; layout "
            "nchw");
  EXPECT_EQ(only_layer(one_node(11, {ints("strides", {3}), text("auto_pad", "SAME_LOWER")})),
            "conv_transpose1d 2 -> 3; kernel 4; stride 3; padding 1:0; input 1x5; dtype f32; compute f32; layout nchw");
}

TEST(OnnxImport, IllegalAttributesAreNamed) {
  const auto refused = [](const std::vector<Attribute>& attributes) { return only_refusal(one_node(11, attributes)); };
  EXPECT_THAT(refused({ints("strides", {0})}), HasSubstr("strides [0]: legal are numbers from 1 to 2147483647"));
  EXPECT_THAT(refused({ints("strides", {1, 1})}), HasSubstr("strides [1, 1]: has 2 numbers"));
  EXPECT_THAT(refused({ints("pads", {-1, 0})}), HasSubstr("pads [-1, 0]: legal are numbers from 0"));
  EXPECT_THAT(refused({ints("pads", {9, 9})}), HasSubstr("pads [9, 9]: padding 9 makes the output length -10"));
  EXPECT_THAT(refused({ints("kernel_shape", {3})}), HasSubstr("kernel_shape [3]: the weights have [4]"));
  EXPECT_THAT(refused({ints("output_padding", {1})}),
              HasSubstr("output_padding [1]: output_padding 1 must be smaller"));
  EXPECT_THAT(refused({ints("output_shape", {1, 3, 8})}), HasSubstr("output_shape [1, 3, 8]: has 3 numbers"));
  EXPECT_THAT(refused({ints("output_shape", {10})}), HasSubstr("output_shape [10]: "));
  EXPECT_THAT(refused({ints("dilations", {2147483647}), ints("strides", {2147483647})}), HasSubstr("X "));
  EXPECT_THAT(refused({whole("group", 3)}), HasSubstr("group 3: groups 3 must divide in_channels 2"));
  EXPECT_THAT(refused({whole("group", 0)}), HasSubstr("group 0: legal are numbers from 1"));
  EXPECT_THAT(refused({text("auto_pad", "SAME")}), HasSubstr("auto_pad SAME: legal are NOTSET, SAME_UPPER"));
  EXPECT_THAT(refused({text("auto_pad", "VALID"), ints("pads", {0, 0})}),
              HasSubstr("auto_pad VALID: can't be used together with pads, which are [0, 0]"));
  EXPECT_THAT(refused({whole("strides", 2)}), HasSubstr("strides of type 2: the operator has it as INTS"));
}

TEST(OnnxImport, OperatorSetsThatAreUnknownAreRefused) {
  EXPECT_THAT(only_refusal(one_node(0, {})), HasSubstr("opset_import 0: known are operator sets 1 to "));
  EXPECT_THAT(only_refusal(one_node(1000, {})), HasSubstr("opset_import 1000: "));
}

/// A model with a ConvTranspose whose W is `weight`, an initializer.
std::string with_weight(const std::string& weight, std::int64_t opset = 11) {
  return model(opset, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}, {}, "up"})}, .initializers = {weight}});
}

TEST(OnnxImport, WeightsAreCheckedByTheirShape) {
  EXPECT_THAT(only_refusal(with_weight(floats("w", {2, 3}))), HasSubstr("W [2, 3]: has another number of axes"));
  EXPECT_THAT(only_refusal(with_weight(floats("w", {1, 1, 1, 1, 1, 1}))),
              HasSubstr("W [1, 1, 1, 1, 1, 1]: has more axes than layers have"));
  EXPECT_THAT(only_refusal(with_weight(floats("w", {2, 0, 3}))), HasSubstr("legal are extents from 1"));
  EXPECT_THAT(only_refusal(with_weight(raw("w", 1, {2, 3, 4}, "abc"))),
              HasSubstr("holds 3 bytes; its 24 elements take 96"));
  EXPECT_THAT(only_refusal(with_weight(raw("w", 1, {1LL << 40, 1LL << 40, 4}, ""))), HasSubstr("64 bits"));
  EXPECT_THAT(only_refusal(with_weight(raw("w", 1, {-2, 3, 4}, ""))), HasSubstr("64 bits"));
  EXPECT_THAT(only_refusal(with_weight(raw("w", 3, {1, 1, 4}, "abcd"))), HasSubstr("W INT8: legal are FLOAT"));
  EXPECT_THAT(only_refusal(with_weight(raw("w", 16, {1, 1, 2}, "abcd"), 21)),
              HasSubstr("W BFLOAT16: is legal from opset 22 on; the model has 21"));
  EXPECT_EQ(only_layer(with_weight(raw("w", 16, {1, 1, 2}, "abcd"), 22)),
            "conv_transpose1d 1 -> 1; kernel 2; dtype bf16; compute bf16; layout nchw");
  EXPECT_EQ(only_layer(with_weight(floats("w", {2, 3, 1, 2, 2}))),
            "conv_transpose3d 2 -> 3; kernel 1x2x2; dtype f32; compute f32; layout nchw");
}

TEST(OnnxImport, WeightsHaveTheirBytes) {
  const Imported all = imported(with_weight(raw("w", 1, {1, 1, 2}, "abcdefgh")));
  ASSERT_EQ(all.layers.size(), 1U);
  EXPECT_EQ(*all.layers[0].weight->bytes, "abcdefgh");
  EXPECT_THAT(all.layers[0].weight->shape, ElementsAre(1, 1, 2));
  EXPECT_FALSE(all.layers[0].bias);
}

TEST(OnnxImport, NodesWithTheSameWeightsShareThem) {
  const Imported all =
      imported(model(11, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}}), node({"Identity", {"w"}, {"v"}}),
                                    node({"ConvTranspose", {"x", "v"}, {"z"}})},
                          .initializers = {floats("w", {2, 3, 4})}}));
  ASSERT_EQ(all.layers.size(), 2U);
  EXPECT_EQ(all.layers[0].weight->bytes, all.layers[1].weight->bytes);
}

// Work that grows with the square of the file would take minutes here.
TEST(OnnxImport, ManyReadersOfOneValueTakeNoTime) {
  GraphFields fields{.nodes = {}, .initializers = {floats("w", {1, 1, 1})}};
  for (int i = 0; i < 20000; ++i) {
    fields.nodes.push_back(node({"ConvTranspose", {"x", "w"}, {"y"}}));
    fields.nodes.push_back(node({"Neg", {"y"}, {"z"}}));
  }
  const auto result = import_model(model(11, fields));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->layers.size(), 20000U);
}

TEST(OnnxImport, WeightsMayBeInputsOfTheModel) {
  const Imported all =
      imported(model(11, {.nodes = {node({"ConvTranspose", {"x", "w", "b"}, {"y"}})},
                          .inputs = {value("x", {-1, 2, 5}), value("w", {2, 3, 4}), value("b", {3})}}));
  ASSERT_EQ(all.layers.size(), 1U);
  EXPECT_EQ(canonical_form(all.layers[0].layer.layer),
            "conv_transpose1d 2 -> 3; kernel 4; input ?x5; bias; dtype f32; compute f32; layout nchw");
  EXPECT_FALSE(all.layers[0].weight || all.layers[0].bias);
  EXPECT_THAT(all.layers[0].notes, ElementsAre("the weights are the model's input 'w': no file is written",
                                               "the bias is the model's input 'b': no file is written"));
  EXPECT_THAT(only_refusal(model(
                  11, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}})}, .inputs = {value("w", {2, -1, 4})}})),
              HasSubstr("W 2x?x4: is the model's input 'w', whose extents are open"));
  EXPECT_THAT(only_refusal(model(11, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}})}})),
              HasSubstr("W w: no node, initializer or input of the model gives it"));
}

TEST(OnnxImport, TheBiasHasOneNumberAChannel) {
  const auto with_bias = [](const std::string& bias) {
    return model(11, {.nodes = {node({"ConvTranspose", {"x", "w", "b"}, {"y"}})},
                      .initializers = {floats("w", {2, 3, 4}), bias}});
  };
  EXPECT_THAT(only_layer(with_bias(floats("b", {3}))), HasSubstr("; bias; "));
  EXPECT_THAT(only_refusal(with_bias(floats("b", {2}))), HasSubstr("B [2] of FLOAT: legal is [3] of FLOAT"));
  EXPECT_THAT(only_refusal(with_bias(raw("b", 10, {3}, "abcdef"))), HasSubstr("legal is [3] of FLOAT"));
}

TEST(OnnxImport, TheInputMustFitTheWeights) {
  const auto with_input = [](const std::string& input) {
    return model(11, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}})},
                      .inputs = {input},
                      .initializers = {floats("w", {2, 3, 4})}});
  };
  EXPECT_THAT(only_refusal(with_input(value("x", {1, 3, 5}))),
              HasSubstr("X 1x3x5: the weights [2, 3, 4] take 2 channels"));
  EXPECT_THAT(only_refusal(with_input(value("x", {1, 2, 5, 5}))), HasSubstr("another number of axes"));
  EXPECT_THAT(only_refusal(with_input(value("x", {1, 2, 5}, 10))), HasSubstr("X FLOAT16: W has another element type"));
  EXPECT_THAT(only_layer(with_input(value("x", {0, 2, 0}))), HasSubstr("input 0x?;"));
}

TEST(OnnxImport, WhatIsNoModelIsAnError) {
  const auto error = [](const std::string& bytes) {
    EXPECT_EQ(broken_claim(bytes), "");
    const auto result = import_model(bytes);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(error(""), "not an ONNX model: it holds no graph");
  EXPECT_THAT(error("layer up { conv_transpose2d 4 -> 2; kernel 3 }"), HasSubstr("not an ONNX model"));
  const std::string whole_file = one_node(11, {});
  EXPECT_THAT(error(whole_file.substr(0, 60)), HasSubstr("cut short"));
  std::string nested = graph_bytes({.nodes = {}});
  for (int i = 0; i < 100; ++i) {
    nested = graph_bytes({.nodes = {node({"If", {}, {}, {graph("then_branch", nested)}})}});
  }
  EXPECT_THAT(error(model(11, {.nodes = {node({"If", {}, {}, {graph("then_branch", nested)}})}})),
              HasSubstr("nested too deeply; at most 32 levels"));
}

TEST(OnnxImport, EveryPrefixOfAFileIsReadOrAnError) {
  const std::string bytes = one_node(11, {ints("strides", {2}), text("auto_pad", "SAME_UPPER")});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(broken_claim(bytes.substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace convtgen::onnx::test
