#include "generator/planner/grad_weight_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/grad_weight_launch.h"
#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/grad_weight_rows.h"

namespace convtgen {
namespace {

Problem grad_weight_of(const std::string& layer, std::string_view architecture = "sm_90a") {
  const auto parsed = parse_layer("conv_transpose2d " + layer + "; directions grad_weight");
  EXPECT_TRUE(parsed) << layer;
  return {parsed.value_or(Layer{}), Direction::kGradWeight, target_named(architecture).value()};
}

std::int64_t parameter(const Plan& plan, const char* name) {
  return std::get<std::int64_t>(plan.parameters.at(name));
}

/// Layers of benchmarks/layers.convt.
constexpr const char* kLayers[] = {
    "128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16",
    "64 -> 32; kernel 2x2; stride 2x2; input 8x128x128; bias",
    "32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024",
};
constexpr std::pair<const char*, const char*> kModes[] = {{"; compute tf32", "grad_weight_rows"},
                                                          {"; dtype f16", "grad_weight_rows"},
                                                          {"; dtype bf16; layout nhwc", "grad_weight_pixels"},
                                                          {"; compute tf32; layout nhwc", "grad_weight_gemm"},
                                                          {"; compute f32x3", "f32x3_grad_weight"}};

TEST(PlanGradWeight, TensorCoresAreTheFirstChoiceOfTheBenchmarksLayers) {
  for (const std::string layer : kLayers) {
    for (const auto& [mode, template_name] : kModes) {
      const Plan first = plan(grad_weight_of(layer + mode)).value().front();
      EXPECT_EQ(first.template_name, template_name) << layer << mode;
      EXPECT_EQ(plan(grad_weight_of(layer + mode, "sm_80")).value().front().template_name, "direct_grad_weight");
    }
  }
}

/// What docs/language.md says of the workspace: it does not grow with the call either.
TEST(PlanGradWeight, WorkspacesAreSmallWhateverTheLayerIs) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  std::int64_t largest = 0;
  for (const std::string layer :
       {"512 -> 512; kernel 4; stride 2; padding 1; input 64x64x64; bias", "2048 -> 2048; kernel 4; stride 2; bias",
        "8192 -> 16; kernel 3; input 8x32x32", "16 -> 8192; kernel 3; bias", "64 -> 64; kernel 3; input ?x?x?; bias",
        "32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias"}) {
    for (const std::string mode :
         {"; dtype f64", "; compute tf32", "; dtype f16", "; dtype bf16; layout nhwc", "; compute f32x3"}) {
      const Problem problem = grad_weight_of(layer + mode);
      const std::vector<Plan> plans = plan(problem).value();
      for (const Plan& each : plans) {
        std::int64_t others = 0, sums = 0;
        for (const Region& region : launch_plan_of(problem, each).regions) {
          EXPECT_EQ(region.bytes.factor, 0);
          (region.name == "partial" || region.name == "totals" ? sums : others) += region.bytes.constant;
        }
        EXPECT_LE(sums, 64 * kMiB) << layer << mode << ": " << each.template_name << ", " << each.summary;
        EXPECT_LE(others, kMiB) << layer << mode << ": " << each.template_name << ", " << each.summary;
        largest = std::max(largest, sums);
      }
    }
  }
  EXPECT_GT(largest, 32 * kMiB) << "the bound is not reached: layers that need more are missing here";
}

TEST(PlanGradWeight, PlansFitTheChipAndSayWhatTheyTake) {
  for (const std::string layer : kLayers) {
    for (const auto& [mode, first_choice] : kModes) {
      const Problem problem = grad_weight_of(layer + mode);
      const Layer& of = problem.layer;
      for (const auto plans_of : {static_cast<Result<std::vector<Plan>> (*)(const Problem&)>(plans_grad_weight_gemm),
                                  static_cast<Result<std::vector<Plan>> (*)(const Problem&)>(plans_grad_weight_rows)}) {
        const auto plans = plans_of(problem);
        if (!plans) {
          continue;
        }
        EXPECT_LE(plans->size(), 8u);
        double before = 0;
        for (const Plan& each : *plans) {
          SCOPED_TRACE(layer + mode + ": " + each.summary);
          EXPECT_LE(each.shared_bytes, problem.target.max_shared_bytes);
          EXPECT_GE(each.predicted_seconds.value_or(0), before) << "best first";
          before = each.predicted_seconds.value_or(0);
          const std::int64_t producers = each.parameters.contains("producers") ? parameter(each, "producers") : 32;
          EXPECT_EQ(each.threads, parameter(each, "consumer_groups") * 128 + producers);
          EXPECT_LE(parameter(each, "taps_h"), of.axes[kHeight].kernel);
          EXPECT_LE(parameter(each, "taps_w"), of.axes[kWidth].kernel);
          EXPECT_GE(parameter(each, "slices"), 1);
          const std::int64_t weights = of.in_channels * of.out_channels * tap_count(of);
          EXPECT_TRUE(parameter(each, "slices") == 1 ||
                      parameter(each, "slices") * weights * 4 <= kMostPartialBytes + weights * 4);
        }
      }
    }
  }
}

// With one slice, products are stored as the gradient. A bias has kernels of its own.
TEST(PlanGradWeight, SlicesAreAddedByAKernelOfTheirOwn) {
  int sliced = 0;
  for (const std::string layer : kLayers) {
    Problem problem = grad_weight_of(layer + "; dtype f16");
    problem.layer.bias = false;
    const std::vector<Plan> plans = plans_grad_weight_gemm(problem).value();
    for (const Plan& each : plans) {
      const bool has_slices = parameter(each, "slices") > 1;
      EXPECT_EQ(grad_weight_gemm_launch(problem, each).kernels.size() > 1, has_slices) << each.summary;
      sliced += has_slices ? 1 : 0;
    }
  }
  EXPECT_GT(sliced, 0);
}

struct RefusedGradient {
  const char* layer;
  const char* of_gemm;
  const char* of_rows;
  const char* architecture = "sm_90a";
};

TEST(PlanGradWeight, RefusalsNameThePropertyAndTheLimit) {
  const RefusedGradient kAll[] = {
      {"16 -> 16; kernel 3; compute tf32; input 1x8x8", "architecture sm_80; wgmma is an instruction of sm_90a",
       "architecture sm_80; wgmma is an instruction of sm_90a", "sm_80"},
      {"16 -> 16; kernel 3; input 1x8x8", "compute f32; it takes tf32, f16, bf16",
       "compute f32; it takes tf32, f16, bf16"},
      {"12 -> 16; kernel 3; dtype f16; layout nhwc; input 1x8x8",
       "12 input channels; with channels last it takes multiples of 8", "channels last; it takes NCHW"},
      {"16 -> 12; kernel 3; groups 2; compute tf32; layout nhwc",
       "6 output channels of a group; with channels last it takes multiples of 4", "channels last; it takes NCHW"},
      {"16 -> 16; kernel 3; dtype f16", "", "an open width; it takes rows of a known size"},
      {"16 -> 16; kernel 3; padding 1; dtype f16; input 1x8x13", "",
       "width 13; it takes rows of whole words, of even widths"},
      {"16 -> 16; kernel 4; dtype f16; input 1x8x8", "", "output width 11; it takes rows of whole words, of even widths"},
  };
  const auto reason_of = [](const Result<std::vector<Plan>>& plans) { return plans ? "" : plans.error().message; };
  for (const RefusedGradient& each : kAll) {
    const Problem problem = grad_weight_of(each.layer, each.architecture);
    EXPECT_EQ(reason_of(plans_grad_weight_gemm(problem)), each.of_gemm) << each.layer;
    EXPECT_EQ(reason_of(plans_grad_weight_rows(problem)), each.of_rows) << each.layer;
  }
}

TEST(PlanGradWeight, ChannelsAreSharedEvenly) {
  EXPECT_FALSE(even_parts(64, 16, 128).empty());
  for (const std::int64_t part : even_parts(96, 16, 64)) {
    EXPECT_EQ(part % 16, 0);
    EXPECT_LE(part, 64);
  }
}

}  // namespace
}  // namespace convtgen
