// Layers with one property that few others have: random ones for each template, run through the whole chain and held to
// the definition in fp64.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL     if set: all layers
// CONVTGEN_TEST_DEVICE  host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "runtime/reference/parallel.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

/// Padding that differs at the two ends of an axis.
bool is_uneven(Layer& layer) {
  return std::ranges::any_of(layer.axes, [](const Axis& axis) { return axis.padding.before != axis.padding.after; });
}

/// Weights that lie in another order than contiguous ones do.
bool has_turned_weights(Layer& layer) {
  return layer.weight_layout == WeightLayout::kChannelsLast && tap_count(layer) > 1 &&
         layer.out_channels > layer.groups;
}

/// Makes x, y or both channels of larger tensors; half of these have whole vectors.
bool has_slices(Layer& layer) {
  std::mt19937_64 random = seeded_by(canonical_form(layer));
  const auto more = [&] {
    return static_cast<std::int64_t>(random() % 2 == 0 ? 8 * (1 + random() % 4) : 1 + random() % 9);
  };
  const std::uint64_t which = random() % 3;
  if (which != 0) {
    layer.x_channels = layer.in_channels + more();
  }
  if (which != 1) {
    layer.y_channels = layer.out_channels + more();
  }
  return true;
}

struct RareProperty {
  const char* name;
  int layers;                 // of each template
  bool (*has)(Layer& layer);  // which may give it the property
};
void PrintTo(const RareProperty& property, std::ostream* out) {
  *out << property.name;
}
constexpr RareProperty kRareProperties[] = {
    {"UnevenPadding", 500, is_uneven}, {"ChannelsLastWeights", 200, has_turned_weights}, {"Slices", 200, has_slices}};

using Case = std::tuple<RareProperty, DirectedTemplate>;
class RareProperties : public ::testing::TestWithParam<Case> {};

TEST_P(RareProperties, MatchTheDefinition) {
  const auto& [property, directed] = GetParam();
  const std::string name = name_of(directed);
  std::mt19937_64 random = seeded_by(test_seed());
  const std::size_t count = tests_all() ? static_cast<std::size_t>(property.layers) : 1;
  std::set<int> numbers;
  while (numbers.size() < count) {
    numbers.insert(static_cast<int>(random() % static_cast<std::uint64_t>(property.layers)));
  }
  const std::vector<int> chosen(numbers.begin(), numbers.end());
  std::mutex mutex;
  std::map<std::string, int> counts;
  parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t begin, std::int64_t) {
    const int number = chosen[static_cast<std::size_t>(begin)];
    std::mt19937_64 own = seeded_by(fmt::format("{} {} {}", property.name, name, number));
    DrawnPlan drawn = draw_plan(own, directed.template_name, property.has, directed.direction);
    while (!tests_all() && !is_quick(drawn.layer.layer, drawn.layer.sizes, drawn.plan, directed.direction)) {
      drawn = draw_plan(own, directed.template_name, property.has, directed.direction);
    }
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    const auto& [layer, sizes] = drawn.layer;
    const auto failure =
        failure_of(*device, layer, sizes, drawn.plan, static_cast<std::uint64_t>(number), directed.direction);
    const std::lock_guard lock(mutex);
    ++counts[mode_of(layer, drawn.plan) + (layer.groups > 1 ? ", groups" : "")];
    EXPECT_FALSE(failure) << fmt::format("{} {}: {} at {}; {}: {}", name, number, canonical_form(layer),
                                         text_of_sizes(drawn.layer), drawn.plan.reason, *failure);
  });
  for (const auto& [mode, layers] : counts) {
    fmt::print("  {}: {} layers\n", mode, layers);
  }
}

/// Each property with each template that takes it.
std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const RareProperty& property : kRareProperties) {
    for (const DirectedTemplate& directed : directed_templates()) {
      const bool has_weights = directed.direction != Direction::kGradBias;
      if (property.has == has_slices
              ? template_named(directed.template_name).value()->takes_slices
              : has_weights && (property.has != is_uneven || facts_of(directed.template_name).drawer.padded)) {
        all.emplace_back(property, directed);
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Templates, RareProperties, ::testing::ValuesIn(all_cases()),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param).name, name_of(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace convtgen::testing
