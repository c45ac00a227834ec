// The free oracle of partial evaluation: a template compiled with a plan's parameters, and the source that the
// specializer makes of it, compute the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/language/language.h"
#include "generator/specializer/kernel_source.h"
#include "generator/specializer/program_text.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/templatec/as_it_stands.h"

namespace convtgen::templatec {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20261121;
constexpr int kRandomLayers = 30;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<Program> committed_program(const std::string& name) {
  const std::optional<std::string> text =
      read_file(fs::path(CONVTGEN_SOURCE_DIR) / "generator/specializer/programs" / (name + ".sexp"));
  return text ? read_program(*text) : fail("no program '" + name + "'");
}

/// The template itself as a kernel; its signature has every argument.
Result<KernelSource> kernel_of_template(const Layer& layer, const Plan& plan) {
  const Result<Program> program = committed_program(plan.template_name);
  if (!program) {
    return std::unexpected(program.error());
  }
  Result<std::string> text = template_as_it_stands(*program, plan.parameters, [](const std::string& name) {
    return read_file(fs::path(CONVTGEN_SOURCE_DIR) / "templates" / name);
  });
  if (!text) {
    return std::unexpected(text.error());
  }
  KernelSource source{.text = *std::move(text),
                      .symbol = plan.template_name,
                      .parameters = {},
                      .template_lines = {},
                      .threads = plan.threads,
                      .shared_bytes = plan.shared_bytes};
  // Where there is no bias, nothing reads the argument, and any address will do.
  for (const char* name : {"x", "weight", layer.bias ? "bias" : "x", "y", "height", "width"}) {
    source.parameters.push_back({name, name[0] == 'h' || name[1] == 'i' ? "int" : "void*"});
  }
  return source;
}

/// The bytes of y; the device's seed decides the order of threads, which must not matter.
Result<HostArray> output_of(Device& device, const Problem& problem, const Plan& plan, KernelSource source,
                            const InputSizes& sizes, const LayerInputs& inputs) {
  LoadedLayer loaded{problem, plan, std::move(source), {}, nullptr};
  Result<Binary> binary = device.compile(loaded.source, problem.target.architecture);
  if (!binary) {
    return std::unexpected(binary.error());
  }
  loaded.binary = *std::move(binary);
  auto kernel = device.load(loaded.binary);
  if (!kernel) {
    return std::unexpected(kernel.error());
  }
  loaded.kernel = *std::move(kernel);
  const Result<LayerCall> call = make_call(device, loaded, sizes, inputs);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (const Result<void> run = run_call(device, loaded, *call); !run) {
    return std::unexpected(run.error());
  }
  return read_output(device, problem.layer, *call);
}

void expect_same_bits(const Layer& layer, const InputSizes& sizes) {
  SCOPED_TRACE(canonical_form(layer));
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  const Result<std::vector<Plan>> plans = plan(problem);
  ASSERT_TRUE(plans) << plans.error().message;
  const Result<Shape> shape = shape_of(layer, sizes);
  ASSERT_TRUE(shape) << shape.error().message;
  const LayerInputs inputs = random_inputs(layer, *shape, kSeed);
  const Result<std::unique_ptr<HostDevice>> device = open_host_device({});
  ASSERT_TRUE(device) << device.error().message;

  Result<KernelSource> as_it_stands = kernel_of_template(layer, plans->front());
  ASSERT_TRUE(as_it_stands) << as_it_stands.error().message;
  const Result<HostArray> expected =
      output_of(**device, problem, plans->front(), *std::move(as_it_stands), sizes, inputs);
  ASSERT_TRUE(expected) << "the template as it stands: " << expected.error().message;

  Result<KernelSource> residual = specialize(problem, plans->front());
  ASSERT_TRUE(residual) << residual.error().message;
  const Result<HostArray> got = output_of(**device, problem, plans->front(), *std::move(residual), sizes, inputs);
  ASSERT_TRUE(got) << "the residual source: " << got.error().message;
  EXPECT_EQ(expected->bytes, got->bytes);
  EXPECT_EQ(static_cast<std::int64_t>(got->bytes.size()), shape->output_elements * bytes_of(layer.dtype));
}

class SameBits : public ::testing::TestWithParam<int> {};

TEST_P(SameBits, AsTheTemplateCompiledWithTheSameParameters) {
  convtgen::testing::LayerSource source(kSeed);
  convtgen::testing::RandomLayer layer = source.next();
  for (int i = 0; i < GetParam(); ++i) {
    layer = source.next();
  }
  expect_same_bits(layer.layer, layer.sizes);
}

INSTANTIATE_TEST_SUITE_P(RandomLayers, SameBits, ::testing::Range(0, kRandomLayers));

}  // namespace
}  // namespace convtgen::templatec
