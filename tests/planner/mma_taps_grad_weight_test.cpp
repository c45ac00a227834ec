#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers of one output channel and of some, with and without groups, of one axis, of an open size, whose values are
/// split.
constexpr const char* kMmaTapsLayers[] = {
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; layout nhwc",
    "56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x472; bias; compute tf32",
    "48 -> 128; kernel 5x5; stride 3x3; groups 8; input 2x30x63; dtype bf16; layout nhwc",
    "256 -> 1; kernel 1x40; stride 1x20; input 8x1x3199; compute f32x3",
    "48 -> 3; kernel 4x4; stride 2x2; padding 1x1; input ?x64x64; dtype f16",
};

Problem taps_problem(const std::string& layer, std::string_view architecture = "sm_90a") {
  return problem_of(layer + "; directions grad_weight", architecture);
}
Plan first_taps_plan(const std::string& layer) {
  return kMmaTapsGradWeight.plans(taps_problem(layer)).value().front();
}

TEST(PlanMmaTapsGradWeight, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kMmaTapsLayers) {
    for (const Target& target : known_targets()) {
      const auto plans = kMmaTapsGradWeight.plans(taps_problem(layer, target.architecture));
      if (!plans) {
        EXPECT_EQ(target.architecture, "sm_75") << layer << ": " << plans.error().message;
        continue;
      }
      double before = 0;
      for (const Plan& each : *plans) {
        SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
        const std::int64_t blocks = integer(each, "blocks_per_sm");
        const KernelPlan& main = each.launch.main();
        EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + 1024) * blocks, target.shared_bytes_per_sm);
        EXPECT_LE(main.threads * blocks, target.max_threads_per_sm);
        EXPECT_EQ(main.threads,
                  32 * integer(each, "warps_in") * integer(each, "warps_columns") * integer(each, "warps_k"));
        EXPECT_GE(each.predicted_seconds.value(), before);
        before = each.predicted_seconds.value();
      }
    }
  }
}

TEST(PlanMmaTapsGradWeight, IsTheFirstChoiceWhereOutputChannelsAreFew) {
  for (const std::string layer : kMmaTapsLayers) {
    for (const char* architecture : {"sm_80", "sm_90a"}) {
      EXPECT_EQ(plan(taps_problem(layer, architecture)).value().front().template_name, "mma_taps_grad_weight") << layer;
    }
  }
}

TEST(PlanMmaTapsGradWeight, LeavesMoreOutputChannelsToProductsByTap) {
  for (const char* layer : {"128 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; layout nhwc",
                            "64 -> 32; kernel 3x3; input 8x128x128; compute tf32"}) {
    EXPECT_NE(plan(taps_problem(layer)).value().front().template_name, "mma_taps_grad_weight") << layer;
  }
}

TEST(PlanMmaTapsGradWeight, LongKernelsArePartedAndChannelsShareBlocksEvenly) {
  const Plan first =
      first_taps_plan("1025 -> 1; kernel 1x2048; stride 1x1024; padding 0x1024; input 16x1x340; dtype f16");
  EXPECT_LT(integer(first, "taps_w"), 2048) << first.reason;
  EXPECT_LE((1025 + integer(first, "block_in") - 1) / integer(first, "block_in") * integer(first, "block_in"), 1088);
}

TEST(PlanMmaTapsGradWeight, CopiesAreAsLargeAsRowsAllow) {
  EXPECT_EQ(first_taps_plan("64 -> 4; kernel 4x4; stride 2x2; input 8x64x64; dtype f16; layout nhwc").alignment, 16);
  EXPECT_EQ(first_taps_plan("6 -> 2; kernel 3x3; stride 2x2; input 8x64x63; dtype f16; layout nhwc").alignment, 4);
  EXPECT_EQ(first_taps_plan("64 -> 3; kernel 4x4; stride 2x2; input 8x64x?; dtype f16").alignment, 2);
}

}  // namespace
}  // namespace convtgen
