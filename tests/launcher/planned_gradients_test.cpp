// Launch code of gradients by the templates for tensor cores: regions of the workspace, tensor maps and several
// kernels, on the host device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "generator/launcher/names.h"
#include "runtime/device/host/host_device.h"
#include "tests/launcher/host_call.h"

namespace convtgen::test {
namespace {

struct PlannedGradient {
  std::string template_name;
  std::string layer;  // of one direction
};
void PrintTo(const PlannedGradient& gradient, std::ostream* out) {
  *out << gradient.template_name;
}

class PlannedGradients : public testing::TestWithParam<PlannedGradient> {};

TEST_P(PlannedGradients, RightByTheDefinition) {
  const Layer layer = parse_layer(GetParam().layer).value();
  const Direction direction = layer.directions.front();
  const CodeTarget code = code_target_named("sm_90a").value();
  const Problem problem{layer, direction, code.target};
  const std::vector<Plan> plans = convtgen::plan(problem).value();
  const auto chosen = std::ranges::find(plans, GetParam().template_name, &Plan::template_name);
  ASSERT_NE(chosen, plans.end()) << "the planner has no plan of this template";
  Plan plan = *chosen;
  if (const auto chunks = plan.parameters.find("chunks"); chunks != plan.parameters.end()) {
    chunks->second = std::int64_t{2};  // launches of the same kernels, an image each
    plan.parameters.find("chunk_images")->second = std::int64_t{1};
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

constexpr const char* kInput = "conv_transpose2d 16 -> 16; kernel 3; stride 2; compute tf32; directions grad_input";
constexpr const char* kWeight = "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight";

INSTANTIATE_TEST_SUITE_P(
    Templates, PlannedGradients,
    testing::Values(PlannedGradient{"shift_gemm", kInput},
                    PlannedGradient{"tap_gemm",
                                    "conv_transpose2d 256 -> 64; kernel 4; stride 2; dtype f16; layout nhwc; "
                                    "directions grad_input"},
                    PlannedGradient{"grad_weight_gemm", std::string(kWeight) + "; compute tf32"},
                    PlannedGradient{"grad_weight_rows", std::string(kWeight) + "; compute tf32; input ?x5x16"},
                    PlannedGradient{"grad_weight_pixels", std::string(kWeight) + "; dtype f16; layout nhwc"},
                    PlannedGradient{"f32x3_grad_weight", std::string(kWeight) + "; compute f32x3"},
                    PlannedGradient{"f32x3_grad_weight_pixels",
                                    std::string(kWeight) + "; compute f32x3; input 2x5x16"}),
    [](const auto& given) { return given.param.template_name; });

}  // namespace
}  // namespace convtgen::test
