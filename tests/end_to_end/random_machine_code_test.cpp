// First plans of random layers for the tensor cores of warpgroups, as machine code: no instruction may touch a register
// of a product in flight. Which layer makes the assembler move one there cannot be foreseen, so this takes many: of
// each direction, template, mode and layout, larger ones than the host device can run, the layers that once failed, and
// layers like these. A run compiles a sample of them (tests/sample/sample.h).
//
// CONVTGEN_TEST_ONLY  to_16_bits/: cases of modes that convert to 16 bits, for another NVRTC; or a case's name
// CONVTGEN_TEST_PART  "3/16": part 3, counted from 0, of 16 of them, for as many processes side by side
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <stdexcept>
#include <utility>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/end_to_end/compiled_plan.h"
#include "tests/end_to_end/net.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

using enum Compute;
using enum Layout;

bool is_of_warpgroups(const Template& known) {
  return known.program().contains("wgmma.commit_group");
}

/// The templates whose products are of warpgroups, in all their directions.
std::vector<DirectedTemplate> all_products() {
  std::vector<DirectedTemplate> all = directed_templates();
  std::erase_if(
      all, [](const DirectedTemplate& each) { return !is_of_warpgroups(*template_named(each.template_name).value()); });
  return all;
}

constexpr int kOfACell = 45;          // of all cells 3,015
constexpr int kTo16BitsOfACell = 18;  // first ones, of all that convert to 16 bits 792

struct Case {
  std::string name;
  std::vector<std::string> classes;
  DirectedTemplate of;
  Compute compute = kF16;
  Layout layout = kNchw;
  std::optional<Layer> layer;  // that once failed; else one is drawn
};

const std::vector<NetLine>& failed_lines() {
  static const std::vector<NetLine> lines = read_net_lines(CONVTGEN_FAILED_LAYERS).value();
  return lines;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const DirectedTemplate& of : all_products()) {
    for (const Compute compute : facts_of(of.template_name).computes) {
      for (const Layout layout : facts_of(of.template_name).layouts) {
        const bool to_16_bits = compute == kF16 || compute == kBf16;
        for (int i = 0; i < kOfACell; ++i) {
          const std::string_view group = to_16_bits && i < kTo16BitsOfACell ? "to_16_bits" : "others";
          all.push_back(
              {fmt::format("{}/{} {} {} {}", group, name_of(of), name_of(compute), name_of(layout), i),
               {std::string(of.template_name), std::string(name_of(of.direction)), std::string(name_of(compute))},
               of,
               compute,
               layout,
               {}});
        }
      }
    }
  }
  for (const NetLine& line : failed_lines()) {
    const Layer& layer = line.drawn.layer;
    const Direction direction = layer.directions.front();
    const Template& of = template_of(net_plans(layer).value().front());
    if (is_of_warpgroups(of)) {  // each in each run
      const std::string name = "failed/" + text_of(line);
      all.push_back({name, {name}, {direction, of.name}, layer.compute, layer.layout, layer});
    }
  }
  return all;
}

/// With larger sizes, more of them known: plans of large layers are others.
Layer enlarged(const RandomLayer& drawn, std::mt19937_64& random) {
  Layer layer = drawn.layer;
  // A multiple, so that rows of whole vectors stay such.
  const auto enlarge = [&](Size& size, std::int64_t drawn_size, std::int64_t least, std::int64_t most) {
    if (size || random() % 2 == 0) {
      const std::int64_t one = std::max<std::int64_t>(drawn_size, 1);
      const std::int64_t wanted =
          least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least));
      size = (wanted + one - 1) / one * one;
    }
  };
  enlarge(layer.batch, drawn.sizes.batch, 1, 12);
  for (const std::size_t axis : {kHeight, kWidth}) {
    if (axis == kWidth || layer.dimensions >= 2) {
      enlarge(layer.axes[axis].extent, drawn.sizes.extents[axis], 8, 128);
    }
  }
  return layer;
}

/// One of the layers that once failed, of this direction if there are such, in this mode and layout, with a few other
/// properties.
Layer neighbour_of_failed(const Case& one, std::mt19937_64& random) {
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  std::vector<Layer> failed, others;
  for (const NetLine& line : failed_lines()) {
    const Layer& each = line.drawn.layer;
    (each.directions.front() == one.of.direction ? failed : others).push_back(each);
  }
  const std::vector<Layer>& some = failed.empty() ? others : failed;
  Layer layer = some[random() % some.size()];
  layer.directions = {one.of.direction};
  layer.compute = one.compute;
  layer.dtype = one.compute == kF16 ? Dtype::kF16 : one.compute == kBf16 ? Dtype::kBf16 : Dtype::kF32;
  layer.layout = one.layout;
  layer.fuse.clear();
  layer.fuse_input.clear();
  for (int change = 0; change < 3; ++change) {
    Axis& axis = layer.axes[layer.dimensions == 2 && random() % 2 == 0 ? kHeight : kWidth];
    switch (random() % 6) {
      case 0:
        axis.kernel = between(1, 8);
        break;
      case 1:
        axis.stride = between(1, 4);
        break;
      case 2:
        axis.extent = between(4, 100);
        break;
      case 3:
        layer.in_channels = layer.groups * between(1, 100);
        break;
      case 4:
        layer.out_channels = layer.groups * between(1, 8) * 8;
        break;
      default:
        layer.batch = between(1, 12);
        break;
    }
  }
  return layer;
}

