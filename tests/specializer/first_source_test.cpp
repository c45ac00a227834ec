// A plan that its template refuses is passed over for the next one.
#include "generator/specializer/first_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"

namespace convtgen {
namespace {

class FirstSourceTest : public ::testing::Test {
 protected:
  /// The first `count` plans with a parameter that their template refuses.
  [[nodiscard]] std::vector<Plan> with_bad(std::size_t count) const {
    std::vector<Plan> plans = plans_;
    for (std::size_t i = 0; i < count; ++i) {
      plans[i].parameters["threads_x"] = std::int64_t{33};
    }
    return plans;
  }

  Problem problem_{parse_layer("conv_transpose2d 8 -> 8; kernel 3; input 8x64x64").value(), Direction::kForward,
                   target_named("sm_80").value()};
  std::vector<Plan> plans_ = kDirect.plans(problem_).value();
};

TEST_F(FirstSourceTest, IsOfTheFirstPlanWhereThatIsRight) {
  const auto first = first_source(problem_, plans_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->index, 0u);
  EXPECT_EQ(first->source.text, specialize(problem_, plans_[0])->text);
  EXPECT_TRUE(first->passed_over.empty());
}

TEST_F(FirstSourceTest, PassesOverWhatTheTemplateRefuses) {
  ASSERT_GE(plans_.size(), 4u);
  const std::vector<Plan> plans = with_bad(2);
  const auto first = first_source(problem_, plans);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->index, 2u);
  EXPECT_EQ(first->source.text, specialize(problem_, plans_[2])->text);
  ASSERT_EQ(first->passed_over.size(), 2u);
  EXPECT_EQ(first->passed_over[1].index, 1u);
  EXPECT_NE(first->passed_over[0].description.find("plan 1 of "), std::string::npos);
  EXPECT_NE(first->passed_over[0].description.find("(direct: a block makes "), std::string::npos);
  EXPECT_NE(first->passed_over[0].reason.find("static assertion failed: a block is whole warps"), std::string::npos)
      << first->passed_over[0].reason;
}

TEST_F(FirstSourceTest, BeginsWhereItIsTold) {
  EXPECT_EQ(first_source(problem_, plans_, 1)->index, 1u);
  EXPECT_EQ(first_source(problem_, plans_, 1)->source.text, specialize(problem_, plans_[1])->text);
}

TEST_F(FirstSourceTest, WhereAllFailTheFirstReasonIsTold) {
  const auto numbered = [&](const Problem& /*problem*/, const Plan& plan) -> Result<KernelSource> {
    const auto at = std::ranges::find(plans_, plan.summary, &Plan::summary) - plans_.begin();
    return fail("reason " + std::to_string(at));
  };
  EXPECT_EQ(first_source(problem_, plans_, 0, numbered).error().message, "reason 0");
  EXPECT_EQ(first_source(problem_, plans_, 1, numbered).error().message, "reason 1");
  EXPECT_EQ(first_source(problem_, plans_, plans_.size()).error().message, "there is no plan");
}

}  // namespace
}  // namespace convtgen
