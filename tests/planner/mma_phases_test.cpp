#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Two layers of benchmarks/layers.convt, one of an open height, and one of small strides.
constexpr const char* kPhaseLayers[] = {
    "56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480; bias; compute tf32",
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype bf16",
    "21 -> 7; kernel 2x5; stride 1x3; input ?x?x40; dtype f16; weight_layout channels_last",
    "40 -> 3; kernel 5x5; padding 2x2; input 2x9x12; compute tf32",
};

void expect_fit_and_order(const std::string& layer) {
  for (const Target& target : known_targets()) {
    if (!target.features.has(Feature::kTma)) {
      continue;
    }
    const Problem problem = problem_of(layer, target.architecture);
    const std::vector<Plan> plans = kMmaPhases.plans(problem).value();
    EXPECT_LE(plans.size(), 16u);
    double before = 0;
    for (const Plan& each : plans) {
      SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
      EXPECT_LE(each.launch.main().shared_bytes, problem.target.max_shared_bytes);
      EXPECT_LE((each.launch.main().shared_bytes + 1024) * integer(each, "blocks_per_sm"),
                std::max(problem.target.shared_bytes_per_sm, problem.target.max_shared_bytes + 1024));
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
      EXPECT_EQ(each.predicted_seconds, kMmaPhases.seconds(problem, each, planned_sizes(problem.layer)));
      EXPECT_EQ(each.launch.main().threads, 32 * (integer(each, "warps") + 1));
      EXPECT_LE(each.launch.main().threads * integer(each, "blocks_per_sm"), problem.target.max_threads_per_sm);
      EXPECT_EQ(each.launch.packed_bytes(), 0);
    }
  }
}

TEST(PlanMmaPhases, PlansFitTheChipAndAreTheBestFirst) {
  for (const std::string layer : kPhaseLayers) {
    expect_fit_and_order(layer);
  }
}

// What one copy brings has at most 256 elements of an axis, and rows of it are whole 16 bytes. Lanes read four channels
// at a time, which lie 8 or 24 banks apart.
TEST(PlanMmaPhases, TensorCopiesBringRowsToDifferentBanks) {
  for (const std::string layer : kPhaseLayers) {
    const Problem problem = problem_of(layer);
    const std::int64_t bytes = problem.layer.dtype == Dtype::kF32 ? 4 : 2;
    const std::vector<Plan> plans = kMmaPhases.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      const LaunchPlan launch = each.launch;
      ASSERT_EQ(launch.kernels.size(), 1u);
      EXPECT_TRUE(launch.regions.empty());
      ASSERT_EQ(launch.maps.size(), 1u);
      const TensorMap& form = launch.maps[0].form;
      EXPECT_EQ(form.box[0], integer(each, "staged_columns"));
      EXPECT_EQ(form.box[0] * bytes % 16, 0);
      EXPECT_EQ(form.box[2], integer(each, "block_k"));
      for (const std::uint32_t size : form.box) {
        EXPECT_LE(size, 256u);
      }
      const std::int64_t banks = std::int64_t{form.box[0]} * form.box[1] % 32;
      EXPECT_TRUE(banks == 8 || banks == 24) << banks;
    }
  }
}

TEST(PlanMmaPhases, IsTheFirstChoiceForFewOutputChannelsInTf32) {
  const Problem problem = problem_of("64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 8x128x128; compute tf32");
  EXPECT_EQ(plan(problem).value().front().template_name, "mma_phases");
}

TEST(PlanMmaPhases, SaysWhyNot) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"16 -> 1; kernel 3; stride 2; input 1x8x8; compute f32x3", "compute f32x3; it takes tf32, f16, bf16"},
      {"16 -> 2; kernel 3; stride 2; groups 2; input 1x8x8; compute tf32", "2 groups; it takes 1"},
      {"16 -> 1; kernel 3; dilation 2; input 1x8x8; compute tf32", "dilation 2 in height; it takes 1"},
      {"16 -> 17; kernel 3; stride 2; input 1x8x8; compute tf32",
       "17 output channels in 4 phases, 68 rows of products; at most 64"},
      {"16 -> 13; kernel 3; stride 2; input 1x8x8; dtype f16",
       "52 rows of products take 128 accumulators of a thread at the least; at most 96"},
      {"16 -> 1; kernel 3; stride 9; input 1x8x8; compute tf32", "81 phases; at most 64, which are rows of products"},
      {"16 -> 1; kernel 7x5; input 1x8x8; compute tf32", "35 taps of an output; at most 32, which are unrolled"},
      {"16 -> 1; kernel 3; stride 2; input 1x8x8; compute tf32; layout nhwc",
       "layout nhwc; it takes nchw, whose positions of a row are vectors"},
      {"16 -> 1; kernel 3; stride 2; input 1x8x?; compute tf32",
       "a width that the layer leaves open; tensor copies of rows need it"},
      {"8192 -> 1; kernel 4; stride 1; input 1x8x8; compute tf32",
       "131072 weights and two stages take 8195.1 KiB of shared memory at the least; a block of sm_90a has 227.0 KiB"},
  };
  for (const auto& [layer, why] : kRefused) {
    const auto plans = kMmaPhases.plans(problem_of(layer));
    ASSERT_FALSE(plans) << layer;
    EXPECT_EQ(plans.error().message, why) << layer;
  }
  const auto odd = kMmaPhases.plans(problem_of("16 -> 1; kernel 3; stride 2; input 1x8x10; compute tf32"));
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().message.find("10"), std::string::npos) << odd.error().message;
  EXPECT_EQ(kMmaPhases.plans(problem_of(kPhaseLayers[0], "sm_89")).error().message,
            "architecture sm_89 has no TMA; it takes sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121");
}

}  // namespace
}  // namespace convtgen
