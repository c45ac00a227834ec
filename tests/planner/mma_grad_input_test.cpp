#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Of one group, with positions an odd number of elements apart, with groups and dilation, of open sizes.
constexpr const char* kLayers[] = {
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32",
    "48 -> 3; kernel 9x9; stride 3x3; padding 4x4; output_padding 2x2; input 4x540x960",
    "1024 -> 64; kernel 1x5; padding 0x4; dilation 1x2; groups 8; input 2x1x32876",
    "33 -> 6; kernel 5x5; stride 3x3; dilation 2x1; groups 3; input ?x?x?",
};
constexpr const char* kEnds[] = {"; dtype f16", "; dtype f16; layout nhwc", "; compute tf32",
                                 "; compute tf32; layout nhwc"};

Problem problem_for(const std::string& layer, std::string_view architecture = "sm_90a") {
  return problem_of(layer + "; directions grad_input", architecture);
}

TEST(PlanMmaGradInput, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const std::string layer : kLayers) {
    for (const char* end : kEnds) {
      for (const char* chip : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
        const Problem problem = problem_for(layer + end, chip);
        const auto plans = kMmaGradInput.plans(problem);
        ASSERT_TRUE(plans) << layer << end << ": " << plans.error().message;
        double before = 0;
        for (const Plan& each : *plans) {
          SCOPED_TRACE(problem.target.architecture + ", " + layer + end + ": " + each.reason);
          const KernelPlan& main = each.launch.main();
          const std::int64_t blocks = integer(each, "blocks_per_sm");
          EXPECT_LE(main.shared_bytes, problem.target.max_shared_bytes);
          EXPECT_TRUE(blocks == 1 || (main.shared_bytes + 1024) * blocks <= problem.target.shared_bytes_per_sm);
          EXPECT_LE(main.threads * blocks, problem.target.max_threads_per_sm);
          EXPECT_GE(each.predicted_seconds.value(), before);
          before = each.predicted_seconds.value();
        }
      }
    }
  }
}

TEST(PlanMmaGradInput, IsTheFirstChoiceForFewOutputChannels) {
  for (const char* end : kEnds) {
    for (const char* chip : {"sm_80", "sm_89", "sm_90a", "sm_120"}) {
      EXPECT_EQ(plan(problem_for(std::string(kLayers[1]) + end, chip)).value().front().template_name, "mma_grad_input")
          << chip << end;
    }
  }
}

// With channels first, rows of whole vectors; else also channels that are.
TEST(PlanMmaGradInput, CopiesAndStoresWhatIsAdjacent) {
  struct Adjacent {
    const char* layer;
    std::int64_t copy_bytes, most_store;
  };
  for (const Adjacent& each :
       {Adjacent{"64 -> 3; kernel 4; stride 2; padding 1; input 1x32x32; dtype f16; layout nhwc", 16, 8},
        Adjacent{"64 -> 3; kernel 4; stride 2; padding 1; input 1x32x31; dtype f16; layout nhwc", 4, 8},
        Adjacent{"60 -> 6; kernel 4; stride 2; padding 1; input 1x32x?; dtype f16; layout nhwc", 4, 4},
        Adjacent{"33 -> 6; kernel 5; groups 3; input 1x8x8; dtype f16; layout nhwc", 4, 1},
        Adjacent{"64 -> 3; kernel 4; stride 2; padding 1; input 1x32x28; dtype f16", 16, 4},
        Adjacent{"64 -> 3; kernel 4; stride 2; padding 1; input 1x32x?; compute tf32", 4, 1}}) {
    std::int64_t most = 0;
    const std::vector<Plan> plans = kMmaGradInput.plans(problem_for(each.layer)).value();
    for (const Plan& plan : plans) {
      EXPECT_EQ(integer(plan, "copy_bytes"), each.copy_bytes) << each.layer;
      most = std::max(most, integer(plan, "store"));
    }
    EXPECT_EQ(most, each.most_store) << each.layer;
  }
}

}  // namespace
}  // namespace convtgen
