// check_limits: every limit, its property and its words.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "generator/layer/directions.h"
#include "generator/layer/shape.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

Layer legal_layer() {
  Layer layer;
  layer.in_channels = 32;
  layer.out_channels = 48;
  set_axes(layer, &Axis::kernel, {3, 7});
  return layer;
}

std::vector<std::string> broken(const std::function<void(Layer&)>& change, Layer layer = legal_layer()) {
  change(layer);
  std::vector<std::string> found;
  for (const Violation& violation : check_limits(layer)) {
    found.push_back(violation.property + " | " + violation.message);
  }
  return found;
}

using Lines = std::vector<std::string>;

TEST(Limits, LegalLayers) {
  EXPECT_EQ(broken([](Layer&) {}), Lines{});
  EXPECT_EQ(broken([](Layer& l) {
              set_axes(l, &Axis::stride, {2, 3});
              set_axes(l, &Axis::output_padding, {1, 2});
              l.groups = 16;
              l.batch = 0;
              l.axes[kHeight].extent = 1;
              l.axes[kWidth].extent = 1;
            }),
            Lines{});
  // output_padding may reach the stride where the dilation is larger.
  EXPECT_EQ(broken([](Layer& l) {
              set_axes(l, &Axis::dilation, {4, 4});
              set_axes(l, &Axis::output_padding, {3, 3});
            }),
            Lines{});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::kernel, {64, 64}); }), Lines{});
  EXPECT_EQ(broken([](Layer& l) {
              l.dimensions = 1;
              set_axes(l, &Axis::kernel, {1, 4096});
              l.axes[kHeight].extent = 1;
            }),
            Lines{});
}

TEST(Limits, OfStreaming) {
  const auto streaming = [](Layer& l) {
    l.streaming = true;
    l.dimensions = 1;
    set_axes(l, &Axis::kernel, {1, 7});
    l.axes[kHeight].extent = 1;
  };
  EXPECT_EQ(broken(streaming), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.streaming = true; }),
            Lines{"streaming | streaming: conv_transpose2d has 2 axes; legal is conv_transpose1d"});
  EXPECT_EQ(broken([&](Layer& l) {
              streaming(l);
              l.axes[kWidth].extent = 8;
              l.directions = {Direction::kForward, Direction::kGradInput};
            }),
            (Lines{"streaming | streaming: length 8 is fixed; legal is '?', since chunks have any length",
                   "streaming | streaming: directions forward, grad_input; legal is forward alone"}));
}

TEST(Limits, OfAnAxis) {
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::kernel, {0, 3}); }),
            Lines{"kernel | kernel 0 must be at least 1 (height)"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::stride, {1, 0}); }),
            Lines{"stride | stride 0 must be at least 1 (width)"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::padding, {-1, -1}); }),
            Lines{"padding | padding -1 must be at least 0"});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kWidth].padding = {3, -1}; }),
            Lines{"padding | padding -1 must be at least 0 (width)"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::dilation, {-2, 0}); }),
            (Lines{"dilation | dilation -2 must be at least 1 (height)",
                   "dilation | dilation 0 must be at least 1 (width)"}));
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::output_padding, {0, -1}); }),
            Lines{"output_padding | output_padding -1 must be at least 0 (width)"});
  EXPECT_EQ(broken([](Layer& l) {
              set_axes(l, &Axis::stride, {2, 2});
              set_axes(l, &Axis::output_padding, {2, 1});
            }),
            Lines{"output_padding | output_padding 2 must be smaller than stride 2 or dilation 1 (height)"});
  EXPECT_EQ(broken([](Layer& l) {
              l.dimensions = 1;
              l.axes[kHeight].kernel = 1;
              l.axes[kHeight].extent = 1;
              l.axes[kWidth].output_padding = 1;
            }),
            Lines{"output_padding | output_padding 1 must be smaller than stride 1 or dilation 1"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::padding, {0, 1LL << 31}); }),
            Lines{"padding | padding 2147483648 is too large: at most 2147483647 is supported (width)"});
}

