// Emitted sources have no leftovers of their templates (leftovers.h): all goldens, and plans of random layers for each
// template. CONVTGEN_TEST_SEED chooses these; with CONVTGEN_TEST_ALL there are 200 for each template and direction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/program/program_text.h"
#include "generator/specializer/residual.h"
#include "generator/specializer/specialize.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/sample/sample.h"
#include "tests/specializer/leftovers.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

using testing_support::FoundLeftover;
using testing_support::Leftover;
using testing_support::leftovers_in;
using testing_support::name_of;

/// What is left in a source of this code, with constants above it.
std::vector<FoundLeftover> found_in(const std::string& code) {
  std::vector<FoundLeftover> found = leftovers_in(
      "// Speaks of `anything`.\n\nnamespace x_source {\n\n// ---- Device primitives ----\n\n"
      "// By `nobody`.\n__device__ void copy(int unread) {}\n\n// ---- Constants ----\n\n"
      "constexpr int kRows = 4;\n\n" +
      code + "\n}  // namespace x_source\n");
  for (FoundLeftover& each : found) {
    each.line -= 13;
  }
  return found;
}

/// The same of the body of a function that takes `a` and `to`.
std::vector<FoundLeftover> found_in_body(const std::string& body) {
  std::vector<FoundLeftover> found = found_in("__device__ void f(int a, int* to) {\n" + body + "\n  to[0] = a;\n}\n");
  for (FoundLeftover& each : found) {
    --each.line;
  }
  return found;
}

using Found = std::vector<FoundLeftover>;

TEST(Leftovers, OfComments) {
  EXPECT_EQ(
      found_in("// Stores `a` and\n// `left` by `to[a]`.\n__device__ void f(int a, int* to) {\n  to[a] = a;\n}\n"),
      (Found{{Leftover::kName, 1, "left"}}));
  EXPECT_EQ(found_in_body("  // Of `b`.\n  to[1] = a;  // in `c`, of `a`"),
            (Found{{Leftover::kName, 1, "b"}, {Leftover::kName, 2, "c"}}));
  EXPECT_EQ(found_in("// `first`, `next`\nstruct Place {\n  int first;\n};\n"
                     "__device__ int f(const Place& place) {\n  return place.first;\n}\n"),
            (Found{{Leftover::kName, 1, "next"}}));
}

TEST(Leftovers, OfConditions) {
  for (const char* condition :
       {"kRows < 8", "a < 3 && kRows == 4", "a < 3 || 1", "a < 3 && (a > 0 || 2 * kRows < 7)"}) {
    const Found found = found_in_body(fmt::format("  if ({}) {{\n    to[1] = 2;\n  }}", condition));
    ASSERT_EQ(found.size(), condition == std::string("kRows < 8")
                                ? 2U
                                : 1U + (std::string(condition).find("kRows") != std::string::npos))
        << condition;
    EXPECT_EQ(found.front().kind, Leftover::kCondition) << condition;
  }
  EXPECT_EQ(found_in_body("  to[1] = true ? a : 2;"), (Found{{Leftover::kCondition, 1, "true ? a"}}));
  EXPECT_EQ(
      found_in_body(
          "  while (true) {\n    break;\n  }\n  if (a < kRows && a > 0 || (a == 3) != (a == 4)) {\n    return;\n  }"),
      Found());
  EXPECT_EQ(found_in_body("  if (a < 1 || to[0] == 2 || a < 1) {\n    return;\n  }"),
            (Found{{Leftover::kRepeated, 1, "a < 1"}}));
}

TEST(Leftovers, OfLoops) {
  for (const char* head : {"int i = 0; i < 1; ++i", "int i = 4; i < kRows; ++i", "int i = 0; i < kRows; i += 4",
                           "unsigned int i = 2u; i <= 2u; ++i"}) {
    const Found found = found_in_body(fmt::format("  for ({}) {{\n    to[i] = a;\n  }}", head));
    ASSERT_EQ(found.size(), 1U) << head;
    EXPECT_EQ(found.front().kind, Leftover::kLoop) << head;
  }
  for (const char* head : {"int i = 0; i < 2; ++i", "int i = a; i < 1; ++i", "int i = 0; i < kRows; i += 3"}) {
    EXPECT_EQ(found_in_body(fmt::format("  for ({}) {{\n    to[i] = a;\n  }}", head)), Found()) << head;
  }
  EXPECT_EQ(
      found_in_body("  for (int i = 0; i < 1; ++i) {\n    if (a > 3) {\n      break;\n    }\n    to[1] = 2;\n  }"),
      Found());
}

