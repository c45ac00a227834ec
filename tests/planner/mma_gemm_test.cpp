#include "generator/planner/table/templates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers with phases, with few phases, of an open size, with groups and a dilation with a stride, and of one axis.
constexpr const char* kWindowLayers[] = {
    "128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc",
    "64 -> 64; kernel 3x7; padding 1x3; input 8x512x512; compute tf32",
    "33 -> 20; kernel 5x5; stride 3x3; input ?x?x?; dtype bf16; bias",
    "64 -> 48; kernel 3x3; stride 2x2; dilation 3x3; groups 2; input 2x40x52; dtype f16; layout nhwc",
    "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias; compute tf32",
};

TEST(PlanMmaGemm, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kWindowLayers) {
    for (const Target& target : known_targets()) {
      const Problem problem = problem_of(layer, target.architecture);
      const bool is_turing = !target.features.has(Feature::kCpAsync);
      if (is_turing && problem.layer.compute != Compute::kF16) {
        continue;
      }
      double before = 0;
      const std::vector<Plan> plans = kMmaGemm.plans(problem).value();
      for (const Plan& each : plans) {
        SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
        const std::int64_t blocks = integer(each, "blocks_per_sm");
        const KernelPlan& main = each.launch.main();
        EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + (is_turing ? 0 : 1024)) * blocks, target.shared_bytes_per_sm);
        EXPECT_LE(main.threads * blocks, target.max_threads_per_sm);
        EXPECT_EQ(main.threads, 32 * integer(each, "warps_m") * integer(each, "warps_n"));
        EXPECT_GE(each.predicted_seconds.value(), before);
        before = each.predicted_seconds.value();
        EXPECT_GT(each.launch.packed_bytes(), 0);
      }
    }
  }
}

TEST(PlanMmaGemm, IsTheFirstChoiceWhereThereIsNoWgmma) {
  // Of more channels, and of images that are small for their halo, mma_pixels makes more.
  for (const std::string layer : {kWindowLayers[1], kWindowLayers[2]}) {
    EXPECT_EQ(plan(problem_of(layer, "sm_80")).value().front().template_name, "mma_gemm") << layer;
    EXPECT_EQ(plan(problem_of(layer, "sm_89")).value().front().template_name, "mma_gemm") << layer;
  }
  EXPECT_EQ(plan(problem_of(kWindowLayers[0], "sm_75")).value().front().template_name, "mma_gemm");
  // There it is what is left where the others refuse.
  EXPECT_NE(plan(problem_of(kWindowLayers[0])).value().front().template_name, "mma_gemm");
  EXPECT_NE(plan(problem_of(kWindowLayers[1])).value().front().template_name, "mma_gemm");
}

// A thread of a row's parts has adjacent positions: the outputs of these are stored together.
TEST(PlanMmaGemm, RowsOfNchwAreStoredByVectors) {
  const Problem problem = problem_of("64 -> 64; kernel 3; padding 1; input 8x512x512; compute tf32", "sm_80");
  const std::vector<Plan> plans = kMmaGemm.plans(problem).value();
  EXPECT_TRUE(std::ranges::any_of(plans, [](const Plan& each) {
    return integer(each, "part_w") == 64 && integer(each, "store") == integer(each, "warp_tiles");
  }));
}

// A gradient of the input whose taps read every second output, as stride and dilation have a common divisor, stages no
// other one.
TEST(PlanMmaGemm, OutputsThatNoTapReadsAreNotStaged) {
  for (const char* layout : {"nchw", "nhwc"}) {
    const auto seconds = [&](int dilation) {
      const Problem problem = problem_of(
          fmt::format("32 -> 64; kernel 3; stride 2; padding 1; dilation {}; input 64x64x64; dtype f16; layout {}; "
                      "directions grad_input",
                      dilation, layout),
          "sm_80");
      return plans_of(kMmaGemm, problem).value().front().predicted_seconds.value();
    };
    EXPECT_LT(seconds(2), 0.8 * seconds(1)) << layout;
  }
}

}  // namespace
}  // namespace convtgen
