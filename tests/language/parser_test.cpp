// What the parser makes of right text; wrong text is in wrong/.
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

std::vector<NamedLayer> layers_of(std::string_view text) {
  auto layers = parse_file(text);
  EXPECT_TRUE(layers) << render_text(layers.error(), text, "file", false);
  return layers ? *layers : std::vector<NamedLayer>();
}

Layer layer_of(std::string_view text) {
  auto layer = parse_layer(text);
  EXPECT_TRUE(layer) << render_text(layer.error(), text, "layer", false);
  return layer ? *layer : Layer();
}

std::string errors_of(std::string_view text) {
  const auto layer = parse_layer(text);
  std::string found;
  for (const Diagnostic& d : layer ? std::vector<Diagnostic>() : layer.error()) {
    found += std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.message + "\n";
  }
  return found;
}

TEST(Parser, TheDesignsFile) {
  const auto layers = layers_of(R"(# dcgan.convt
defaults { dtype f16; layout nhwc }

layer up1 {
  conv_transpose2d 512 -> 256
  kernel  4x4
  stride  2x2
  padding 1x1
  input   128x4x4            # batch x height x width; "?" = known only at run time
  bias
  fuse    relu
}
)");
  Layer expected;
  expected.in_channels = 512;
  expected.out_channels = 256;
  set_axes(expected, &Axis::kernel, {4, 4});
  set_axes(expected, &Axis::stride, {2, 2});
  set_axes(expected, &Axis::padding, {1, 1});
  expected.batch = 128;
  expected.axes[kHeight].extent = 4;
  expected.axes[kWidth].extent = 4;
  expected.bias = true;
  expected.fuse = {{ActivationKind::kRelu, 0, 0}};
  expected.dtype = Dtype::kF16;
  expected.compute = Compute::kF16;
  expected.layout = Layout::kNhwc;
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0], (NamedLayer{"up1", expected}));
}

TEST(Parser, OneNumberIsASquareAndPairsAreRowsFirst) {
  const Layer layer =
      layer_of("conv_transpose2d 1 -> 1; kernel 3; stride 2x3; padding 1x0; dilation 4; output_padding 3x1");
  EXPECT_EQ(axes_text(layer, &Axis::kernel), "3x3");
  EXPECT_EQ(axes_text(layer, &Axis::stride), "2x3");
  EXPECT_EQ(axes_text(layer, &Axis::padding), "1x0");
  EXPECT_EQ(axes_text(layer, &Axis::dilation), "4x4");
  EXPECT_EQ(axes_text(layer, &Axis::output_padding), "3x1");
}

TEST(Parser, PaddingMayDifferBeforeAndAfter) {
  const Layer layer = layer_of("conv_transpose2d 1 -> 1; kernel 3; padding 1:2x0");
  EXPECT_EQ(layer.axes[kHeight].padding, Padding(1, 2));
  EXPECT_EQ(layer.axes[kWidth].padding, Padding(0));
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 3; padding 1:2"),
            layer_of("conv_transpose2d 1 -> 1; kernel 3; padding 1:2x1:2"));
  EXPECT_EQ(layer_of("conv_transpose1d 1 -> 1; kernel 3; padding 0:1").axes[kWidth].padding, Padding(0, 1));
  EXPECT_EQ(canonical_form(layer_of("conv_transpose2d 1 -> 1; padding 2:2x0:1; kernel 3")),
            "conv_transpose2d 1 -> 1; kernel 3x3; padding 2x0:1; dtype f32; compute f32; layout nchw");
}

TEST(Parser, ThreeAxesAreDepthHeightWidth) {
  const Layer layer = layer_of("conv_transpose3d 4 -> 8; kernel 1x3x5; stride 2; padding 0x1:2x1; input 8x32x?x64");
  EXPECT_EQ(layer.dimensions, 3);
  EXPECT_EQ(layer.batch, 8);
  EXPECT_EQ(layer.axes[kDepth], (Axis{1, 2, 0, 0, 1, 32}));
  EXPECT_EQ(layer.axes[kHeight], (Axis{3, 2, {1, 2}, 0, 1, std::nullopt}));
  EXPECT_EQ(layer.axes[kWidth], (Axis{5, 2, 1, 0, 1, 64}));
  EXPECT_EQ(canonical_form(layer),
            "conv_transpose3d 4 -> 8; kernel 1x3x5; stride 2x2x2; padding 0x1:2x1; input 8x32x?x64; dtype f32; compute "
            "f32; layout nchw");
}

