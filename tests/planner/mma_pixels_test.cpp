#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers of many channels: of small images, with phases of different taps, of open sizes, of three axes, and split.
constexpr const char* kSequences[] = {
    "512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f16; layout nhwc",
    "256 -> 200; kernel 3x3; stride 2x2; input 8x30x31; compute tf32; layout nhwc; bias",
    "128 -> 128; kernel 5x5; stride 3x3; groups 2; input ?x?x?; dtype bf16; layout nhwc",
    "conv_transpose3d 64 -> 96; kernel 3; stride 2; padding 1; input 2x9x17x18; dtype f16; layout nhwc",
    "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; dtype f16; layout nhwc",
    "512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; compute f32x3",
};

TEST(PlanMmaPixels, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kSequences) {
    for (const char* chip : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
      const Problem problem = problem_of(layer, chip);
      double before = 0;
      const std::vector<Plan> plans = kMmaPixels.plans(problem).value();
      for (const Plan& each : plans) {
        SCOPED_TRACE(problem.target.architecture + ", " + layer + ": " + each.reason);
        const KernelPlan& main = each.launch.main();
        const std::int64_t blocks = integer(each, "blocks_per_sm");
        EXPECT_LE(main.shared_bytes, problem.target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + 1024) * blocks, problem.target.shared_bytes_per_sm);
        EXPECT_LE(main.threads * blocks, problem.target.max_threads_per_sm);
        EXPECT_GE(each.predicted_seconds.value(), before);
        before = each.predicted_seconds.value();
        EXPECT_GT(each.launch.packed_bytes(), 0);
      }
    }
  }
}

// Sixteen positions of each of 128 images fill blocks without a rest.
TEST(PlanMmaPixels, BlocksAreFilledByPositionsOfAllImages) {
  const std::vector<Plan> plans = kMmaPixels.plans(problem_of(kSequences[0], "sm_80")).value();
  for (const Plan& each : plans) {
    const Grid& grid = each.launch.main().grid;
    ASSERT_EQ(grid.axes.size(), 1U);
    EXPECT_EQ(grid.axes[0].extent.factor, 16);
    EXPECT_EQ(grid.axes[0].extent.per, Quantity::kBatch);
    EXPECT_EQ(grid.axes[0].tile, integer(each, "block_m"));
    EXPECT_EQ(grid.blocks_per_tile, 4 * ceil_div(256, integer(each, "block_n")));
  }
}

// Split values are scaled by their largest magnitudes, which two kernels find before x is arranged.
TEST(PlanMmaPixels, SplitValuesAreScaledFirst) {
  const std::vector<Plan> plans = kMmaPixels.plans(problem_of(kSequences[5], "sm_80")).value();
  for (const Plan& each : plans) {
    std::vector<std::string> functions;
    for (const KernelPlan& kernel : each.launch.kernels) {
      functions.push_back(kernel.function);
    }
    std::vector<std::string> wanted = {"pack_weights", "scan_input", "find_exponents", "arrange_input", "mma_pixels"};
    if (integer(each, "parts") > 1) {
      wanted.emplace_back("add_parts");
    }
    EXPECT_EQ(functions, wanted);
  }
  Problem slow = problem_of(kSequences[5], "sm_89");
  slow.target.sm.mma_cycles *= 2;
  EXPECT_EQ(kMmaPixels.plans(slow).error().message,
            "three products of f16 take 1.51 times as long as one of f32 without tensor cores; at most 1");
}

// Where kernels are as large as their strides, planes are read by copies of 16 bytes, and nothing is arranged.
TEST(PlanMmaPixels, ReadsPlanesAsTheyLie) {
  const Plan first = plan(problem_of("256 -> 256; kernel 2x2; stride 2x2; input 16x80x80; compute tf32; directions "
                                     "grad_input",
                                     "sm_80"))
                         .value()
                         .front();
  ASSERT_EQ(first.template_name, "mma_pixels");
  EXPECT_EQ(integer(first, "plane_words"), 2);
  EXPECT_EQ(integer(first, "copy_bytes"), 16);
  EXPECT_EQ(integer(first, "store"), 2);
  EXPECT_TRUE(std::ranges::none_of(first.launch.kernels,
                                   [](const KernelPlan& kernel) { return kernel.function == "arrange_input"; }));
  // Positions read every second pixel from an odd one on.
  const std::vector<Plan> odd = kMmaPixels
                                    .plans(problem_of("256 -> 256; kernel 4x4; stride 2x2; padding 1x1; input "
                                                      "32x32x24; compute tf32; directions grad_input",
                                                      "sm_80"))
                                    .value();
  for (const Plan& each : odd) {
    EXPECT_EQ(integer(each, "copy_bytes"), integer(each, "plane_words") > 0 ? 4 : 16);
  }
}