TEST(Leftovers, OfParameters) {
  EXPECT_EQ(
      found_in("__device__ int f(int a, float (&unread)[2],\n    const int* b) {\n  b = nullptr;\n  return a;\n}\n"),
      (Found{{Leftover::kParameter, 1, "b"}}));
  EXPECT_EQ(
      found_in("extern \"C\" __global__ void __launch_bounds__(kRows) f(int* y, int batch) {\n  *y = kRows;\n}\n"),
      (Found{{Leftover::kParameter, 1, "batch"}}));
}

TEST(Leftovers, OfVariables) {
  EXPECT_EQ(found_in_body(
                "  int row = 0;\n  const int* p = to;\n  int left = a;\n  for (int i = 0; i < a; ++i) {\n    ++row;\n"
                "    left -= i;\n    if (a > 3) {\n      row = 2;\n    }\n  }\n  const int b = 2;"),
            (Found{{Leftover::kVariable, 1, "row"},
                   {Leftover::kVariable, 2, "p"},
                   {Leftover::kVariable, 3, "left"},
                   {Leftover::kVariable, 11, "b"}}));
  EXPECT_EQ(found_in_body("  int row = a;\n  int left;\n  left = a;\n  if (++row == 2) {\n    to[left] = 2 * a;\n  }\n"
                          "  int& other = to[2];\n  other = 3;\n  to[1] = a * row;\n  return;"),
            Found());
}

TEST(Leftovers, OfTheRest) {
  EXPECT_EQ(found_in("struct Place {\n  int row;\n  int column;\n};\n__device__ int f(int a) {\n  Place place;\n"
                     "  place.row = a;\n  place.column = a;\n  return place.row;\n}\n"),
            (Found{{Leftover::kField, 3, "column"}}));
  EXPECT_EQ(found_in("struct Place {\n  int row;\n  int column;\n};\n__device__ int f(void* a) {\n  return "
                     "static_cast<Place*>(a)->row;\n}\n"),
            Found());
  const auto stores = [](const std::string& first, const std::string& second) {
    return found_in(
        "struct Place {\n  int row;\n  int column;\n};\n__device__ int f(int a) {\n  Place place;\n"
        "  place.row = a;\n  " +
        first + "\n  if (a > 3) {\n    " + second + "\n  }\n  return place.row + place.column;\n}\n");
  };
  EXPECT_EQ(stores("place.column = 3;", "place.column = 3;"), (Found{{Leftover::kConstant, 3, "column"}}));
  EXPECT_EQ(stores("place.column = 3;", "place.column = 4;"), Found());
  EXPECT_EQ(stores("place.column = 3;", "place.column += 4;"), Found());
  EXPECT_EQ(stores("place.column = 3;", "++place.column;"), Found());
  EXPECT_EQ(stores("place.column = 3;", "g(place.column);"), Found());
  EXPECT_EQ(found_in_body("  float acc[1][2] = {};\n  float other[2][1];\n  to[1] = acc[0][1] + other[1][0];"),
            (Found{{Leftover::kArrayOfOne, 1, "acc"}}));
  EXPECT_EQ(found_in_body("  to[1] = a / 8 * 8 + a % 8;\n  to[2] = a / 8 * 4 + a % 8;\n  to[3] = a / b * b + a % b;"),
            (Found{{Leftover::kSplit, 1, "a / 8 * 8 + a % 8"}}));
  EXPECT_EQ(found_in("__device__ int f(int a, int b) {\n  return g(a, b);\n}\n\n__device__ int h(int a) {\n  return "
                     "g(a, 1);\n}\n\n__device__ unsigned int c(int a) {\n  return static_cast<unsigned int>(a);\n}\n"),
            (Found{{Leftover::kForwards, 1, "{ return g ( a , b ) ; }"}}));
}

/// What is left in a source, each with its line.
std::string leftovers_as_text(const std::string& source) {
  std::string out;
  for (const FoundLeftover& each : leftovers_in(source)) {
    std::istringstream lines(source);
    std::string line;
    for (std::size_t i = 0; i < each.line; ++i) {
      std::getline(lines, line);
    }
    out += fmt::format("line {}: {}: {}, in: {}\n", each.line, name_of(each.kind), each.text, line);
  }
  return out;
}

TEST(Leftovers, GoldensHaveNone) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CONVTGEN_GOLDENS)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(leftovers_as_text(text.str()), "") << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50);
}

class LeftoversOf : public ::testing::TestWithParam<testing::DirectedTemplate> {};

