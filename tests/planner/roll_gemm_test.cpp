#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "generator/language/language.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::vector<Plan> roll_plans(std::string_view layer) {
  return kRollGemm.plans(problem_of(layer)).value_or(std::vector<Plan>());
}

TEST(PlanRollGemm, AppliesToWhatTheTemplateCanDo) {
  const std::string layer = "conv_transpose2d 32 -> 32; kernel 3x7; input 8x64x64; compute tf32";
  EXPECT_FALSE(roll_plans(layer).empty());
  EXPECT_FALSE(kRollGemm.plans(problem_of(layer, "sm_80")));
  EXPECT_TRUE(roll_plans(layer + "; groups 2").empty());
  EXPECT_TRUE(roll_plans(layer + "; stride 1x2").empty());
  EXPECT_TRUE(roll_plans(layer + "; stride 2x1").empty());
  EXPECT_FALSE(roll_plans(layer + "; layout nhwc").empty());
  EXPECT_FALSE(roll_plans(layer + "; dilation 1x3").empty());
  EXPECT_TRUE(roll_plans(layer + "; dilation 2x1").empty());
  EXPECT_TRUE(roll_plans("conv_transpose2d 32 -> 32; kernel 1x7; input 8x64x64; compute tf32").empty());
  EXPECT_TRUE(roll_plans("conv_transpose2d 32 -> 32; kernel 3x7; input 8x64x64").empty());  // strict f32
}

// Rows come as bulk copies: of a known width, and of whole 16 bytes.
TEST(PlanRollGemm, RowsAreWholeBulkCopies) {
  const std::string layer = "conv_transpose2d 32 -> 32; kernel 3x3; ";
  EXPECT_FALSE(roll_plans(layer + "compute tf32; input ?x?x68").empty());
  EXPECT_TRUE(roll_plans(layer + "compute tf32; input 8x64x66").empty());
  EXPECT_TRUE(roll_plans(layer + "compute tf32; input 8x64x?").empty());
  EXPECT_FALSE(roll_plans(layer + "dtype f16; input 8x64x72").empty());
  EXPECT_TRUE(roll_plans(layer + "dtype f16; input 8x64x68").empty());
}

// With channels last an image's pixels lie together: any width will do, and any number of channels that is whole
// copies.
TEST(PlanRollGemm, PixelsAreWholeBulkCopies) {
  const std::string rest = "kernel 3x3; layout nhwc; ";
  EXPECT_FALSE(roll_plans("conv_transpose2d 32 -> 32; " + rest + "dtype f16; input 8x64x67").empty());
  EXPECT_FALSE(roll_plans("conv_transpose2d 8 -> 5; " + rest + "dtype f16; input 8x64x67").empty());
  EXPECT_TRUE(roll_plans("conv_transpose2d 12 -> 32; " + rest + "dtype f16; input 8x64x64").empty());
  EXPECT_FALSE(roll_plans("conv_transpose2d 12 -> 32; " + rest + "compute tf32; input 8x64x64").empty());
  EXPECT_FALSE(roll_plans("conv_transpose1d 128 -> 128; kernel 3; dtype f16; layout nhwc; input 64x65536").empty());
  const std::vector<Plan> open = roll_plans("conv_transpose2d 32 -> 32; " + rest + "dtype f16; input ?x?x?");
  EXPECT_FALSE(open.empty());
  for (const Plan& plan : open) {
    EXPECT_FALSE(flag(plan, "flat")) << "a sequence has images of a known width";
  }
}

// All channels of a row are one stage, and four threads store as much as they can of one position's.
TEST(PlanRollGemm, PixelsAreStagedWholeAndStoredTogether) {
  const auto first = [](const char* channels) {
    return roll_plans(std::string("conv_transpose2d ") + channels +
                      "; kernel 3x3; input 64x128x128; dtype f16; layout nhwc")
        .front();
  };
  EXPECT_EQ(integer(first("72 -> 64"), "block_k"), 80);
  EXPECT_EQ(integer(first("72 -> 64"), "store"), 8);
  EXPECT_EQ(integer(first("32 -> 36"), "store"), 4);
  EXPECT_EQ(integer(first("32 -> 33"), "store"), 1);
  EXPECT_FALSE(flag(first("32 -> 33"), "staged_epilogue"));
}

