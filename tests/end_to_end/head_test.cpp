// The head of an emitted source is its launch contract: it says what the recipe says, and who reads it alone can launch
// the source.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL     if set: 100 layers of each template
// CONVTGEN_TEST_DEVICE  host (default) or cuda, which takes what nvcc compiled
// CUDACXX               the nvcc, if it is not the one that is installed
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "generator/recipe/call_form.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/head.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/nvcc.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

Sizes open_sizes(const InputSizes& sizes) {
  return {{"batch", sizes.batch},
          {"in_depth", sizes.extents[kDepth]},
          {"in_height", sizes.extents[kHeight]},
          {"in_width", sizes.extents[kWidth]}};
}

KernelSource source_of(const Layer& layer, const Plan& plan) {
  return specialize({layer, Direction::kForward, target_named("sm_90a").value()}, plan).value();
}

/// Addresses that no alignment refuses and that do not overlap.
std::uint64_t address_of(std::size_t array) {
  return (array + 1) << 40;
}

/// What the head says of a call, held to what the recipe makes of it.
void expect_contract(const KernelSource& source, const Layer& layer, const InputSizes& call_sizes) {
  const Head head = read_head(source.text);
  const Sizes sizes = sizes_of(head, open_sizes(call_sizes));
  const Recipe& recipe = source.recipe;
  EXPECT_EQ(head.compiler_flags, "-gencode arch=compute_90a,code=sm_90a");

  const CallForm form = CallForm::make(layer, recipe).value();
  const Quantities quantities = quantities_of(shape_of(layer, call_sizes).value());
  Arrays arrays;
  std::map<std::string, std::uint64_t> values;  // of arguments
  ASSERT_EQ(head.tensors.size(), recipe.tensors.size());
  for (std::size_t i = 0; i < recipe.tensors.size(); ++i) {
    const Tensor& tensor = recipe.tensors[i];
    EXPECT_EQ(head.tensors[i].name, name_of(tensor.role));
    EXPECT_EQ(evaluate(head.tensors[i].elements, sizes), tensor.elements.in(quantities)) << head.tensors[i].name;
    EXPECT_EQ(head.tensors[i].written, tensor.written) << head.tensors[i].name;
    EXPECT_EQ(head.tensors[i].alignment, tensor.alignment) << head.tensors[i].name;
    arrays.set(tensor.role, reinterpret_cast<void*>(address_of(i)));
    values[head.tensors[i].name] = address_of(i);
  }
  ASSERT_EQ(head.regions.size(), recipe.regions.size());
  const std::vector<std::int64_t> offsets = region_offsets(head, sizes);
  arrays.workspace = reinterpret_cast<void*>(address_of(recipe.tensors.size()));
  for (std::size_t i = 0; i <= recipe.regions.size(); ++i) {
    EXPECT_EQ(offsets[i], recipe.offset_of(i, quantities)) << i;
    if (i < recipe.regions.size()) {
      EXPECT_EQ(head.regions[i].kept, recipe.regions[i].kept);
      values[head.regions[i].name] = address_of(recipe.tensors.size()) + static_cast<std::uint64_t>(offsets[i]);
    }
  }
  const Call call = form.call(arrays, call_sizes).value();
  if (call.is_empty) {
    return;  // nothing is launched
  }
  ASSERT_EQ(head.kernels.size(), recipe.kernels.size());
  for (std::size_t k = 0; k < recipe.kernels.size(); ++k) {
    const HeadKernel& said = head.kernels[k];
    const RecipeKernel& kernel = recipe.kernels[k];
    EXPECT_EQ(said.symbol, kernel.symbol);
    EXPECT_EQ(evaluate(said.grid, sizes), call.kernels[k].blocks) << said.symbol << ": " << said.grid;
    EXPECT_EQ(said.threads, kernel.threads) << said.symbol;
    EXPECT_EQ(said.cluster, kernel.cluster) << said.symbol;
    EXPECT_EQ(said.shared_bytes, kernel.shared_bytes) << said.symbol;
    EXPECT_EQ(said.overlaps, kernel.waits) << said.symbol;
    EXPECT_EQ(said.for_new_weights, kernel.once) << said.symbol;
    ASSERT_EQ(said.arguments.size(), kernel.arguments.size()) << said.symbol;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      const auto& [type, value] = said.arguments[i];
      EXPECT_EQ(type, kernel.parameters[i].type);
      const auto known = values.find(value);
      const std::uint64_t slot =
          known != values.end() ? known->second : static_cast<std::uint64_t>(evaluate(value, sizes));
      EXPECT_EQ(slot, call.kernels[k].slots[i]) << said.symbol << ": " << value;
    }
    for (const HeadSize& bound : said.bounds) {
      const auto is_same = [&](const Grid::Bound& each) {
        return name_of(each.extent) == bound.name && each.most == bound.known;
      };
      EXPECT_TRUE(std::ranges::any_of(kernel.grid.bounds, is_same)) << bound.name;
    }
  }
}

