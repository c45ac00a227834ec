// The free oracle of partial evaluation: a template compiled with a plan's parameters, and the source that the
// specializer makes of it, compute the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/launch_plan.h"
#include "generator/planner/table/templates.h"
#include "generator/program/program_text.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"
#include "tests/templatec/as_it_stands.h"

namespace convtgen::templatec {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20261121;
constexpr int kRandomLayers = 30;
constexpr int kLayersOfATest = 3;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<Program> committed_program(const std::string& name) {
  const std::optional<std::string> text =
      read_file(fs::path(CONVTGEN_SOURCE_DIR) / "templates" / name / (name + ".sexp"));
  return text ? read_program(*text) : fail("no program '" + name + "'");
}

/// The template itself as a kernel; its signature has every argument.
Result<KernelSource> kernel_of_template(const Problem& problem, const Plan& plan) {
  const Result<Program> program = committed_program(plan.template_name);
  if (!program) {
    return std::unexpected(program.error());
  }
  Result<std::string> text = template_as_it_stands(*program, plan.parameters, [&](const std::string& name) {
    const fs::path templates = fs::path(CONVTGEN_SOURCE_DIR) / "templates";
    std::optional<std::string> own = read_file(templates / plan.template_name / name);
    return own ? own : read_file(templates / name);
  });
  if (!text) {
    return std::unexpected(text.error());
  }
  KernelSource source{.text = *std::move(text),
                      .symbol = plan.template_name,
                      .template_lines = {},
                      .recipe = {.tensors = tensors_of(problem.layer, problem.direction, plan.alignment)}};
  RecipeKernel& kernel = source.recipe.kernels.emplace_back();
  kernel.symbol = source.symbol;
  kernel.threads = plan.launch.main().threads;
  kernel.shared_bytes = plan.launch.main().shared_bytes;
  kernel.grid = plan.launch.main().grid;
  // Where there is no bias, nothing reads the argument, and any address will do.
  for (const char* name : {"x", "weight", problem.layer.bias ? "bias" : "x", "y"}) {
    kernel.parameters.push_back({name, "void*"});
  }
  if (std::ranges::find(templates(), plan.template_name, &Template::name)->takes_depth) {
    kernel.parameters.push_back({"depth", "int"});
  }
  for (const char* name : {"height", "width"}) {
    kernel.parameters.push_back({name, "int"});
  }
  if (auto bound = bind_arguments(source.recipe); !bound) {
    return std::unexpected(bound.error());
  }
  return source;
}

/// The bytes of y; the device's seed decides the order of threads, which must not matter.
Result<HostArray> output_of(Device& device, const Problem& problem, const Plan& plan, KernelSource source,
                            const InputSizes& sizes, const LayerInputs& inputs) {
  Result<LoadedLayer> loaded = load_source(device, problem, plan, std::move(source));
  if (!loaded) {
    return std::unexpected(loaded.error());
  }
  const Result<LayerCall> call = make_call(device, *loaded, sizes, inputs);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (const Result<void> run = run_call(device, *loaded, *call); !run) {
    return std::unexpected(run.error());
  }
  return read_output(device, problem.layer, *call);
}

/// What the layer's template gives as it stands, and what the residual source of the plan gives.
struct Outputs {
  HostArray as_it_stands;
  HostArray residual;
};

/// `for_template` are the parameters that the template is compiled with.
Result<Outputs> outputs_of(const Layer& layer, const InputSizes& sizes, const Plan& plan,
                           const Parameters& for_template) {
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  const Result<Shape> shape = shape_of(layer, sizes);
  const Result<std::unique_ptr<HostDevice>> device = open_host_device({});
  if (!shape || !device) {
    return fail(shape ? device.error().message : shape.error().message);
  }
  const LayerInputs inputs = random_inputs(layer, *shape, kSeed);
  Plan template_plan = plan;
  template_plan.parameters = for_template;
  Result<KernelSource> as_it_stands = kernel_of_template(problem, template_plan);
  Result<KernelSource> residual = specialize(problem, plan);
  if (!as_it_stands || !residual) {
    return fail(as_it_stands ? residual.error().message : as_it_stands.error().message);
  }
  Result<HostArray> expected = output_of(**device, problem, plan, *std::move(as_it_stands), sizes, inputs);
  if (!expected) {
    return fail("the template as it stands: " + expected.error().message);
  }
  Result<HostArray> got = output_of(**device, problem, plan, *std::move(residual), sizes, inputs);
  if (!got) {
    return fail("the residual source: " + got.error().message);
  }
  return Outputs{*std::move(expected), *std::move(got)};
}

/// Of `direct`. Products by wgmma are printed for one plan, so templates that have them are nothing as they stand.
Result<Plan> best_plan(const Layer& layer) {
  const Result<std::vector<Plan>> plans =
      plans_of(templates().front(), {layer, Direction::kForward, target_named("sm_90a").value()});
  return plans ? Result<Plan>(plans->front()) : std::unexpected(plans.error());
}

class SameBits : public ::testing::TestWithParam<int> {};

TEST_P(SameBits, AsTheTemplateCompiledWithTheSameParameters) {
  // The layers that make something, in the order of the source. Of those of a test, the seed chooses one.
  const int chosen = static_cast<int>(convtgen::testing::seeded_by(convtgen::testing::test_seed())() % kLayersOfATest);
  convtgen::testing::LayerSource source(kSeed);
  for (int number = 0; number < (GetParam() + 1) * kLayersOfATest;) {
    const auto [layer, sizes] = source.next();
    const Result<Shape> shape = shape_of(layer, sizes);
    if (!shape || shape->output_elements == 0) {
      continue;
    }
    const bool is_of_others = number / kLayersOfATest != GetParam();
    const bool is_left_out = number % kLayersOfATest != chosen && !convtgen::testing::tests_all();
    ++number;
    if (is_of_others || is_left_out) {
      continue;
    }
    SCOPED_TRACE(canonical_form(layer));
    const Result<Plan> plan = best_plan(layer);
    ASSERT_TRUE(plan) << plan.error().message;
    const Result<Outputs> outputs = outputs_of(layer, sizes, *plan, plan->parameters);
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_FALSE(outputs->residual.bytes.empty());
    EXPECT_EQ(outputs->as_it_stands.bytes, outputs->residual.bytes);
  }
}

TEST(BitsOfRows, AreThoseOfTheTemplates) {
  int count = 0;
  for (const convtgen::testing::TemplateFacts& facts : convtgen::testing::template_facts()) {
    if (facts.as_it_stands == nullptr) {
      continue;
    }
    ++count;
    SCOPED_TRACE(facts.name);
    const Layer layer = parse_layer(facts.as_it_stands).value();
    const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
    const Result<std::vector<Plan>> plans = plans_of(*template_named(facts.name).value(), problem);
    ASSERT_TRUE(plans) << plans.error().message;
    const Plan& plan = plans->front();
    const Result<Outputs> outputs = outputs_of(layer, known_sizes(layer).value(), plan, plan.parameters);
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_FALSE(outputs->residual.bytes.empty());
    EXPECT_EQ(outputs->as_it_stands.bytes, outputs->residual.bytes);
  }
  EXPECT_GT(count, 0);
}

TEST(OtherBits, ComeOfOtherParameters) {
  const auto layer = parse_layer("conv_transpose2d 5 -> 4; kernel 3x3; padding 1; input 2x6x7");
  ASSERT_TRUE(layer);
  const Result<Plan> plan = best_plan(*layer);
  ASSERT_TRUE(plan) << plan.error().message;
  Parameters other = plan->parameters;
  // The same outputs and the same block, but every input one column further.
  other["padding_w"] = std::int64_t{0};
  other["output_padding_w"] = std::int64_t{-2};
  const Result<Outputs> outputs = outputs_of(*layer, {2, {6, 7}}, *plan, other);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_NE(outputs->as_it_stands.bytes, outputs->residual.bytes);
}

INSTANTIATE_TEST_SUITE_P(RandomLayers, SameBits, ::testing::Range(0, kRandomLayers / kLayersOfATest));

}  // namespace
}  // namespace convtgen::templatec
