// The plans of `two_columns`.
#include <gtest/gtest.h>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

TEST(PlanTwoColumns, HasBlocksForWholeRows) {
  const Problem problem = problem_of("3 -> 4; kernel 3; padding 1; input 2x5x130; fuse scale(1), scale(1), scale(1)");
  const Plan plan = convtgen::plan(problem).value().front();
  ASSERT_EQ(plan.template_name, "two_columns");
  // Of each of 4 channels, 5 rows and 2 images: 130 outputs; a block makes 128.
  EXPECT_EQ(grid_blocks(problem, plan, shape_of(problem.layer, {2, {5, 130}}).value()), 4 * 5 * 2 * 2);
}

}  // namespace
}  // namespace convtgen