TEST(Parser, OneDimensionIsHeightOne) {
  const Layer layer = layer_of("conv_transpose1d 4 -> 8; kernel 5; stride 2; padding 1; input 3x?");
  EXPECT_EQ(layer.dimensions, 1);
  EXPECT_EQ(axes_text(layer, &Axis::kernel), "5");
  EXPECT_EQ(axes_text(layer, &Axis::stride), "2");
  EXPECT_EQ(axes_text(layer, &Axis::padding), "1");
  EXPECT_EQ(layer.batch, 3);
  EXPECT_EQ(layer.axes[kHeight], kNoAxis);
  EXPECT_EQ(layer.axes[kWidth].extent, std::nullopt);
}

TEST(Parser, OpenSizes) {
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1").batch, std::nullopt);
  const Layer layer = layer_of("conv_transpose2d 1 -> 1; kernel 1; input ?x7x?");
  EXPECT_EQ(layer.batch, std::nullopt);
  EXPECT_EQ(layer.axes[kHeight].extent, 7);
  EXPECT_EQ(layer.axes[kWidth].extent, std::nullopt);
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1; input 0x1x1").batch, 0);
}

TEST(Parser, ComputeFollowsTheDtype) {
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1; dtype bf16").compute, Compute::kBf16);
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1").compute, Compute::kF32);
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1; compute f32x3").compute, Compute::kF32x3);
}

TEST(Parser, WeightsLieContiguousUnlessChannelsLastIsAskedFor) {
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1").weight_layout, WeightLayout::kContiguous);
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1; layout nhwc").weight_layout, WeightLayout::kContiguous);
  EXPECT_EQ(layer_of("conv_transpose1d 1 -> 1; kernel 1; weight_layout channels_last").weight_layout,
            WeightLayout::kChannelsLast);
  const auto layers = layers_of(R"(
defaults { kernel 3; weight_layout channels_last }
layer last { conv_transpose2d 1 -> 1 }
layer undone { conv_transpose2d 1 -> 1; weight_layout contiguous }
)");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(canonical_form(layers[0].layer),
            "conv_transpose2d 1 -> 1; kernel 3x3; dtype f32; compute f32; layout nchw; weight_layout channels_last");
  EXPECT_EQ(canonical_form(layers[1].layer),
            "conv_transpose2d 1 -> 1; kernel 3x3; dtype f32; compute f32; layout nchw");
}

TEST(Parser, FuseChainsKeepTheirOrder) {
  const Layer layer = layer_of(
      "conv_transpose2d 1 -> 1; kernel 1; fuse scale(2), relu, scale(2), leaky_relu(0.01), hardtanh(-1,1), "
      "gelu_tanh()");
  const std::vector<Activation> expected{{ActivationKind::kScale, 2, 0},     {ActivationKind::kRelu, 0, 0},
                                         {ActivationKind::kScale, 2, 0},     {ActivationKind::kLeakyRelu, 0.01, 0},
                                         {ActivationKind::kHardtanh, -1, 1}, {ActivationKind::kGeluTanh, 0, 0}};
  EXPECT_EQ(layer.fuse, expected);
}

TEST(Parser, DirectionsAreASet) {
  const Layer layer =
      layer_of("conv_transpose2d 1 -> 1; kernel 1; bias; directions grad_bias, grad_weight, grad_input, forward");
  EXPECT_EQ(layer.directions,
            (std::vector{Direction::kForward, Direction::kGradInput, Direction::kGradWeight, Direction::kGradBias}));
}

