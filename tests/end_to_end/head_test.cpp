// The head of an emitted source is its launch contract: it says what the recipe says, and who reads it alone can launch
// the source.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL     if set: 100 layers of each template
// CONVTGEN_TEST_DEVICE  host (default) or cuda, which takes what nvcc compiled
// CUDACXX               the nvcc, if it is not the one that is installed
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/recipe/call_form.h"
#include "runtime/device/cuda/cuda_api.h"
#include "runtime/reference/layer_arrays.h"
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

KernelSource source_of(const Layer& layer, const Plan& plan, Direction direction = Direction::kForward) {
  return specialize({layer, direction, target_named("sm_90a").value()}, plan).value();
}

/// Addresses that no alignment refuses and that do not overlap.
std::uint64_t address_of(std::size_t array) {
  return (array + 1) << 40;
}

/// A tensor map as the head describes it, of what lies at that address.
TensorMap map_of(const HeadMap& said, const Sizes& sizes, std::uint64_t address) {
  using enum TensorMap::Element;
  static const std::map<std::string, TensorMap::Element> kElements = {{"u8", kU8},     {"u16", kU16},   {"u32", kU32},
                                                                      {"f16", kF16},   {"bf16", kBf16}, {"f32", kF32},
                                                                      {"tf32", kTf32}, {"f64", kF64}};
  static const std::map<std::int64_t, TensorMap::Swizzle> kSwizzles = {{0, TensorMap::Swizzle::kNone},
                                                                       {32, TensorMap::Swizzle::k32},
                                                                       {64, TensorMap::Swizzle::k64},
                                                                       {128, TensorMap::Swizzle::k128}};
  TensorMap map{.element = kElements.at(said.element),
                .rank = static_cast<int>(said.sizes.size()),
                .address = address,
                .swizzle = kSwizzles.at(said.swizzle),
                .fill = said.fill == "nan" ? TensorMap::Fill::kNan : TensorMap::Fill::kZero};
  for (std::size_t i = 0; i < said.sizes.size(); ++i) {
    // A map has at least one element on each axis.
    map.sizes[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(evaluate(said.sizes[i], sizes), 1));
    map.pitches[i] = i == 0 ? 0 : static_cast<std::uint64_t>(evaluate(said.pitches.at(i - 1), sizes));
    map.box[i] = static_cast<std::uint32_t>(evaluate(said.box.at(i), sizes));
    map.steps[i] = static_cast<std::uint32_t>(evaluate(said.steps.at(i), sizes));
  }
  return map;
}

/// Without the axes that have one index alone: arrays of the reference have the axes that a layer lacks.
std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

