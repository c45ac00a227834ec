#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::vector<Plan> halo_plans(std::string_view layer) {
  return kHaloGemm.plans(problem_of(layer)).value_or(std::vector<Plan>());
}

TEST(PlanHaloGemm, AppliesToWhatTheTemplateCanDo) {
  const std::string layer = "conv_transpose2d 64 -> 64; kernel 3x3; input 8x64x64; dtype f16; layout nhwc";
  EXPECT_FALSE(halo_plans(layer).empty());
  EXPECT_FALSE(kHaloGemm.plans(problem_of(layer, "sm_80")));
  EXPECT_TRUE(halo_plans(layer + "; groups 2").empty());
  EXPECT_FALSE(halo_plans(layer + "; dilation 2x3").empty());
  EXPECT_TRUE(halo_plans(layer + "; stride 2x2; dilation 2x1").empty());
  EXPECT_TRUE(halo_plans("conv_transpose2d 64 -> 64; kernel 3x3; input 8x64x64; layout nhwc").empty());  // strict f32
}

TEST(PlanHaloGemm, ImagesMakeOneSequenceOnlyWhereTheTemplateKnowsTheirPitch) {
  const auto any_flat = [](const std::vector<Plan>& plans) {
    return std::ranges::any_of(plans, [](const Plan& plan) { return flag(plan, "flat"); });
  };
  EXPECT_TRUE(
      any_flat(halo_plans("conv_transpose2d 64 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; "
                          "dtype f16; layout nhwc")));
  EXPECT_TRUE(any_flat(halo_plans("conv_transpose1d 64 -> 64; kernel 5; dtype f16; layout nhwc")));
  for (const Plan& plan : halo_plans("conv_transpose2d 64 -> 64; kernel 3x3; dtype f16; layout nhwc")) {
    EXPECT_FALSE(flag(plan, "flat"));
  }
}

TEST(PlanHaloGemm, PingPongWarpgroupsHaveMoreStagesThanATileHasKBlocks) {
  int ping_pong = 0;
  for (const std::string layer :
       {"conv_transpose2d 64 -> 64; kernel 3x3; input 8x1024x1024", "conv_transpose1d 128 -> 128; kernel 3",
        "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias"}) {
    for (const char* mode : {"; dtype f16; layout nhwc", "; compute tf32", "; dtype f16"}) {
      const std::int64_t channels = problem_of(layer).layer.in_channels;
      for (const Plan& plan : halo_plans(layer + mode)) {
        if (flag(plan, "ping_pong")) {
          ++ping_pong;
          EXPECT_GT(integer(plan, "stages") * integer(plan, "block_k"), channels) << layer << mode;
        }
      }
    }
  }
  EXPECT_GT(ping_pong, 0);
}

TEST(PlanHaloGemm, TilesOfVolumesGoAlongTheDepth) {
  const auto refusal = [](const std::string& layer) {
    const auto plans = kHaloGemm.plans(problem_of("conv_transpose3d 16 -> 16; compute tf32; " + layer));
    return plans ? "" : plans.error().message;
  };
  EXPECT_EQ(refusal("kernel 3; dilation 2x1x1"), "dilation 2 in depth; it takes 1");
  EXPECT_EQ(refusal("kernel 1x3x3; dilation 2x1x1"), "");
  EXPECT_EQ(refusal("kernel 5; stride 5x1x1"), "stride 5 in depth; at most 4");
  EXPECT_EQ(refusal("kernel 33x1x1"),
            "kernel 33 in depth, stride 1x1x1: a product makes so many planes and phases of 8 channels; at most 32 in "
            "all");
  // 160 accumulators are of 106 columns of three planes, for 64 positions of a warpgroup.
  for (const Plan& plan : halo_plans("conv_transpose3d 64 -> 64; kernel 3; input 16x64x64x64; compute tf32")) {
    EXPECT_LE(integer(plan, "block_n"), 80);
    EXPECT_FALSE(flag(plan, "ping_pong"));
    // 528 columns of tiles and more for 132 SMs.
    EXPECT_GT(integer(plan, "tile_d"), 8);
  }
  // Two volumes of one tile: their depth is in segments, so that more SMs have one.
  for (const Plan& plan : halo_plans("conv_transpose3d 16 -> 16; kernel 3; input 2x62x6x6; compute tf32")) {
    EXPECT_LT(integer(plan, "tile_d"), 8);
  }
}

