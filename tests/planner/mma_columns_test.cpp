#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

constexpr const char* kFlow = "661 -> 2; kernel 4; stride 2; padding 1; input 8x96x112; bias; compute f32x3";

TEST(PlanMmaColumns, BlocksFitTheChipsAndAreTheBestFirst) {
  for (const char* chip : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
    const Problem problem = problem_of(kFlow, chip);
    double before = 0;
    const std::vector<Plan> plans = kMmaColumns.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(problem.target.architecture + ": " + each.reason);
      const KernelPlan& main = each.launch.main();
      EXPECT_LE(main.shared_bytes, problem.target.max_shared_bytes);
      EXPECT_LE((main.shared_bytes + 1024) * integer(each, "blocks_per_sm"), problem.target.shared_bytes_per_sm);
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
    }
  }
}

// x is read once, and what it gives the 32 taps goes through the workspace.
TEST(PlanMmaColumns, IsTheFirstChoiceForFewOutputsOfManyChannels) {
  for (const char* chip : {"sm_80", "sm_90a"}) {
    const Plan first = plan(problem_of(kFlow, chip)).value().front();
    ASSERT_EQ(first.template_name, "mma_columns");
    EXPECT_EQ(integer(first, "block_n"), 32);
    EXPECT_EQ(integer(first, "copy_bytes"), 16);
    EXPECT_EQ(first.launch.kernels.back().function, "add_columns");
    EXPECT_EQ(first.launch.regions.back().bytes.factor, 2 * 16 * 4);
  }
}

// Vectors lie in each channel alike where its pixels are a multiple of four.
TEST(PlanMmaColumns, CopiesWordsWherePixelsAreNoVectors) {
  struct Copies {
    const char* sizes;
    std::int64_t bytes;
  };
  for (const Copies& each : {Copies{"1x6x10", 16}, Copies{"1x7x9", 4}, Copies{"?x?x8", 16}, Copies{"?x?x?", 4}}) {
    const std::vector<Plan> plans =
        kMmaColumns.plans(problem_of(std::string("64 -> 1; kernel 3; compute f32x3; input ") + each.sizes, "sm_80"))
            .value();
    EXPECT_EQ(integer(plans.front(), "copy_bytes"), each.bytes) << each.sizes;
  }
}

}  // namespace
}  // namespace convtgen
