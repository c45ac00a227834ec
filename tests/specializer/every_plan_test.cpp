// What the planner offers can be had: each plan of random layers is specialised.
//
// A template refuses a plan by a static assertion, or by a static function that takes too many steps: both are found
// when the constants of its program are evaluated, which takes a tenth of specialising. So all plans of many layers are
// evaluated, and those of some are specialised: CONVTGEN_TEST_SEED chooses which. CONVTGEN_TEST_ALL=1 specialises all
// plans of 10,000 layers.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/program/program_text.h"
#include "generator/specializer/globals.h"
#include "generator/specializer/kernel_source.h"
#include "generator/specializer/specialize.h"
#include "tests/language/random_layer.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

using testing_support::Pick;

/// Of [least, most], half of all draws of the lower quarter.
std::int64_t skewed(const Pick& pick, std::int64_t least, std::int64_t most) {
  return pick(0, 1) == 0 ? pick(least, least + (most - least) / 4) : pick(least, most);
}

/// A legal layer that a template for tensor cores may take: kernels to 33, dilations to 12, strides to 20.
Layer tensor_core_layer(const Pick& pick) {
  const auto one_in = [&](std::int64_t n) { return pick(1, n) == 1; };
  for (;;) {
    Layer layer;
    layer.dimensions = one_in(6) ? 1 : one_in(6) ? 3 : 2;
    const std::int64_t mode = pick(0, 3);
    layer.dtype = mode == 2 ? Dtype::kF16 : mode == 3 ? Dtype::kBf16 : Dtype::kF32;
    layer.compute = mode == 0   ? Compute::kTf32
                    : mode == 1 ? Compute::kF32x3
                    : mode == 2 ? Compute::kF16
                                : Compute::kBf16;
    layer.layout = one_in(2) ? Layout::kNhwc : Layout::kNchw;
    for (const std::size_t index : {kDepth, kHeight, kWidth}) {
      Axis& axis = layer.axes[index];
      axis.kernel = one_in(4) ? pick(1, 33) : pick(1, 7);
      axis.stride = one_in(2) ? 1 : one_in(4) ? pick(1, 20) : pick(1, 4);
      axis.dilation = one_in(2) ? 1 : one_in(3) ? pick(1, 12) : pick(1, 3);
      const std::int64_t reach = axis.dilation * (axis.kernel - 1);
      axis.padding = one_in(3) ? 0 : one_in(4) ? pick(0, reach + 2) : pick(0, std::max<std::int64_t>(1, reach / 2));
      axis.output_padding = one_in(2) ? 0 : pick(0, std::max(axis.stride, axis.dilation) - 1);
    }
    layer.groups = one_in(6) ? pick(1, 8) : 1;
    const auto channels = [&] { return one_in(3) ? pick(1, 300) : 8 * skewed(pick, 1, 64); };
    layer.in_channels = layer.groups * channels();
    layer.out_channels = layer.groups * channels();
    const auto size = [&](std::int64_t most) {
      return one_in(6) ? Size() : Size(one_in(2) ? 8 * skewed(pick, 1, most / 8) : skewed(pick, 1, most));
    };
    layer.batch = size(64);
    layer.axes[kDepth].extent = size(64);
    layer.axes[kHeight].extent = size(512);
    layer.axes[kWidth].extent = size(512);
    layer.bias = one_in(2);
    if (one_in(4)) {
      layer.fuse = {{.kind = ActivationKind::kRelu}};
    }
    std::fill_n(layer.axes.begin(), axes_of(layer).front(), kNoAxis);
    if (check_limits(layer).empty()) {
      return layer;
    }
  }
}

/// What is wrong with a plan; empty where nothing is.
using Judge = std::function<std::string(const Problem& problem, const Plan& plan)>;

std::string specialised(const Problem& problem, const Plan& plan) {
  const Result<KernelSource> source = specialize(problem, plan);
  return source ? "" : source.error().message;
}

/// The program of each template, read once.
std::map<std::string, Program> read_programs() {
  std::map<std::string, Program> programs;
  for (const Template& known : templates()) {
    programs.emplace(known.name, read_program(known.program()).value());
  }
  return programs;
}

std::string evaluated(const Problem& /*problem*/, const Plan& plan) {
  static const std::map<std::string, Program> programs = read_programs();
  const Result<Globals> globals = Globals::make(programs.at(plan.template_name), plan.parameters);
  return globals ? "" : globals.error().message;
}

