#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/program/constants.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::vector<Plan> f32x3_plans(std::string_view layer) {
  return kF32x3Gemm.plans(problem_of(layer)).value_or(std::vector<Plan>());
}

TEST(PlanF32x3Gemm, TakesF32x3AndNothingElse) {
  const std::string layer = "conv_transpose2d 64 -> 64; kernel 3x3; input 8x64x64";
  EXPECT_TRUE(f32x3_plans(layer).empty());  // strict f32
  for (const char* layout : {"; layout nchw", "; layout nhwc"}) {
    EXPECT_TRUE(f32x3_plans(layer + "; compute tf32" + layout).empty());
    EXPECT_FALSE(f32x3_plans(layer + "; compute f32x3" + layout).empty());
    for (const Plan& plan : f32x3_plans(layer + "; compute f32x3" + layout)) {
      EXPECT_EQ(plan.launch.main().cluster, 1);
      EXPECT_TRUE(!flag(plan, "bulk") || !flag(plan, "channels_last"));
    }
  }
}

// Each addition on tensor cores truncates, so no more than 16 follow one another.
TEST(PlanF32x3Gemm, AccumulatorsHaveFewTerms) {
  for (const char* layer : {"conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6",
                            "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024",
                            "conv_transpose2d 64 -> 8; kernel 9x9; stride 3x1; input 1x64x64",
                            "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512",
                            "conv_transpose2d 64 -> 32; kernel 5x5; input 8x128x128; layout nhwc",
                            "conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 8x128x128; layout nhwc"}) {
    const std::string text = std::string(layer) + "; compute f32x3";
    const Layer parsed = parse_layer(text).value();
    const std::vector<Plan> plans = f32x3_plans(text);
    EXPECT_FALSE(plans.empty()) << text;
    for (const Plan& plan : plans) {
      const std::int64_t rows =
          (parsed.axes[kHeight].kernel + parsed.axes[kHeight].stride - 1) / parsed.axes[kHeight].stride;
      const std::int64_t row =
          (parsed.axes[kWidth].kernel + parsed.axes[kWidth].stride - 1) / parsed.axes[kWidth].stride;
      const std::int64_t promoted = integer(plan, "promote_rows");
      const std::int64_t terms = row * (promoted > 0 ? promoted : rows * integer(plan, "block_k") / 16);
      EXPECT_LE(terms, 16) << text << ": " << plan.reason;
    }
  }
}

TEST(PlanF32x3Gemm, PlansFitTheChip) {
  for (const char* layer : {"conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6",
                            "conv_transpose2d 100 -> 20; kernel 3x3; stride 2x3; input 4x30x31; bias",
                            "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; layout nhwc"}) {
    const Problem problem{parse_layer(std::string(layer) + "; compute f32x3").value(), Direction::kForward,
                          target_named("sm_90a").value()};
    const std::vector<Plan> plans = kF32x3Gemm.plans(problem).value();
    EXPECT_FALSE(plans.empty()) << layer;
    for (const Plan& plan : plans) {
      EXPECT_LE(plan.launch.main().shared_bytes, problem.target.max_shared_bytes);
      EXPECT_EQ(plan.launch.packed_bytes() % 16, 0);
      EXPECT_GT(plan.launch.packed_bytes(), problem.layer.in_channels * problem.layer.out_channels *
                                                problem.layer.axes[kHeight].kernel * problem.layer.axes[kWidth].kernel *
                                                4);  // and scales
      EXPECT_NE(plan.reason.find("three f16"), std::string::npos) << plan.reason;
      EXPECT_GT(plan.predicted_seconds.value_or(0), 0);
    }
  }
}

