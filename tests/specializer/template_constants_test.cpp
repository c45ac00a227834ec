// The constants that planners ask a template's program for: they have the values that the specializer finds, and plans
// have the layout that they say.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/program/constants.h"
#include "generator/program/program_text.h"
#include "generator/specializer/globals.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;

/// What is known of a template.
struct Programs {
  Program program;
  ConstantProgram constants;
};
const std::map<std::string_view, Programs>& all_programs() {
  static const std::map<std::string_view, Programs> all = [] {
    std::map<std::string_view, Programs> read;
    for (const Template& known : templates()) {
      read.emplace(known.name,
                   Programs{read_program(known.program()).value(), ConstantProgram::read(known.program()).value()});
    }
    return read;
  }();
  return all;
}

/// Random layers, as many for each template, that it probably takes. What one template draws changes no other's.
std::vector<Problem> random_problems(int each) {
  std::vector<Problem> out;
  constexpr std::array computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
  for (const Template& known : templates()) {
    testing::LayerSource source(testing::hash_of(known.name));
    for (int i = 0; i < each; ++i) {
      const testing::TemplateFacts& facts = testing::facts_of(known.name);
      if (auto drawn = source.next(
              {.compute = computes[static_cast<std::size_t>(i) % computes.size()], .drawer = &facts.drawer})) {
        Layer layer = std::move(drawn->layer);
        if (known.direction != Direction::kForward) {
          layer.fuse.clear();
          layer.fuse_input.clear();
          layer.bias |= known.direction == Direction::kGradBias;
          layer.directions = {known.direction};
        }
        if (facts.fit != nullptr) {
          facts.fit(layer, i);
        }
        out.push_back({std::move(layer), known.direction, target_named("sm_90a").value()});
      }
    }
  }
  return out;
}