// A row of 1024 phases is 32 blocks of 32: the same products as of a layer of 32 channels and stride 32.
TEST(PlanHaloGemm, PartsThePhasesOfLongStrides) {
  for (const char* mode : {"; compute tf32", "; dtype f16"}) {
    const std::string parted = "conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340";
    const std::string whole = "conv_transpose1d 2049 -> 32; kernel 128; stride 32; input 12x340";
    const std::vector<Plan> plans = plan(problem_of(parted + mode)).value();
    ASSERT_EQ(plans.front().template_name, "halo_gemm") << mode;
    const Plan of_channels = halo_plans(whole + mode).front();
    EXPECT_EQ(plans.front().predicted_seconds, of_channels.predicted_seconds);
    EXPECT_EQ(plans.front().launch.packed_bytes(), of_channels.launch.packed_bytes());
    EXPECT_LE(plans.front().predicted_seconds, 0.5e-3);
  }
}

TEST(PlanHaloGemm, PlansFitTheChipAndSayWhatTheyTake) {
  for (const char* layer : {"conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6",
                            "conv_transpose2d 64 -> 128; kernel 3x5; input 64x128x256",
                            "conv_transpose2d 100 -> 20; kernel 3x3; stride 2x3; input 4x30x31; bias",
                            "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias"}) {
    for (const char* mode : {"; dtype f16; layout nhwc", "; compute tf32; layout nhwc"}) {
      const Problem problem = problem_of(std::string(layer) + mode);
      const std::vector<Plan> plans = kHaloGemm.plans(problem).value();
      EXPECT_FALSE(plans.empty()) << layer << mode;
      for (const Plan& plan : plans) {
        EXPECT_LE(plan.launch.main().shared_bytes, problem.target.max_shared_bytes);
        EXPECT_GT(plan.launch.packed_bytes(), 0);
        EXPECT_EQ(plan.launch.packed_bytes() % 16, 0);
        EXPECT_GE(integer(plan, "stages"), integer(plan, "prefetch_stages") + 2);
        EXPECT_GT(plan.predicted_seconds.value_or(0), 0);
        const Grid& grid = plan.launch.main().grid;
        EXPECT_LE(grid.blocks_per_tile * grid.most_tiles, std::max<std::int64_t>(132, grid.blocks_per_tile));
      }
    }
  }
}

// Weights that don't fit shared memory come with each stage; those that do stay.
TEST(PlanHaloGemm, WeightsStayWhereTheyFit) {
  EXPECT_TRUE(flag(halo_plans("conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; dtype f16; layout nhwc").front(),
                   "resident"));
  EXPECT_FALSE(flag(
      halo_plans("conv_transpose2d 1024 -> 512; kernel 2x2; stride 2x2; input 8x32x32; dtype f16; layout nhwc").front(),
      "resident"));
}

// Of all templates for tensor cores that pack weights: what their kernels count with ints.
TEST(PlanHaloGemm, LeavesWhatIntsDoNotCountToOthers) {
  const std::vector<Plan> plans =
      plan(problem_of("conv_transpose2d 4096 -> 4194304; kernel 1x2; input 1x1x8; dtype f16; layout nhwc")).value();
  EXPECT_TRUE(std::ranges::all_of(
      plans, [](const Plan& each) { return each.template_name == "direct" || each.template_name == "overlap_gemm"; }));

  // A block's next tile, or the one after that, may lie beyond the last.
  const Grid grid = TileGrid{.most_tiles = 132}.grid();
  Shape shape{.batch = 2147483647 - 2 * 132, .in = {1, 1}, .out = {1, 1}};
  EXPECT_EQ(grid.blocks(quantities_of(shape)), 132);
  ++shape.batch;
  EXPECT_EQ(grid.blocks(quantities_of(shape)), std::nullopt);
}

}  // namespace
}  // namespace convtgen
