#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::vector<Plan> shift_plans(std::string_view layer) {
  return kShiftGemm.plans(problem_of(layer)).value_or(std::vector<Plan>());
}

TEST(PlanShiftGemm, TakesNoFp32) {
  const std::string layer = "conv_transpose2d 64 -> 64; kernel 3x3; input 8x64x64";
  EXPECT_TRUE(shift_plans(layer).empty());  // strict f32
  for (const char* layout : {"; layout nchw", "; layout nhwc"}) {
    EXPECT_TRUE(shift_plans(layer + "; compute f32x3" + layout).empty());
    EXPECT_FALSE(shift_plans(layer + "; compute tf32" + layout).empty());
  }
}

TEST(PlanShiftGemm, SplitsChannelsOverClustersWhereTilesAreFew) {
  const std::string few = "conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 1x8x6";
  for (const char* mode : {"; compute tf32", "; dtype f16; layout nhwc"}) {
    const Problem problem{parse_layer(few + mode).value(), Direction::kForward, target_named("sm_90a").value()};
    int found = 0;
    for (const Plan& plan : shift_plans(few + mode)) {
      found += plan.launch.main().cluster > 1 ? 1 : 0;
      EXPECT_EQ(plan.launch.main().cluster, integer(plan, "cluster"));
      EXPECT_TRUE(plan.launch.main().cluster == 1 || !flag(plan, "resident"));
      EXPECT_EQ(integer(plan, "in_channels") / integer(plan, "block_k") % plan.launch.main().cluster, 0);
      EXPECT_LE(plan.launch.main().shared_bytes, problem.target.max_shared_bytes);
      const Grid& grid = plan.launch.main().grid;
      const Shape shape = shape_of(problem.layer, known_sizes(problem.layer).value()).value();
      EXPECT_EQ(grid.blocks(quantities_of(shape)).value() % plan.launch.main().cluster, 0);
      EXPECT_TRUE(plan.launch.main().cluster == 1 || grid.most_tiles == 0) << "a cluster makes one tile";
    }
    EXPECT_GT(found, 0) << mode;
  }
  for (const Plan& plan : shift_plans("conv_transpose2d 256 -> 256; kernel 3x3; input 64x64x64; compute tf32")) {
    EXPECT_EQ(plan.launch.main().cluster, 1);
  }
}

TEST(PlanShiftGemm, BringsPixelsOfManyBytesByBulkCopies) {
  const auto bulk = [](std::string_view layer) {
    std::vector<Plan> plans = shift_plans(layer);
    std::erase_if(plans, [](const Plan& plan) { return !flag(plan, "bulk"); });
    return plans;
  };
  const auto some = bulk("conv_transpose2d 128 -> 128; kernel 3x3; input 8x64x64; dtype f16; layout nhwc");
  EXPECT_FALSE(some.empty());
  for (const Plan& plan : some) {
    EXPECT_GE(plan.alignment, 16);
    EXPECT_GE(integer(plan, "block_k"), 64);
  }
  EXPECT_TRUE(bulk("conv_transpose2d 36 -> 128; kernel 3x3; input 8x64x64; dtype f16; layout nhwc").empty());
}

TEST(PlanShiftGemm, MakesGradientsOfTheInputOfLayersWithStrides) {
  for (const char* rest :
       {"kernel 2x2; stride 2x2; input 8x64x64; compute tf32", "kernel 4x4; stride 4x4; input 4x62x54; dtype bf16",
        "kernel 4x4; stride 2x2; padding 1x1; input 8x32x32; dtype f16; layout nhwc",
        "kernel 3x3; stride 5x5; dilation 2x2; input 4x9x9; compute tf32; layout nhwc",
        "kernel 5x5; stride 2x1; input ?x?x?; compute tf32", "kernel 1x16; stride 1x8; input 4x1x64; compute tf32"}) {
    const auto layer = parse_layer(std::string("conv_transpose2d 256 -> 128; directions grad_input; ") + rest);
    ASSERT_TRUE(layer) << rest;
    const Problem problem{*layer, Direction::kGradInput, target_named("sm_90a").value()};
    const Candidates all = candidates(problem).value();
    int found = 0;
    for (const Plan& plan : all.plans) {
      if (plan.template_name == "shift_gemm") {
        ++found;
        EXPECT_EQ(integer(plan, "stride_h") * integer(plan, "stride_w"), 1);
        EXPECT_EQ(integer(plan, "input_stride_h"), layer->axes[kHeight].stride);
        EXPECT_EQ(integer(plan, "input_stride_w"), layer->axes[kWidth].stride);
        EXPECT_LE(plan.launch.main().shared_bytes, problem.target.max_shared_bytes);
        EXPECT_GE(plan.launch.packed_bytes(), weight_elements(*layer) * bytes_of(layer->dtype));
      }
    }
    EXPECT_GT(found, 0) << rest;
    for (const std::string_view name : {"halo_gemm", "roll_gemm"}) {
      const auto refusal = std::ranges::find(all.refusals, name, &Refusal::template_name);
      ASSERT_NE(refusal, all.refusals.end()) << rest;
      EXPECT_TRUE(refusal->reason.contains("as a gradient of the input it takes 1")) << refusal->reason;
    }
  }
}

}  // namespace
}  // namespace convtgen