struct Chosen {
  Problem problem;
  Plan plan;
};

/// The template's first plan of a layer, if it takes it.
std::optional<Chosen> first_plan(const Case& one, const Layer& layer) {
  const Problem problem{layer, one.of.direction, target_named("sm_90a").value()};
  if (!check_limits(layer).empty()) {
    return std::nullopt;
  }
  const auto plans = plans_of(*template_named(one.of.template_name).value(), problem);
  return plans ? std::optional(Chosen{problem, plans->front()}) : std::nullopt;
}

Chosen choose(const Case& one) {
  if (one.layer) {
    const Problem problem{*one.layer, one.of.direction, target_named("sm_90a").value()};
    return {problem, plan(problem).value().front()};
  }
  std::mt19937_64 random = seeded_by(one.name);
  constexpr int kAttempts = 20;
  for (int attempt = random() % 2 == 0 ? 0 : kAttempts; attempt < kAttempts; ++attempt) {
    if (auto chosen = first_plan(one, neighbour_of_failed(one, random))) {
      return *std::move(chosen);
    }
  }
  const auto is_of_cell = [&](const Layer& layer) {
    return layer.compute == one.compute && layer.layout == one.layout;
  };
  const RandomLayer drawn = draw_plan(random, one.of.template_name, is_of_cell, one.of.direction, Use::kCompile).layer;
  for (const Layer& layer : {enlarged(drawn, random), drawn.layer}) {
    if (auto chosen = first_plan(one, layer)) {
      return *std::move(chosen);
    }
  }
  throw std::logic_error("the plan that was drawn is not among those of " + one.name);
}

struct Count {
  int plans = 0, faults = 0;
};
using Counts = std::map<std::string, Count>;  // by template, direction and mode

void expect_untouched_registers(const Case& one, Counts& counts) {
  const auto [problem, plan] = choose(one);
  SCOPED_TRACE(fmt::format("{}: {}; {}, {}\nreplay: CONVTGEN_TEST_ONLY='{}' random_machine_code_test", one.name,
                           canonical_form(problem.layer), plan.template_name, plan.reason, one.name));
  const Result<CompiledPlan> compiled = compile_plan(problem, plan);
  ASSERT_TRUE(compiled) << compiled.error().message;
  bool has_products = false, is_sound = true;
  for (const MachineCode& kernel : compiled->kernels) {
    has_products = has_products || std::ranges::any_of(kernel.instructions, [](const Instruction& each) {
                     return each.text.starts_with("HGMMA");
                   });
    const std::vector<std::string> touched = overwritten_operands(kernel);
    is_sound = is_sound && touched.empty();
    EXPECT_EQ(touched, std::vector<std::string>()) << kernel.name;
  }
  EXPECT_TRUE(has_products) << "this shows nothing";
  Count& count = counts[fmt::format("{} {} {}", name_of(one.of), name_of(one.compute), name_of(one.layout))];
  ++count.plans;
  count.faults += is_sound ? 0 : 1;
}

std::vector<Candidate> candidates_of(const std::vector<Case>& all) {
  std::vector<Candidate> candidates;
  for (const Case& one : all) {
    candidates.push_back({one.name, one.classes});
  }
  return candidates;
}

constexpr std::size_t kSample = 12;  // besides the layers that once failed, each a class
constexpr std::size_t kParts = 2;    // tests that share the sample, so that they run side by side

/// The cases of this process: all of a sample, or the part of it that CONVTGEN_TEST_PART names.
std::vector<std::size_t> cases_of_process(const std::vector<Candidate>& candidates) {
  const std::vector<std::size_t> drawn = sample(candidates, kSample);
  const char* part = std::getenv("CONVTGEN_TEST_PART");
  if (part == nullptr) {
    return drawn;
  }
  static const std::regex kPart(R"((\d+)/(\d+))");
  std::cmatch match;
  if (!std::regex_match(part, match, kPart) || std::stoul(match[1]) >= std::stoul(match[2])) {
    throw std::runtime_error(fmt::format("CONVTGEN_TEST_PART is '{}'; legal is PART/PARTS, as in 0/16", part));
  }
  return part_of(drawn, std::stoul(match[1]), std::stoul(match[2]));
}

class FirstPlans : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FirstPlans, TouchNoRegisterOfAProductInFlight) {
  if (disassembler() == nullptr) {
    GTEST_SKIP() << "no nvdisasm: machine code is not looked at";
  }
  const std::vector<Case> all = all_cases();
  const std::vector<std::size_t> drawn = part_of(cases_of_process(candidates_of(all)), GetParam(), kParts);
  ASSERT_FALSE(drawn.empty());
  Counts counts;
  for (const std::size_t i : drawn) {
    expect_untouched_registers(all[i], counts);
  }
  Count sum;
  for (const auto& [name, count] : counts) {
    fmt::print("  {}: {} plans, {} of them touch registers\n", name, count.plans, count.faults);
    sum.plans += count.plans;
    sum.faults += count.faults;
  }
  fmt::print("{} plans, {} of them touch registers\n", sum.plans, sum.faults);
}

INSTANTIATE_TEST_SUITE_P(Part, FirstPlans, ::testing::Range(std::size_t{0}, number_of_parts(kParts, [] {
                                                              return candidates_of(all_cases());
                                                            })));

}  // namespace
}  // namespace convtgen::testing
