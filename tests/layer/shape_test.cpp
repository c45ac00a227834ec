#include "generator/layer/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Layer layer_with(std::int64_t in, std::int64_t out, std::initializer_list<std::int64_t> kernel) {
  Layer layer;
  layer.in_channels = in;
  layer.out_channels = out;
  set_axes(layer, &Axis::kernel, kernel);
  return layer;
}

// The definition, term by term.
std::int64_t counted(const Layer& layer, const Shape& shape) {
  const auto pairs = [](std::int64_t in, std::int64_t out, const Axis& axis) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t o = i * axis.stride - axis.padding.before + k * axis.dilation;
        found += o >= 0 && o < out ? 1 : 0;
      }
    }
    return found;
  };
  return pairs(shape.in[kHeight], shape.out[kHeight], layer.axes[kHeight]) *
         pairs(shape.in[kWidth], shape.out[kWidth], layer.axes[kWidth]) * shape.batch * layer.in_channels *
         (layer.out_channels / layer.groups);
}

TEST(Shape, OutputExtentIsPyTorchs) {
  // torch.nn.ConvTranspose2d: DCGAN's 4x4 stride 2 padding 1 doubles; the seeds of the project.
  EXPECT_EQ(output_extent({4, 2, 1, 0, 1}, 4), 8);
  EXPECT_EQ(output_extent({3, 1, 1, 0, 1}, 512), 512);
  EXPECT_EQ(output_extent({3, 2, 1, 1, 1}, 128), 256);
  EXPECT_EQ(output_extent({3, 2, 1, 1, 1}, 40), 80);
  EXPECT_EQ(output_extent({7, 3, 2, 2, 1}, 60), 182);
  EXPECT_EQ(output_extent({7, 1, 0, 0, 1}, 512), 518);
  EXPECT_EQ(output_extent({1, 1, 5, 0, 1}, 1), -9);
  EXPECT_EQ(output_extent({3, 2, 1, 0, 3}, 5), 13);
}

TEST(Shape, PaddingAfterMovesTheOutputsEnd) {
  EXPECT_EQ(output_extent({3, 2, {0, 1}, 0, 1}, 5), 10);
  for (const Axis& axis : {Axis{4, 2, {0, 3}, 1, 1}, Axis{4, 2, {5, 1}, 0, 3}, Axis{1, 1, {0, 2}, 0, 1}}) {
    const Axis even = symmetric(axis);
    EXPECT_EQ(even.padding, Padding(axis.padding.before));
    for (std::int64_t in = 1; in < 10; ++in) {
      EXPECT_EQ(output_extent(even, in), output_extent(axis, in));
    }
  }
}

TEST(Shape, OutputExtentNeverWrapsAround) {
  EXPECT_EQ(output_extent({1, kMost, 0, 0, 1}, kMost), kMost);
  EXPECT_EQ(output_extent({kMost, kMost, 0, kMost, kMost}, kMost), kMost);
  EXPECT_EQ(output_extent({1, 1, kMost, 0, 1}, 1), std::numeric_limits<std::int64_t>::min());
}

TEST(Shape, OfALayer) {
  Layer layer = layer_with(32, 48, {3, 7});
  set_axes(layer, &Axis::stride, {2, 3});
  set_axes(layer, &Axis::padding, {1, 2});
  set_axes(layer, &Axis::output_padding, {1, 2});
  layer.groups = 4;
  const auto shape = shape_of(layer, {4, {40, 60}});
  ASSERT_TRUE(shape) << shape.error().message;
  const Shape expected{.batch = 4,
                       .in_channels = 32,
                       .in = {40, 60},
                       .out_channels = 48,
                       .out = {80, 182},
                       .input_elements = 4 * 32 * 40 * 60,
                       .weight_elements = 32 * 12 * 21,
                       .output_elements = 4 * 48 * 80 * 182};
  EXPECT_EQ(*shape, expected);
}

TEST(Shape, EmptyBatchIsLegal) {
  const auto shape = shape_of(layer_with(2, 2, {3, 3}), {0, {2147483647, 5}});
  ASSERT_FALSE(shape);  // the output is too high, batch or no batch
  const auto empty = shape_of(layer_with(2, 2, {3, 3}), {0, {4, 5}});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->output_elements, 0);
  EXPECT_EQ(empty->input_elements, 0);
  EXPECT_EQ(empty->weight_elements, 36);
  EXPECT_EQ(multiply_adds(layer_with(2, 2, {3, 3}), *empty), 0);
}

