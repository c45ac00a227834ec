#include "generator/planner/table/templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Depthwise (fcn8dw of benchmarks/layers.convt), and one of open sizes.
constexpr const char* kDepthwise = "21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64";
constexpr const char* kOpenRows = "6 -> 10; kernel 3x3; stride 1x2; groups 2";

TEST(PlanDirectRows, PlansFitTheChipAndAreTheBestFirst) {
  for (const char* layer : {kKb75, kKb81, kDepthwise, kOpenRows}) {
    for (const char* end : {"", "; layout nhwc", "; dtype f16", "; dtype f16; layout nhwc", "; dtype f64"}) {
      for (const Target& target : known_targets()) {
        Problem problem = problem_of(std::string(layer) + end);
        problem.target = target;
        const auto plans = kDirectRows.plans(problem);
        if (!plans) {
          EXPECT_THAT(plans.error().message,
                      ::testing::AnyOf(::testing::HasSubstr("arithmetic"), ::testing::HasSubstr("of a tile")))
              << layer << end;
          continue;
        }
        double before = 0;
        for (const Plan& each : *plans) {
          SCOPED_TRACE(fmt::format("{}{} {}: {}", layer, end, target.architecture, each.summary));
          EXPECT_LE(each.launch.main().shared_bytes, target.max_shared_bytes);
          EXPECT_LE(each.launch.main().shared_bytes * integer(each, "blocks_per_sm"), target.shared_bytes_per_sm);
          EXPECT_GE(each.predicted_seconds.value(), before);
          before = each.predicted_seconds.value();
          EXPECT_EQ(each.predicted_seconds, kDirectRows.seconds(problem, each, planned_sizes(problem.layer)));
          EXPECT_EQ(each.launch.main().threads,
                    32 * integer(each, "warps_x") * integer(each, "warps_c") * integer(each, "warps_y"));
          EXPECT_LE(integer(each, "lanes_c") * integer(each, "lanes_x"), 32);
          EXPECT_EQ(integer(each, "tile_rows") % integer(each, "warps_y"), 0);
        }
      }
    }
  }
}

// The accumulators of a thread: 9 of 25 phases have taps, three of a row.
TEST(PlanDirectRows, PhasesWithoutTapsTakeNoAccumulators) {
  const Plan plan = kDirectRows.plans(problem_of(std::string(kKb81) + "; dtype f16; layout nhwc")).value().front();
  EXPECT_THAT(plan.reason, ::testing::HasSubstr("in 3 phases"));
  EXPECT_GE(integer(plan, "channels_per_thread") * integer(plan, "columns_per_thread"), 16);
}

// A pixel's channels in whole sectors of 32 bytes, by vectors of 8 and 16 bytes.
TEST(PlanDirectRows, ChannelsOfAPixelAreStoredTogether) {
  for (const char* layer : {kKb75, kKb81}) {
    const auto plans = kDirectRows.plans(problem_of(std::string(layer) + "; dtype f16; layout nhwc")).value();
    for (const Plan& each : plans) {
      const std::int64_t vector = integer(each, "vector");
      EXPECT_EQ(integer(each, "channels_per_thread") % std::max<std::int64_t>(vector, 1), 0);
      EXPECT_GE(integer(each, "lanes_c") * integer(each, "channels_per_thread") * 2, 32);
      EXPECT_EQ(each.alignment, 16);  // of what is read at once too
    }
  }
  // Depthwise, all channels of a pixel go through shared memory, and the rows' ends are whole vectors.
  const Plan depthwise =
      kDirectRows.plans(problem_of(std::string(kDepthwise) + "; dtype f16; layout nhwc")).value().front();
  EXPECT_EQ(integer(depthwise, "vector"), 0);
  EXPECT_EQ(integer(depthwise, "lanes_c"), 21);
  EXPECT_EQ(depthwise.alignment, 16);
  // Rows of x that are whole vectors are staged as such. Where rows of both begin anywhere in one, none need be
  // aligned.
  EXPECT_EQ(kDirectRows.plans(problem_of(kKb75)).value().front().alignment, 16);
  const std::string odd = std::regex_replace(std::string(kKb75), std::regex("x256"), "x255");
  EXPECT_EQ(kDirectRows.plans(problem_of(odd)).value().front().alignment, 0);
}

TEST(PlanDirectRows, RefusalsNameTheLimit) {
  const auto refusal_of = [](const std::string& layer) {
    const auto refused = kDirectRows.plans(problem_of(layer));
    return refused ? "" : refused.error().message;
  };
  EXPECT_THAT(
      refusal_of("32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024"),
      ::testing::MatchesRegex("arithmetic takes .* times as long as the memory; it takes up to 4, since it speeds "
                              "up stores alone"));
  EXPECT_EQ(
      refusal_of("1 -> 1; kernel 1x100; stride 1x100; input 4x8x64; dtype f64"),
      "100 column phases, 100 of them with taps; a thread makes at most 128 outputs of a row, of 48 accumulators");
  EXPECT_THAT(
      refusal_of("8 -> 8; kernel 2x2; dilation 300x300; padding 150x150; input 4x300x300"),
      ::testing::MatchesRegex("8 input channels and 4 taps of a tile take .* KiB of shared memory at the least; a "
                              "block of sm_90a has 227.0 KiB"));
}

}  // namespace
}  // namespace convtgen
