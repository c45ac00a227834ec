// Launch code of gradients by the templates for tensor cores: regions of the workspace, tensor maps and several
// kernels, on the host device.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "generator/launcher/names.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "tests/launcher/host_call.h"
#include "tests/template_facts/facts.h"

namespace convtgen::test {
namespace {

struct PlannedGradient {
  std::string template_name;
  std::string layer;  // of one direction
};
void PrintTo(const PlannedGradient& gradient, std::ostream* out) {
  *out << gradient.template_name;
}

class PlannedGradients : public ::testing::TestWithParam<PlannedGradient> {};

TEST_P(PlannedGradients, RightByTheDefinition) {
  const Layer layer = parse_layer(GetParam().layer).value();
  const Direction direction = layer.directions.front();
  const CodeTarget code = code_target_named("sm_90a").value();
  const Problem problem{layer, direction, code.target};
  const std::vector<Plan> plans = convtgen::plan(problem).value();
  const auto chosen = std::ranges::find(plans, GetParam().template_name, &Plan::template_name);
  ASSERT_NE(chosen, plans.end()) << "the planner has no plan of this template";
  Plan plan = *chosen;
  if (const auto images = plan.parameters.find("chunk_images");
      images != plan.parameters.end() && images->second != ParameterValue(std::int64_t{0})) {
    images->second = std::int64_t{1};  // launches of the same kernels, an image each
    plan.parameters.find("chunks")->second = std::int64_t{2};
    plan.launch = launch_plan_of(problem, plan);
  }
  const TargetKernel made{code, plan, specialize(problem, plan).value()};
  HostOptions options;
  options.portable = true;
  const auto library = open_host_device(options).value()->compile(made.source, code.target.architecture);
  ASSERT_TRUE(library) << library.error().message;

  BuiltSet set;
  const SetKernel kernel{"up", layer, direction};
  const std::string stem = stem_of("up", direction);
  set.write_launch_code({"net", "net.h", LaunchFormat::kCubin, true, {code}}, kernel, {made});
  write(set.folder() / ("out/" + host_file(stem)), library->bytes);
  write(set.folder() / ("out/" + code_file(stem, code)), "no GPU will have it");
  set.build(strict_compilers().front());
  ASSERT_EQ(set.function<int (*)(int)>("use_host")(1), 0) << set.last_error();
  const auto* const* const kernels = set.function<const SetKernelFacts* const* (*)()>("kernels")();
  HostCall call(set, *kernels, {2, {5, 16}});
  ASSERT_EQ(call.launch(), 0) << set.last_error();
  call.expect_right();
}

std::vector<PlannedGradient> planned_gradients() {
  std::vector<PlannedGradient> all;
  for (const convtgen::testing::TemplateFacts& facts : convtgen::testing::template_facts()) {
    for (const char* layer : facts.launched_gradients) {
      all.push_back({std::string(facts.name), layer});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Templates, PlannedGradients, ::testing::ValuesIn(planned_gradients()), [](const auto& given) {
  return fmt::format("{}_{}", given.param.template_name, given.index);
});

}  // namespace
}  // namespace convtgen::test