TEST(Limits, OfChannelsAndGroups) {
  EXPECT_EQ(broken([](Layer& l) { l.in_channels = 0; }), Lines{"conv_transpose2d | in_channels 0 must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) { l.out_channels = -4; }),
            Lines{"conv_transpose2d | out_channels -4 must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) { l.groups = 0; }), Lines{"groups | groups 0 must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) { l.groups = 5; }),
            (Lines{"groups | groups 5 must divide in_channels 32", "groups | groups 5 must divide out_channels 48"}));
  EXPECT_EQ(broken([](Layer& l) { l.groups = 32; }), Lines{"groups | groups 32 must divide out_channels 48"});
  EXPECT_EQ(broken([](Layer& l) {
              l.in_channels = l.out_channels = 2147483647;
              set_axes(l, &Axis::kernel, {64, 64});
            }),
            Lines{"conv_transpose2d | the weights have more elements than 64 bits can count"});
}

TEST(Limits, OfTaps) {
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::kernel, {128, 128}); }),
            Lines{"kernel | kernel 128x128 has 16384 taps; at most 4096 are supported"});
  EXPECT_EQ(broken([](Layer& l) {
              l.dimensions = 1;
              set_axes(l, &Axis::kernel, {1, 4097});
              l.axes[kHeight].extent = 1;
            }),
            Lines{"kernel | kernel 4097 has 4097 taps; at most 4096 are supported"});
}

TEST(Limits, OfSizes) {
  EXPECT_EQ(broken([](Layer& l) { l.batch = -1; }), Lines{"input | batch -1 must be at least 0"});
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kHeight].extent = 0;
              l.axes[kWidth].extent = -3;
            }),
            (Lines{"input | height 0 must be at least 1", "input | width -3 must be at least 1"}));
  EXPECT_EQ(broken([](Layer& l) {
              set_axes(l, &Axis::padding, {5, 0});
              l.axes[kHeight].extent = 8;
            }),
            Lines{"padding | padding 5 makes the output height 0 for input height 8; it must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kHeight].padding = {9, 1};
              l.axes[kHeight].extent = 8;
            }),
            Lines{"padding | padding 9:1 makes the output height 0 for input height 8; it must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kHeight].padding = {0, 9};
              l.axes[kHeight].extent = 8;
            }),
            Lines{});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::padding, {5, 0}); }), Lines{})
      << "a height of '?' can't be judged";
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kWidth].extent = 2147483647;
              l.axes[kWidth].stride = 2;
            }),
            Lines{"input | output width 4294967299 is too large: at most 2147483647 is supported"});
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kWidth].extent = l.axes[kHeight].extent = 2000000000;
              l.batch = 100;
            }),
            Lines{"input | the input has more elements than 64 bits can count"});
  EXPECT_EQ(broken([](Layer& l) {
              l.in_channels = 1;
              l.axes[kWidth].extent = l.axes[kHeight].extent = 2000000000;
              l.batch = 2;
            }),
            Lines{"input | the output has more elements than 64 bits can count"});
  EXPECT_EQ(broken([](Layer& l) {
              l.axes[kWidth].extent = l.axes[kHeight].extent = 2000000000;
              l.batch = 0;
            }),
            Lines{});
}

TEST(Limits, OneDimensionalLayersHaveNeutralRows) {
  const std::string message =
      "conv_transpose1d | conv_transpose1d must have height 1, with kernel 1, stride 1, dilation 1 and no padding on "
      "that axis";
  Layer layer = legal_layer();
  layer.dimensions = 1;
  set_axes(layer, &Axis::kernel, {1, 3});
  layer.axes[kHeight].extent = 1;
  EXPECT_EQ(broken([](Layer&) {}, layer), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].kernel = 3; }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].stride = 2; }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].padding = 1; }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].output_padding = 1; }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].dilation = 2; }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kHeight].extent.reset(); }, layer), Lines{message});
  EXPECT_EQ(broken([](Layer& l) { l.dimensions = 4; }), Lines{"conv_transpose3d | dimensions 4 must be 1, 2 or 3"});
  EXPECT_EQ(
      broken([](Layer& l) { l.axes[kDepth].kernel = 3; }),
      Lines{"conv_transpose2d | conv_transpose2d must have depth 1, with kernel 1, stride 1, dilation 1 and no padding "
            "on that axis"});
}

