// The canonical form is a format that keys and emitted files hold: these lines must not change.
#include <gtest/gtest.h>

#include "generator/language/language.h"

namespace convtgen {
namespace {

std::string canonical(std::string_view text) {
  const auto layer = parse_layer(text);
  return layer ? canonical_form(*layer) : render_text(layer.error(), text, "layer", false);
}

TEST(Canonical, TheDesignsExample) {
  EXPECT_EQ(
      canonical("conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024"),
      "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32; layout nchw");
}

TEST(Canonical, EveryPropertyInItsPlace) {
  EXPECT_EQ(
      canonical("directions forward; weight_layout channels_last; layout nhwc; compute tf32; dtype f32; "
                "fuse relu, scale(0.50), "
                "clamp(-1e0, 6); bias; input ?x8x?; groups 4; dilation 2; output_padding 1x0; padding 1; stride 2; "
                "kernel 3; conv_transpose2d 32->48"),
      "conv_transpose2d 32 -> 48; kernel 3x3; stride 2x2; padding 1x1; output_padding 1x0; dilation 2x2; groups 4; "
      "input ?x8x?; bias; fuse relu, scale(0.5), clamp(-1, 6); dtype f32; compute tf32; layout nhwc; "
      "weight_layout channels_last");
  EXPECT_EQ(
      canonical("directions grad_bias, grad_weight, forward; weight_layout channels_last; bias; kernel 3; "
                "conv_transpose2d 32->48"),
      "conv_transpose2d 32 -> 48; kernel 3x3; bias; dtype f32; compute f32; layout nchw; weight_layout channels_last; "
      "directions forward, grad_weight, grad_bias");
  EXPECT_EQ(canonical("fuse_input leaky_relu(0.10), elu; fuse elu(2); kernel 3; conv_transpose1d 32->48"),
            "conv_transpose1d 32 -> 48; kernel 3; fuse elu(2); fuse_input leaky_relu(0.1), elu(1); dtype f32; compute "
            "f32; layout nchw");
  EXPECT_EQ(canonical("streaming; weight_layout channels_last; kernel 3; conv_transpose1d 32->48"),
            "conv_transpose1d 32 -> 48; kernel 3; dtype f32; compute f32; layout nchw; weight_layout channels_last; "
            "streaming");
}

TEST(Canonical, ATensorOfItsOwnIsNoSlice) {
  EXPECT_EQ(canonical("y_channels 96; conv_transpose2d 32 -> 48; kernel 3; x_channels 33; bias; groups 2"),
            "conv_transpose2d 32 -> 48; kernel 3x3; groups 2; x_channels 33; y_channels 96; bias; dtype f32; compute "
            "f32; layout nchw");
  EXPECT_EQ(canonical("conv_transpose2d 32 -> 48; kernel 3; x_channels 32; y_channels 48"),
            "conv_transpose2d 32 -> 48; kernel 3x3; dtype f32; compute f32; layout nchw");
}

TEST(Canonical, DefaultsAreNotPrinted) {
  EXPECT_EQ(
      canonical("conv_transpose2d 1 -> 1; kernel 1; stride 1; padding 0; output_padding 0x0; dilation 1x1; groups "
                "1; input ?x?x?; bias off; fuse none; fuse_input none; weight_layout contiguous; streaming off; "
                "directions forward"),
      "conv_transpose2d 1 -> 1; kernel 1x1; dtype f32; compute f32; layout nchw");
}

TEST(Canonical, OneDimension) {
  EXPECT_EQ(canonical("conv_transpose1d 4 -> 8; kernel 5; stride 2; padding 1; output_padding 1; dilation 3; input "
                      "2x100; dtype f64"),
            "conv_transpose1d 4 -> 8; kernel 5; stride 2; padding 1; output_padding 1; dilation 3; input 2x100; dtype "
            "f64; compute f64; layout nchw");
  EXPECT_EQ(canonical("conv_transpose1d 4 -> 8; kernel 5; input ?x100"),
            "conv_transpose1d 4 -> 8; kernel 5; input ?x100; dtype f32; compute f32; layout nchw");
  EXPECT_EQ(canonical("conv_transpose1d 4 -> 8; kernel 5; input ?x?"),
            "conv_transpose1d 4 -> 8; kernel 5; dtype f32; compute f32; layout nchw");
}

TEST(Canonical, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(canonical("conv_transpose2d 1 -> 1; kernel 1; dtype f64; fuse add(0.1), add(1e22), add(-0.0), "
                      "add(0.30000000000000004), add(5e-324), add(1.7976931348623157e308), scale(100000)"),
            "conv_transpose2d 1 -> 1; kernel 1x1; fuse add(0.1), add(1e+22), add(0), add(0.30000000000000004), "
            "add(5e-324), add(1.7976931348623157e+308), scale(100000); dtype f64; compute f64; layout nchw");
}

TEST(Canonical, PrintLayer) {
  const auto layer =
      parse_layer("conv_transpose2d 512 -> 256; kernel 4; stride 2; padding 1; input 128x4x4; bias; fuse relu");
  ASSERT_TRUE(layer);
  EXPECT_EQ(print_layer({"up1", *layer}),
            "layer up1 {\n"
            "  conv_transpose2d 512 -> 256\n"
            "  kernel  4x4\n"
            "  stride  2x2\n"
            "  padding 1x1\n"
            "  input   128x4x4\n"
            "  bias\n"
            "  fuse    relu\n"
            "  dtype   f32\n"
            "  compute f32\n"
            "  layout  nchw\n"
            "}\n");
}

}  // namespace
}  // namespace convtgen
