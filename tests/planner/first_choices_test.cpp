// What the planner takes first for the layers of benchmarks/, in all modes and both layouts, is what a committed list
// says: a change of a cost model that changes a choice shows as a difference of that list, to be measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/plan/plan.h"

namespace convtgen {
namespace {

struct Mode {
  Dtype dtype;
  Compute compute;
};
constexpr std::array kModes = {Mode{Dtype::kF32, Compute::kF32},   Mode{Dtype::kF32, Compute::kTf32},
                               Mode{Dtype::kF32, Compute::kF32x3}, Mode{Dtype::kF16, Compute::kF16},
                               Mode{Dtype::kBf16, Compute::kBf16}, Mode{Dtype::kF64, Compute::kF64}};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The template and the parameters that are the plan's choice.
std::string text_of(const Layer& layer, const Plan& plan) {
  std::string out = plan.template_name;
  const Parameters of_layer = layer_parameters(layer);
  for (const auto& [name, value] : plan.parameters) {
    if (of_layer.contains(name) || is_forward_value(name, value) || is_flat_value(name, value) ||
        is_plain_input_value(name, value) || is_slice(name)) {
      continue;
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      out += fmt::format(" {}={}", name, *integer);
    } else if (const bool* flag = std::get_if<bool>(&value)) {
      out += fmt::format(" {}{}", *flag ? "" : "!", name);
    }
  }
  return out + fmt::format(" threads={} shared={} packed={}", plan.launch.main().threads,
                           plan.launch.main().shared_bytes, plan.launch.packed_bytes());
}

/// A line for what is served and, where a record says that and not the cost models, one for what these say.
std::string choices_of(const std::string& name, const Layer& layer, Direction direction, const PlannedTarget& target) {
  const auto all = candidates({layer, direction, target});
  if (!all) {
    return fmt::format("{}: {}\n", name, all.error().message);
  }
  const std::vector<Plan>& plans = all->plans;
  std::string out = fmt::format("{}: {}\n", name, text_of(layer, plans.front()));
  if (plans.front().recorded) {
    // Without the record: what is predicted lies before or after the first plan that is not, in its order.
    const auto fastest =
        std::ranges::min_element(plans, {}, [](const Plan& plan) { return plan.predicted_seconds.value_or(1e9); });
    out += fmt::format("{}, predicted: {} {:.3g} ms\n", name, text_of(layer, *fastest),
                       fastest->predicted_seconds.value_or(0) * 1e3);
  }
  return out;
}

/// The choices for the layers of a file.
std::string choices_of_file(const char* path, std::span<const Mode> modes, Direction direction,
                            const PlannedTarget& target, std::string_view suffix) {
  const auto layers = parse_file(text_of_file(path));
  EXPECT_TRUE(layers) << path;
  std::string choices;
  for (const NamedLayer& named : layers.value_or(std::vector<NamedLayer>())) {
    for (const Mode& mode : modes) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        Layer layer = named.layer;
        layer.dtype = mode.dtype;
        layer.compute = mode.compute;
        layer.layout = layout;
        layer.directions = {direction};
        choices += choices_of(fmt::format("{}.{}.{}{}", named.name, name_of(mode.compute), name_of(layout), suffix),
                              layer, direction, target);
      }
    }
  }
  return choices;
}

/// CONVTGEN_UPDATE_GOLDENS=1 writes the file anew: measure what differs before it is committed.
void expect_committed(const std::string& choices, const std::string& path, int least_lines) {
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << choices;
  }
  std::istringstream made(choices), committed(text_of_file(path));
  std::string line, expected;
  int lines = 0;
  while (std::getline(made, line)) {
    ASSERT_TRUE(std::getline(committed, expected)) << line;
    EXPECT_EQ(line, expected);
    ++lines;
  }
  EXPECT_FALSE(std::getline(committed, expected)) << expected;
  EXPECT_GT(lines, least_lines);
}

TEST(FirstChoices, AreTheCommittedOnes) {
  std::string choices;
  for (const char* path : {CONVTGEN_BENCHMARK_LAYERS, CONVTGEN_OUTSIDE_LAYERS}) {
    choices += choices_of_file(path, kModes, Direction::kForward, target_named("sm_90a").value(), "");
  }
  expect_committed(choices, CONVTGEN_FIRST_CHOICES, 500);
}

// Chips without wgmma: without asynchronous copies, with much shared memory and with little, and one with tensor
// copies. In f32x3 GPUs of each class of boards.
TEST(FirstChoices, OfOtherChipsAreTheCommittedOnes) {
  constexpr std::array kProducts = {Mode{Dtype::kF32, Compute::kTf32}, Mode{Dtype::kF32, Compute::kF32x3},
                                    Mode{Dtype::kF16, Compute::kF16}};
  std::string choices;
  for (const char* architecture : {"sm_75", "sm_80", "sm_89", "sm_120"}) {
    for (const Direction direction : {Direction::kForward, Direction::kGradWeight}) {
      const std::string suffix = fmt::format(
          "{}, {}", direction == Direction::kForward ? "" : fmt::format(".{}", name_of(direction)), architecture);
      choices +=
          choices_of_file(CONVTGEN_BENCHMARK_LAYERS, kProducts, direction, target_named(architecture).value(), suffix);
    }
  }
  // By the GPU's name, which says how fast its tensor cores are with f32 accumulators.
  constexpr std::array kSplit = {Mode{Dtype::kF32, Compute::kF32x3}};
  for (const auto& [architecture, gpu] : {std::pair{"sm_75", "Tesla T4"},
                                          {"sm_75", "NVIDIA GeForce RTX 2080 Ti"},
                                          {"sm_80", "NVIDIA A100-SXM4-80GB"},
                                          {"sm_86", "NVIDIA A10"},
                                          {"sm_86", "NVIDIA GeForce RTX 3090"},
                                          {"sm_87", "Orin"},
                                          {"sm_88", "a GPU of sm_88"},
                                          {"sm_89", "NVIDIA L40S"},
                                          {"sm_89", "NVIDIA GeForce RTX 4090"},
                                          {"sm_100", "NVIDIA B200"},
                                          {"sm_103", "NVIDIA B300"},
                                          {"sm_110", "NVIDIA Thor"},
                                          {"sm_120", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
                                          {"sm_120", "NVIDIA GeForce RTX 5090"},
                                          {"sm_121", "NVIDIA GB10"}}) {
    choices += choices_of_file(CONVTGEN_BENCHMARK_LAYERS, kSplit, Direction::kForward,
                               planned_for(target_named(architecture).value(), gpu), fmt::format(", {}", gpu));
  }
  expect_committed(choices, CONVTGEN_FIRST_CHOICES_OF_CHIPS, 1700);
}

}  // namespace
}  // namespace convtgen
