#include "runtime/reference/layer_inputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/reference/definition.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

TEST(LayerInputs, HaveTheLayersShapes) {
  Layer layer;
  layer.in_channels = 6;
  layer.out_channels = 4;
  layer.groups = 2;
  set_axes(layer, &Axis::kernel, {3, 7});
  layer.bias = true;
  layer.dtype = Dtype::kBf16;
  layer.compute = Compute::kBf16;
  layer.layout = Layout::kNhwc;
  const Shape shape = *shape_of(layer, {2, {5, 8}});
  LayerInputs inputs = random_inputs(layer, shape, 1);
  EXPECT_EQ(inputs.x.shape, (std::vector<std::int64_t>{2, 5, 8, 6}));
  EXPECT_EQ(inputs.weight.shape, (std::vector<std::int64_t>{6, 2, 3, 7}));
  ASSERT_TRUE(inputs.bias);
  EXPECT_EQ(inputs.bias->shape, (std::vector<std::int64_t>{4}));
  EXPECT_TRUE(check_inputs(layer, shape, inputs));
  Layer turned = layer;
  turned.weight_layout = WeightLayout::kChannelsLast;
  EXPECT_EQ(weight_shape(turned), (std::vector<std::int64_t>{6, 3, 7, 2}));
  turned.dimensions = 3;
  turned.axes[kDepth].kernel = 5;
  EXPECT_EQ(weight_shape(turned), (std::vector<std::int64_t>{6, 5, 3, 7, 2}));

  LayerInputs wrong = inputs;
  wrong.bias.reset();
  EXPECT_NE(check_inputs(layer, shape, wrong).error().message.find("bias"), std::string::npos);
  wrong = inputs;
  wrong.x.shape = {2, 6, 5, 8};
  EXPECT_EQ(check_inputs(layer, shape, wrong).error().message, "x: the array is 2x6x5x8, the layer takes 2x5x8x6");
  wrong = inputs;
  wrong.weight.dtype = Dtype::kF16;
  EXPECT_EQ(check_inputs(layer, shape, wrong).error().message, "weight: the array holds f16, the layer takes bf16");
  wrong = inputs;
  wrong.x.bytes.pop_back();
  EXPECT_FALSE(check_inputs(layer, shape, wrong));
  layer.bias = false;
  EXPECT_FALSE(check_inputs(layer, shape, inputs));
}

TEST(LayerInputs, AreWhatTheDirectionReads) {
  Layer layer;
  layer.bias = true;
  const Shape shape = *shape_of(layer, {2, {3, 4}});
  for (const Direction direction : all_directions()) {
    const LayerInputs inputs = random_inputs(layer, shape, 1, direction);
    const std::vector<Role> read = roles_of(layer, direction).read;
    for (std::size_t i = 0; i < kRoles; ++i) {
      const auto role = static_cast<Role>(i);
      EXPECT_EQ(inputs.of(role) != nullptr, std::ranges::find(read, role) != read.end())
          << name_of(direction) << ": " << name_of(role);
    }
    EXPECT_TRUE(check_inputs(layer, shape, inputs, direction)) << name_of(direction);
    for (const Role role : read) {
      LayerInputs wrong = inputs;
      wrong.set(role, make_array(layer.dtype, {2, 2, 2}));
      const auto checked = check_inputs(layer, shape, wrong, direction);
      ASSERT_FALSE(checked) << name_of(direction) << ": " << name_of(role);
      EXPECT_EQ(checked.error().message.find(std::string(name_of(role)) + ": the array is 2x2x2, the layer takes "), 0u)
          << checked.error().message;
    }
  }
  const LayerInputs forward = random_inputs(layer, shape, 1);
  EXPECT_EQ(check_inputs(layer, shape, forward, Direction::kGradWeight).error().message,
            "grad_y: grad_weight reads it, and no array was given for it");
  LayerInputs more = random_inputs(layer, shape, 1, Direction::kGradBias);
  more.x.shape = {1};  // which is not looked at
  EXPECT_TRUE(check_inputs(layer, shape, more, Direction::kGradBias));
}

// Of few terms as of many.
TEST(LayerInputs, KeepSumsNearOne) {
  for (const std::int64_t extent : {8, 256}) {
    Layer layer;
    layer.in_channels = 8;
    layer.out_channels = 16;
    set_axes(layer, &Axis::kernel, {2, 3});
    set_axes(layer, &Axis::stride, {1, 2});
    layer.bias = true;
    const Shape shape = *shape_of(layer, {2, {extent, extent}});
    for (const Direction direction : all_directions()) {
      const LayerInputs inputs = random_inputs(layer, shape, 3, direction);
      for (const Role role : roles_of(layer, direction).written) {
        double squares = 0;
        const std::vector<double> sums = define_all(layer, shape, inputs, role).sum;
        for (const double sum : sums) {
          squares += sum * sum;
        }
        const double root = std::sqrt(squares / static_cast<double>(sums.size()));
        EXPECT_GT(root, 0.3) << name_of(direction) << ": " << name_of(role) << " at " << extent;
        EXPECT_LT(root, 4) << name_of(direction) << ": " << name_of(role) << " at " << extent;
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
