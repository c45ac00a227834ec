#include "generator/planner/table/templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::string refusal_of(const std::string& layer, std::string_view architecture = "sm_90a") {
  const auto plans = kMmaRows.plans(problem_of(layer, architecture));
  return plans ? "" : plans.error().message;
}

/// Many groups, images of one row, open sizes.
constexpr const char* kManyGroups = "512 -> 512; kernel 3x3; groups 32; input 4x56x56";
constexpr const char* kOneRow = "48 -> 96; kernel 1x4; stride 1x2; padding 0x1; groups 2; input 8x1x4096";
constexpr const char* kOpenGroups = "24 -> 24; kernel 3x3; groups 3";

TEST(PlanMmaRows, PlansFitTheChipAndAreTheBestFirst) {
  int made = 0;
  for (const char* layer : {kKb75, kKb81, kManyGroups, kOneRow, kOpenGroups}) {
    for (const char* end : {"; dtype f16; layout nhwc", "; dtype bf16; layout nhwc"}) {
      for (const Target& target : known_targets()) {
        if (target.capability < 80) {
          continue;
        }
        Problem problem = problem_of(std::string(layer) + end);
        problem.target = target;
        const auto plans = kMmaRows.plans(problem);
        ASSERT_TRUE(plans) << layer << target.architecture << plans.error().message;
        double before = 0;
        for (const Plan& each : *plans) {
          SCOPED_TRACE(fmt::format("{}{} {}: {}", layer, end, target.architecture, each.summary));
          ++made;
          EXPECT_LE(each.launch.main().shared_bytes, target.max_shared_bytes);
          EXPECT_LE(each.launch.main().shared_bytes * integer(each, "blocks_per_sm"), target.shared_bytes_per_sm);
          EXPECT_GE(each.predicted_seconds.value(), before);
          before = each.predicted_seconds.value();
          EXPECT_EQ(each.predicted_seconds, kMmaRows.seconds(problem, each, planned_sizes(problem.layer)));
          EXPECT_EQ(each.launch.main().threads, 32 * integer(each, "warps"));
          EXPECT_EQ(each.alignment, 16);
          // Channels of a tile are whole groups or an even part of one, and of a pixel whole sectors of 32 bytes.
          const std::int64_t channels = integer(each, "tile_channels");
          const std::int64_t of_group = problem.layer.out_channels / problem.layer.groups;
          EXPECT_EQ(problem.layer.out_channels % channels, 0);
          EXPECT_TRUE(channels % of_group == 0 || of_group % channels == 0);
          EXPECT_TRUE(channels % 16 == 0 || channels == problem.layer.out_channels);
          // All warps have work.
          EXPECT_EQ(integer(each, "tile_rows") * integer(each, "column_tiles") % integer(each, "warps"), 0);
        }
      }
    }
  }
  EXPECT_GT(made, 200);
}

TEST(PlanMmaRows, AreFirstWhereMemoryBoundsGroupsIn16Bits) {
  for (const char* layer : {kKb75, kKb81}) {
    for (const char* end : {"; dtype f16; layout nhwc", "; dtype bf16; layout nhwc"}) {
      EXPECT_EQ(plan(problem_of(std::string(layer) + end)).value().front().template_name, "mma_rows") << layer;
    }
  }
}

TEST(PlanMmaRows, RefusalsNameThePropertyAndTheLimit) {
  const std::string layer = "; kernel 3x3; input 4x56x56";
  EXPECT_EQ(refusal_of("32 -> 32" + layer + "; dtype f16; layout nhwc"), "");
  EXPECT_EQ(refusal_of("32 -> 32" + layer + "; dtype f16; layout nhwc", "sm_75"),
            "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, sm_100, sm_103, "
            "sm_110, sm_120, sm_121");
  EXPECT_EQ(refusal_of("32 -> 32" + layer + "; compute tf32; layout nhwc"), "compute tf32; it takes f16, bf16");
  EXPECT_EQ(refusal_of("32 -> 32" + layer + "; dtype f16"),
            "layout nchw; it takes nhwc, whose channels of a pixel are vectors");
  EXPECT_EQ(refusal_of("32 -> 64; groups 8" + layer + "; dtype f16; layout nhwc"),
            "groups of 4 input channels; products take multiples of 8");
  EXPECT_EQ(refusal_of("64 -> 32; groups 8" + layer + "; dtype f16; layout nhwc"),
            "groups of 4 output channels; products take multiples of 8");
  EXPECT_EQ(refusal_of("8 -> 8; kernel 3x70; stride 1x70; input 4x8x8; dtype f16; layout nhwc"),
            "stride 70 along columns; at most 64, the phases that are written out");
  EXPECT_EQ(refusal_of("8 -> 8; kernel 1x130; input 4x8x8; dtype f16; layout nhwc"),
            "130 kernel columns; at most 128, which are written out");
  EXPECT_EQ(refusal_of("8 -> 8; kernel 1x32; stride 1x32; input 4x8x8; dtype f16; layout nhwc"),
            "32 column phases with taps; a thread holds the accumulators of at most 24");
  EXPECT_THAT(
      refusal_of("256 -> 256" + layer + "; dtype f16; layout nhwc"),
      ::testing::MatchesRegex("products take .* times as long as the memory; it takes up to 4, since it speeds up "
                              "stores alone"));
  EXPECT_THAT(refusal_of("8 -> 8; kernel 2x2; dilation 300x300; padding 150x150; input 4x300x300; dtype f16; layout "
                         "nhwc"),
              ::testing::StartsWith("8 input channels and 4 taps of a tile take "));
}

}  // namespace
}  // namespace convtgen