class Heads : public ::testing::TestWithParam<const char*> {};

TEST_P(Heads, SayWhatTheRecipeSays) {
  std::mt19937_64 random = seeded_by(fmt::format("{} {}", test_seed(), GetParam()));
  for (int i = 0; i < (tests_all() ? 100 : 10); ++i) {
    const DrawnPlan drawn = draw_plan(random, GetParam(), [](const Layer&) { return true; });
    SCOPED_TRACE(canonical_form(drawn.layer.layer));
    expect_contract(source_of(drawn.layer.layer, drawn.plan), drawn.layer.layer, drawn.layer.sizes);
  }
}

/// A program's own view of a source: its text and its head.
KernelSource known_by_its_head(const std::string& text, const Head& head) {
  KernelSource source{.text = text, .symbol = head.kernels.back().symbol, .template_lines = {}, .recipe = {}};
  for (const HeadKernel& said : head.kernels) {
    RecipeKernel kernel{.symbol = said.symbol, .threads = static_cast<int>(said.threads)};
    for (const HeadArgument& argument : said.arguments) {
      kernel.parameters.push_back({"", argument.type});
    }
    kernel.cluster = static_cast<int>(said.cluster);
    kernel.shared_bytes = said.shared_bytes;
    source.recipe.kernels.push_back(kernel);
  }
  return source;
}

/// The cubin that nvcc makes of a source with the head's flags.
Result<std::string> compiled_by_nvcc(const std::string& text, const Head& head) {
  NvccResult result = compile_with_nvcc(text, head.compiler_flags + " -cubin");
  return result.compiles ? Result<std::string>(std::move(result.output)) : fail(result.log);
}

/// Compiled for the device: by nvcc for a GPU.
Result<Binary> compiled(Device& device, const KernelSource& source, const Head& head) {
  if (!test_on_gpu()) {
    auto binary = device.compile(source, "");
    return binary ? Result<Binary>(*std::move(binary)) : fail(binary.error().message);
  }
  const auto cubin = compiled_by_nvcc(source.text, head);
  if (!cubin) {
    return std::unexpected(cubin.error());
  }
  return Binary{.kind = BinaryKind::kCubin,
                .architecture = "sm_90a",
                .symbol = source.symbol,
                .bytes = *cubin,
                .log = {},
                .kernels = kernels_in(source)};
}