TEST(Limits, OfThreeAxes) {
  Layer layer = legal_layer();
  layer.dimensions = 3;
  layer.axes[kDepth] = {.kernel = 3};
  EXPECT_EQ(broken([](Layer&) {}, layer), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.axes[kDepth].stride = 0; }, layer),
            Lines{"stride | stride 0 must be at least 1 (depth)"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::stride, {0, 0, 0}); }, layer),
            Lines{"stride | stride 0 must be at least 1"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::kernel, {16, 16, 17}); }, layer),
            Lines{"kernel | kernel 16x16x17 has 4352 taps; at most 4096 are supported"});
  EXPECT_EQ(broken([](Layer& l) { set_axes(l, &Axis::kernel, {1 << 30, 1 << 30, 1 << 30}); }, layer),
            Lines{"kernel | kernel 1073741824x1073741824x1073741824 has 9223372036854775807 taps; at most 4096 are "
                  "supported"});
  EXPECT_EQ(broken(
                [](Layer& l) {
                  l.axes[kDepth].padding = {5, 6};
                  l.axes[kDepth].extent = 8;
                },
                layer),
            Lines{"padding | padding 5:6 makes the output depth -1 for input depth 8; it must be at least 1"});
}

TEST(Limits, OfTheFuseChain) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(broken([](Layer& l) {
              l.fuse = {
                  {ActivationKind::kClamp, 2, 1}, {ActivationKind::kHardtanh, -1, -1}, {ActivationKind::kRelu, 0, 0}};
            }),
            Lines{})
      << "torch.clamp takes crossed limits";
  EXPECT_EQ(broken([](Layer& l) { l.fuse_input = {{ActivationKind::kElu, 1, 2}}; }),
            Lines{"fuse_input | elu takes 1 argument"});
  EXPECT_EQ(broken([](Layer& l) { l.fuse = {{ActivationKind::kHardtanh, 2, 1}}; }),
            Lines{"fuse | hardtanh: the lowest value 2 must not be above the highest, 1"});
  EXPECT_EQ(broken([&](Layer& l) { l.fuse = {{ActivationKind::kScale, infinity, 0}}; }),
            Lines{"fuse | scale: the argument inf must be finite"});
  EXPECT_EQ(broken([](Layer& l) { l.fuse = {{ActivationKind::kAdd, std::nan(""), 0}}; }),
            Lines{"fuse | add: the argument nan must be finite"});
  EXPECT_EQ(broken([](Layer& l) { l.fuse = {{ActivationKind::kAdd, 1e300, 0}}; }),
            Lines{"fuse | add: the argument 1e+300 is beyond fp32, in which dtype f32 is summed"});
  EXPECT_EQ(broken([](Layer& l) {
              l.dtype = Dtype::kF64;
              l.compute = Compute::kF64;
              l.fuse = {{ActivationKind::kAdd, 1e300, 0}};
            }),
            Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.fuse = {{ActivationKind::kRelu, 1, 0}}; }), Lines{"fuse | relu takes 0 arguments"});
  EXPECT_EQ(broken([](Layer& l) { l.fuse = {{ActivationKind::kAdd, 1, 2}}; }), Lines{"fuse | add takes 1 argument"});
}

TEST(Limits, OfTypesAndDirections) {
  EXPECT_EQ(broken([](Layer& l) { l.compute = Compute::kTf32; }), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.compute = Compute::kF32x3; }), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.compute = Compute::kF16; }),
            Lines{"compute | compute f16 does not go with dtype f32, which takes f32, tf32, f32x3"});
  EXPECT_EQ(broken([](Layer& l) { l.dtype = Dtype::kBf16; }),
            Lines{"compute | compute f32 does not go with dtype bf16, which takes bf16"});
  EXPECT_EQ(broken([](Layer& l) { l.directions.clear(); }),
            Lines{"directions | directions must name at least one of forward, grad_input, grad_weight, grad_bias"});
  const std::string order =
      "directions | directions must stand once each, in the order forward, grad_input, grad_weight, grad_bias";
  EXPECT_EQ(broken([](Layer& l) { l.directions = {Direction::kForward, Direction::kForward}; }), Lines{order});
  EXPECT_EQ(broken([](Layer& l) { l.directions = {Direction::kGradInput, Direction::kForward}; }), Lines{order});
}

