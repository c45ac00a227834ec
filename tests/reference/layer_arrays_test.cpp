#include "runtime/reference/layer_arrays.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/layer/set_axes.h"
#include "tests/reference/small_layers.h"

namespace convtgen {
namespace {

TEST(LayerArrays, PositionsAndOffsetsOfWeightsAreInverse) {
  Layer layer;
  layer.in_channels = 6;
  layer.out_channels = 4;
  layer.groups = 2;
  set_axes(layer, &Axis::kernel, {3, 7});
  EXPECT_EQ(weight_offset(layer, {.in = 5, .out = 1, .tap = 20}), 6 * 2 * 21 - 1);
  EXPECT_EQ(weight_offset(layer, {.in = 1, .out = 1, .tap = 3}), 42 + 21 + 3);
  Layer turned = layer;
  turned.weight_layout = WeightLayout::kChannelsLast;
  EXPECT_EQ(weight_offset(turned, {.in = 1, .out = 1, .tap = 3}), 42 + 3 * 2 + 1);
  for (const Layer& each : {layer, turned}) {
    for (std::int64_t offset = 0; offset < 6 * 2 * 21; ++offset) {
      EXPECT_EQ(weight_offset(each, weight_position(each, offset)), offset);
    }
  }
}

using Lengths = std::vector<std::int64_t>;

TEST(LayerArrays, GradientsHaveTheShapesOfWhatTheyAreGradientsOf) {
  Layer layer;
  layer.in_channels = 6;
  layer.out_channels = 4;
  layer.groups = 2;
  set_axes(layer, &Axis::kernel, {3, 7});
  layer.layout = Layout::kNhwc;
  layer.weight_layout = WeightLayout::kChannelsLast;
  const Shape shape = *shape_of(layer, {2, {5, 8}});
  EXPECT_EQ(array_shape(layer, shape, Role::kGradX), (Lengths{2, 5, 8, 6}));
  EXPECT_EQ(array_shape(layer, shape, Role::kGradY), (Lengths{2, 7, 14, 4}));
  EXPECT_EQ(array_shape(layer, shape, Role::kGradWeight), (Lengths{6, 3, 7, 2}));
  EXPECT_EQ(array_shape(layer, shape, Role::kGradBias), (Lengths{4}));
  for (std::size_t i = 0; i < kRoles; ++i) {
    const auto role = static_cast<Role>(i);
    std::int64_t elements = 1;
    for (const std::int64_t length : array_shape(layer, shape, role)) {
      elements *= length;
    }
    EXPECT_EQ(element_count(shape, role), elements) << name_of(role);
    EXPECT_EQ(array_shape(layer, shape, role), array_shape(layer, shape, without_gradient(role)));
  }
}

TEST(LayerArrays, PositionsAndOffsetsAreInverse) {
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) {
    const Layer layer = testing::small_layer(random);
    const Shape shape = *shape_of(layer, *known_sizes(layer));
    for (const Role role : {Role::kX, Role::kY, Role::kGradX, Role::kWeight, Role::kGradWeight, Role::kGradBias}) {
      for (std::int64_t offset = 0; offset < element_count(shape, role); ++offset) {
        const ElementPosition position = position_of(layer, shape, role, offset);
        ASSERT_EQ(offset_of(layer, shape, role, position), offset) << name_of(role);
      }
    }
    for (std::int64_t offset = 0; offset < shape.output_elements; ++offset) {
      const ElementPosition position = position_of(layer, shape, Role::kY, offset);
      ASSERT_LT(position.n, shape.batch);
      ASSERT_LT(position.c, shape.out_channels);
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        ASSERT_LT(position.at[axis], shape.out[axis]);
      }
    }
  }
}

TEST(LayerArrays, PositionsAreToldInTheArraysOwnIndices) {
  Layer layer;
  EXPECT_EQ(position_text(layer, Role::kY, {1, 2, {0, 7, 4}}), "y[n=1, c=2, y=7, x=4]");
  EXPECT_EQ(position_text(layer, Role::kGradX, {1, 2, {0, 7, 4}}), "grad_x[n=1, c=2, y=7, x=4]");
  EXPECT_EQ(position_text(layer, Role::kGradWeight, {3, 0, {0, 1, 2}}), "grad_weight[ci=3, co=0, kh=1, kw=2]");
  EXPECT_EQ(position_text(layer, Role::kGradBias, {.c = 5}), "grad_bias[co=5]");
  layer.dimensions = 3;
  EXPECT_EQ(position_text(layer, Role::kGradX, {1, 2, {3, 7, 4}}), "grad_x[n=1, c=2, z=3, y=7, x=4]");
  EXPECT_EQ(position_text(layer, Role::kGradWeight, {3, 0, {4, 1, 2}}), "grad_weight[ci=3, co=0, kd=4, kh=1, kw=2]");
}

}  // namespace
}  // namespace convtgen
