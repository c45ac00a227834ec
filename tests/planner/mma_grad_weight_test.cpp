#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers with taps that share loads, with planes of their own, of an open size, with groups and a dilation with a
/// stride, of one axis, of small images, whose values are split, and of three axes.
constexpr const char* kSummedLayers[] = {
    "64 -> 64; kernel 3x7; padding 1x3; input 8x512x512; compute tf32",
    "128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; dtype f16; layout nhwc; bias",
    "33 -> 20; kernel 5x5; stride 3x3; input ?x?x?; dtype bf16; bias",
    "64 -> 48; kernel 3x3; stride 2x2; dilation 3x3; groups 2; input 8x80x104; dtype f16; layout nhwc",
    "512 -> 256; kernel 1x16; stride 1x8; padding 0x4; input 16x1x512; bias; compute tf32",
    "512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f16",
    "64 -> 64; kernel 3x3; padding 1x1; input 8x128x128; compute f32x3; layout nhwc",
};

Problem weights_of(const std::string& layer, std::string_view architecture) {
  return problem_of(layer + "; directions grad_weight", architecture);
}

TEST(PlanMmaGradWeight, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kSummedLayers) {
    for (const Target& target : known_targets()) {
      const auto plans = kMmaGradWeight.plans(weights_of(layer, target.architecture));
      if (!plans) {  // Turing has no products of tf32 and bf16
        EXPECT_EQ(target.architecture, "sm_75") << layer << ": " << plans.error().message;
        EXPECT_TRUE(layer.contains("tf32") || layer.contains("bf16")) << layer;
        continue;
      }
      double before = 0;
      for (const Plan& each : *plans) {
        SCOPED_TRACE(target.architecture + ", " + layer + ": " + each.reason);
        const std::int64_t blocks = integer(each, "blocks_per_sm");
        const KernelPlan& main = each.launch.main();
        EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
        EXPECT_LE((main.shared_bytes + (target.capability == 75 ? 0 : 1024)) * blocks, target.shared_bytes_per_sm);
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

TEST(PlanMmaGradWeight, SplitsValuesWhereThreeProductsAreFasterThanOneOfF32) {
  const Problem problem = weights_of("64 -> 64; kernel 3x3; input 8x128x128; compute f32x3", "sm_89");
  EXPECT_EQ(plan(problem).value().front().template_name, "mma_grad_weight");
  Problem of_geforce = problem;
  of_geforce.target = planned_for(problem.target, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(plan(of_geforce).value().front().template_name, "direct_grad_weight");
}

TEST(PlanMmaGradWeight, RowsOfNchwAreReadByWholeLinesOfMemory) {
  const Plan first =
      plan(weights_of("128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; compute tf32", "sm_80")).value().front();
  EXPECT_GE(integer(first, "tile_columns"), 16) << first.reason;
}

TEST(PlanMmaGradWeight, WarpsAreThreeWhereChannelsAreThreeTimesEight) {
  const Plan first =
      plan(weights_of("48 -> 24; kernel 3x3; input 8x128x128; dtype f16; layout nhwc", "sm_80")).value().front();
  EXPECT_EQ(first.template_name, "mma_grad_weight");
  EXPECT_EQ(integer(first, "block_out"), 24) << first.reason;
}

TEST(PlanMmaGradWeight, PixelsOfSixBytesComeThroughRegistersBesideCopies) {
  const auto of = [](const std::string& layer) {
    return kMmaGradWeight.plans(weights_of(layer, "sm_80")).value().front();
  };
  const Plan of_x = of("3 -> 16; kernel 3x3; stride 2x2; input 8x64x64; dtype f16; layout nhwc");
  EXPECT_EQ(integer(of_x, "copy_bytes"), 16);
  EXPECT_FALSE(flag(of_x, "copies_in"));
  EXPECT_TRUE(flag(of_x, "copies_out"));
  const Plan of_grad_y = of("16 -> 3; kernel 3x3; stride 2x2; input 8x64x64; dtype f16; layout nhwc");
  EXPECT_TRUE(flag(of_grad_y, "copies_in"));
  EXPECT_FALSE(flag(of_grad_y, "copies_out"));
}

TEST(PlanMmaGradWeight, RowsOfNchwAreReadByTwoPositionsAndTogetherWhereTheyAreEven) {
  const auto of = [](const std::string& rest) {
    return kMmaGradWeight.plans(weights_of("64 -> 64; kernel 3x3; " + rest, "sm_80")).value().front();
  };
  EXPECT_EQ(integer(of("input 8x128x?; dtype f16"), "span"), 2);
  EXPECT_EQ(of("input 8x128x128; compute f32x3").alignment, 8);
  EXPECT_EQ(of("input 8x128x127; dtype f16").alignment, 2);
  EXPECT_EQ(of("input 8x128x?; dtype f16").alignment, 2);
}

TEST(PlanMmaGradWeight, RowsOfTf32AreCopiedAsTheyLie) {
  const auto of = [](const std::string& rest) {
    return kMmaGradWeight.plans(weights_of("64 -> 64; kernel 3x3; compute tf32; " + rest, "sm_80")).value().front();
  };
  EXPECT_EQ(integer(of("input 8x128x128"), "copy_bytes"), 16);
  EXPECT_EQ(of("input 8x128x128").alignment, 16);
  EXPECT_EQ(of("padding 1x1; input 8x126x126").alignment, 8);
  EXPECT_EQ(of("stride 2x2; input 8x127x127").alignment, 4);
  EXPECT_EQ(of("input 8x128x?").alignment, 4);
}

TEST(PlanMmaGradWeight, RowsOfTf32ComeThroughRegistersToo) {
  const auto plans =
      kMmaGradWeight
          .plans(weights_of("conv_transpose3d 32 -> 32; kernel 3x5x7; stride 2x2x2; padding 1x2x3; groups "
                            "4; input 8x12x24x48; compute tf32",
                            "sm_90a"))
          .value();
  const auto through_registers =
      std::ranges::find_if(plans, [](const Plan& each) { return integer(each, "copy_bytes") == 0; });
  ASSERT_NE(through_registers, plans.end());
  EXPECT_EQ(integer(*through_registers, "span"), 2);
  EXPECT_EQ(integer(plans.front(), "copy_bytes"), 16);
}

// A copy of a warp is of as many rows as 32 words or vectors take, each in another line of memory.
TEST(PlanMmaGradWeight, CopiedRowsAreAsLongAsThoseOfTheImage) {
  const Plan first = kMmaGradWeight
                         .plans(weights_of("conv_transpose3d 32 -> 64; kernel 3x3x3; stride 2x2x2; padding 1x1x1; "
                                           "output_padding 1x1x1; bias; input 32x16x32x32; compute tf32",
                                           "sm_90a"))
                         .value()
                         .front();
  EXPECT_EQ(integer(first, "copy_bytes"), 16);
  EXPECT_EQ(integer(first, "tile_columns"), 32);
}

TEST(PlanMmaGradWeight, RowsOf16BitsAreCopiedByTwoElementsAndMore) {
  const auto copies = [](const std::string& rest) {
    const auto plans = kMmaGradWeight.plans(weights_of("64 -> 64; kernel 3x3; dtype f16; " + rest, "sm_80")).value();
    return std::ranges::any_of(plans, [](const Plan& each) { return integer(each, "copy_bytes") == 16; });
  };
  EXPECT_TRUE(copies("input 8x128x128"));
  EXPECT_FALSE(copies("input 8x128x127"));              // rows begin within a word
  EXPECT_FALSE(copies("stride 2x2; input 8x128x128"));  // so do those of 257 outputs
  EXPECT_FALSE(copies("input 8x128x?"));
}

TEST(PlanMmaGradWeight, FragmentsAreAddedUpForTheBiasWhereTapsReadEachOutputOnce) {
  const auto of = [](const std::string& rest) {
    return kMmaGradWeight.plans(weights_of("64 -> 64; bias; input 8x128x128; " + rest, "sm_80")).value().front();
  };
  const auto sums = [](const Plan& plan) {
    const auto reads = std::ranges::count(plan.launch.kernels, "sum_channels", &KernelPlan::function);
    EXPECT_EQ(reads, flag(plan, "sums_bias") ? 0 : 1);
    return flag(plan, "sums_bias");
  };
  EXPECT_TRUE(sums(of("kernel 2x2; stride 2x2; dtype f16; layout nhwc")));
  EXPECT_TRUE(sums(of("kernel 3x3; stride 2x2; padding 1x1; compute tf32")));
  EXPECT_TRUE(sums(of("kernel 3x3; padding 1x1; compute f32x3")));
  EXPECT_FALSE(sums(of("kernel 3x3; dtype f16")));  // outputs past the input's last position
  EXPECT_FALSE(sums(of("kernel 2x2; stride 2x2; compute tf32; layout nhwc")));  // its fragments are rounded
}

TEST(PlanMmaGradWeight, TakesTapsOfThreeAxes) {
  const Problem problem = problem_of(
      "conv_transpose3d 32 -> 32; kernel 3x3x3; padding 1; input 8x16x64x64; dtype f16; directions "
      "grad_weight",
      "sm_80");
  EXPECT_EQ(plan(problem).value().front().template_name, "mma_grad_weight");
}

}  // namespace
}  // namespace convtgen
