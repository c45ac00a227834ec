// Gradients of random layers for each direction and template, run through the whole chain and held to the definition in
// fp64.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_LAYERS  how many of each direction and template (default 3)
// CONVTGEN_TEST_ALL     if set: layers in which all pairs of property classes occur that were drawn
// CONVTGEN_TEST_DEVICE  host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <random>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "runtime/reference/parallel.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::size_t kRun = 1;        // layers of a direction and template
constexpr std::size_t kMost = 400;     // of all
constexpr std::size_t kPatience = 60;  // drawn layers one after the other that show nothing new

std::size_t number_of_layers() {
  const char* wanted = std::getenv("CONVTGEN_TEST_LAYERS");
  return wanted != nullptr ? std::stoul(wanted) : kRun;
}

class Gradients : public ::testing::TestWithParam<DirectedTemplate> {
 protected:
  explicit Gradients()
      : random_(
            seeded_by(fmt::format("{} {} {}", name_of(GetParam().direction), GetParam().template_name, test_seed()))) {}

  DrawnPlan draw() {
    for (;;) {
      const auto& [direction, template_name] = GetParam();
      DrawnPlan drawn = draw_plan(random_, template_name, [](const Layer&) { return true; }, direction);
      if (tests_all() || is_quick(drawn.layer.layer, drawn.layer.sizes, drawn.plan, direction)) {
        return drawn;
      }
    }
  }

  /// Layers of a run: some, or as many as show new pairs of classes.
  std::vector<DrawnPlan> layers() {
    std::vector<DrawnPlan> all;
    Coverage coverage;
    for (std::size_t idle = 0; all.size() < (tests_all() ? kMost : number_of_layers()) && idle < kPatience; ++idle) {
      DrawnPlan drawn = draw();
      const Classes classes = classes_of(drawn.layer);
      const std::string mode = mode_of(drawn.layer.layer, drawn.plan);
      if (!tests_all() || !coverage.missing_pairs(mode, classes).empty()) {
        coverage.add_pairs(mode, classes);
        all.push_back(std::move(drawn));
        idle = 0;
      }
    }
    return all;
  }

 private:
  std::mt19937_64 random_;
};

void expect_definition(const std::vector<DrawnPlan>& chosen, Direction direction) {
  parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t begin, std::int64_t) {
    const auto& [drawn, plan] = chosen[static_cast<std::size_t>(begin)];
    const auto& [layer, sizes] = drawn;
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    const auto failure = failure_of(*device, layer, sizes, plan, static_cast<std::uint64_t>(begin), direction);
    EXPECT_FALSE(failure) << fmt::format("{} at {}; {}; {}: {}", canonical_form(layer), text_of_sizes(drawn),
                                         plan.summary, plan.reason, *failure);
  });
  fmt::print("  {} layers\n", chosen.size());
}

TEST_P(Gradients, MatchTheDefinition) {
  const std::vector<DrawnPlan> chosen = layers();
  ASSERT_GE(chosen.size(), tests_all() ? kRun : number_of_layers());
  expect_definition(chosen, GetParam().direction);
}

// Of the plans that the layers above are drawn with, few have these parameters set.
TEST(GradientsOfRarePlans, MatchTheDefinition) {
  int count = 0;
  for (const TemplateFacts& facts : template_facts()) {
    if (!facts.rare_in_gradients) {
      continue;
    }
    ++count;
    const auto& [name, may_be_set] = *facts.rare_in_gradients;
    std::mt19937_64 random(seeded_by(fmt::format("{} {} {}", facts.name, name, test_seed())));
    std::vector<DrawnPlan> chosen;
    while (chosen.size() < number_of_layers()) {
      DrawnPlan drawn = draw_plan(random, facts.name, may_be_set, gradient_of(facts.name));
      if (flag(drawn.plan, name)) {
        chosen.push_back(std::move(drawn));
      }
    }
    expect_definition(chosen, gradient_of(facts.name));
  }
  EXPECT_GT(count, 0);
}

/// Whether the axis' gradient of the input reads only every so-many-th output.
bool skips_outputs(const Axis& axis) {
  return std::gcd(axis.stride, axis.kernel > 1 ? axis.dilation : 0) > 1;
}

// Templates may stage only what is read where strides and dilations have a common divisor, which few drawn layers have.
TEST(GradientsOfSkippedOutputs, MatchTheDefinition) {
  std::vector<DrawnPlan> chosen;
  for (const TemplateFacts& facts : template_facts()) {
    for (const std::size_t axis : {kHeight, kWidth}) {
      std::mt19937_64 random(seeded_by(fmt::format("{} skips {} {}", facts.name, axis, test_seed())));
      const auto skips = [&](const Layer& layer) { return skips_outputs(layer.axes[axis]); };
      for (std::size_t count = 0; facts.drawer.strided_grad_input && count < number_of_layers();) {
        DrawnPlan drawn = draw_plan(random, facts.name, skips, Direction::kGradInput);
        if (is_quick(drawn.layer.layer, drawn.layer.sizes, drawn.plan, Direction::kGradInput)) {
          chosen.push_back(std::move(drawn));
          ++count;
        }
      }
    }
  }
  ASSERT_FALSE(chosen.empty());
  expect_definition(chosen, Direction::kGradInput);
}

// Few drawn layers have kernels as large as their strides, whose gradient of the bias grad_weight_rows makes too.
TEST(GradientsOfPatches, MatchTheDefinition) {
  constexpr const char* kLayers[] = {
      "conv_transpose1d 32 -> 24; kernel 4; stride 4; input 3x40; bias; dtype f16",
      "conv_transpose2d 48 -> 64; kernel 2x2; stride 2x2; groups 2; input 2x5x24; bias; dtype bf16",
      "conv_transpose2d 16 -> 16; kernel 4x2; stride 4x2; input 2x6x10; bias; compute tf32",
      "conv_transpose2d 40 -> 32; kernel 2x2; stride 2x2; input 2x8x14; bias; dtype f16",
      "conv_transpose2d 24 -> 16; kernel 3x3; stride 3x3; input 2x5x16; bias; compute tf32",
      "conv_transpose2d 16 -> 16; kernel 2x4; stride 2x4; input 2x3x18; bias; compute tf32",
      "conv_transpose2d 24 -> 40; kernel 2x2; stride 2x2; input ?x?x24; bias; compute tf32",
      "conv_transpose2d 24 -> 40; kernel 4x4; stride 4x4; input 2x3x6; bias; dtype f16"};
  std::vector<DrawnPlan> chosen;
  for (const char* text : kLayers) {
    const Layer layer = parse_layer(std::string(text) + "; directions grad_weight").value();
    const InputSizes sizes = known_sizes(layer).value_or(InputSizes{.batch = 2, .extents = {1, 5, 24}});
    const std::vector<Plan> plans =
        kGradWeightRows.plans({layer, Direction::kGradWeight, target_named("sm_90a").value()}).value();
    for (std::size_t i = 0; i < plans.size(); i += tests_all() ? 1 : std::max<std::size_t>(1, plans.size() - 1)) {
      chosen.push_back({{layer, sizes}, plans[i]});
    }
  }
  expect_definition(chosen, Direction::kGradWeight);
}

INSTANTIATE_TEST_SUITE_P(Templates, Gradients, ::testing::ValuesIn(gradient_templates()),
                         [](const ::testing::TestParamInfo<DirectedTemplate>& info) { return name_of(info.param); });

}  // namespace
}  // namespace convtgen::testing
