// Each fitted number of the cost models changes what is predicted of some plan: one that nothing reads, or that stands
// where no problem comes, would be fitted to no effect.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "generator/planner/candidates.h"
#include "generator/planner/chip/cost_factors.h"
#include "generator/planner/predict.h"
#include "generator/planner/search/cost.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

using Factors = std::set<std::string_view>;

/// Problems in whose plans each factor counts.
constexpr std::array kProblemsOfFactors = {
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute tf32; directions forward",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; dtype f16; layout nhwc; directions forward",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute f32x3; directions forward",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; dtype f16; directions forward",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute f32x3; layout nhwc; directions forward",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute tf32; directions grad_input",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute tf32; directions grad_weight",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; dtype f16; layout nhwc; directions grad_weight",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute f32x3; directions grad_weight",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; dtype f16; directions grad_weight",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute f32x3; layout nhwc; directions grad_weight",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x32x32; compute tf32; directions forward",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x32x32; dtype f16; layout nhwc; directions "
    "forward",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x32x32; compute tf32; directions "
    "grad_input",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x32x32; dtype f16; layout nhwc; directions "
    "grad_input",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x32x32; compute f32x3; directions "
    "grad_input",
    "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input 4x33x33; compute tf32; directions forward",
    "conv_transpose2d 256 -> 128; kernel 2x2; stride 2x2; bias; input 8x64x64; dtype f16; layout nhwc; directions "
    "forward",
    "conv_transpose2d 256 -> 128; kernel 2x2; stride 2x2; bias; input 8x64x64; dtype f16; layout nhwc; directions "
    "grad_weight",
    "conv_transpose2d 64 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x64x128; compute tf32; "
    "directions forward",
    "conv_transpose2d 64 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x64x128; dtype f16; "
    "layout nhwc; directions forward",
    "conv_transpose2d 64 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x64x128; compute tf32; "
    "directions grad_input",
    "conv_transpose2d 64 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x64x128; compute tf32; "
    "directions grad_weight",
    "conv_transpose3d 32 -> 32; kernel 3; stride 2; padding 1; input 2x16x32x32; compute tf32; directions forward",
    "conv_transpose3d 32 -> 32; kernel 3; stride 2; padding 1; input 2x16x32x32; dtype f16; directions grad_input",
    "conv_transpose2d 16 -> 24; kernel 3x3; groups 4; input 8x64x64; dtype f16; layout nhwc; directions forward",
    "conv_transpose2d 16 -> 24; kernel 3x3; groups 4; input 8x64x64; compute tf32; layout nhwc; directions forward",
    "conv_transpose2d 16 -> 24; kernel 3x3; groups 4; input 8x64x64; compute tf32; directions grad_input",
    "conv_transpose2d 16 -> 24; kernel 3x3; groups 4; input 8x64x64; dtype f16; directions grad_input",
    "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; dtype f16; layout nhwc; directions "
    "forward",
    "conv_transpose2d 19 -> 19; kernel 16x16; stride 8x8; groups 19; input 4x32x32; compute tf32; directions forward",
    "conv_transpose2d 3 -> 16; kernel 5x5; padding 2x2; input 8x128x128; compute tf32; directions forward",
    "conv_transpose1d 128 -> 128; kernel 3; input 64x8192; dtype f16; layout nhwc",
};

/// The same of chips that lack it.
constexpr std::array kProblemsWithoutWgmma = {
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute tf32",
    "conv_transpose2d 64 -> 64; kernel 3x3; input 8x512x512; compute tf32; directions grad_weight",
};

/// What is predicted of a plan, of general templates' too.
std::optional<double> predicted(const Problem& problem, const Plan& plan) {
  const InputSizes sizes = planned_sizes(problem.layer);
  const auto seconds = predict(problem, plan, sizes);
  return seconds ? seconds : template_of(plan).seconds(problem, plan, sizes);
}

/// Takes out of `left` what changes a plan's time.
void try_factors(Problem problem, const Plan& plan, Factors& left) {
  const auto before = predicted(problem, plan);
  for (const CostFactorName& each : kCostFactorNames) {
    double& value = problem.target.factors.*each.member;
    const double kept = value;
    if (left.contains(each.name)) {
      for (const double other : {1000 * kept + 1, kept / 1000}) {  // of some times the longest alone counts
        value = other;
        if (predicted(problem, plan) != before) {
          left.erase(each.name);
        }
      }
      value = kept;
    }
  }
}

TEST(CostFactors, EachChangesWhatIsPredicted) {
  Factors left;
  for (const CostFactorName& each : kCostFactorNames) {
    left.insert(each.name);
  }
  const auto try_problem = [&](const char* text, const char* architecture) {
    const Problem problem = problem_of(text, architecture);
    const auto plans = plan(problem, Records::kNone);
    ASSERT_TRUE(plans) << text;
    for (const Plan& each : *plans) {
      try_factors(problem, each, left);
    }
  };
  for (const char* text : kProblemsOfFactors) {
    try_problem(text, "sm_90a");
  }
  for (const char* text : kProblemsWithoutWgmma) {
    try_problem(text, "sm_80");
  }
  EXPECT_EQ(left, Factors()) << "nothing that is predicted depends on these";
}

}  // namespace
}  // namespace convtgen
