#include "generator/planner/search/cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/predict.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/table/templates.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

TEST(Cost, CountsTermsThatLandAndTensorsOnce) {
  Problem problem;
  problem.layer.in_channels = 2;
  problem.layer.out_channels = 3;
  set_axes(problem.layer, &Axis::kernel, {1, 2});
  problem.layer.bias = true;
  problem.target = target_named("sm_90a").value();
  const Shape shape = shape_of(problem.layer, {5, {4, 7}}).value();
  const Cost cost = cost_of(problem, shape);
  // Without padding every (input, tap) pair lands: 5 * 2 * 3 * 4 * 7 inputs and channels, 2 taps, 2 flops.
  EXPECT_EQ(cost.flops, 2.0 * 5 * 2 * 3 * 4 * 7 * 2);
  EXPECT_EQ(cost.bytes, 4.0 * (5 * 2 * 4 * 7 + 2 * 3 * 2 + 5 * 3 * 4 * 8 + 3));
  EXPECT_TRUE(cost.memory_bound);
  EXPECT_DOUBLE_EQ(cost.floor_seconds, cost.bytes / problem.target.bytes_per_second);
}

TEST(Cost, TheReferenceLayerIsBoundByArithmetic) {
  Problem problem;
  problem.layer.in_channels = problem.layer.out_channels = 32;
  set_axes(problem.layer, &Axis::kernel, {3, 7});
  set_axes(problem.layer, &Axis::padding, {1, 3});
  problem.target = target_named("sm_90a").value();
  const Cost cost = cost_of(problem, shape_of(problem.layer, {8, {512, 1024}}).value());
  EXPECT_NEAR(cost.flops, 180e9, 1e9);  // less the terms that padding cuts off
  EXPECT_FALSE(cost.memory_bound);
  EXPECT_NEAR(cost.floor_seconds, 3.5e-3, 0.1e-3);

  // Where tensor cores form the products, by their rate.
  problem.layer.compute = Compute::kTf32;
  EXPECT_NEAR(cost_of(problem, shape_of(problem.layer, {8, {512, 1024}}).value()).floor_seconds, 0.5e-3, 0.01e-3);
  problem.target = target_named("sm_80").value();
  EXPECT_DOUBLE_EQ(cost_of(problem, shape_of(problem.layer, {8, {512, 1024}}).value()).floor_seconds,
                   cost.flops / problem.target.tf32_flops);
}

/// A board as its data sheet has it: dense multiply-adds of f16 with f32 accumulators of an SM in a cycle.
struct Board {
  const char* architecture;
  double multiply_adds, multiprocessors, gigahertz, gigabytes_per_second;
};
constexpr Board kBoards[] = {
    {"sm_75", 512, 72, 1.77, 672},     {"sm_80", 1024, 108, 1.41, 2039},  {"sm_86", 512, 84, 1.7, 936},
    {"sm_87", 1024, 16, 1.3, 205},     {"sm_88", 1024, 16, 1.3, 205},     {"sm_89", 512, 142, 2.5, 864},
    {"sm_100", 4096, 148, 1.85, 8000}, {"sm_103", 4096, 148, 1.85, 8000}, {"sm_110", 4096, 20, 1.57, 273},
    {"sm_120", 512, 188, 2.5, 1792},   {"sm_121", 512, 48, 2.4, 273},
};

// One layer of much arithmetic and one of little, on each known chip but sm_90a, whose rates are measured.
TEST(Cost, FloorsAreThoseOfEachChipsBoard) {
  EXPECT_EQ(std::size(kBoards) + 1, known_targets().size());
  for (const Board& board : kBoards) {
    const auto floor_of = [&](const std::string& text) {
      const Problem problem = {parse_layer(text).value(), Direction::kForward,
                               target_named(board.architecture).value()};
      return cost_of(problem, shape_of(problem.layer, {16, {1, 64, 64}}).value());
    };
    const Cost much = floor_of("conv_transpose2d 1024 -> 1024; kernel 5; padding 2; input 16x64x64; dtype f16");
    EXPECT_FALSE(much.memory_bound) << board.architecture;
    const double flops = 2 * board.multiply_adds * board.multiprocessors * board.gigahertz * 1e9;
    EXPECT_NEAR(much.floor_seconds / (much.flops / flops), 1, 0.05) << board.architecture;
    const Cost little = floor_of("conv_transpose2d 1 -> 1; kernel 1; input 16x64x64; dtype f16");
    EXPECT_TRUE(little.memory_bound) << board.architecture;
    EXPECT_NEAR(little.floor_seconds / (little.bytes / (board.gigabytes_per_second * 1e9)), 1, 0.05)
        << board.architecture;
  }
}

