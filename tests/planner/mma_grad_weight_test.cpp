#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers with taps that share loads, with planes of their own, of an open size, with groups and a dilation beside a
/// stride, of one axis, and of small images.
constexpr const char* kSummedLayers[] = {
    "64 -> 64; kernel 3x7; padding 1x3; input 8x512x512; compute tf32",
    "128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; dtype f16; layout nhwc; bias",
    "33 -> 20; kernel 5x5; stride 3x3; input ?x?x?; dtype bf16; bias",
    "64 -> 48; kernel 3x3; stride 2x2; dilation 3x3; groups 2; input 8x80x104; dtype f16; layout nhwc",
    "512 -> 256; kernel 1x16; stride 1x8; padding 0x4; input 16x1x512; bias; compute tf32",
    "512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f16",
};

Problem weights_of(const std::string& layer, std::string_view architecture) {
  return problem_of(layer + "; directions grad_weight", architecture);
}

TEST(PlanMmaGradWeight, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kSummedLayers) {
    for (const Target& target : known_targets()) {
      if (!target.features.has(Feature::kCpAsync)) {
        continue;
      }
      double before = 0;
      const std::vector<Plan> plans = kMmaGradWeight.plans(weights_of(layer, target.architecture)).value();
      for (const Plan& each : plans) {
        SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
        const std::int64_t blocks = integer(each, "blocks_per_sm");
        const KernelPlan& main = each.launch.main();
        EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + 1024) * blocks, target.shared_bytes_per_sm);
        EXPECT_LE(main.threads * blocks, target.max_threads_per_sm);
        EXPECT_EQ(main.threads, 32 * integer(each, "warps_in") * integer(each, "warps_out") *
                                    integer(each, "warps_taps") * integer(each, "warps_k"));
        EXPECT_GE(each.predicted_seconds.value(), before);
        before = each.predicted_seconds.value();
      }
    }
  }
}

TEST(PlanMmaGradWeight, IsTheFirstChoiceWhereThereIsNoWgmma) {
  for (const std::string layer : kSummedLayers) {
    EXPECT_EQ(plan(weights_of(layer, "sm_80")).value().front().template_name, "mma_grad_weight") << layer;
    EXPECT_EQ(plan(weights_of(layer, "sm_89")).value().front().template_name, "mma_grad_weight") << layer;
  }
  // There it is what is left where the others refuse.
  EXPECT_NE(plan(weights_of(kSummedLayers[0], "sm_90a")).value().front().template_name, "mma_grad_weight");
  EXPECT_NE(plan(weights_of(kSummedLayers[1], "sm_90a")).value().front().template_name, "mma_grad_weight");
}

}  // namespace
}  // namespace convtgen
