// The facts of templates are about the table's templates, and what they say of modes is what planners take.
#include "tests/template_facts/facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/end_to_end/random_layers.h"

namespace convtgen::testing {
namespace {

TEST(TemplateFacts, AreOfAllTemplatesAndOfNoOthers) {
  std::vector<std::string_view> known, with_facts;
  for (const Template& each : templates()) {
    known.push_back(each.name);
  }
  for (const TemplateFacts& each : template_facts()) {
    with_facts.push_back(each.name);
  }
  EXPECT_EQ(with_facts, known) << "a template has a file in tests/template_facts, or facts.cpp in tests/templates";
  EXPECT_EQ(shipped_facts().size() + extra_templates().size(), known.size());
}

/// Layers of a template's direction that it may take, in one mode.
std::vector<Problem> drawn_problems(const TemplateFacts& facts, Compute compute, Layout layout, int count) {
  const Direction direction = template_named(facts.name).value()->direction;
  LayerSource source(20261128, Use::kCompile);
  std::vector<Problem> all;
  for (int i = 0; i < count; ++i) {
    auto drawn = source.next({.compute = compute, .layout = layout, .drawer = &facts.drawer});
    if (!drawn) {
      continue;
    }
    Layer layer = drawn->layer;
    layer.directions = {direction};
    if (direction != Direction::kForward) {
      layer.fuse.clear();
      layer.fuse_input.clear();
      layer.bias |= direction == Direction::kGradBias;
    }
    if (facts.fit != nullptr) {
      facts.fit(layer, i);
    }
    if (layer.compute == compute && layer.layout == layout) {
      all.push_back({layer, direction, target_named("sm_90a").value()});
    }
  }
  return all;
}

TEST(TemplateFacts, SayWhichModesPlannersTake) {
  for (const TemplateFacts& facts : template_facts()) {
    const Template& known = *template_named(facts.name).value();
    for (const Compute compute : all_computes()) {
      for (const Layout layout : all_layouts()) {
        const bool is_taken =
            std::ranges::count(facts.computes, compute) > 0 && std::ranges::count(facts.layouts, layout) > 0;
        const std::vector<Problem> problems = drawn_problems(facts, compute, layout, is_taken ? 200 : 50);
        const auto takes = [&](const Problem& problem) { return plans_of(known, problem).has_value(); };
        EXPECT_EQ(std::ranges::any_of(problems, takes), is_taken)
            << facts.name << " " << name_of(compute) << " " << name_of(layout);
      }
    }
  }
}

// The first of a direction takes all: it is what other templates are compared with.
TEST(TemplateFacts, OneTemplateOfEachDirectionTakesAll) {
  std::map<Direction, int> counts;
  for (const TemplateFacts& facts : template_facts()) {
    counts[template_named(facts.name).value()->direction] += facts.takes_all ? 1 : 0;
  }
  EXPECT_EQ(counts.size(), 4U);
  for (const auto& [direction, count] : counts) {
    EXPECT_EQ(count, 1) << name_of(direction);
  }
}

// Layers of the net are drawn for places (LayerDrawer::place): templates that take fp32 have the first ones, and those
// that share one take no mode twice.
TEST(TemplateFacts, HavePlacesWithoutGaps) {
  std::map<int, std::vector<const TemplateFacts*>> places;
  for (const TemplateFacts* facts : shipped_facts()) {
    if (template_named(facts->name).value()->direction == Direction::kForward) {
      places[facts->drawer.place].push_back(facts);
    } else {
      EXPECT_EQ(facts->drawer.place, -1) << facts->name;
    }
  }
  int next = 0;
  bool was_plain = true;
  for (const auto& [place, sharing] : places) {
    EXPECT_EQ(place, next++);
    std::set<Compute> computes;
    for (const TemplateFacts* facts : sharing) {
      for (const Compute compute : facts->computes) {
        EXPECT_TRUE(computes.insert(compute).second) << facts->name << " " << name_of(compute);
      }
      EXPECT_NE(facts->kinds, nullptr) << facts->name;
    }
    const bool is_plain = computes.contains(Compute::kF32);
    EXPECT_TRUE(was_plain || !is_plain) << place;
    was_plain = is_plain;
  }
}

// A fact that is left out would leave a suite out.
TEST(TemplateFacts, LeaveNoSuiteOut) {
  for (const TemplateFacts* facts : shipped_facts()) {
    SCOPED_TRACE(facts->name);
    const Template& known = *template_named(facts->name).value();
    const bool is_forward = known.direction == Direction::kForward;
    const bool has_wgmma = known.program().contains("wgmma.commit_group");
    EXPECT_FALSE(facts->goldens.empty());
    EXPECT_NE(facts->search, nullptr);
    EXPECT_EQ(facts->far.layers.empty(), !is_forward);
    EXPECT_TRUE(is_forward || !facts->far_gradients.empty() || facts->far_weights != nullptr);
    EXPECT_TRUE(facts->takes_all || (!facts->mutants.empty() && facts->changed));
    EXPECT_TRUE(facts->takes_all || !facts->compiled.empty());
    EXPECT_EQ(facts->emitted != nullptr, has_wgmma);
  }
}

template <typename Fact>
void expect_names_of_their_own(std::vector<Fact> TemplateFacts::* field) {
  std::set<std::string> names;
  for (const auto& each : all_of(field)) {
    EXPECT_TRUE(names.insert(each.fact.name).second) << each.fact.name;
  }
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

/// A list of the names of values.
template <typename Values>
std::string json_list(const Values& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : ", ") + quoted(name_of(value));
  }
  return "[" + text + "]";
}

/// What the search on a GPU is to know of the templates, a line each.
std::string search_list() {
  std::string text;
  for (const TemplateFacts* facts : shipped_facts()) {
    if (facts->search == nullptr) {
      continue;
    }
    const Template& known = *template_named(facts->name).value();
    std::vector<Direction> directions = {known.direction};
    if (known.serves_grad_input) {
      directions.push_back(Direction::kGradInput);
    }
    text += fmt::format(
        "{}\n  {{\"name\": {}, \"directions\": {}, \"computes\": {}, \"layouts\": {}, \"takes_all\": {}, "
        "\"depth\": {}, \"strided_grad_input\": {}, \"layers\": {}}}",
        text.empty() ? "" : ",", quoted(facts->name), json_list(directions), json_list(facts->computes),
        json_list(facts->layouts), facts->takes_all, known.takes_depth, facts->drawer.strided_grad_input,
        quoted(facts->search));
  }
  return "[" + text + "\n]\n";
}

// CONVTGEN_UPDATE_GOLDENS=1 writes the file anew.
TEST(TemplateFacts, AreInTheListOfTheSearch) {
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(CONVTGEN_SEARCH_LIST) << search_list();
  }
  std::ifstream file(CONVTGEN_SEARCH_LIST);
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(committed.str(), search_list());
}

// Samples are drawn by names, and goldens are files.
TEST(TemplateFacts, HaveNamesOfTheirOwn) {
  expect_names_of_their_own(&TemplateFacts::goldens);
  expect_names_of_their_own(&TemplateFacts::mutants);
  expect_names_of_their_own(&TemplateFacts::nans);
}

}  // namespace
}  // namespace convtgen::testing
