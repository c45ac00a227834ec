#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Two layers of benchmarks/layers.convt, one of open sizes, one of a stride of 1, and one row.
constexpr const char* kColumnLayers[] = {
    "56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480; bias; dtype f16; layout nhwc",
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype bf16; layout nhwc",
    "24 -> 7; kernel 2x5; stride 1x3; input ?x?x?; dtype f16; layout nhwc; weight_layout channels_last",
    "40 -> 8; kernel 5x5; padding 2x2; input 2x9x300; bias; dtype f16; layout nhwc",
    "136 -> 2; kernel 1x16; stride 1x8; padding 0x4; input 16x1x8000; dtype bf16; layout nhwc",
};

TEST(PlanPhaseGemm, PlansFitTheChipAndAreTheBestFirst) {
  for (const std::string layer : kColumnLayers) {
    const Problem problem = problem_of(layer);
    const std::vector<Plan> plans = kPhaseGemm.plans(problem).value();
    EXPECT_LE(plans.size(), 16u);
    double before = 0;
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      EXPECT_LE((each.launch.main().shared_bytes + 1024) * integer(each, "blocks_per_sm"),
                std::max(problem.target.shared_bytes_per_sm, problem.target.max_shared_bytes + 1024));
      EXPECT_GE(integer(each, "stages"), 2);
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
      EXPECT_EQ(each.predicted_seconds, kPhaseGemm.seconds(problem, each, planned_sizes(problem.layer)));
      EXPECT_EQ(each.launch.main().threads, 128 * integer(each, "warpgroups") + 32);
      EXPECT_EQ(each.launch.packed_bytes(), 0);
    }
  }
}

// A copy brings one row of each image of a tile, whose pixels are as wide as their swizzle.
TEST(PlanPhaseGemm, TensorCopiesBringRowsOfPixels) {
  for (const std::string layer : kColumnLayers) {
    const Problem problem = problem_of(layer);
    const Axis& columns = problem.layer.axes[kWidth];
    const std::int64_t reach = (columns.kernel + columns.stride - 1) / columns.stride;
    const std::vector<Plan> plans = kPhaseGemm.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      const LaunchPlan launch = each.launch;
      ASSERT_EQ(launch.kernels.size(), 1u);
      EXPECT_TRUE(launch.regions.empty());
      ASSERT_EQ(launch.maps.size(), 1u);
      const TensorMap& form = launch.maps[0].form;
      EXPECT_EQ(form.box[0], integer(each, "block_k"));
      EXPECT_EQ(form.box[1], integer(each, "tile_w") + reach - 1);
      EXPECT_EQ(form.box[2], 1u);
      EXPECT_EQ(form.box[3], integer(each, "tile_n"));
      for (const std::uint32_t size : form.box) {
        EXPECT_LE(size, 256u);
      }
    }
  }
}

// Adjacent outputs of a row are stored together where all rows begin at whole vectors, as far as no columns are added.
TEST(PlanPhaseGemm, StoresVectorsOfAdjacentOutputs) {
  constexpr std::pair<const char*, std::int64_t> kStores[] = {
      {kColumnLayers[0], 4},
      {kColumnLayers[1], 1},  // a padding of one pixel of three channels
      {kColumnLayers[3], 2},  // eight outputs of a position, which four threads have
      {kColumnLayers[4], 4},
      {"16 -> 16; kernel 4; stride 2; padding 1; input 1x64x64; dtype f16; layout nhwc", 8},
      {"16 -> 1; kernel 4; stride 4; padding 1; input 1x64x64; dtype f16; layout nhwc", 1},
  };
  for (const auto& [layer, store] : kStores) {
    const std::vector<Plan> plans = kPhaseGemm.plans(problem_of(layer)).value();
    for (const Plan& each : plans) {
      EXPECT_EQ(integer(each, "store"), store) << layer;
    }
  }
}

TEST(PlanPhaseGemm, FillsProductsWithRowsOfSeveralImages) {
  const auto plans = kPhaseGemm.plans(problem_of(kColumnLayers[1])).value();
  EXPECT_GT(integer(plans.front(), "tile_n"), 1);
}

TEST(PlanPhaseGemm, IsTheFirstChoiceForFewOutputChannels) {
  const Problem problem =
      problem_of("56 -> 1; kernel 9x9; stride 2; padding 4; output_padding 1; input 4x256x256; dtype f16; layout nhwc");
  EXPECT_EQ(plan(problem).value().front().template_name, "phase_gemm");
}

TEST(PlanPhaseGemm, SaysWhyNot) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"16 -> 1; kernel 3; stride 2; input 1x8x8; compute tf32; layout nhwc", "compute tf32; it takes f16, bf16"},
      {"16 -> 1; kernel 3; stride 2; input 1x8x8; dtype f16",
       "layout nchw; it takes nhwc, whose pixels are rows of channels"},
      {"16 -> 2; kernel 3; stride 2; groups 2; input 1x8x8; dtype f16; layout nhwc", "2 groups; it takes 1"},
      {"16 -> 1; kernel 3; dilation 2; input 1x8x8; dtype f16; layout nhwc", "dilation 2 in height; it takes 1"},
      {"12 -> 1; kernel 3; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "12 input channels; tensor copies need whole 16 bytes, multiples of 8"},
      {"16 -> 32; kernel 4; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "4 phases of 32 output channels, which an input row adds to in 2 rows of positions; a product has at most 192 "
       "columns"},
      {"16 -> 1; kernel 64; stride 32; input 1x8x8; dtype f16; layout nhwc",
       "1024 phases of 1 output channels; a position has at most 128 outputs, whose stores are unrolled"},
      {"16 -> 48; kernel 2; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "4 phases of 48 output channels; a position has at most 128 outputs, whose stores are unrolled"},
      {"16 -> 129; kernel 1; input 1x8x8; dtype f16; layout nhwc",
       "1 phases of 129 output channels; a position has at most 128 outputs, whose stores are unrolled"},
      {"16 -> 1; kernel 1x66; stride 1x2; input 1x8x8; dtype f16; layout nhwc",
       "33 taps of an output along a row; at most 32, which are unrolled"},
      {"4096 -> 12; kernel 5; stride 2; input 1x8x8; dtype f16; layout nhwc",
       "4096 input channels of 25 taps and 12 output channels: their weights and two stages do not fit shared memory"},
  };
  for (const auto& [layer, why] : kRefused) {
    const auto plans = kPhaseGemm.plans(problem_of(layer));
    ASSERT_FALSE(plans) << layer;
    EXPECT_EQ(plans.error().message, why) << layer;
  }
  EXPECT_FALSE(kPhaseGemm.plans(problem_of(kColumnLayers[0], "sm_80")));
}

}  // namespace
}  // namespace convtgen