/// Calls check(plan, globals) for all plans of the problems.
template <typename Check>
void for_each_plan(const std::vector<Problem>& problems, const Check& check) {
  for (const Problem& problem : problems) {
    SCOPED_TRACE(canonical_form(problem.layer));
    const auto plans = plan(problem);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const Plan& each : *plans) {
      SCOPED_TRACE(each.template_name + ": " + each.summary);
      const auto globals = Globals::make(all_programs().at(each.template_name).program, each.parameters);
      ASSERT_TRUE(globals) << globals.error().message;
      check(each, *globals);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

std::int64_t value_in(const Globals& globals, std::string_view name) {
  const Value* value = globals.value(name);
  EXPECT_NE(value, nullptr) << name;
  return value == nullptr ? 0 : static_cast<std::int64_t>(wide(*value));
}

// Except where a function takes more steps than Constants take: the specializer remembers calls, and gets by with
// fewer.
TEST(TemplateConstants, HaveTheValuesThatTheSpecializerFinds) {
  std::map<std::string_view, int> plans;
  int compared = 0, ended = 0;
  for_each_plan(random_problems(60), [&](const Plan& plan, const Globals& globals) {
    const auto& [name, programs] = *all_programs().find(plan.template_name);
    const std::vector<std::string_view> names = programs.constants.constant_names();
    const auto values = constants_of(programs.constants, plan.parameters, names);
    ASSERT_TRUE(values) << values.error().message;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((*values)[i] == std::numeric_limits<std::int64_t>::max()) {
        ++ended;
      } else {
        EXPECT_EQ((*values)[i], value_in(globals, names[i])) << names[i];
        ++compared;
      }
    }
    ++plans[name];
  });
  for (const testing::TemplateFacts& facts : testing::template_facts()) {
    EXPECT_GE(plans[facts.name], facts.least_plans) << facts.name;
    EXPECT_GE(all_programs().at(facts.name).constants.constant_names().size(), facts.least_constants) << facts.name;
  }
  EXPECT_LT(ended, compared / 1000);
}

/// Rows of 16 bytes that a thread of the kernel packs that packs the weights first.
std::int64_t packed_rows(const Plan& plan) {
  const KernelPlan& first = plan.launch.kernels.front();
  return first.suffix == "_pack" ? first.grid.axes.front().tile / 16 : 1;
}

// Names of constants by what plans call them.
TEST(TemplateConstants, AreTheLayoutOfPlans) {
  std::map<std::string_view, int> compared;
  for_each_plan(random_problems(60), [&](const Plan& plan, const Globals& globals) {
    const std::array<std::pair<std::string_view, std::int64_t>, 5> kOfPlan = {
        {{"kThreads", plan.launch.main().threads},
         {"kSharedBytes", plan.launch.main().shared_bytes},
         {"kPackedBytes", plan.launch.packed_bytes()},
         {"kPackedRows", packed_rows(plan)},
         {"kAlignment", plan.alignment}}};
    for (const auto& [name, value] : kOfPlan) {
      if (globals.value(name) != nullptr) {
        EXPECT_EQ(value_in(globals, name), value) << name;
        ++compared[name];
      }
    }
  });
  for (const std::string_view name : {"kThreads", "kSharedBytes", "kPackedBytes", "kPackedRows", "kAlignment"}) {
    EXPECT_GT(compared[name], 300) << name;
  }
}

// A template's pitch is known to its program alone: another one is another plan.
TEST(TemplateConstants, ThatChangeInTheProgramChangeThePlan) {
  int count = 0;
  for (const testing::TemplateFacts& facts : testing::template_facts()) {
    if (!facts.changed) {
      continue;
    }
    ++count;
    SCOPED_TRACE(facts.name);
    const testing::ChangedProgram& changed = *facts.changed;
    const Template& known = *template_named(facts.name).value();
    std::string text(known.program());
    const std::size_t at = text.find(changed.before);
    ASSERT_NE(at, std::string::npos);
    const Layer layer = parse_layer(changed.layer).value();
    const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
    const Plan own = known.plans(problem, ConstantProgram::read(text).value()).value().front();
    EXPECT_EQ(own.launch.main().shared_bytes, known.plans(problem).value().front().launch.main().shared_bytes);
    text.replace(at, changed.before.size(), changed.after);
    const Plan other = known.plans(problem, ConstantProgram::read(text).value()).value().front();
    EXPECT_NE(other.launch.main().shared_bytes, own.launch.main().shared_bytes);
    const auto globals = Globals::make(read_program(text).value(), other.parameters);
    ASSERT_TRUE(globals) << globals.error().message;
    EXPECT_EQ(value_in(*globals, "kSharedBytes"), other.launch.main().shared_bytes);
  }
  EXPECT_GE(count, 16);
}

constexpr std::string_view kSmall = R"((program small
  (digest "")
  (parameter int a 1)
  (parameter int b 1)
  (parameter bool flag true)
  (type_parameter Element float)
  (file "small.cu")
  (function @1 constexpr int ceil_div
    (argument int a)
    (argument int b)
    (return @1 (/ (- (+ a b) 1) b)))
  (function @2 device int skipped
    (argument int a)
    (return @1 (call nothing a)))
  (function @3 constexpr int odd_numbers
    (argument int below)
    (declare @1 int count 0)
    (for @2 plain (declare @2 int i 0) (< i below) (++ i)
      (if @3 (== (% i 2) 0) (then
        (continue @3)))
      (do @4 (+= count 1)))
    (return @5 count))
  (alias @5 Element P::Element)
  (constant @6 int kQuotient (call ceil_div P::a P::b))
  (constant @7 int kOdd (call odd_numbers P::a))
  (constant @8 int kBytes (* P::a (cast int (sizeof Element))))
  (constant @9 "long long" kLarge (* (* (static_cast "long long" P::a) P::a) P::a))
  (constant @10 "unsigned int" kUnsigned (- P::b 2u))
  (constant @11 bool kChosen (&& P::flag (> P::a (? P::flag 3 kLarge))))
  (constant @12 float kReal 2.5f)
  (constant @13 int kOfReal (+ 1 kReal)))
)";