/// One of the template's plans for a layer that it probably takes; nothing where it takes it not.
std::string source_of_one(const Template& known, Direction direction, const Layer& drawn, std::mt19937_64& random) {
  constexpr std::array kArchitectures = {"sm_90a", "sm_80", "sm_75", "sm_90a"};
  Layer layer = drawn;
  layer.directions = {direction};
  if (direction != Direction::kForward) {
    layer.fuse.clear();
    layer.fuse_input.clear();
    layer.bias |= direction == Direction::kGradBias;
  }
  const Problem problem = {std::move(layer), direction,
                           target_named(kArchitectures[random() % kArchitectures.size()]).value()};
  // Those of a gradient of the input are a forward template's for another layer.
  auto plans = direction == known.direction ? known.plans(problem) : plan(problem);
  if (plans) {
    std::erase_if(*plans, [&](const Plan& each) { return each.template_name != known.name; });
  }
  if (!plans || plans->empty()) {
    return "";
  }
  const Plan& chosen = (*plans)[random() % plans->size()];
  const Result<KernelSource> source = specialize(problem, chosen);
  EXPECT_TRUE(source) << source.error().message << "\n" << canonical_form(problem.layer) << ": " << chosen.summary;
  return source ? source->text : "";
}

TEST_P(LeftoversOf, RandomPlansAreNone) {
  constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
  const Template& known = **template_named(GetParam().template_name);
  const testing::TemplateFacts& facts = testing::facts_of(known.name);
  // The same plans in each run: a comment that a rare plan leaves over is found by `--all`, and not by another's
  // change.
  const std::string seed = testing::tests_all() ? "all" : "5";
  std::mt19937_64 random = testing::seeded_by(seed + testing::name_of(GetParam()));
  testing::LayerSource layers(random(), testing::Use::kCompile);
  const int wanted = testing::tests_all() ? 200 : 3;
  int plans = 0;
  for (int i = 0; plans < wanted && i < 100 * wanted; ++i) {
    auto drawn = layers.next({.compute = kComputes[static_cast<std::size_t>(i) % 4], .drawer = &facts.drawer});
    if (!drawn) {
      continue;
    }
    if (facts.fit != nullptr) {
      facts.fit(drawn->layer, i);
    }
    const std::string text = source_of_one(known, GetParam().direction, drawn->layer, random);
    plans += text.empty() ? 0 : 1;
    EXPECT_EQ(leftovers_as_text(text), "") << text.substr(0, text.find('\n', text.find('\n') + 1));
  }
  EXPECT_EQ(plans, wanted);
}

/// The source of a plan without one of the clean-ups.
std::string source_without(const Problem& problem, const Plan& plan, std::optional<CleanUp> without) {
  const Program program = read_program((*template_named(plan.template_name))->program()).value();
  const Globals globals = Globals::make(program, plan.parameters).value();
  std::vector<WantedKernel> wanted;
  for (const KernelPlan& planned : plan.launch.kernels) {
    const std::string symbol = "kernel" + planned.suffix;
    if (std::ranges::find(wanted, symbol, &WantedKernel::symbol) == wanted.end()) {
      wanted.push_back({planned.function, symbol, planned.cluster});
    }
  }
  return print(evaluate_program(globals, wanted, problem.target.architecture, without).value(), "// head\n", "kernel")
      .text;
}

std::string layers_text() {
  std::ostringstream text;
  text << std::ifstream(CONVTGEN_BENCHMARK_LAYERS).rdbuf();
  return text.str();
}

// Each clean-up takes leftovers out of first plans for the benchmark's layers: without it there are some, of this kind.
TEST(Leftovers, AreThereWithoutACleanUp) {
  std::map<CleanUp, Leftover> unseen = {
      {CleanUp::kUnusedArguments, Leftover::kParameter}, {CleanUp::kConstantFields, Leftover::kConstant},
      {CleanUp::kUnusedFields, Leftover::kField},        {CleanUp::kForwards, Leftover::kForwards},
      {CleanUp::kArraysOfOne, Leftover::kArrayOfOne},    {CleanUp::kComments, Leftover::kName}};
  const std::vector<NamedLayer> layers = parse_file(layers_text()).value();
  for (std::size_t i = 0; !unseen.empty() && i < layers.size(); ++i) {
    for (const Direction direction : {Direction::kForward, Direction::kGradInput, Direction::kGradWeight}) {
      Problem problem = {layers[i].layer, direction, target_named(i % 2 == 0 ? "sm_90a" : "sm_80").value()};
      problem.layer.directions = {direction};
      problem.layer.compute = i % 4 < 2 ? Compute::kF32 : Compute::kTf32;
      const Plan first = plan(problem).value().front();
      EXPECT_EQ(leftovers_as_text(source_without(problem, first, {})), "");
      std::erase_if(unseen, [&](const auto& each) {
        const std::vector<FoundLeftover> found = leftovers_in(source_without(problem, first, each.first));
        return std::ranges::count(found, each.second, &FoundLeftover::kind) > 0;
      });
    }
  }
  for (const auto& [clean_up, kind] : unseen) {
    ADD_FAILURE() << name_of(kind) << ": nothing is left over without clean-up " << static_cast<int>(clean_up);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LeftoversOf, ::testing::ValuesIn(testing::directed_templates()),
                         [](const auto& info) { return testing::name_of(info.param); });

}  // namespace
}  // namespace convtgen