TEST(PlanF32x3Gemm, MakesGradientsOfTheInputOfLayersWithStrides) {
  for (const char* rest : {"kernel 2x2; stride 2x2; input 8x64x64", "kernel 4x4; stride 2x2; padding 1x1; layout nhwc",
                           "kernel 3x3; stride 5x5; dilation 2x2; input 4x9x9; layout nhwc",
                           "kernel 5x5; stride 2x1; input ?x?x?", "kernel 1x4; stride 1x2; input 4x1x64"}) {
    const auto layer =
        parse_layer(std::string("conv_transpose2d 256 -> 128; compute f32x3; directions grad_input; ") + rest);
    ASSERT_TRUE(layer) << rest;
    const Problem problem{*layer, Direction::kGradInput, target_named("sm_90a").value()};
    const std::vector<Plan> plans = plan(problem).value();
    const auto found = std::ranges::find(plans, "f32x3_gemm", &Plan::template_name);
    ASSERT_NE(found, plans.end()) << rest;
    EXPECT_EQ(integer(*found, "stride_h") * integer(*found, "stride_w"), 1);
    EXPECT_EQ(integer(*found, "input_stride_h"), layer->axes[kHeight].stride);
    EXPECT_EQ(integer(*found, "input_stride_w"), layer->axes[kWidth].stride);
  }
}

// With input strides a k-block has one row of taps. Where registers can't hold the fragments of all of its taps, they
// hold those of pairs of them.
TEST(PlanF32x3Gemm, HoldsPairsOfTapsWhereARowHasTooMany) {
  const ConstantProgram program = ConstantProgram::read(template_named("f32x3_gemm").value()->program()).value();
  constexpr std::array<std::string_view, 5> kNames = {"kHoldsPairs", "kKBlockTerms", "kRowsTogether", "kHeldRegisters",
                                                      "kConsumersSplit"};
  int pairs = 0, rows = 0;
  for (const char* rest :
       {"kernel 16; stride 8; padding 4; input 16x1x512", "kernel 3x15; stride 2x8; input 4x9x64",
        "kernel 4x4; stride 4x4; input 4x62x54", "kernel 2x9; stride 1x3; input 2x9x20; layout nhwc",
        "kernel 5x7; stride 2x2; dilation 1x4; input 4x32x32", "kernel 2x2; stride 2x2; input ?x?x?"}) {
    const auto layer =
        parse_layer(std::string("conv_transpose2d 128 -> 256; compute f32x3; directions grad_input; ") + rest);
    ASSERT_TRUE(layer) << rest;
    const std::vector<Plan> plans = plan({*layer, Direction::kGradInput, target_named("sm_90a").value()}).value();
    for (const Plan& each : plans) {
      if (each.template_name != "f32x3_gemm") {
        continue;
      }
      const std::vector<std::int64_t> values = constants_of(program, each.parameters, kNames).value();
      const std::int64_t terms = layer->axes[kWidth].kernel * integer(each, "block_k") / 16;
      EXPECT_EQ(values[1], terms) << rest;
      EXPECT_LE(layer->axes[kWidth].kernel * values[2], 16) << rest;  // rows of k-steps
      EXPECT_LE(values[3], 168) << rest;
      EXPECT_FALSE(values[0] != 0 && values[4] != 0) << rest;
      (values[0] != 0 ? pairs : rows) += 1;
    }
  }
  EXPECT_GT(pairs, 5);
  EXPECT_GT(rows, 5);
}

TEST(PlanF32x3Gemm, TakesHifigansFirstGradientOfTheInput) {
  const auto layer = parse_layer(
      "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute f32x3; directions "
      "grad_input");
  ASSERT_TRUE(layer);
  const Plan first = plan({*layer, Direction::kGradInput, target_named("sm_90a").value()}).value().front();
  EXPECT_EQ(first.template_name, "f32x3_gemm");
}

// A thread loads the columns between two adjacent positions too, into a word with a bit for each.
TEST(PlanF32x3Gemm, RefusesStridesOfMoreColumnsThanAWordHasBits) {
  const auto layer = parse_layer(
      "conv_transpose2d 64 -> 64; kernel 2; stride 1x40; input 4x9x9; compute f32x3; directions grad_input");
  ASSERT_TRUE(layer);
  const Candidates all = candidates({*layer, Direction::kGradInput, target_named("sm_90a").value()}).value();
  const auto refusal = std::ranges::find(all.refusals, "f32x3_gemm", &Refusal::template_name);
  ASSERT_NE(refusal, all.refusals.end());
  EXPECT_TRUE(refusal->reason.contains("reach 44 columns; at most 32")) << refusal->reason;
}

}  // namespace
}  // namespace convtgen