// A block keeps the weights of its output channels: none where those of eight don't fit.
TEST(PlanRollGemm, WeightsFitSharedMemory) {
  EXPECT_TRUE(roll_plans("conv_transpose2d 1024 -> 64; kernel 3x3; input 8x64x64; compute tf32").empty());
  EXPECT_FALSE(roll_plans("conv_transpose2d 256 -> 64; kernel 3x3; input 8x64x64; compute tf32").empty());
}

// 65 columns leave nearly half of two strips of an image empty; in one sequence 64 images fill them.
TEST(PlanRollGemm, ImagesFormOneSequenceWhereStripsWouldBeEmpty) {
  const std::string layer = "conv_transpose2d 32 -> 32; kernel 3x5; padding 1x2; compute tf32; ";
  EXPECT_TRUE(flag(roll_plans(layer + "input 64x64x132").front(), "flat"));
  EXPECT_FALSE(flag(roll_plans(layer + "input 64x64x128").front(), "flat"));
}

// Rows of 25 outputs, whose last one reads 9 positions after the image's 16: in a sequence images lie 28 apart, in
// whole 16 bytes, or 26 with channels last and 2 positions per thread.
TEST(PlanRollGemm, ImagesOfASequenceLieApartByTheirOutputPaddingToo) {
  const std::string layer = "conv_transpose2d 32 -> 32; kernel 3x5; output_padding 0x1; dilation 1x2; input 64x64x16; ";
  for (const auto& [mode, positions, pitch] :
       {std::tuple("compute tf32", 2, 28), {"compute tf32; layout nhwc", 2, 26}}) {
    const Problem problem = problem_of(layer + mode);
    int count = 0;
    for (const Plan& plan : roll_plans(layer + mode)) {
      if (flag(plan, "flat") && integer(plan, "thread_positions") == positions) {
        EXPECT_EQ(plan.launch.main().grid.axes[1].tile, 64 * positions * 25 / pitch) << mode;
        ++count;
      }
    }
    EXPECT_GT(count, 0) << mode;
  }
}

TEST(PlanRollGemm, PlansFitTheChipAndSayWhatTheyTake) {
  for (const char* layer : {"conv_transpose2d 64 -> 64; kernel 3x3; input 8x1024x1024",
                            "conv_transpose2d 64 -> 128; kernel 3x5; input 64x128x256; bias",
                            "conv_transpose2d 40 -> 20; kernel 5x3; input 4x30x32",
                            "conv_transpose2d 24 -> 11; kernel 2x2; padding 1x1; input ?x?x64"}) {
    for (const char* mode :
         {"; dtype f16", "; dtype bf16", "; compute tf32", "; dtype f16; layout nhwc", "; compute tf32; layout nhwc"}) {
      const Problem problem = problem_of(std::string(layer) + mode);
      const std::vector<Plan> plans = kRollGemm.plans(problem).value();
      EXPECT_FALSE(plans.empty()) << layer << mode;
      EXPECT_TRUE(std::ranges::is_sorted(plans, {}, &Plan::predicted_seconds));
      for (const Plan& plan : plans) {
        EXPECT_LE(plan.launch.main().shared_bytes, problem.target.max_shared_bytes);
        EXPECT_EQ(plan.alignment, 16);
        EXPECT_EQ(plan.launch.packed_bytes() % 16, 0);
        EXPECT_GE(plan.launch.packed_bytes(), bytes_of(problem.layer.dtype) * tap_count(problem.layer) *
                                                  problem.layer.in_channels * problem.layer.out_channels);
        EXPECT_LE(problem.layer.axes[kHeight].kernel * integer(plan, "block_n"), 256);
        EXPECT_GT(plan.predicted_seconds.value_or(0), 0);
        const Grid& grid = plan.launch.main().grid;
        EXPECT_LE(grid.blocks_per_tile * grid.most_tiles, 132);
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