TEST(Shape, RefusesSizesThatDoNotFit) {
  const auto message = [](const Layer& layer, const InputSizes& sizes) {
    const auto shape = shape_of(layer, sizes);
    return shape ? std::string("accepted") : shape.error().message;
  };
  Layer layer = layer_with(4, 4, {1, 1});
  EXPECT_EQ(message(layer, {-1, {1, 1}}), "batch -1 must be at least 0");
  EXPECT_EQ(message(layer, {1, {0, 1}}), "height 0 must be at least 1");
  EXPECT_EQ(message(layer, {1, {1, -5}}), "width -5 must be at least 1");
  EXPECT_EQ(message(layer, {1, {1, 1LL << 31}}), "width 2147483648 is too large: at most 2147483647 is supported");
  EXPECT_EQ(message(layer, {2147483647, {2147483647, 2147483647}}),
            "the input, 2147483647 x 4 x 2147483647 x 2147483647, has more elements than 64 bits can count");
  layer.axes[kHeight].extent = 8;
  EXPECT_EQ(message(layer, {1, {9, 1}}), "height 9 contradicts the layer, whose height is 8");
  set_axes(layer, &Axis::padding, {4, 0});
  layer.axes[kHeight].extent.reset();
  EXPECT_EQ(message(layer, {1, {8, 1}}), "output height would be 0 for input height 8; it must be at least 1");
  EXPECT_EQ(message(layer, {1, {9, 1}}), "accepted");
  set_axes(layer, &Axis::padding, {0, 0});
  set_axes(layer, &Axis::stride, {1 << 20, 1});
  EXPECT_EQ(message(layer, {1, {4096, 1}}), "output height 4293918721 is too large: at most 2147483647 is supported");
  set_axes(layer, &Axis::stride, {0, 1});
  EXPECT_EQ(message(layer, {1, {1, 1}}), "stride 0 must be at least 1 (height)");
}

TEST(Shape, OutputElementsMayOverflowWhereInputsDoNot) {
  Layer layer = layer_with(1, 2147483647, {1, 1});
  EXPECT_TRUE(shape_of(layer, {1, {2147483647, 1}}));
  const auto shape = shape_of(layer, {4, {2147483647, 2}});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message,
            "the output, 4 x 2147483647 x 2147483647 x 2, has more elements than 64 bits can count");
}

TEST(Shape, KnownSizesNamesWhatIsOpen) {
  Layer layer = layer_with(1, 1, {1, 1});
  ASSERT_FALSE(known_sizes(layer));
  EXPECT_EQ(known_sizes(layer).error().message,
            "batch, height, width given as '?' in the layer: known only at run time");
  layer.batch = 2;
  layer.axes[kWidth].extent = 3;
  EXPECT_EQ(known_sizes(layer).error().message, "height given as '?' in the layer: known only at run time");
  layer.axes[kHeight].extent = 0;
  ASSERT_TRUE(known_sizes(layer));
  EXPECT_EQ(*known_sizes(layer), (InputSizes{2, {0, 3}}));
}

TEST(MultiplyAdds, AgreeWithTheDefinition) {
  std::mt19937_64 random(7);
  const auto pick = [&random](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int legal = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Layer layer = layer_with(0, 0, {pick(1, 6), pick(1, 6)});
    layer.groups = pick(1, 3);
    layer.in_channels = layer.groups * pick(1, 3);
    layer.out_channels = layer.groups * pick(1, 3);
    set_axes(layer, &Axis::stride, {pick(1, 5), pick(1, 5)});
    set_axes(layer, &Axis::padding, {pick(0, 8), pick(0, 8)});
    set_axes(layer, &Axis::dilation, {pick(1, 4), pick(1, 4)});
    set_axes(layer, &Axis::output_padding, {pick(0, 4), pick(0, 4)});
    const auto shape = shape_of(layer, {pick(0, 3), {pick(1, 9), pick(1, 9)}});
    if (!shape) {
      continue;
    }
    ++legal;
    ASSERT_EQ(multiply_adds(layer, *shape), counted(layer, *shape)) << "trial " << trial;
  }
  EXPECT_GT(legal, 1000);
}

TEST(MultiplyAdds, OfTheFirstSeedLayer) {
  Layer layer = layer_with(32, 32, {3, 7});
  set_axes(layer, &Axis::padding, {1, 3});
  const auto shape = shape_of(layer, {8, {512, 1024}});
  ASSERT_TRUE(shape);
  // Every tap but those that fall off the border: 3 * 512 - 2 rows, 7 * 1024 - 2 * (1 + 2 + 3) columns.
  EXPECT_EQ(multiply_adds(layer, *shape), 8LL * 32 * 32 * (3 * 512 - 2) * (7 * 1024 - 12));
}

TEST(MultiplyAdds, AreQuickAndDoNotWrapAroundForHugeSizes) {
  const Layer layer = layer_with(1 << 20, 1 << 20, {64, 64});
  const auto shape = shape_of(layer, {1, {2000000, 2000000}});
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(multiply_adds(layer, *shape), kMost);
}

}  // namespace
}  // namespace convtgen
