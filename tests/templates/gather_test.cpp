// A template that is added to the table by its folder and one line, all the way to verified numbers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/cli/process.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;

Problem problem_of(const std::string& layer) {
  return {parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
}

class Gather : public ::testing::TestWithParam<const char*> {};

TEST_P(Gather, ComputesTheDefinition) {
  const Problem problem = problem_of(fmt::format("conv_transpose2d {}; fuse scale(1)", GetParam()));
  const std::vector<Plan> plans = plan(problem).value();
  ASSERT_EQ(plans.front().template_name, "gather");
  const InputSizes sizes{2, {5, 40}};
  const auto device = open_host_device().value();
  const LayerInputs inputs = random_inputs(problem.layer, shape_of(problem.layer, sizes).value(), 1);
  const auto run = run_layer(*device, problem, plans.front(), sizes, inputs);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->layer.source.text, HasSubstr("Template gather"));
  EXPECT_TRUE(run->verification.passed()) << describe(run->verification, problem.layer);
}

INSTANTIATE_TEST_SUITE_P(Each, Gather,
                         ::testing::Values("3 -> 4; kernel 3; input 2x5x40", "3 -> 4; kernel 3x2; bias",
                                           "2 -> 3; kernel 4; stride 3x2; padding 2x1; output_padding 1x0; bias",
                                           "2 -> 2; kernel 3x5; stride 2; dilation 3x2; padding 4x7; input ?x5x?",
                                           "3 -> 4; kernel 3x2; stride 2; bias; weight_layout channels_last"));

TEST(GatherPlans, AreForLayersThatAskForThem) {
  const auto reason = [](const char* layer) {
    const auto all = candidates(problem_of(layer)).value();
    EXPECT_TRUE(std::ranges::none_of(all.plans, [](const Plan& each) { return each.template_name == "gather"; }));
    const auto found = std::ranges::find(all.refusals, "gather", &Refusal::template_name);
    return found == all.refusals.end() ? "" : found->reason;
  };
  EXPECT_EQ(reason("conv_transpose2d 3 -> 4; kernel 3"), "no 'fuse scale(1)', by which tests ask for it");
  EXPECT_EQ(reason("conv_transpose2d 3 -> 4; kernel 3; fuse scale(2)"),
            "no 'fuse scale(1)', by which tests ask for it");
  EXPECT_EQ(reason("conv_transpose2d 4 -> 4; kernel 3; groups 2; fuse scale(1)"), "2 groups; it takes 1");
  EXPECT_EQ(reason("conv_transpose2d 4 -> 4; kernel 3; dtype f16; fuse scale(1)"), "dtype f16; it takes f32");
}

TEST(GatherPlans, RunThroughTheProgram) {
  const std::string layer = "conv_transpose2d 3 -> 4; kernel 3; stride 2; bias; fuse scale(1); input 2x5x7";
  const test::Outcome explained = test::convtgen({"explain", "--no-compile", "-e", layer});
  EXPECT_THAT(explained.out, HasSubstr("template    gather, forward")) << explained.err;
  const test::Outcome run = test::convtgen({"run", "--device", "host", "-e", layer});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
}

}  // namespace
}  // namespace convtgen