/// "N Cin H W"
std::string axis_names(const HeadTensor& tensor) {
  std::vector<std::string> names;
  for (const HeadAxis& axis : tensor.axes) {
    names.push_back(axis.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
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
    std::vector<std::int64_t> shape;
    for (const HeadAxis& axis : head.tensors[i].axes) {
      shape.push_back(evaluate(axis.extent, sizes));
    }
    EXPECT_EQ(without_ones(shape), without_ones(array_shape(layer, shape_of(layer, call_sizes).value(), tensor.role)))
        << head.tensors[i].name;
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
  Arrays packed_before = arrays;
  packed_before.set(Role::kWeight, nullptr);
  const Call later = recipe.may_omit_weight() ? form.call(packed_before, call_sizes).value() : call;
  ASSERT_EQ(head.maps.size(), recipe.maps.size());
  for (std::size_t i = 0; i < recipe.maps.size(); ++i) {
    const HeadMap& said = head.maps[i];
    EXPECT_EQ(said.name, recipe.maps[i].name);
    ASSERT_TRUE(values.contains(said.of)) << said.of;
    TensorMap map = form.map(i, arrays, call).value();
    map.pitches[0] = 0;  // not used
    EXPECT_EQ(map_of(said, sizes, values[said.of]), map) << said.name;
  }
  if (!head.maps.empty()) {
    EXPECT_EQ(head.encoding, "interleave none, L2 promotion 128 bytes") << "as encode_tensor_map() makes them";
    const std::string own_type =
        fmt::format("\nstruct __align__({}) TensorMap {{\n  unsigned long long words[{}];\n}};\n", head.map_alignment,
                    head.map_bytes / 8);
    EXPECT_NE(source.text.find(own_type), std::string::npos) << own_type;
    EXPECT_EQ(head.map_bytes, static_cast<std::int64_t>(sizeof(cuda::EncodedTensorMap)));
    EXPECT_EQ(head.map_alignment, static_cast<std::int64_t>(alignof(cuda::EncodedTensorMap)));
  }
  ASSERT_EQ(head.kernels.size(), recipe.kernels.size());
  bool launched = false, launched_later = false;  // a kernel of the call, with weights and without
  for (std::size_t k = 0; k < recipe.kernels.size(); ++k) {
    const HeadKernel& said = head.kernels[k];
    const RecipeKernel& kernel = recipe.kernels[k];
    EXPECT_EQ(said.symbol, kernel.symbol);
    EXPECT_EQ(evaluate(said.grid, sizes), call.kernels[k].blocks) << said.symbol << ": " << said.grid;
    EXPECT_EQ(said.threads, kernel.threads) << said.symbol;
    EXPECT_EQ(said.cluster, kernel.cluster) << said.symbol;
    EXPECT_EQ(said.shared_bytes, kernel.shared_bytes) << said.symbol;
    EXPECT_EQ(said.driver_opt_in, said.shared_bytes > 48 * 1024 ? said.shared_bytes : 0) << said.symbol;
    EXPECT_EQ(said.runtime_opt_in, said.driver_opt_in) << said.symbol;
    EXPECT_EQ(said.for_new_weights, kernel.once) << said.symbol;
    EXPECT_EQ(said.overlaps_own_launch && launched, call.kernels[k].waits) << said.symbol;
    EXPECT_EQ(said.overlaps_own_launch && launched_later, later.kernels[k].waits) << said.symbol;
    launched |= call.kernels[k].blocks > 0;
    launched_later |= later.kernels[k].blocks > 0;
    ASSERT_EQ(said.arguments.size(), kernel.arguments.size()) << said.symbol;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      const auto& [type, value] = said.arguments[i];
      EXPECT_EQ(type, kernel.parameters[i].type);
      if (kernel.arguments[i].kind == KernelArgument::Kind::kMap) {
        EXPECT_EQ(value, recipe.maps[kernel.arguments[i].index].name) << said.symbol;
        continue;
      }
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

class Heads : public ::testing::TestWithParam<DirectedTemplate> {
 protected:
  /// Random numbers of this test of the template.
  static std::mt19937_64 random_of(std::string_view test) {
    return seeded_by(fmt::format("{} {} {}", test, test_seed(), name_of(GetParam())));
  }
  static DrawnPlan draw(std::mt19937_64& random) {
    return draw_plan(random, GetParam().template_name, [](const Layer&) { return true; }, GetParam().direction);
  }
  static KernelSource source_of_drawn(const DrawnPlan& drawn) {
    return source_of(drawn.layer.layer, drawn.plan, GetParam().direction);
  }
};

TEST_P(Heads, SayWhatTheRecipeSays) {
  std::mt19937_64 random = random_of("recipe");
  for (int i = 0; i < (tests_all() ? 100 : 6); ++i) {
    const DrawnPlan drawn = draw(random);
    SCOPED_TRACE(canonical_form(drawn.layer.layer));
    expect_contract(source_of_drawn(drawn), drawn.layer.layer, drawn.layer.sizes);
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

/// What the call of the source wrote, by the names in its head.
using Written = std::map<std::string, HostArray>;

/// Launches the kernels of a call, those that the head says it needs. `values` has the addresses by their names.
Result<void> launch_by_head(Device& device, const Head& head, const Sizes& sizes, const Binary& binary,
                            const std::map<std::string, std::uint64_t>& values, std::uint64_t workspace,
                            bool new_weights) {
  bool launched = false;
  for (const HeadKernel& said : head.kernels) {
    Launch launch{.blocks = evaluate(said.grid, sizes),
                  .threads = static_cast<int>(said.threads),
                  .shared_bytes = said.shared_bytes,
                  .arguments = {}};
    if (launch.blocks == 0 || (said.for_new_weights && !new_weights)) {
      continue;
    }
    launch.pdl_buffer = said.overlaps_own_launch && launched ? workspace : 0;
    launched = true;
    for (const HeadArgument& argument : said.arguments) {
      if (const auto map = std::ranges::find(head.maps, argument.value, &HeadMap::name); map != head.maps.end()) {
        launch.tensor_maps.push_back({launch.arguments.size(), map_of(*map, sizes, values.at(map->of))});
        launch.arguments.push_back(0);
        continue;
      }
      const auto known = values.find(argument.value);
      launch.arguments.push_back(known != values.end() ? known->second
                                                       : static_cast<std::uint64_t>(evaluate(argument.value, sizes)));
    }
    const auto kernel = std::ranges::find(binary.kernels, said.symbol, &BinaryKernel::symbol);
    auto loaded = device.load(binary, *kernel);
    if (!loaded) {
      return std::unexpected(loaded.error());
    }
    if (auto ran = device.run(**loaded, launch); !ran) {
      return ran;
    }
  }
  return {};
}

/// Runs a call of the source by its head alone, and where the head allows it once more with the weights that the first
/// has packed. Returns what the last one wrote, or what went wrong.
Result<Written> run_by_head(Device& device, const std::string& text, const Layer& layer, const InputSizes& call_sizes,
                            const LayerInputs& inputs) {
  const Head head = read_head(text);
  const Sizes sizes = sizes_of(head, open_sizes(call_sizes));
  const KernelSource source = known_by_its_head(text, head);
  const auto binary = compiled(device, source, head);
  if (!binary) {
    return std::unexpected(binary.error());
  }
  const std::map<std::string, const HostArray*> read = {{"x", inputs.of(Role::kX)},
                                                        {"weight", inputs.of(Role::kWeight)},
                                                        {"bias", inputs.of(Role::kBias)},
                                                        {"grad_y", inputs.of(Role::kGradY)}};
  std::map<std::string, std::unique_ptr<Buffer>> buffers;
  std::map<std::string, std::uint64_t> values;
  for (const HeadTensor& tensor : head.tensors) {
    const auto bytes = static_cast<std::size_t>(evaluate(tensor.elements, sizes) * bytes_of(layer.dtype));
    auto& buffer = buffers[tensor.name] = device.allocate(bytes).value();
    values[tensor.name] = buffer->address();
    if (tensor.written) {
      continue;
    }
    if (auto done = device.upload(*buffer, read.at(tensor.name)->bytes); !done) {
      return std::unexpected(done.error());
    }
  }
  const std::vector<std::int64_t> offsets = region_offsets(head, sizes);
  const auto workspace = device.allocate(static_cast<std::size_t>(std::max<std::int64_t>(offsets.back(), 1))).value();
  for (std::size_t i = 0; i < head.regions.size(); ++i) {
    values[head.regions[i].name] = workspace->address() + static_cast<std::uint64_t>(offsets[i]);
  }
  const bool packs = std::ranges::any_of(head.kernels, &HeadKernel::for_new_weights);
  for (const bool new_weights : packs ? std::vector{true, false} : std::vector{true}) {
    for (const HeadTensor& tensor : head.tensors) {
      if (tensor.written) {
        if (auto done = device.poison(*buffers[tensor.name], std::byte{0xff}); !done) {
          return std::unexpected(done.error());
        }
      }
    }
    if (auto ran = launch_by_head(device, head, sizes, *binary, values, workspace->address(), new_weights); !ran) {
      return std::unexpected(ran.error());
    }
  }
  Written written;
  const Shape shape = shape_of(layer, call_sizes).value();
  for (const Role role : {Role::kY, Role::kGradX, Role::kGradWeight, Role::kGradBias}) {
    const std::string name(name_of(role));
    if (buffers.contains(name)) {
      HostArray& array = written[name] = make_array(layer.dtype, array_shape(layer, shape, role));
      if (auto done = device.download(array.bytes, *buffers[name]); !done) {
        return std::unexpected(done.error());
      }
    }
  }
  return written;
}

TEST_P(Heads, AreEnoughToLaunchTheSource) {
  std::mt19937_64 random = random_of("launch");
  const Direction direction = GetParam().direction;
  const std::unique_ptr<Device> device = test_device(0);
  ASSERT_NE(device, nullptr);
  for (int i = 0; i < (tests_all() || test_on_gpu() ? 10 : 1); ++i) {
    const DrawnPlan drawn = draw(random);
    const auto& [layer, sizes] = drawn.layer;
    SCOPED_TRACE(canonical_form(layer));
    const Shape shape = shape_of(layer, sizes).value();
    const LayerInputs inputs = random_inputs(layer, shape, random(), direction);
    const auto written = run_by_head(*device, source_of_drawn(drawn).text, layer, sizes, inputs);
    ASSERT_TRUE(written) << written.error().message;
    const std::vector<Role> roles = roles_of(layer, direction).written;
    EXPECT_EQ(written->size(), roles.size());
    for (const Role role : roles) {
      const auto got = written->find(std::string(name_of(role)));
      ASSERT_NE(got, written->end()) << name_of(role);
      const Comparison comparison =
          compare(layer, shape, define_all(layer, shape, inputs, role), got->second, {}, role);
      EXPECT_TRUE(comparison.passed()) << describe(comparison, layer);
    }
  }
}

TEST_P(Heads, HaveNvccsFlags) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  std::mt19937_64 random = random_of("nvcc");
  const DrawnPlan drawn = draw(random);
  const std::string text = source_of_drawn(drawn).text;
  const auto cubin = compiled_by_nvcc(text, read_head(text));
  EXPECT_TRUE(cubin) << canonical_form(drawn.layer.layer) << ": " << cubin.error().message;
}

TEST(Head, ArgumentsThatAreLongGoOnInTheNextLine) {
  const Layer layer = parse_layer("conv_transpose2d 8 -> 8; kernel 3x3; dtype f16; layout nhwc; bias").value();
  const std::vector<Plan> plans = net_plans(layer).value();
  for (const Plan& plan : plans) {
    SCOPED_TRACE(plan.template_name);
    const KernelSource source = source_of(layer, plan);
    const std::size_t begin = source.text.rfind("//     arguments ");  // of the last kernel
    ASSERT_NE(begin, std::string::npos);
    const std::size_t end = source.text.find('\n', begin);
    EXPECT_LE(end - begin, 120U);
    EXPECT_EQ(source.text[end - 1], ',');
    EXPECT_EQ(source.text.substr(end + 1, 9), "//       ");
    expect_contract(source, layer, {.batch = 2, .extents = {1, 5, 7}});
  }
}

TEST(Head, ShapesAreInMemoryOrder) {
  const auto orders = [](const std::string& text, Direction direction) {
    const Layer layer = parse_layer(text).value();
    const Head head = read_head(
        source_of(layer, plan({layer, direction, target_named("sm_90a").value()}).value().front(), direction).text);
    std::map<std::string, std::string> names;
    for (const HeadTensor& tensor : head.tensors) {
      names[tensor.name] = axis_names(tensor);
    }
    return names;
  };
  using Orders = std::map<std::string, std::string>;
  EXPECT_EQ(orders("conv_transpose2d 8 -> 6; kernel 3x5; bias", Direction::kForward),
            (Orders{{"x", "N Cin H W"}, {"weight", "Cin Cout KH KW"}, {"bias", "Cout"}, {"y", "N Cout H W"}}));
  EXPECT_EQ(orders("conv_transpose2d 8 -> 6; kernel 3x5; groups 2; layout nhwc; weight_layout channels_last; "
                   "directions grad_input",
                   Direction::kGradInput),
            (Orders{{"grad_y", "N H W Cout"}, {"weight", "Cin KH KW Cout / groups"}, {"grad_x", "N H W Cin"}}));
  EXPECT_EQ(orders("conv_transpose1d 8 -> 6; kernel 3; directions grad_weight", Direction::kGradWeight),
            (Orders{{"x", "N Cin W"}, {"grad_y", "N Cout W"}, {"grad_weight", "Cin Cout KW"}}));
}

TEST(Head, FewerPositionsThanInputsAreADifference) {
  const Layer layer =
      parse_layer("conv_transpose2d 56 -> 1; kernel 9x9; stride 4; padding 8; input ?x?x?; dtype f16; layout nhwc")
          .value();
  const std::vector<Plan> plans = net_plans(layer).value();
  int found = 0;
  for (const Plan& plan : plans) {
    const KernelSource source = source_of(layer, plan);
    if (source.text.contains("ceil((in_height - 2) / ")) {
      expect_contract(source, layer, {.batch = 2, .extents = {1, 9, 11}});
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(Templates, Heads, ::testing::ValuesIn(directed_templates()),
                         [](const ::testing::TestParamInfo<DirectedTemplate>& info) { return name_of(info.param); });

}  // namespace
}  // namespace convtgen::testing
