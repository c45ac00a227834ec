// What a template's planner says that it needs of a chip (Features) is what its sources take: on each known chip, each
// plan that is offered has a source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

/// "" or why the source of a plan can't be made.
std::string problem_of_source(const Problem& problem, const Plan& plan) {
  const auto source = specialize(problem, plan);
  return source ? "" : source.error().message;
}

/// Layers that between them get plans of all templates on sm_90a.
constexpr const char* kOfEachTemplate[] = {
    "64 -> 64; kernel 4; stride 2; padding 1; input 4x32x32; dtype f16",
    "64 -> 64; kernel 4; stride 2; padding 1; input 4x32x32; compute tf32; layout nhwc",
    "64 -> 64; kernel 3; padding 1; input 4x32x32; compute f32x3",
    "64 -> 64; kernel 3; padding 1; input 4x32x32; dtype bf16; layout nhwc",
    "64 -> 64; kernel 3; padding 1; input 4x32x32; dtype bf16",
    "64 -> 64; kernel 3; padding 1; input 4x32x32; compute f32x3; layout nhwc",
    "64 -> 2; kernel 4; stride 2; padding 1; input 4x128x128; compute f32x3",
    "16 -> 1; kernel 9; stride 4; padding 4; output_padding 3; input 1x32x40; compute tf32",
    "16 -> 2; kernel 4; stride 2; padding 1; input 1x32x40; dtype f16",
    "16 -> 2; kernel 4; stride 2; padding 1; input 1x32x40; dtype bf16",
    "16 -> 32; kernel 3; stride 2; input 4x64x64; dtype f16; layout nhwc",
    "16 -> 32; kernel 3; stride 2; input 4x64x64; dtype bf16; layout nhwc",
    "64 -> 64; kernel 2; stride 2; input 4x32x32; dtype f16; layout nhwc",
    "8 -> 8; kernel 3; stride 2; input 4x64x64",
    "8 -> 8; kernel 3; stride 2; input 4x64x64; dtype f64",
};

TEST(EveryChip, TemplatesAreOfferedWhereTheChipHasWhatTheirSourcesTake) {
  std::set<std::string> offered, made;
  for (const Target& target : known_targets()) {
    for (const std::string text : kOfEachTemplate) {
      const Layer layer =
          parse_layer("conv_transpose2d " + text + "; bias; directions forward, grad_input, grad_weight, grad_bias")
              .value();
      for (const Direction direction : layer.directions) {
        const Problem problem = {layer, direction, target};
        const std::vector<Plan> plans = plan(problem).value();
        for (const Plan& each : plans) {
          const std::string on_chip = each.template_name + " on " + target.architecture;
          offered.insert(on_chip);
          if (made.insert(fmt::format("{}: {} {} {}", on_chip, name_of(direction), name_of(layer.dtype),
                                      name_of(layer.compute)))
                  .second) {
            EXPECT_EQ(problem_of_source(problem, each), "") << on_chip;
          }
        }
      }
    }
  }
  for (const Template& known : templates()) {
    const bool is_extra = std::ranges::find(extra_templates(), known.name, &Template::name) != extra_templates().end();
    EXPECT_TRUE(is_extra || offered.contains(std::string(known.name) + " on sm_90a")) << known.name;
  }
  for (const testing::TemplateFacts& facts : testing::template_facts()) {
    for (const std::string& chip : facts.other_chips) {
      EXPECT_TRUE(offered.contains(std::string(facts.name) + " on " + chip)) << facts.name << ", " << chip;
    }
  }
}

}  // namespace
}  // namespace convtgen
