#include "runtime/reference/telling_inputs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "runtime/reference/definition.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

Layer layer_of(Layout layout, std::int64_t groups = 1) {
  Layer layer;
  layer.in_channels = 20 * groups;
  layer.out_channels = 6 * groups;
  layer.groups = groups;
  set_axes(layer, &Axis::kernel, {2, 3});
  layer.layout = layout;
  layer.bias = true;
  layer.compute = Compute::kF32x3;
  return layer;
}

// An element of x by its place, whatever the layout.
double x_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs, std::int64_t image, std::int64_t channel,
            std::int64_t pixel) {
  const std::int64_t plane = shape.in[kHeight] * shape.in[kWidth];
  return inputs.x.at(layer.layout == Layout::kNhwc ? (image * plane + pixel) * layer.in_channels + channel
                                                   : (image * layer.in_channels + channel) * plane + pixel);
}

TEST(TellingInputs, BlocksOfChannelsHaveTheirMagnitudes) {
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    for (const std::int64_t groups : {1, 3}) {
      const Layer layer = layer_of(layout, groups);
      const Shape shape = *shape_of(layer, {2, {9, 7}});
      const ChannelMagnitudes magnitudes{8, {0, 39, std::nullopt, -39}};
      const LayerInputs staged = staged_inputs(layer, shape, 1, magnitudes);
      const LayerInputs exact = exact_inputs(layer, shape, 1, magnitudes);
      ASSERT_TRUE(check_inputs(layer, shape, staged) && check_inputs(layer, shape, exact));
      for (std::int64_t image = 0; image < 2; ++image) {
        for (std::int64_t group = 0; group < groups; ++group) {
          for (std::int64_t block = 0; block < 3; ++block) {
            const auto exponent = magnitudes.exponents[static_cast<std::size_t>((block + image) % 4)];
            const double want = exponent ? std::exp2(*exponent) : 0;
            double most = 0;
            int largest = 0;
            for (std::int64_t channel = block * 8; channel < std::min<std::int64_t>(block * 8 + 8, 20); ++channel) {
              for (std::int64_t pixel = 0; pixel < 63; ++pixel) {
                most = std::max(most, std::abs(x_at(layer, shape, staged, image, group * 20 + channel, pixel)));
                const double value = std::abs(x_at(layer, shape, exact, image, group * 20 + channel, pixel));
                largest += value == want ? 1 : 0;
                EXPECT_TRUE(value == want || (value >= want * 0x1p-27 && value < want * 0x1p-26));
              }
            }
            EXPECT_EQ(most, want * (1 - 0x1p-24));
            EXPECT_EQ(largest, exponent ? 1 : (block == 2 ? 4 : 8) * 63);
          }
        }
      }
    }
  }
}

TEST(TellingInputs, OutputsOfExactInputsAreElementsOfX) {
  const Layer layer = layer_of(Layout::kNchw);
  const Shape shape = *shape_of(layer, {2, {9, 7}});
  const LayerInputs inputs = exact_inputs(layer, shape, 5, {8, {0, 3}});
  std::set<double> mantissas{0};
  for (std::int64_t i = 0; i < inputs.x.size(); ++i) {
    int exponent = 0;
    mantissas.insert(std::frexp(std::abs(inputs.x.at(i)), &exponent));
  }
  int others_than_zero = 0;
  for (const double sum : define_all(layer, shape, inputs).sum) {
    int exponent = 0;
    EXPECT_TRUE(mantissas.contains(std::frexp(std::abs(sum), &exponent)));
    others_than_zero += sum != 0 ? 1 : 0;
  }
  EXPECT_GT(others_than_zero, shape.output_elements / 2);
}

TEST(TellingInputs, AnOutputChannelHasWeightsOfBlocksOfOneMagnitude) {
  const Layer layer = layer_of(Layout::kNchw);
  const Shape shape = *shape_of(layer, {1, {2, 2}});
  const LayerInputs inputs = staged_inputs(layer, shape, 1, {8, {0, 1, 2}});
  for (std::int64_t i = 0; i < inputs.weight.size(); ++i) {
    const std::int64_t channel = i / 36, output = i / 6 % 6;
    EXPECT_EQ(inputs.weight.at(i) != 0, output % 3 == channel / 8) << i;
  }
}

TEST(TellingInputs, TruncationChangesOneOperandAndRoundingTheOther) {
  Layer layer = layer_of(Layout::kNchw);
  layer.compute = Compute::kTf32;
  const Shape shape = *shape_of(layer, {1, {5, 4}});
  const auto low_bits = [](const HostArray& array) {
    std::set<std::uint32_t> bits;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      bits.insert(std::bit_cast<std::uint32_t>(static_cast<float>(array.at(i))) & 0x1fffU);
    }
    return bits;
  };
  const LayerInputs of_x = truncation_inputs(layer, shape, 1, Truncated::kX);
  EXPECT_EQ(low_bits(of_x.x), std::set<std::uint32_t>{0x1fff});
  EXPECT_EQ(low_bits(of_x.weight), std::set<std::uint32_t>{0x0fff});
  const LayerInputs of_weight = truncation_inputs(layer, shape, 1, Truncated::kWeight);
  EXPECT_EQ(low_bits(of_weight.x), std::set<std::uint32_t>{0x0fff});
  EXPECT_EQ(low_bits(of_weight.weight), std::set<std::uint32_t>{0x1fff});
}

}  // namespace
}  // namespace convtgen
