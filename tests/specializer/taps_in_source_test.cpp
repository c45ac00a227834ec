// Sources of random layers name each of the layer's taps once, in every template. A source of a gradient may hold a
// function of products twice, for warpgroups with different numbers of tiles: each of them names all taps.
#include "tests/specializer/taps_in_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/language/random_layer.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

using testing_support::Phase;
using testing_support::Pick;
using testing_support::Tap;
using testing_support::taps_in_source;
using testing_support::taps_of;
using Taps = std::map<Phase, std::vector<Tap>>;

constexpr std::array<std::pair<Dtype, Compute>, 5> kModes = {{{Dtype::kF32, Compute::kF32},
                                                              {Dtype::kF32, Compute::kTf32},
                                                              {Dtype::kF32, Compute::kF32x3},
                                                              {Dtype::kF16, Compute::kF16},
                                                              {Dtype::kBf16, Compute::kBf16}}};

/// A layer of some ten taps that templates take often.
Layer some_layer(const Pick& pick) {
  for (;;) {
    Layer layer;
    const auto [dtype, compute] = kModes[static_cast<std::size_t>(pick(0, std::ssize(kModes) - 1))];
    layer.dtype = dtype;
    layer.compute = compute;
    layer.layout = pick(0, 1) == 0 ? Layout::kNhwc : Layout::kNchw;
    for (const std::size_t index : {kHeight, kWidth}) {
      Axis& axis = layer.axes[index];
      axis.kernel = pick(1, 9);
      axis.stride = pick(0, 1) == 0 ? 1 : pick(1, 4);
      axis.dilation = pick(0, 2) > 0 ? 1 : pick(1, 3);
      axis.padding = pick(0, std::max<std::int64_t>(1, axis.kernel / 2));
      axis.extent = Size(8 * pick(1, 12));
    }
    layer.in_channels = 16 * pick(1, 8);
    layer.out_channels = 8 * pick(1, 12);
    layer.batch = Size(pick(1, 32));
    if (check_limits(layer).empty()) {
      return layer;
    }
  }
}

std::string text_of(const Taps& taps) {
  std::string out;
  for (const auto& [phase, all] : taps) {
    out += fmt::format("phase {} {}:", phase.first, phase.second);
    for (const Tap& tap : all) {
      out += fmt::format(" ({}, {})", tap.first, tap.second);
    }
    out += "\n";
  }
  return out;
}

/// How many functions of a source make all products of its taps.
std::size_t functions_of_taps(const std::string& source) {
  static const std::regex function(R"(void multiply_stage\w*\()");
  const auto all = std::distance(std::sregex_iterator(source.begin(), source.end(), function), std::sregex_iterator());
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(all, 1));
}

/// The taps that a source names. In one of a layer with input and output exchanged, blocks have a kernel row each where
/// the layer has strides, and a line at its head marks mirrored taps.
Taps taps_named(const Problem& problem, std::string source) {
  const std::string mirrored = ": tap (0, 0) is the last one.";
  const std::size_t at = source.find(mirrored);
  const bool is_exchanged = at != std::string::npos;
  if (is_exchanged) {
    source.erase(at, mirrored.size());
  }
  return taps_in_source(problem.layer, source, is_exchanged ? problem.layer.axes[kHeight].kernel : 0);
}

class TapsInSource : public ::testing::TestWithParam<testing::DirectedTemplate> {};

TEST_P(TapsInSource, AreThoseOfTheLayerEachOnce) {
  const auto& [direction, template_name] = GetParam();
  const Template& known = *template_named(template_name).value();
  const int wanted = std::getenv("CONVTGEN_TEST_ALL") != nullptr ? 100 : 5;
  int made = 0;
  for (std::uint64_t seed = 1; made < wanted; ++seed) {
    ASSERT_LT(seed, 100'000u) << "the template takes none of these layers";
    Problem problem{some_layer(testing_support::seeded(seed)), direction, target_named("sm_90a").value()};
    problem.layer.directions = {direction};
    const Result<std::vector<Plan>> plans = plans_of(known, problem);
    if (!plans) {
      continue;
    }
    const Plan& first = plans->front();
    ++made;
    const Result<KernelSource> source = specialize(problem, first);
    ASSERT_TRUE(source) << source.error().message;
    Taps named = taps_named(problem, source->text);
    Taps expected = taps_of(problem.layer);
    const std::size_t times = direction == Direction::kGradWeight ? functions_of_taps(source->text) : 1;
    for (auto& [phase, taps] : named) {
      std::ranges::sort(taps);
    }
    for (auto& [phase, taps] : expected) {
      const std::vector<Tap> once = taps;
      for (std::size_t i = 1; i < times; ++i) {
        taps.insert(taps.end(), once.begin(), once.end());
      }
      std::ranges::sort(taps);
    }
    EXPECT_EQ(text_of(named), text_of(expected)) << canonical_form(problem.layer) << ": " << first.summary;
  }
}

std::vector<testing::DirectedTemplate> templates_with_taps() {
  std::vector<testing::DirectedTemplate> all = testing::directed_templates();
  std::erase_if(all, [](const auto& each) { return !testing::facts_of(each.template_name).names_taps; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Templates, TapsInSource, ::testing::ValuesIn(templates_with_taps()),
                         [](const auto& info) { return name_of(info.param); });

// The gradient of the bias has no taps.
TEST(TapsInSourceText, AreNoneOfGradBias) {
  const Layer layer = parse_layer("conv_transpose2d 16 -> 8; kernel 3x3; bias; directions grad_bias").value();
  const Problem problem{layer, Direction::kGradBias, target_named("sm_90a").value()};
  const KernelSource source = specialize(problem, plan(problem).value().front()).value();
  EXPECT_EQ(taps_in_source(layer, source.text), Taps());
}

TEST(TapsInSourceText, IsReadAsItIsWritten) {
  const Layer layer = parse_layer("conv_transpose2d 4 -> 4; kernel 4x3; stride 2x1; padding 0").value();
  EXPECT_EQ(taps_in_source(layer,
                           "a();  // tap (1, 2)\n  // One tap (of some), and\n  // taps (0, 1 to 2)\n  // (2, 0)\n"
                           "b();  // tap (2 + r, 1)\n"),
            (Taps{{{1, 0}, {{1, 2}, {3, 1}}}, {{0, 0}, {{0, 1}, {0, 2}, {2, 0}, {2, 1}}}}));
  EXPECT_EQ(taps_in_source(layer, "// taps (0 to 3, 0 to 2)"), taps_of(layer));
  EXPECT_EQ(taps_in_source(layer, "// tap (7, 0)\n"), (Taps{{{1, 0}, {{7, 0}}}}));
}

}  // namespace
}  // namespace convtgen