// By tensor cores where they take the type, else by FFMA; f32x3 by whichever is faster.
TEST(Cost, TheCeilingIsThatOfTheFastestInstructionsOfTheMode) {
  const auto rate_of = [](const std::string& mode, const Target& target) {
    const Problem problem = {
        parse_layer("conv_transpose2d 1024 -> 1024; kernel 5; padding 2; input 16x64x64; " + mode).value(),
        Direction::kForward, target};
    const Cost cost = cost_of(problem, shape_of(problem.layer, {16, {1, 64, 64}}).value());
    return cost.flops / cost.floor_seconds;
  };
  const Target turing = target_named("sm_75").value();
  EXPECT_DOUBLE_EQ(rate_of("dtype f16", turing), turing.f16_flops);
  EXPECT_DOUBLE_EQ(rate_of("dtype bf16", turing), turing.f32_flops);
  EXPECT_DOUBLE_EQ(rate_of("compute tf32", turing), turing.f32_flops);
  EXPECT_DOUBLE_EQ(rate_of("compute f32x3", turing), turing.f16_flops / 3);
  // Three products of f16 are slower than FFMA on GeForce boards, not on others.
  const Target ada = target_named("sm_89").value();
  EXPECT_DOUBLE_EQ(rate_of("compute f32x3", target_of_gpu(ada, "NVIDIA L40S")), ada.f16_flops / 3);
  const Target geforce = target_of_gpu(ada, "NVIDIA GeForce RTX 4090");
  EXPECT_DOUBLE_EQ(rate_of("compute f32x3", geforce), geforce.f32_flops);
  const Target ampere = target_named("sm_80").value();
  EXPECT_DOUBLE_EQ(rate_of("dtype bf16", ampere), ampere.bf16_flops);
  EXPECT_DOUBLE_EQ(rate_of("compute f32", ampere), ampere.f32_flops);
  EXPECT_DOUBLE_EQ(rate_of("dtype f64", ampere), ampere.f64_flops);
}

// Each measured on an H200, or an H100; plans without tensor cores took from 0.1 to 40 times as long as the others'
// first.
TEST(Planner, TakesPlansWithoutTensorCoresWhereTheyAreTheFastest) {
  const auto is_plain = [](const std::string& layer) {
    const auto plans = plan({parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()}).value();
    return plans.front().template_name.starts_with("direct");
  };
  for (const char* compute : {"dtype f16", "compute tf32", "compute f32x3"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      const std::string end = fmt::format("; {}; layout {}", compute, layout);
      EXPECT_TRUE(is_plain("conv_transpose2d 1 -> 1; kernel 3; input 8x512x512" + end)) << end;
      EXPECT_FALSE(is_plain("conv_transpose2d 512 -> 512; kernel 4; stride 2; padding 1; input 1x4x4" + end)) << end;
      EXPECT_FALSE(is_plain("conv_transpose2d 128 -> 1; kernel 3; padding 1; input 8x64x64" + end)) << end;
      EXPECT_FALSE(is_plain("conv_transpose2d 64 -> 2; kernel 2; stride 2; input 8x128x128" + end)) << end;
    }
  }
  EXPECT_TRUE(is_plain("conv_transpose2d 3 -> 32; kernel 3; stride 2; input 16x128x128; compute f32x3"));
}

TEST(PlannedSizes, AreTheSameForAllTemplates) {
  const Target target = target_named("sm_90a").value();
  const std::string layer = "conv_transpose2d 64 -> 64; kernel 3x3; compute tf32; input ";
  const Problem open{parse_layer(layer + "?x128x128").value(), Direction::kForward, target};
  const std::string batch = fmt::format("{}", planned_sizes(open.layer).batch);
  const Problem fixed{parse_layer(layer + batch + "x128x128").value(), Direction::kForward, target};
  int predicted = 0;
  for (const Template& known : templates()) {
    const auto of_open =
        known.direction == Direction::kForward ? plans_of(known, open) : Result<std::vector<Plan>>(std::vector<Plan>());
    if (of_open && !of_open->empty()) {
      const std::optional<double> seconds = of_open->front().predicted_seconds;
      EXPECT_EQ(seconds, plans_of(known, fixed).value().front().predicted_seconds) << known.name;
      predicted += seconds ? 1 : 0;
    }
  }
  EXPECT_GE(predicted, 3);
}

// What is predicted at the sizes that were planned for is what the plan says; more work takes longer.
TEST(Predict, GoesByTheSizesThatAreGiven) {
  const Target target = target_named("sm_90a").value();
  for (const char* layer : {"64 -> 64; kernel 3x3; compute tf32; input ?x128x128",
                            "64 -> 32; kernel 4; stride 2; padding 1; dtype f16; layout nhwc; input ?x?x?",
                            "32 -> 64; kernel 2; stride 2; compute f32x3; input 4x?x?"}) {
    const Problem problem{parse_layer(fmt::format("conv_transpose2d {}", layer)).value(), Direction::kForward, target};
    const InputSizes planned = planned_sizes(problem.layer);
    InputSizes more = planned;
    (problem.layer.batch ? more.extents[kHeight] : more.batch) *= 8;
    const std::vector<Plan> plans = plan(problem).value();
    for (const Plan& each : plans) {
      EXPECT_EQ(predict(problem, each, planned), each.predicted_seconds) << each.template_name << ", " << each.summary;
      if (each.predicted_seconds) {
        EXPECT_GT(predict(problem, each, more).value_or(0), 3 * *each.predicted_seconds) << each.template_name;
      }
    }
  }
}

// CUDA reserves no shared memory of a block before sm_80.
TEST(BlocksOfAnSm, AreFoundForABlockWithoutSharedMemoryOnEveryChip) {
  for (const Target& target : known_targets()) {
    const BlockNeeds needs = {.threads = 256, .registers = 32, .shared_bytes = 0};
    EXPECT_EQ(blocks_of_sm(target, needs, target.max_threads_per_sm), target.max_threads_per_sm / 256)
        << target.architecture;
  }
}

}  // namespace
}  // namespace convtgen
