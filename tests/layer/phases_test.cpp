// The phases against the plain definition: o = i * stride - padding + k * dilation, by brute force.
#include "generator/layer/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace convtgen {
namespace {

TEST(Phases, EveryAxisUpToSixAgreesWithTheDefinition) {
  int pairs = 0;
  for (std::int64_t kernel = 1; kernel <= 6; ++kernel) {
    for (std::int64_t stride = 1; stride <= 6; ++stride) {
      for (std::int64_t padding = 0; padding <= 7; ++padding) {
        for (std::int64_t dilation = 1; dilation <= 6; ++dilation) {
          const Axis axis{.kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation};
          std::int64_t least = std::numeric_limits<std::int64_t>::max();
          std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
          for (std::int64_t k = 0; k < kernel; ++k) {
            least = std::min(least, offset_of_tap(axis, k));
            greatest = std::max(greatest, offset_of_tap(axis, k));
            ASSERT_GE(phase_of_tap(axis, k), 0);
            ASSERT_LT(phase_of_tap(axis, k), stride);
            for (std::int64_t i = 0; i < 9; ++i) {
              const std::int64_t o = i * stride - padding + k * dilation;
              if (o < 0) {
                continue;
              }
              ASSERT_EQ(o % stride, phase_of_tap(axis, k));
              ASSERT_EQ(i, o / stride + offset_of_tap(axis, k));
              ++pairs;
            }
          }
          ASSERT_EQ(least, least_offset(axis));
          ASSERT_EQ(greatest, greatest_offset(axis));
        }
      }
    }
  }
  EXPECT_GT(pairs, 10000);
}

TEST(Phases, NoOtherOutputTakesTheTap) {
  for (std::int64_t stride = 1; stride <= 5; ++stride) {
    for (std::int64_t padding = 0; padding <= 5; ++padding) {
      for (std::int64_t dilation = 1; dilation <= 5; ++dilation) {
        const Axis axis{.kernel = 4, .stride = stride, .padding = padding, .dilation = dilation};
        for (std::int64_t k = 0; k < axis.kernel; ++k) {
          for (std::int64_t o = 0; o < 20; ++o) {
            const bool exact = (o + padding - k * dilation) % stride == 0;
            ASSERT_EQ(exact, o % stride == phase_of_tap(axis, k));
          }
        }
      }
    }
  }
}

// Constant expressions, since templates and plans need them as such.
static_assert(phase_of_tap({.kernel = 3, .stride = 2, .padding = 1, .dilation = 1}, 0) == 1);
static_assert(offset_of_tap({.kernel = 3, .stride = 2, .padding = 1, .dilation = 1}, 0) == 1);
static_assert(offset_of_tap({.kernel = 3, .stride = 2, .padding = 1, .dilation = 1}, 2) == 0);
static_assert(least_offset({.kernel = 7, .stride = 1, .padding = 3, .dilation = 1}) == -3);
static_assert(greatest_offset({.kernel = 7, .stride = 1, .padding = 3, .dilation = 1}) == 3);

}  // namespace
}  // namespace convtgen
