#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Three layers of benchmarks/layers.convt, one of open sizes, and one whose weights have the channels of a tap
/// together.
constexpr const char* kPatchLayers[] = {
    "256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; bias; dtype f16; layout nhwc",
    "128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; bias; dtype bf16; layout nhwc",
    "256 -> 128; kernel 4x4; stride 4x4; input 4x62x54; dtype f16; layout nhwc",
    "24 -> 40; kernel 2x4; stride 2x4; input ?x?x?; dtype f16; layout nhwc",
    "104 -> 72; kernel 3x3; stride 3x3; input 2x31x17; dtype bf16; layout nhwc; weight_layout channels_last",
};

TEST(PlanPatchGemm, PlansFitTheChipAndAreTheBestFirst) {
  for (const std::string layer : kPatchLayers) {
    const Problem problem = problem_of(layer);
    const std::vector<Plan> plans = kPatchGemm.plans(problem).value();
    double before = 0;
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      EXPECT_LE(each.launch.main().shared_bytes, problem.target.max_shared_bytes);
      EXPECT_LE(integer(each, "block_c") * tap_count(problem.layer), 256);
      EXPECT_GE(integer(each, "stages"), 2);
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
      EXPECT_EQ(each.predicted_seconds, kPatchGemm.seconds(problem, each, planned_sizes(problem.layer)));
      EXPECT_EQ(each.launch.packed_bytes(), 0);
    }
  }
}

// All pixels of all images are rows of one matrix, and rows of a box are as wide as their swizzle.
TEST(PlanPatchGemm, TensorCopiesBringPixelsAndWeightsAsTheyLie) {
  for (const std::string layer : kPatchLayers) {
    const Problem problem = problem_of(layer);
    const bool turned = problem.layer.weight_layout == WeightLayout::kChannelsLast;
    const std::vector<Plan> plans = kPatchGemm.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      const LaunchPlan launch = each.launch;
      ASSERT_EQ(launch.kernels.size(), 1u);
      EXPECT_TRUE(launch.regions.empty());
      ASSERT_EQ(launch.maps.size(), 2u);
      EXPECT_EQ(launch.maps[0].form.rank, 2);
      EXPECT_EQ(launch.maps[0].sizes[1], (Amount{.factor = 1, .per = Quantity::kInPixels}));
      EXPECT_EQ(launch.maps[0].form.box[0], integer(each, "block_k"));
      EXPECT_EQ(launch.maps[1].form.rank, turned ? 3 : 2);
      EXPECT_EQ(launch.maps[1].form.box[0], turned ? integer(each, "block_c") : 64);
      EXPECT_EQ(launch.maps[1].form.box[1], integer(each, "block_k"));
    }
  }
}

// A block of weights stays on an SM, and the grid has as many blocks as SMs, whole sets of channel tiles.
TEST(PlanPatchGemm, BlocksStayAndGoOnToOtherPixels) {
  const Problem problem = problem_of(kPatchLayers[0]);
  const Grid grid = kPatchGemm.plans(problem).value().front().launch.main().grid;
  EXPECT_EQ(grid.blocks_per_tile, 4);
  EXPECT_EQ(grid.most_tiles, problem.target.multiprocessors / 4);
}

TEST(PlanPatchGemm, IsTheFirstChoiceForManyChannels) {
  const Problem problem = problem_of("256 -> 256; kernel 2x2; stride 2x2; input 101x14x14; dtype f16; layout nhwc");
  EXPECT_EQ(plan(problem).value().front().template_name, "patch_gemm");
}

TEST(PlanPatchGemm, SaysWhyNot) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"16 -> 16; kernel 2; stride 2; input 1x8x8; compute tf32; layout nhwc", "compute tf32; it takes f16, bf16"},
      {"16 -> 16; kernel 2; stride 2; input 1x8x8; dtype f16",
       "layout nchw; it takes nhwc, whose pixels are rows of channels"},
      {"16 -> 16; kernel 2; stride 2; groups 2; input 1x8x8; dtype f16; layout nhwc", "2 groups; it takes 1"},
      {"16 -> 16; kernel 4; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "a kernel of 4 and a stride of 2 in height; it takes kernels that are as large as their stride"},
      {"16 -> 16; kernel 2; stride 2; padding 0x1; input 1x8x8; dtype f16; layout nhwc",
       "padding in width; it takes none, so that each pixel makes outputs of its own alone"},
      {"16 -> 16; kernel 2; stride 2; output_padding 1; input 1x8x8; dtype f16; layout nhwc",
       "padding in height; it takes none, so that each pixel makes outputs of its own alone"},
      {"16 -> 12; kernel 2; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "16 input and 12 output channels; tensor copies and stores need whole 16 bytes, multiples of 8"},
      {"16 -> 16; kernel 8; stride 8; input 1x8x8; dtype f16; layout nhwc",
       "64 taps; a product has at most 256 columns, 16 channels of 16 taps"},
      {"16 -> 16; kernel 3; stride 3; input 1x8x8; dtype f16; layout nhwc",
       "9 taps of contiguous weights; it takes 4, 8 and 16, and others where the channels of a tap follow one another"},
      {"4096 -> 16; kernel 4; stride 4; input 1x8x8; dtype f16; layout nhwc",
       "4096 input channels; the weights of 16 channels of 16 taps do not fit shared memory"},
  };
  for (const auto& [layer, why] : kRefused) {
    const auto plans = kPatchGemm.plans(problem_of(layer));
    ASSERT_FALSE(plans) << layer;
    EXPECT_EQ(plans.error().message, why) << layer;
  }
  EXPECT_FALSE(kPatchGemm.plans(problem_of(kPatchLayers[0], "sm_80")));
}

}  // namespace
}  // namespace convtgen
