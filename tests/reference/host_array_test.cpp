#include "runtime/reference/host_array.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/reference/numbers.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

TEST(HostArray, ElementsAreRoundedToTheDtype) {
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    HostArray array = make_array(dtype, {2, 3});
    EXPECT_EQ(array.size(), 6);
    EXPECT_EQ(array.bytes.size(), 6U * static_cast<unsigned>(bytes_of(dtype)));
    EXPECT_EQ(array.at(5), 0.0);
    array.set(4, 1.0 / 3);
    EXPECT_EQ(array.at(4), round_to(dtype, 1.0 / 3));
    EXPECT_EQ(array.at(3), 0.0);
    EXPECT_EQ(array.at(5), 0.0);
  }
}

TEST(HostArray, RandomNumbersDependOnSeedAndIndexAlone) {
  const HostArray a = random_array(Dtype::kF32, {200'000}, 7, 2.0);
  const HostArray again = random_array(Dtype::kF32, {200'000}, 7, 2.0);
  const HostArray longer = random_array(Dtype::kF32, {2, 150'000}, 7, 2.0);
  const HostArray other = random_array(Dtype::kF32, {200'000}, 8, 2.0);
  EXPECT_EQ(a.bytes, again.bytes);
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), longer.bytes.begin()));
  int same = 0;
  double sum = 0, squares = 0, least = 9, most = -9;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    same += a.at(i) == other.at(i) ? 1 : 0;
    sum += a.at(i);
    squares += a.at(i) * a.at(i);
    least = std::min(least, a.at(i));
    most = std::max(most, a.at(i));
  }
  EXPECT_LT(same, 20);
  EXPECT_NEAR(sum / 200'000, 0.0, 0.02);
  EXPECT_NEAR(squares / 200'000, 4.0 / 3, 0.02);  // variance of a uniform in [-2, 2)
  EXPECT_GE(least, -2.0);
  EXPECT_LE(most, 2.0);
}

TEST(HostArray, PositionsAndOffsetsOfWeightsAreInverse) {
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

TEST(HostArray, InputsHaveTheLayersShapes) {
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

}  // namespace
}  // namespace convtgen
