#include "generator/planner/table/templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/predict.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Templates, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Template& known : templates()) {
    EXPECT_EQ(template_named(known.name).value(), &known);
    EXPECT_THAT(std::string(known.program()), StartsWith("(program"));
    EXPECT_THAT(std::string(known.program().substr(0, 100)), HasSubstr(std::string(known.name)));
    names.insert(known.name);
  }
  EXPECT_EQ(names.size(), templates().size());
  // The first of each direction takes every layer.
  for (const testing::TemplateFacts& facts : testing::template_facts()) {
    const Template& known = *template_named(facts.name).value();
    EXPECT_EQ(&*std::ranges::find(templates(), known.direction, &Template::direction) == &known, facts.takes_all)
        << facts.name;
  }
}

TEST(Templates, AnUnknownNameIsAnErrorThatListsThem) {
  const auto unknown = template_named("indirect");
  ASSERT_FALSE(unknown);
  std::string names;
  for (const Template& known : templates()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  EXPECT_EQ(unknown.error().message, "there is no template 'indirect'; there are: " + names);
  EXPECT_FALSE(template_named(""));

  // A plan that no planner made is never taken for one of another template.
  const Problem problem = problem_of("conv_transpose2d 4 -> 4; kernel 3; input 1x8x8");
  Plan plan = convtgen::plan(problem).value().front();
  plan.template_name = "indirect";
  EXPECT_THROW(static_cast<void>(launch_plan_of(problem, plan)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(predict(problem, plan, {1, {8, 8}})), std::invalid_argument);
}

class Reasons : public ::testing::TestWithParam<testing::OfTemplate<testing::Refused>> {};

TEST_P(Reasons, NameThePropertyAndTheLimit) {
  const auto all = candidates(problem_of(GetParam().fact.layer, GetParam().fact.architecture));
  ASSERT_TRUE(all) << all.error().message;
  const auto found = std::ranges::find(all->refusals, GetParam().template_name, &Refusal::template_name);
  ASSERT_NE(found, all->refusals.end());
  EXPECT_EQ(found->reason, GetParam().fact.reason);
}

INSTANTIATE_TEST_SUITE_P(Each, Reasons, ::testing::ValuesIn(testing::all_of(&testing::TemplateFacts::refused)),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.template_name, info.index); });

TEST(Templates, TakeThreeAxesIfTheirLineSaysSoAndRefuseThemElse) {
  Layer layer = problem_of("conv_transpose3d 16 -> 16; kernel 2; stride 2; dtype f16; layout nhwc; bias").layer;
  for (const testing::DirectedTemplate& each : testing::directed_templates()) {
    if (std::ranges::count(extra_templates(), each.template_name, &Template::name) > 0) {
      continue;
    }
    layer.directions = {each.direction};
    const Template& known = *template_named(each.template_name).value();
    const auto plans = plans_of(known, {layer, each.direction, target_named("sm_90a").value()});
    // Those that take them may refuse the mode, the stride that the layer has as a gradient of the input, or as many
    // output channels.
    EXPECT_EQ(!plans && plans.error().message == "three axes; it takes two", !known.takes_depth) << known.name;
    EXPECT_TRUE(plans || !known.takes_depth || plans.error().message.starts_with("compute ") ||
                plans.error().message == "stride 2 in depth; as a gradient of the input it takes 1" ||
                plans.error().message.starts_with("groups of 16 output channels; at most "))
        << known.name;
  }
}

/// The names of those that the planner asks for plans of this direction.
std::set<std::string_view> templates_of(Direction direction) {
  std::set<std::string_view> names;
  for (const testing::DirectedTemplate& each : testing::directed_templates()) {
    if (each.direction == direction) {
      names.insert(each.template_name);
    }
  }
  return names;
}

// What a reason says there is too much of is more than the limit that it names.
class ReasonsOfDirection : public ::testing::TestWithParam<Direction> {};
TEST_P(ReasonsOfDirection, AreTrueOfRandomLayers) {
  const Direction direction = GetParam();
  const std::regex most(R"((\d+)[^;0-9]*; (?:at most|tensor cores need) (\d+))");
  const std::regex bytes(R"(take ([\d.]+) KiB .* has ([\d.]+) KiB)");
  convtgen::testing::LayerSource source(20261124);
  int compared = 0;
  const int layers = direction == Direction::kForward ? 3000 : direction == Direction::kGradInput ? 400 : 1500;
  // A run takes every third.
  const std::uint64_t parts = convtgen::testing::tests_all() ? 1 : 6;
  const std::uint64_t part = convtgen::testing::hash_of(convtgen::testing::test_seed()) % parts;
  for (int i = 0; i < layers; ++i) {
    Problem problem{source.next().layer, direction, target_named("sm_90a").value()};
    if (static_cast<std::uint64_t>(i) % parts != part) {
      continue;
    }
    if (direction != Direction::kForward) {
      problem.layer.fuse.clear();
      problem.layer.fuse_input.clear();
      problem.layer.directions = {direction};
    }
    SCOPED_TRACE(canonical_form(problem.layer));
    const auto all = candidates(problem);
    ASSERT_TRUE(all) << all.error().message;
    std::set<std::string_view> planned;
    for (const Plan& each : all->plans) {
      planned.insert(each.template_name);
    }
    std::set<std::string_view> asked = planned;
    for (const Refusal& refusal : all->refusals) {
      EXPECT_TRUE(asked.insert(refusal.template_name).second) << refusal.template_name;
    }
    EXPECT_EQ(asked, templates_of(direction));
    for (const Refusal& refusal : all->refusals) {
      EXPECT_FALSE(refusal.reason.empty());
      std::smatch numbers;
      if (std::regex_search(refusal.reason, numbers, bytes)) {
        EXPECT_GT(std::stod(numbers[1]), std::stod(numbers[2])) << refusal.reason;
        EXPECT_LT(std::stod(numbers[1]), 1e9) << refusal.reason;  // what nothing was found for
        ++compared;
      } else if (std::regex_search(refusal.reason, numbers, most)) {
        const bool is_least = refusal.reason.contains("need");
        EXPECT_EQ(std::stoll(numbers[1]) < std::stoll(numbers[2]), is_least) << refusal.reason;
        EXPECT_NE(numbers[1], numbers[2]) << refusal.reason;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, direction == Direction::kForward ? 20 : direction == Direction::kGradInput ? 10 : 0);
}

INSTANTIATE_TEST_SUITE_P(Directions, ReasonsOfDirection,
                         ::testing::Values(Direction::kForward, Direction::kGradInput, Direction::kGradWeight),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace convtgen
