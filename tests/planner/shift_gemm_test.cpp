#include "generator/planner/shift_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"

namespace convtgen {
namespace {

std::vector<Plan> plans_of(std::string_view layer) {
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  return plans_shift_gemm({parsed.value_or(Layer{}), Direction::kForward, target_named("sm_90a").value()})
      .value_or(std::vector<Plan>());
}

std::int64_t integer(const Plan& plan, const char* name) {
  return std::get<std::int64_t>(plan.parameters.at(name));
}
bool flag(const Plan& plan, const char* name) {
  return std::get<bool>(plan.parameters.at(name));
}

TEST(PlanShiftGemm, SplitsWhatIsF32x3AndNothingElse) {
  const std::string layer = "conv_transpose2d 64 -> 64; kernel 3x3; input 8x64x64";
  EXPECT_TRUE(plans_of(layer).empty());  // strict f32
  for (const char* layout : {"; layout nchw", "; layout nhwc"}) {
    EXPECT_FALSE(plans_of(layer + "; compute f32x3" + layout).empty());
    for (const Plan& plan : plans_of(layer + "; compute f32x3" + layout)) {
      EXPECT_TRUE(flag(plan, "split"));
    }
    for (const Plan& plan : plans_of(layer + "; compute tf32" + layout)) {
      EXPECT_FALSE(flag(plan, "split"));
      EXPECT_TRUE(flag(plan, "ahead"));
    }
  }
}

// Each addition on tensor cores truncates, so no more than 16 follow one another.
TEST(PlanShiftGemm, SumsOfF32x3AreShort) {
  for (const char* layer : {"conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6",
                            "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024",
                            "conv_transpose2d 64 -> 8; kernel 9x9; stride 3x1; input 1x64x64",
                            "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512",
                            "conv_transpose2d 64 -> 32; kernel 5x5; input 8x128x128; layout nhwc",
                            "conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 8x128x128; layout nhwc"}) {
    const std::string text = std::string(layer) + "; compute f32x3";
    const Layer parsed = parse_layer(text).value();
    const std::vector<Plan> plans = plans_of(text);
    EXPECT_FALSE(plans.empty()) << text;
    for (const Plan& plan : plans) {
      const std::int64_t rows =
          (parsed.axes[kHeight].kernel + parsed.axes[kHeight].stride - 1) / parsed.axes[kHeight].stride;
      const std::int64_t row =
          (parsed.axes[kWidth].kernel + parsed.axes[kWidth].stride - 1) / parsed.axes[kWidth].stride;
      const std::int64_t added = integer(plan, "add_rows");
      const std::int64_t terms = row * (added > 0 ? added : rows * integer(plan, "chunk") / 16);
      EXPECT_LE(terms, 16) << text << ": " << plan.reason;
    }
  }
}

TEST(PlanShiftGemm, PlansOfF32x3FitTheChip) {
  for (const char* layer : {"conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6",
                            "conv_transpose2d 100 -> 20; kernel 3x3; stride 2x3; input 4x30x31; bias",
                            "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; layout nhwc"}) {
    const Problem problem{parse_layer(std::string(layer) + "; compute f32x3").value(), Direction::kForward,
                          target_named("sm_90a").value()};
    const std::vector<Plan> plans = plans_shift_gemm(problem).value();
    EXPECT_FALSE(plans.empty()) << layer;
    for (const Plan& plan : plans) {
      EXPECT_LE(plan.shared_bytes, problem.target.max_shared_bytes);
      EXPECT_EQ(plan.packed_bytes % 16, 0);
      EXPECT_GT(plan.packed_bytes, problem.layer.in_channels * problem.layer.out_channels *
                                       problem.layer.axes[kHeight].kernel * problem.layer.axes[kWidth].kernel *
                                       4);  // and scales
      EXPECT_NE(plan.reason.find("three f16"), std::string::npos) << plan.reason;
      EXPECT_GT(plan.predicted_seconds.value_or(0), 0);
    }
  }
}

TEST(PlanShiftGemm, PartsChannelsOverClustersWhereTilesAreFew) {
  const std::string few = "conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 1x8x6";
  for (const char* mode : {"; compute tf32", "; dtype f16; layout nhwc"}) {
    const Problem problem{parse_layer(few + mode).value(), Direction::kForward, target_named("sm_90a").value()};
    int found = 0;
    for (const Plan& plan : plans_of(few + mode)) {
      found += plan.cluster > 1 ? 1 : 0;
      EXPECT_EQ(plan.cluster, integer(plan, "cluster"));
      EXPECT_TRUE(plan.cluster == 1 || !flag(plan, "resident"));
      EXPECT_EQ(integer(plan, "in_channels") / integer(plan, "chunk") % plan.cluster, 0);
      EXPECT_LE(plan.shared_bytes, problem.target.max_shared_bytes);
      const TileGrid grid = shift_gemm_grid(problem, plan);
      const Shape shape = shape_of(problem.layer, known_sizes(problem.layer).value()).value();
      EXPECT_EQ(grid.grid().blocks(quantities_of(shape)).value() % plan.cluster, 0);
      EXPECT_TRUE(plan.cluster == 1 || grid.most_tiles == 0) << "a cluster makes one tile";
    }
    EXPECT_GT(found, 0) << mode;
  }
  for (const Plan& plan : plans_of(few + "; compute f32x3")) {
    EXPECT_EQ(plan.cluster, 1);
  }
  for (const Plan& plan : plans_of("conv_transpose2d 256 -> 256; kernel 3x3; input 64x64x64; compute tf32")) {
    EXPECT_EQ(plan.cluster, 1);
  }
}

TEST(PlanShiftGemm, BringsPixelsOfManyBytesByBulkCopies) {
  const auto pieces = [](std::string_view layer) {
    std::vector<Plan> plans = plans_of(layer);
    std::erase_if(plans, [](const Plan& plan) { return !flag(plan, "bulk"); });
    return plans;
  };
  const auto some = pieces("conv_transpose2d 128 -> 128; kernel 3x3; input 8x64x64; dtype f16; layout nhwc");
  EXPECT_FALSE(some.empty());
  for (const Plan& plan : some) {
    EXPECT_GE(plan.alignment, 16);
    EXPECT_GE(integer(plan, "chunk"), 64);
  }
  for (const char* none : {"conv_transpose2d 36 -> 128; kernel 3x3; input 8x64x64; dtype f16; layout nhwc",
                           "conv_transpose2d 128 -> 128; kernel 3x3; input 8x64x64; compute f32x3; layout nhwc"}) {
    EXPECT_TRUE(pieces(none).empty()) << none;
  }
}

}  // namespace
}  // namespace convtgen