/// Runs a call of the source by its head alone. Returns y, or what went wrong.
Result<HostArray> run_by_head(Device& device, const std::string& text, const Layer& layer, const InputSizes& call_sizes,
                              const LayerInputs& inputs) {
  const Head head = read_head(text);
  const Sizes sizes = sizes_of(head, open_sizes(call_sizes));
  const KernelSource source = known_by_its_head(text, head);
  const auto binary = compiled(device, source, head);
  if (!binary) {
    return std::unexpected(binary.error());
  }
  std::map<std::string, std::unique_ptr<Buffer>> buffers;
  std::map<std::string, std::uint64_t> values;
  for (const HeadTensor& tensor : head.tensors) {
    const auto bytes = static_cast<std::size_t>(evaluate(tensor.elements, sizes) * bytes_of(layer.dtype));
    auto& buffer = buffers[tensor.name] = device.allocate(bytes).value();
    values[tensor.name] = buffer->address();
    const auto done = tensor.written            ? device.poison(*buffer, std::byte{0xff})
                      : tensor.name == "x"      ? device.upload(*buffer, inputs.x.bytes)
                      : tensor.name == "weight" ? device.upload(*buffer, inputs.weight.bytes)
                                                : device.upload(*buffer, inputs.bias.value().bytes);
    if (!done) {
      return std::unexpected(done.error());
    }
  }
  const std::vector<std::int64_t> offsets = region_offsets(head, sizes);
  const auto workspace = device.allocate(static_cast<std::size_t>(std::max<std::int64_t>(offsets.back(), 1))).value();
  for (std::size_t i = 0; i < head.regions.size(); ++i) {
    values[head.regions[i].name] = workspace->address() + static_cast<std::uint64_t>(offsets[i]);
  }
  for (const HeadKernel& said : head.kernels) {
    Launch launch{.blocks = evaluate(said.grid, sizes),
                  .threads = static_cast<int>(said.threads),
                  .shared_bytes = said.shared_bytes,
                  .arguments = {}};
    launch.pdl_buffer = said.overlaps ? workspace->address() : 0;
    for (const HeadArgument& argument : said.arguments) {
      const auto known = values.find(argument.value);
      launch.arguments.push_back(known != values.end() ? known->second
                                                       : static_cast<std::uint64_t>(evaluate(argument.value, sizes)));
    }
    const auto kernel = std::ranges::find(binary->kernels, said.symbol, &BinaryKernel::symbol);
    auto loaded = device.load(*binary, *kernel);
    if (!loaded) {
      return std::unexpected(loaded.error());
    }
    if (auto ran = device.run(**loaded, launch); !ran) {
      return std::unexpected(ran.error());
    }
  }
  HostArray y = make_array(layer.dtype, output_shape(layer, shape_of(layer, call_sizes).value()));
  if (auto read = device.download(y.bytes, *buffers["y"]); !read) {
    return std::unexpected(read.error());
  }
  return y;
}

TEST_P(Heads, AreEnoughToLaunchTheSource) {
  std::mt19937_64 random = seeded_by(fmt::format("launch {} {}", test_seed(), GetParam()));
  const std::unique_ptr<Device> device = test_device(0);
  ASSERT_NE(device, nullptr);
  for (int i = 0; i < (tests_all() || test_on_gpu() ? 10 : 2); ++i) {
    const DrawnPlan drawn = draw_plan(random, GetParam(), [](const Layer&) { return true; });
    const auto& [layer, sizes] = drawn.layer;
    SCOPED_TRACE(canonical_form(layer));
    const Shape shape = shape_of(layer, sizes).value();
    const LayerInputs inputs = random_inputs(layer, shape, random());
    const auto y = run_by_head(*device, source_of(layer, drawn.plan).text, layer, sizes, inputs);
    ASSERT_TRUE(y) << y.error().message;
    const Comparison comparison = compare(layer, shape, define_all(layer, shape, inputs), *y);
    EXPECT_TRUE(comparison.passed()) << describe(comparison, layer);
  }
}

TEST_P(Heads, HaveNvccsFlags) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  std::mt19937_64 random = seeded_by(fmt::format("nvcc {} {}", test_seed(), GetParam()));
  const DrawnPlan drawn = draw_plan(random, GetParam(), [](const Layer&) { return true; });
  const std::string text = source_of(drawn.layer.layer, drawn.plan).text;
  const auto cubin = compiled_by_nvcc(text, read_head(text));
  EXPECT_TRUE(cubin) << canonical_form(drawn.layer.layer) << ": " << cubin.error().message;
}

TEST(Head, ArgumentsThatAreLongGoOnInTheNextLine) {
  const Layer layer = parse_layer("conv_transpose2d 8 -> 8; kernel 3x3; dtype f16; layout nhwc; bias").value();
  const std::vector<Plan> plans = net_plans(layer).value();
  for (const Plan& plan : plans) {
    SCOPED_TRACE(plan.template_name);
    const KernelSource source = source_of(layer, plan);
    const std::size_t begin = source.text.find("//     arguments const unsigned short* x, ");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t end = source.text.find('\n', begin);
    EXPECT_LE(end - begin, 120U);
    EXPECT_EQ(source.text[end - 1], ',');
    EXPECT_EQ(source.text.substr(end + 1, 9), "//       ");
    expect_contract(source, layer, {.batch = 2, .extents = {1, 5, 7}});
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, Heads,
                         ::testing::Values("direct", "shift_gemm", "f32x3_gemm", "halo_gemm", "roll_gemm"),
                         [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace convtgen::testing