/// The layer in a direction; a gradient has no fuse chain.
Problem problem_of(Layer layer, Direction direction) {
  layer.directions = {direction};
  if (direction != Direction::kForward) {
    layer.fuse.clear();
    layer.fuse_input.clear();
  }
  return {std::move(layer), direction, target_named("sm_90a").value()};
}

/// What is wrong with the first `most` plans of a layer, a line each.
std::string judge_plans(const Layer& layer, const Judge& judge, std::size_t most,
                        Direction direction = Direction::kForward) {
  const Problem problem = problem_of(layer, direction);
  const Result<std::vector<Plan>> plans = plan(problem);
  if (!plans) {
    return fmt::format("{}: {}\n", canonical_form(problem.layer), plans.error().message);
  }
  std::string wrong;
  for (std::size_t i = 0; i < std::min(most, plans->size()); ++i) {
    if (const std::string why = judge(problem, (*plans)[i]); !why.empty()) {
      wrong += fmt::format("{}: plan {} ({}, {}): {}\n", canonical_form(problem.layer), i, (*plans)[i].template_name,
                           (*plans)[i].summary, why);
    }
  }
  return wrong;
}

/// Judges the plans of random layers, on all cores.
void expect_right(std::uint64_t seed, int layers, const Judge& judge, std::size_t most = 1000,
                  Direction direction = Direction::kForward) {
  std::atomic<int> next = 0;
  std::mutex mutex;
  std::string wrong;
  const auto work = [&] {
    for (int i = next++; i < layers; i = next++) {
      const Layer layer = tensor_core_layer(testing_support::seeded(seed + static_cast<std::uint64_t>(i)));
      if (const std::string text = judge_plans(layer, judge, most, direction); !text.empty()) {
        const std::lock_guard lock(mutex);
        wrong += text;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back(work);
    }
  }
  EXPECT_EQ(wrong, "");
}

constexpr int kAll = 10000;

/// Of `all` layers, or of so many in a row; CONVTGEN_TEST_SEED chooses the first.
void expect_some_right(std::uint64_t seed, int layers, const Judge& judge, std::size_t most = 1000,
                       Direction direction = Direction::kForward, int all = kAll) {
  if (testing::tests_all()) {
    expect_right(seed, all, judge, most, direction);
    return;
  }
  std::mt19937_64 random = testing::seeded_by(testing::test_seed());
  expect_right(seed + random() % static_cast<std::uint64_t>(all - layers), layers, judge, most, direction);
}

TEST(EveryPlan, OfRandomLayersKeepsItsTemplatesAssertions) {
  expect_some_right(1, 800, evaluated);
}

TEST(EveryPlan, OfRandomLayersIsSpecialised) {
  expect_some_right(1, 30, specialised);
}

TEST(EveryPlan, ThatComesFirstIsSpecialised) {
  expect_some_right(1'000'000, 200, specialised, 1, Direction::kForward, 2 * kAll);
}

// Gradients of the input have the plans of forward layers with input and output exchanged, which the planner takes
// longer for.
TEST(EveryPlan, OfGradientsKeepsItsTemplatesAssertions) {
  expect_some_right(2'000'000, 100, evaluated, 1000, Direction::kGradWeight);
  expect_some_right(3'000'000, 20, evaluated, 1000, Direction::kGradInput);
}

TEST(EveryPlan, OfGradientsIsSpecialised) {
  expect_some_right(2'000'000, 12, specialised, 1000, Direction::kGradWeight);
  expect_some_right(3'000'000, 8, specialised, 1000, Direction::kGradInput);
}

// Layers that had a plan which its template refused, or which took its static functions more steps than they may.
TEST(EveryPlan, OfLayersThatOnceFailedIsSpecialised) {
  for (const char* text : {
           "conv_transpose2d 152 -> 22; kernel 9x1; padding 2x1; input 7x483x280; dtype bf16; layout nhwc",
           "conv_transpose2d 16 -> 64; kernel 20x1; dilation 8x1; compute f32x3; layout nhwc",
       }) {
    const auto layer = parse_layer(text);
    ASSERT_TRUE(layer) << text;
    EXPECT_EQ(judge_plans(*layer, specialised, 1000), "");
  }
}

}  // namespace
}  // namespace convtgen