TEST(Parser, DefaultsHoldForTheLayersAfterThem) {
  const auto layers = layers_of(R"(
layer plain { conv_transpose2d 1 -> 1; kernel 2 }
defaults { kernel 3; bias; dtype f16; fuse relu; input 4x?x? }
layer first { conv_transpose2d 1 -> 1 }
layer undone { conv_transpose2d 1 -> 1; kernel 5x1; bias off; dtype f32; fuse none; input ?x?x? }
defaults { kernel 7; groups 1; fuse none; directions forward, grad_input }
layer second { conv_transpose2d 1 -> 1 }
layer last { conv_transpose2d 1 -> 1; fuse relu; directions forward }
)");
  ASSERT_EQ(layers.size(), 5U);
  EXPECT_EQ(canonical_form(layers[0].layer),
            "conv_transpose2d 1 -> 1; kernel 2x2; dtype f32; compute f32; layout nchw");
  EXPECT_EQ(canonical_form(layers[1].layer),
            "conv_transpose2d 1 -> 1; kernel 3x3; input 4x?x?; bias; fuse relu; dtype f16; compute f16; layout nchw");
  EXPECT_EQ(canonical_form(layers[2].layer),
            "conv_transpose2d 1 -> 1; kernel 5x1; dtype f32; compute f32; layout nchw");
  EXPECT_EQ(canonical_form(layers[3].layer),
            "conv_transpose2d 1 -> 1; kernel 7x7; input 4x?x?; bias; dtype f16; compute f16; layout nchw; "
            "directions forward, grad_input");
  EXPECT_EQ(canonical_form(layers[4].layer),
            "conv_transpose2d 1 -> 1; kernel 7x7; input 4x?x?; bias; fuse relu; dtype f16; compute f16; layout nchw");
}

TEST(Parser, OneDefaultServesBothDimensions) {
  const auto layers = layers_of(
      "defaults { kernel 3; padding 1 }\nlayer a { conv_transpose1d 1 -> 1 }\nlayer b { conv_transpose2d 1 -> 1 }");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(axes_text(layers[0].layer, &Axis::kernel), "3");
  EXPECT_EQ(axes_text(layers[0].layer, &Axis::padding), "1");
  EXPECT_EQ(axes_text(layers[1].layer, &Axis::kernel), "3x3");
}

TEST(Parser, LinesAndBlanksAreFree) {
  const auto layers = layers_of(
      "\xEF\xBB\xBF;;layer a\r\n# between\r\n{;conv_transpose2d 4->8;;kernel\t3 # c\r\n}layer b{conv_transpose2d 4 "
      "->8\n\n kernel 3;}");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].layer, layers[1].layer);
  EXPECT_EQ(layers[0].name, "a");
  EXPECT_EQ(layers[1].name, "b");
}

TEST(Parser, OneLineFormsHaveNoBraces) {
  const std::string message =
      "the one-line form of a layer has no name and no braces, as in 'conv_transpose2d 8 -> 8; kernel 3x3'\n";
  EXPECT_EQ(errors_of("layer a { conv_transpose2d 1 -> 1; kernel 1 }"), "1:1 " + message);
  EXPECT_EQ(errors_of("conv_transpose2d 1 -> 1; kernel 1 }"), "1:35 " + message);
  EXPECT_EQ(errors_of(""), "1:1 there is no layer; expected one, as in 'conv_transpose2d 8 -> 8; kernel 3x3'\n");
  EXPECT_EQ(
      errors_of("kernel 0"),
      "1:1 the layer has no conv_transpose2d, conv_transpose1d or conv_transpose3d\n1:1 kernel 0 must be at least 1\n");
}

TEST(Parser, GradientsParse) {
  EXPECT_EQ(layer_of("conv_transpose2d 1 -> 1; kernel 1; directions grad_input").directions,
            std::vector{Direction::kGradInput});
}

TEST(Parser, LongTextTakesLinearTime) {
  // Quadratic behaviour would take minutes here.
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    text += "layer a" + std::to_string(i) + " { conv_transpose2d 8 -> 8; kernel 3; } layer\n";
  }
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  EXPECT_GE(layers.error().size(), 20000U);
  EXPECT_FALSE(parse_file(std::string(200000, '{')));
  EXPECT_FALSE(parse_file("layer a {" + std::string(200000, '(')));
  EXPECT_FALSE(parse_file("layer a { kernel " + std::string(200000, '1') + "}"));
}

}  // namespace
}  // namespace convtgen
