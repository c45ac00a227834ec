// Kernels that take the pitch of pixels or images from the layer's own channels, though x or y is channels of a larger
// tensor: each must fail, by its numbers, by what it writes into other channels, or by what it reads beyond the tensor.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL     if set: ten layers of each template; else one
// CONVTGEN_TEST_DEVICE  host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/specialize.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

/// Makes x, y or both channels of larger tensors, by whole vectors, so that templates take the layer.
bool has_slices(Layer& layer) {
  const std::uint64_t which = seeded_by(canonical_form(layer))() % 3;
  if (which != 0) {
    layer.x_channels = 2 * ((layer.in_channels + 7) / 8 * 8);
  }
  if (which != 1) {
    layer.y_channels = 2 * ((layer.out_channels + 7) / 8 * 8);
  }
  return true;
}

/// Whether a tensor map brings this tensor. Then only the sums of outputs that are not finite read it elsewhere.
bool has_map(const Plan& plan, Role role) {
  return std::ranges::any_of(plan.launch.maps,
                             [&](const MapRecipe& map) { return !map.of_region && map.role == role; });
}

/// Gives a plan the tensor maps and pitches of whole tensors; false where it has none, or the same ones.
bool with_own_maps(Plan& plan, Problem problem) {
  if (plan.launch.maps.empty() || plan.swapped) {
    return false;
  }
  Plan own = plan;
  const auto set = [&](const char* parameter, std::int64_t channels) {
    if (const auto found = own.parameters.find(parameter); found != own.parameters.end()) {
      found->second = channels;
    }
  };
  set("x_channels", problem.layer.in_channels);
  set("y_channels", problem.layer.out_channels);
  problem.layer.x_channels.reset();
  problem.layer.y_channels.reset();
  const std::vector<MapRecipe> maps = template_named(plan.template_name).value()->launch(problem, own).maps;
  const bool differ = maps != plan.launch.maps;
  own.launch.maps = maps;
  own.launch.tensors = plan.launch.tensors;
  plan = std::move(own);  // sums of outputs that are not finite, which would mend NaN, have the pitch too
  return differ;
}

std::string source_of(const DrawnPlan& drawn, const Plan& plan, Direction direction) {
  return specialize({drawn.layer.layer, direction, target_named("sm_90a").value()}, plan).value().text;
}

class SliceMutants : public ::testing::TestWithParam<DirectedTemplate> {};

TEST_P(SliceMutants, Fail) {
  const auto& [direction, name] = GetParam();
  std::mt19937_64 random = seeded_by(test_seed() + name_of(GetParam()));
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  int mutants = 0;
  for (int number = 0; number < (tests_all() ? 10 : 1) || (mutants == 0 && number < 20); ++number) {
    DrawnPlan drawn = draw_plan(random, name, has_slices, direction);
    const auto& [layer, sizes] = drawn.layer;
    const bool has_products = multiply_adds(layer, shape_of(layer, sizes).value()) > 0;
    if (sizes.batch < 2 || !has_products || !is_quick(layer, sizes, drawn.plan, direction)) {
      continue;  // nothing shows the pitch of one image, or of what no product reads
    }
    const std::string right = source_of(drawn, drawn.plan, direction);
    for (const auto& [parameter, own] :
         {std::pair{"x_channels", drawn.plan.swapped ? layer.out_channels : layer.in_channels},
          std::pair{"y_channels", drawn.plan.swapped ? layer.in_channels : layer.out_channels}}) {
      Plan mutant = drawn.plan;
      const auto found = mutant.parameters.find(parameter);
      const bool is_own = found == mutant.parameters.end() || found->second == ParameterValue(own);
      if (is_own || has_map(mutant, parameter[0] == 'x' ? Role::kX : Role::kGradY)) {
        continue;
      }
      found->second = own;
      if (source_of(drawn, mutant, direction) == right) {
        continue;  // a tensor map has the pitch
      }
      ++mutants;
      EXPECT_TRUE(failure_of(*device, layer, sizes, mutant, 1, direction))
          << fmt::format("{}: {} at {}; {}: a pitch of {}", name, canonical_form(layer), text_of_sizes(drawn.layer),
                         drawn.plan.reason, parameter);
    }
    if (Plan mutant = drawn.plan; with_own_maps(mutant, {layer, direction, target_named("sm_90a").value()})) {
      ++mutants;
      EXPECT_TRUE(failure_of(*device, layer, sizes, mutant, 1, direction))
          << fmt::format("{}: {} at {}; {}: pitches of tensor maps", name, canonical_form(layer),
                         text_of_sizes(drawn.layer), drawn.plan.reason);
    }
  }
  fmt::print("  {} mutants\n", mutants);
  EXPECT_GT(mutants, 0);
}

std::vector<DirectedTemplate> all_cases() {
  std::vector<DirectedTemplate> all;
  for (const DirectedTemplate& directed : directed_templates()) {
    if (template_named(directed.template_name).value()->takes_slices) {
      all.push_back(directed);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Templates, SliceMutants, ::testing::ValuesIn(all_cases()),
                         [](const ::testing::TestParamInfo<DirectedTemplate>& info) { return name_of(info.param); });

}  // namespace
}  // namespace convtgen::testing