TEST(Constants, AreComputedAsCppDoes) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  const Parameters parameters = {
      {"a", std::int64_t{7}}, {"b", std::int64_t{1}}, {"flag", true}, {"Element", TypeName{"unsigned short"}}};
  constexpr std::array<std::string_view, 6> kNames = {"kQuotient", "kOdd", "kBytes", "kLarge", "kUnsigned", "kChosen"};
  EXPECT_EQ(constants_of(program, parameters, kNames).value(),
            (std::vector<std::int64_t>{7, 3, 14, 343, 4294967295, 1}));
  EXPECT_EQ(program.constant_names(), std::vector<std::string_view>(kNames.begin(), kNames.end()));
}

TEST(Constants, FollowTheParametersThatChange) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 2> kChanging = {"b", "a"};
  constexpr std::array<std::string_view, 2> kWanted = {"kQuotient", "kOdd"};
  Constants constants =
      Constants::make(program, {{"flag", true}, {"Element", TypeName{"float"}}}, kChanging, kWanted).value();
  constants.set(1, 9);
  constants.set(0, 4);
  EXPECT_EQ(constants[0], 3);
  EXPECT_EQ(constants[1], 4);
  constants.set(0, 2);
  EXPECT_EQ(constants[0], 5);
  EXPECT_EQ(constants[1], 4);
  constants.set(1, 3);
  EXPECT_EQ(constants[0], 2);
  EXPECT_EQ(constants[1], 1);
}

// A block may be far too large: its planner sees that, and nothing overflows.
TEST(Constants, StopAtTheLargestIntegers) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 1> kChanging = {"a"};
  constexpr std::array<std::string_view, 3> kWanted = {"kLarge", "kBytes", "kOdd"};
  Constants constants = Constants::make(program, {{"Element", TypeName{"double"}}}, kChanging, kWanted).value();
  constants.set(0, std::int64_t{1} << 40);
  EXPECT_EQ(constants[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(constants[1], std::int64_t{1} << 43);
  EXPECT_EQ(constants[2], std::numeric_limits<std::int64_t>::max());  // more steps than are taken
  constants.set(0, -(std::int64_t{1} << 40));
  EXPECT_LT(constants[0], -(std::int64_t{1} << 62));
}

TEST(Constants, NamesThatTheProgramLacksAreErrors) {
  const ConstantProgram program = ConstantProgram::read(kSmall).value();
  constexpr std::array<std::string_view, 1> kNothing = {"kNothing"};
  constexpr std::array<std::string_view, 1> kReal = {"kReal"};
  constexpr std::array<std::string_view, 1> kOfReal = {"kOfReal"};
  constexpr std::array<std::string_view, 1> kFlag = {"flag"};
  EXPECT_THAT(constants_of(program, {}, kNothing).error().message,
              HasSubstr("the template small has no constant 'kNothing'"));
  EXPECT_THAT(constants_of(program, {}, kReal).error().message, HasSubstr("'kReal' of the template small"));
  EXPECT_THAT(constants_of(program, {}, kOfReal).error().message, HasSubstr("kReal: it is no integer"));
  EXPECT_THAT(constants_of(program, {{"c", true}}, kFlag).error().message, HasSubstr("no parameter 'c'"));
  EXPECT_THAT(Constants::make(program, {}, kNothing, {}).error().message, HasSubstr("no parameter 'kNothing'"));
  EXPECT_THAT(Constants::make(program, {{"Element", TypeName{"Stage"}}}, {}, {}).error().message,
              HasSubstr("'Stage' is no scalar type"));
  EXPECT_FALSE(ConstantProgram::read("(program"));
}

}  // namespace
}  // namespace convtgen
