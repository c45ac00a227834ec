// Tensor-core plans for chips without wgmma: ptxas takes their sources without spilling, and their numbers are right on
// the host device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

constexpr int kKnownSpill = 64;  // bytes of a thread, of a plan with 180 registers: what sm_110's ptxas keeps in memory

struct OnChip {
  std::string layer, template_name, architecture;
  InputSizes sizes;
  bool all_plans = false;
};

std::vector<OnChip> layers_on_chips() {
  std::vector<OnChip> all;
  for (const TemplateFacts& facts : template_facts()) {
    for (const OnOtherChips& each : facts.on_other_chips) {
      for (const std::string& chip : each.chips.empty() ? facts.other_chips : each.chips) {
        const std::string type = std::string(each.layer).starts_with("conv_transpose") ? "" : "conv_transpose2d ";
        all.push_back({type + each.layer, std::string(facts.name), chip, each.sizes, each.all_plans});
      }
    }
  }
  return all;
}

TEST(OtherChips, PlansOfTensorCoresCompileAndAreRight) {
  const std::vector<OnChip> all = layers_on_chips();
  std::vector<Candidate> candidates;
  for (const OnChip& each : all) {
    const Layer layer = parse_layer(each.layer).value();
    const std::string mode = fmt::format("{} {}", name_of(layer.dtype), name_of(layer.compute));
    candidates.push_back(
        {each.layer + " on " + each.architecture, {each.template_name + " in " + mode, each.architecture}});
  }
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  for (const std::size_t i : sample(candidates, 5)) {
    SCOPED_TRACE(candidates[i].name);
    const Layer layer = parse_layer(all[i].layer).value();
    const Problem problem = {layer, layer.directions.front(), target_named(all[i].architecture).value()};
    const std::vector<Plan> plans = plan(problem).value();
    auto found = std::ranges::find(plans, all[i].template_name, &Plan::template_name);
    ASSERT_NE(found, plans.end());
    const Result<Binary> binary =
        compile_with_nvrtc(specialize(problem, *found).value(), all[i].architecture, BinaryKind::kCubin);
    ASSERT_TRUE(binary) << binary.error().message;
    EXPECT_LE(resource_usage(*binary).value().spill_bytes, all[i].architecture == "sm_110" ? kKnownSpill : 0);
    for (; found != plans.end(); ++found) {
      if (found->template_name == all[i].template_name) {
        const auto failure = failure_of(*device, layer, all[i].sizes, *found, 1, problem.direction);
        EXPECT_FALSE(failure) << found->reason << ": " << *failure;
        if (!all[i].all_plans) {
          break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace convtgen::testing