TEST(Limits, GradientsAreOfTheConvolutionAlone) {
  const std::string fused =
      "fuse | fuse: gradients are those of the convolution alone; leave the activations out of the layer and apply "
      "them outside of it";
  EXPECT_EQ(broken([](Layer& l) {
              l.fuse_input = {{ActivationKind::kRelu, 0, 0}};
              l.directions = {Direction::kForward, Direction::kGradWeight};
            }),
            Lines{"fuse_input | fuse_input: gradients are those of the convolution alone; leave the activations out of "
                  "the layer and apply them outside of it"});
  const auto fuse = [](Layer& l) { l.fuse = {{ActivationKind::kRelu, 0, 0}}; };
  EXPECT_EQ(broken(fuse), Lines{});
  for (const Direction direction : {Direction::kGradInput, Direction::kGradWeight}) {
    EXPECT_EQ(broken([&](Layer& l) { l.directions = {Direction::kForward, direction}; }), Lines{});
    EXPECT_EQ(broken([&](Layer& l) { fuse(l), l.directions = {Direction::kForward, direction}; }), Lines{fused});
  }
  EXPECT_EQ(broken([](Layer& l) { l.directions = {Direction::kGradBias}; }),
            Lines{"directions | directions: grad_bias is of layers with 'bias'"});
  EXPECT_EQ(broken([](Layer& l) { l.bias = true, l.directions = {Direction::kGradBias}; }), Lines{});
}

TEST(Directions, OneThatTheLayerLacksIsToldWithTheListThatIsLegal) {
  const auto refusal = [](const Layer& layer, Direction wanted) {
    const auto checked = check_direction(layer, wanted);
    return checked ? std::string() : checked.error().message;
  };
  Layer layer = legal_layer();
  layer.directions = {Direction::kGradInput};
  EXPECT_EQ(refusal(layer, Direction::kGradInput), "");
  EXPECT_EQ(refusal(layer, Direction::kForward),
            "directions: the layer has grad_input, and a kernel for forward is wanted; legal is 'directions forward, "
            "grad_input'");
  layer.directions = {Direction::kForward, Direction::kGradWeight};
  EXPECT_EQ(refusal(layer, Direction::kGradInput),
            "directions: the layer has forward, grad_weight, and a kernel for grad_input is wanted; legal is "
            "'directions forward, grad_input, grad_weight'");
  EXPECT_EQ(refusal(layer, Direction::kGradBias), "directions: grad_bias is of layers with 'bias'");
  layer.directions = {Direction::kForward};
  layer.fuse = {{ActivationKind::kRelu, 0, 0}};
  EXPECT_TRUE(refusal(layer, Direction::kGradInput).starts_with("fuse: gradients are those of the convolution alone"));
}

TEST(Limits, OfSlices) {
  EXPECT_EQ(broken([](Layer& l) { l.x_channels = 32; }), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.y_channels = 2147483647; }), Lines{});
  EXPECT_EQ(broken([](Layer& l) { l.x_channels = 31; }),
            Lines{"x_channels | x_channels 31 must be at least in_channels 32"});
  EXPECT_EQ(broken([](Layer& l) { l.y_channels = -1; }),
            Lines{"y_channels | y_channels -1 must be at least out_channels 48"});
  EXPECT_EQ(broken([](Layer& l) { l.y_channels = 2147483648; }),
            Lines{"y_channels | y_channels 2147483648 is too large: at most 2147483647 is supported"});
  const auto huge = [](Layer& l) {
    l.batch = 2147483647;
    l.axes[kHeight] = {.kernel = 1, .extent = 2147483647};
    l.axes[kWidth] = {.kernel = 1, .extent = 1};
  };
  EXPECT_EQ(broken([&](Layer& l) {
              huge(l);
              l.in_channels = l.out_channels = 1;
              l.groups = 1;
              l.fuse.clear();
              l.x_channels = 8;
            }),
            Lines{"input | the input has more elements than 64 bits can count"});
}

TEST(Limits, AllViolationsAreFound) {
  EXPECT_EQ(broken([](Layer& l) {
              l.in_channels = 0;
              set_axes(l, &Axis::kernel, {0, 0});
              set_axes(l, &Axis::stride, {0, 0});
              l.groups = 0;
              l.batch = -1;
              l.directions.clear();
            }).size(),
            6U);
}

TEST(Limits, ExtremeNumbersAreJudgedWithoutOverflow) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value : {kLeast, kMost}) {
    EXPECT_GE(broken([value](Layer& l) {
                l.in_channels = l.out_channels = l.groups = value;
                l.axes[kHeight] = l.axes[kWidth] = {value, value, value, value, value, value};
                l.batch = value;
              }).size(),
              5U);
  }
}

}  // namespace
}  // namespace convtgen
