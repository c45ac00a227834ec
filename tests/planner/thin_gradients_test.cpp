#include <gtest/gtest.h>

#include <string>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Depthwise, few output channels, one with weights that are no whole vectors, of an open size, of one axis, and of
/// three.
constexpr const char* kThinLayers[] = {
    "21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64",
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32",
    "56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480",
    "33 -> 6; kernel 5x5; stride 3x3; dilation 2x1; groups 3; input ?x?x?",
    "128 -> 128; kernel 1x41; stride 1x20; groups 128; input 16x1x8192",
};

Problem problem_for(const std::string& layer, std::string_view direction, std::string_view architecture = "sm_90a") {
  return problem_of(layer + "; directions " + std::string(direction), architecture);
}

TEST(PlanThinGradients, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kThinLayers) {
    for (const char* end : {"", "; layout nhwc", "; dtype f16", "; dtype bf16; layout nhwc", "; dtype f64"}) {
      for (const Target& target : known_targets()) {
        for (const Template* each : {&kThinGradInput, &kThinGradWeight}) {
          const auto direction = each == &kThinGradInput ? "grad_input" : "grad_weight";
          const auto plans = each->plans(problem_for(layer + end, direction, target.architecture));
          ASSERT_TRUE(plans) << layer << end << ": " << plans.error().message;
          double before = 0;
          for (const Plan& plan : *plans) {
            SCOPED_TRACE(target.architecture + ", " + layer + end + ": " + plan.reason);
            const std::int64_t blocks = integer(plan, "blocks_per_sm");
            const KernelPlan& main = plan.launch.main();
            EXPECT_LE(main.shared_bytes, target.max_shared_bytes);
            EXPECT_LE(main.threads * blocks, target.max_threads_per_sm);
            EXPECT_EQ(main.threads % 32, 0);
            EXPECT_LE(integer(plan, "threads_x") * integer(plan, "threads_y") * integer(plan, "threads_c"),
                      main.threads);
            EXPECT_EQ(plan.alignment > 0, plan.alignment == 8 || plan.alignment == 16);
            EXPECT_GE(plan.predicted_seconds.value(), before);
            before = plan.predicted_seconds.value();
          }
        }
      }
    }
  }
}

// Rows of whole vectors are read by vectors; those of an open width are not.
TEST(PlanThinGradients, VectorsAreReadWhereRowsAreWhole) {
  const auto first = [](const std::string& layer) {
    return kThinGradInput.plans(problem_for(layer, "grad_input")).value().front();
  };
  EXPECT_EQ(integer(first(std::string(kThinLayers[0]) + "; dtype f16"), "vector"), 8);
  EXPECT_EQ(integer(first(kThinLayers[0]), "vector"), 4);
  EXPECT_EQ(integer(first(kThinLayers[3]), "vector"), 1);
}

TEST(PlanThinGradients, AreTheFirstChoiceOfDepthwiseLayers) {
  for (const char* end :
       {"; compute tf32", "; dtype f16", "; dtype f16; layout nhwc", "; compute f32x3; layout nhwc"}) {
    for (const char* chip : {"sm_80", "sm_89", "sm_90a"}) {
      for (const char* direction : {"grad_input", "grad_weight"}) {
        const Problem problem = problem_for(std::string(kThinLayers[0]) + end, direction, chip);
        EXPECT_EQ(candidates(problem, Records::kNone).value().plans.front().template_name,
                  std::string("thin_") + direction)
            << chip << end;
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
