#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers with phases, of one phase, of an open size, with groups and a dilation with a stride, and of one axis.
constexpr const char* kSplitLayers[] = {
    "128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; layout nhwc",
    "64 -> 64; kernel 3x7; padding 1x3; input 8x512x512; compute f32x3",
    "33 -> 20; kernel 5x5; stride 3x3; input ?x?x?; compute f32x3; bias",
    "256 -> 256; kernel 3x3; stride 2x2; dilation 3x3; groups 2; input 8x140x152; compute f32x3; layout nhwc",
    "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias; compute f32x3",
};

TEST(PlanF32x3Mma, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kSplitLayers) {
    for (const Target& target : known_targets()) {
      const Problem problem = problem_of(layer, target.architecture);
      const bool is_turing = !target.features.has(Feature::kCpAsync);
      double before = 0;
      const std::vector<Plan> plans = kF32x3Mma.plans(problem).value();
      for (const Plan& each : plans) {
        SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
        const KernelPlan& main = each.launch.main();
        EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + (is_turing ? 0 : 1024)) * integer(each, "blocks_per_sm"),
                  target.shared_bytes_per_sm);
        EXPECT_LE(main.threads * integer(each, "blocks_per_sm"), target.max_threads_per_sm);
        EXPECT_GE(each.predicted_seconds.value(), before);
        before = each.predicted_seconds.value();
      }
    }
  }
}

std::string first_choice(const Problem& problem) {
  return plan(problem).value().front().template_name;
}

// Tensor cores do three products of f16 where these are faster than one of fp32 without: on boards for data centres and
// workstations. Accumulating in fp32, those of a GeForce are half as fast. Layers of many channels are mma_pixels'
// then.
TEST(PlanF32x3Mma, TensorCoresAreTheFirstChoiceWhereTheyAreFastEnough) {
  for (const std::string layer : kSplitLayers) {
    for (const char* architecture : {"sm_75", "sm_80", "sm_89"}) {
      Problem problem = problem_of(layer, architecture);
      const std::string first = first_choice(problem);
      EXPECT_TRUE(first == "f32x3_mma" || (first == "mma_pixels" && architecture != std::string("sm_75")))
          << first << ": " << layer << ", " << architecture;
      if (architecture == std::string("sm_89")) {
        problem.target.sm.mma_cycles *= 2;
        EXPECT_EQ(kF32x3Mma.plans(problem).error().message,
                  "three products of f16 take 1.51 times as long as one of f32 without tensor cores; at most 1");
      }
    }
    EXPECT_NE(first_choice(problem_of(layer)), "f32x3_mma") << layer;
  }
}

}  // namespace
}  // namespace convtgen
