#include "runtime/reference/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/reference/definition.h"

namespace convtgen {
namespace {

bool on_border(const Shape& shape, const ElementPosition& position) {
  return std::ranges::any_of(std::array{kHeight, kWidth}, [&](std::size_t axis) {
    return position.at[axis] == 0 || position.at[axis] == shape.out[axis] - 1;
  });
}

TEST(Samples, EveryBorderOutputIsAmongThem) {
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    for (const InputSizes sizes : {InputSizes{2, {20, 30}}, {1, {1, 30}}, {3, {20, 1}}, {2, {1, 1}}, {1, {2, 2}}}) {
      Layer layer;
      layer.out_channels = 3;
      layer.layout = layout;
      const Shape shape = *shape_of(layer, sizes);
      const Samples samples = choose_samples(layer, shape, {.random = 10, .most_borders = 100'000, .seed = 1});
      EXPECT_TRUE(samples.all_borders);
      EXPECT_TRUE(std::is_sorted(samples.offsets.begin(), samples.offsets.end()));
      const std::set<std::int64_t> chosen(samples.offsets.begin(), samples.offsets.end());
      EXPECT_EQ(chosen.size(), samples.offsets.size());
      std::int64_t borders = 0;
      for (std::int64_t offset = 0; offset < shape.output_elements; ++offset) {
        if (on_border(shape, position_of(layer, shape, Role::kY, offset))) {
          ++borders;
          ASSERT_TRUE(chosen.contains(offset));
        }
      }
      EXPECT_EQ(samples.border_elements, borders);
      EXPECT_GE(*chosen.begin(), 0);
      EXPECT_LT(*chosen.rbegin(), shape.output_elements);
    }
  }
}

TEST(Samples, AboveTheCapBordersAreSampledAndItSaysSo) {
  Layer layer;
  layer.out_channels = 64;
  const Shape shape = *shape_of(layer, {8, {50, 70}});
  const Samples samples = choose_samples(layer, shape, {.random = 1000, .most_borders = 8000, .seed = 2});
  EXPECT_FALSE(samples.all_borders);
  EXPECT_EQ(samples.border_elements, 8 * 64 * (2 * 70 + 2 * 48));
  EXPECT_LE(samples.offsets.size(), 9000U);
  EXPECT_GE(samples.offsets.size(), 5000U);
  std::int64_t borders = 0;
  std::set<std::int64_t> planes;
  std::set<std::pair<std::int64_t, std::int64_t>> corners;
  for (const std::int64_t offset : samples.offsets) {
    const ElementPosition position = position_of(layer, shape, Role::kY, offset);
    borders += on_border(shape, position) ? 1 : 0;
    planes.insert(position.n * 64 + position.c);
    corners.insert({position.at[kHeight], position.at[kWidth]});
  }
  EXPECT_GE(borders, 4000);
  EXPECT_EQ(planes.size(), 512U);
  for (const auto& corner : {std::pair{0, 0}, {0, 69}, {49, 0}, {49, 69}}) {
    EXPECT_TRUE(corners.contains({corner.first, corner.second}));
  }
}

TEST(Samples, SeedsAreReplayable) {
  Layer layer;
  const Shape shape = *shape_of(layer, {4, {100, 100}});
  EXPECT_EQ(choose_samples(layer, shape, {.seed = 9}).offsets, choose_samples(layer, shape, {.seed = 9}).offsets);
  EXPECT_NE(choose_samples(layer, shape, {.random = 50, .seed = 9}).offsets,
            choose_samples(layer, shape, {.random = 50, .seed = 10}).offsets);
}

TEST(Samples, NothingOfNothing) {
  Layer layer;
  EXPECT_TRUE(choose_samples(layer, *shape_of(layer, {0, {4, 4}})).offsets.empty());
}

}  // namespace
}  // namespace convtgen