// The phases of a row are columns of one product, so that a thread stores adjacent outputs together.
TEST(PlanMmaPixels, FusesThePhasesOfARow) {
  struct Fused {
    const char* layer;
    std::int64_t phases, store, columns, planes;
  };
  constexpr Fused kFused[] = {
      {"conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute tf32", 8, 4, 513, 0},
      {"conv_transpose2d 1024 -> 512; kernel 2; stride 2; input 8x32x32; compute tf32", 2, 2, 32 * 32, 1},
      {"conv_transpose2d 512 -> 256; kernel 2; stride 2; input 8x32x32; dtype f16", 2, 2, 32 * 32, 0},
      {"conv_transpose2d 21 -> 21; kernel 64; stride 32; padding 16; input 4x16x16; compute f32x3", 32, 4, 16 * 17, 0},
      // Of a long stride a part, a larger one of a single channel; of taps that are no multiple of the stride as many
      // as divide them.
      {"conv_transpose1d 80 -> 80; kernel 1024; stride 256; input 12x63; compute f32x3", 32, 4, 66, 0},
      {"conv_transpose1d 1025 -> 1; kernel 2048; stride 512; input 12x64; compute tf32", 128, 4, 67, 0},
      {"conv_transpose2d 64 -> 64; kernel 12; stride 8; padding 2; input 4x40x40; compute f32x3", 4, 2, 40 * 41, 0},
  };
  for (const Fused& each : kFused) {
    SCOPED_TRACE(each.layer);
    const Problem problem{parse_layer(each.layer).value(), Direction::kForward, target_named("sm_80").value()};
    const Plan first = plan(problem).value().front();
    ASSERT_EQ(first.template_name, "mma_pixels");
    EXPECT_EQ(integer(first, "column_phases"), each.phases);
    EXPECT_EQ(integer(first, "store"), each.store);
    EXPECT_EQ(integer(first, "plane_words"), each.planes);
    EXPECT_EQ(first.launch.main().grid.axes.front().extent.factor, each.columns);
  }
  // A row's phases have other taps, are no power of two, or are pixels' channels in turn.
  for (const char* text : {"64 -> 32; kernel 3; stride 2; input 2x9x12; compute tf32",
                           "64 -> 32; kernel 3; stride 3; input 2x9x12; compute tf32",
                           "64 -> 32; kernel 4; stride 2; dilation 3; input 2x9x12; compute tf32",
                           "64 -> 32; kernel 2; stride 2; input 2x9x12; dtype f16; layout nhwc"}) {
    const std::vector<Plan> plans = kMmaPixels.plans(problem_of(text, "sm_80")).value();
    for (const Plan& each : plans) {
      EXPECT_EQ(integer(each, "column_phases"), 1) << text;
    }
  }
}

// 64 tiles for 108 SMs: the last ones have parts, whose sums are in the workspace.
TEST(PlanMmaPixels, LastTilesHaveParts) {
  const std::vector<Plan> plans = kMmaPixels.plans(problem_of(kSequences[0], "sm_80")).value();
  EXPECT_TRUE(std::ranges::any_of(plans, [](const Plan& each) { return integer(each, "parts") > 1; }));
  for (const Plan& each : plans) {
    const bool parted = integer(each, "parts") > 1;
    EXPECT_EQ(each.launch.kernels.back().function, parted ? "add_parts" : "mma_pixels");
    const auto partials = std::ranges::find(each.launch.regions, "partials", &Region::name);
    ASSERT_EQ(partials != each.launch.regions.end(), parted);
    if (parted) {
      EXPECT_EQ(partials->bytes.constant, integer(each, "parted_tiles") * integer(each, "parts") * 4 *
                                              integer(each, "block_m") * integer(each, "block_n") *
                                              ceil_div(256, integer(each, "block_n")));
    }
  }
  const std::pair<const char*, const char*> without[] = {{kSequences[2], "sm_80"}, {kSequences[0], "sm_90a"}};
  for (const auto& [layer, chip] : without) {
    const std::vector<Plan> others = kMmaPixels.plans(problem_of(layer, chip)).value();
    for (const Plan& each : others) {
      EXPECT_EQ(integer(each, "parts"), 1);
    }
  }
}

TEST(PlanMmaPixels, IsTheFirstChoiceOfManyChannelsWhereThereIsNoWgmma) {
  for (const std::string layer : {kSequences[0], kSequences[3], kSequences[4], kSequences[5]}) {
    EXPECT_EQ(plan(problem_of(layer, "sm_80")).value().front().template_name, "mma_pixels") << layer;
    EXPECT_EQ(plan(problem_of(layer + "; directions grad_input", "sm_80")).value().front().template_name, "mma_pixels")
        << layer;
  }
  EXPECT_NE(plan(problem_of(kSequences[0])).value().front().template_name, "mma_pixels");
}

// Others that split values accumulate all phases of a row at once, and direct takes longer.
TEST(PlanMmaPixels, IsFirstForManyPhasesInF32x3) {
  for (const char* text : {"conv_transpose1d 80 -> 80; kernel 1024; stride 256; input 12x63; compute f32x3",
                           "conv_transpose2d 64 -> 64; kernel 12; stride 8; padding 2; input 4x40x40; compute f32x3"}) {
    const Problem problem{parse_layer(text).value(), Direction::kForward, target_named("sm_90a").value()};
    EXPECT_EQ(plan(problem).value().front().template_name, "mma_pixels") << text;
  }
}

}  // namespace
}  // namespace convtgen
