// What changes a kernel's key and what does not. The fields are those of the types themselves: a structured binding
// names all members, so that a new one does not compile until it stands here and in the values that it changes between.
#include <algorithm>
#include <clocale>
#include <locale>
#include <set>
#include <tuple>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/device/host/compiler.h"
#include "runtime/make/cubin_maker.h"
#include "tests/store/folders.h"

namespace convtgen::jit {
namespace {

using convtgen::testing::Scratch;
using convtgen::testing::Variable;

auto fields_of(Padding& it) {
  auto& [before, after] = it;
  return std::tie(before, after);
}
auto fields_of(Axis& it) {
  // input_stride is 1 in every layer.
  auto& [kernel, stride, padding, output_padding, dilation, extent, input_stride] = it;
  return std::tie(kernel, stride, padding, output_padding, dilation, extent);
}
auto fields_of(std::array<Axis, kAxes>& it) {
  return std::tie(it[kHeight], it[kWidth]);
}
auto fields_of(Activation& it) {
  auto& [kind, a, b] = it;
  return std::tie(kind, a, b);
}
auto fields_of(Layer& it) {
  auto& [dimensions, in_channels, out_channels, axes, groups, x_channels, y_channels, batch, bias, fuse, fuse_input,
         dtype, compute, layout, weight_layout, streaming, directions] = it;
  return std::tie(dimensions, in_channels, out_channels, axes, groups, x_channels, y_channels, batch, bias, fuse,
                  fuse_input, dtype, compute, layout, weight_layout, streaming, directions);
}
auto fields_of(SmRates& it) {
  auto& [clock_hz, tensor_columns_per_cycle, least_product_cycles, mma_cycles, l2_bytes_per_cycle,
         shared_bytes_per_cycle, copied_bytes_per_cycle] = it;
  return std::tie(clock_hz, tensor_columns_per_cycle, least_product_cycles, mma_cycles, l2_bytes_per_cycle,
                  shared_bytes_per_cycle, copied_bytes_per_cycle);
}
auto fields_of(Target& it) {
  auto& [architecture, capability, board, rates, features, multiprocessors, max_shared_bytes, shared_bytes_per_sm,
         reserved_shared_bytes, max_threads_per_sm, bytes_per_second, f32_flops, f64_flops, tf32_flops, f16_flops,
         bf16_flops, sm, launch_seconds, packed_bytes_per_second] = it;
  return std::tie(architecture, capability, board, rates, features, multiprocessors, max_shared_bytes,
                  shared_bytes_per_sm, reserved_shared_bytes, max_threads_per_sm, bytes_per_second, f32_flops,
                  f64_flops, tf32_flops, f16_flops, bf16_flops, sm, launch_seconds, packed_bytes_per_second);
}
// No structured binding names the members of two classes.
static_assert(sizeof(PlannedTarget) == sizeof(Target) + sizeof(CostFactors) + sizeof(std::string));
auto fields_of(PlannedTarget& it) {
  return std::tie(static_cast<Target&>(it), it.factors, it.chip);
}
auto fields_of(LaunchPlan& it) {
  // The rest of a launch is of its template.
  KernelPlan& main = it.kernels.back();
  return std::tie(main.threads, main.cluster, main.shared_bytes);
}
auto fields_of(Plan& it) {
  auto& [template_name, parameters, launch, swapped, alignment, predicted_seconds, recorded, summary, reason] = it;
  return std::tie(template_name, parameters, launch, swapped, alignment, predicted_seconds, recorded, summary, reason);
}
auto fields_of(host::HostCompiler& it) {
  auto& [command, version, flags] = it;
  return std::tie(command, version, flags);
}

template <typename T>
concept Record = requires(T& it) { fields_of(it); };

// Copies of `base`, each with one field as `other` has it; a field's own fields are changed one by one.
template <typename T>
std::vector<T> each_changed(const T& base, const T& other) {
  std::vector<T> all;
  if constexpr (Record<T>) {
    T from = base, to = other;
    const auto change = [&]<std::size_t I>() {
      for (const auto& value : each_changed(std::get<I>(fields_of(from)), std::get<I>(fields_of(to)))) {
        all.push_back(base);
        std::get<I>(fields_of(all.back())) = value;
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (change.template operator()<I>(), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(fields_of(from))>>());
  } else if constexpr (std::is_same_v<T, CostFactors>) {
    // A tuple of some hundred members takes the compiler seconds.
    for (const CostFactorName& factor : kCostFactorNames) {
      EXPECT_NE(base.*factor.member, other.*factor.member) << factor.name;
      all.push_back(base);
      all.back().*factor.member = other.*factor.member;
    }
  } else if constexpr (std::is_same_v<T, std::vector<Activation>>) {
    EXPECT_EQ(base.size(), other.size());
    for (std::size_t i = 0; i < base.size(); ++i) {
      for (const Activation& value : each_changed(base[i], other[i])) {
        all.push_back(base);
        all.back()[i] = value;
      }
    }
  } else {
    EXPECT_NE(base, other) << "a field that no change is made of";
    all.push_back(other);
  }
  return all;
}

const Layer kLayer{.dimensions = 2,
                   .in_channels = 4,
                   .out_channels = 6,
                   .axes = {kNoAxis, Axis{3, 2, 0, 0, 1, 5}, Axis{4, 2, 1, 0, 1, std::nullopt}},
                   .groups = 1,
                   .x_channels = std::nullopt,
                   .y_channels = std::nullopt,
                   .batch = std::nullopt,
                   .bias = false,
                   .fuse = {{ActivationKind::kHardtanh, -1.5, 1.5}},
                   .fuse_input = {{ActivationKind::kClamp, -1.25, 1.25}},
                   .dtype = Dtype::kF32,
                   .compute = Compute::kF32,
                   .layout = Layout::kNchw,
                   .weight_layout = WeightLayout::kContiguous,
                   .streaming = false,
                   .directions = {Direction::kForward}};
const Layer kOther{.dimensions = 1,
                   .in_channels = 8,
                   .out_channels = 2,
                   .axes = {kNoAxis, Axis{4, 3, 1, 1, 2, 6}, Axis{5, 1, 0, 1, 3, 7}},
                   .groups = 2,
                   .x_channels = 20,
                   .y_channels = 30,
                   .batch = 1,
                   .bias = true,
                   .fuse = {{ActivationKind::kClamp, -2.5, 2.5}},
                   .fuse_input = {{ActivationKind::kHardtanh, -2.25, 2.25}},
                   .dtype = Dtype::kF16,
                   .compute = Compute::kTf32,
                   .layout = Layout::kNhwc,
                   .weight_layout = WeightLayout::kChannelsLast,
                   .streaming = true,
                   .directions = {Direction::kForward, Direction::kGradInput}};

// What must go with a change for the layer to be legal.
Layer legal(Layer layer) {
  if (layer.streaming) {
    layer.dimensions = 1;
    layer.axes[kWidth].extent.reset();
    layer.directions = kLayer.directions;
  }
  if (layer.dimensions == 1) {
    layer.axes[kHeight] = kNoAxis;
  }
  if (std::ranges::find(computes_of(layer.dtype), layer.compute) == computes_of(layer.dtype).end()) {
    layer.compute = default_compute(layer.dtype);
  }
  if (layer.directions != kLayer.directions) {
    layer.fuse.clear();
    layer.fuse_input.clear();
  }
  return layer;
}

Result<MadeKernel> made_of(const Problem& problem, const Plan& plan) {
  auto source = specialize(problem, plan);
  if (!source) {
    return std::unexpected(source.error());
  }
  MadeKernel made;
  made.problem = problem;
  made.plan = plan;
  made.source = *std::move(source);
  return made;
}

MadeKernel planned(const Layer& layer, const PlannedTarget& target = *target_named("sm_90a")) {
  const Problem problem{layer, Direction::kForward, target};
  const auto plans = plan(problem);
  EXPECT_TRUE(plans) << canonical_form(layer) << ": " << plans.error().message;
  return plans ? made_of(problem, plans->front()).value() : MadeKernel{};
}

std::string key_of(const MadeKernel& made, BinaryKind kind = BinaryKind::kCubin, const std::string& nvrtc = "nvrtc a") {
  return binary_key(made, kind, nvrtc).hex();
}

TEST(KeyFieldsTest, EveryFieldOfALayerMakesAnotherKeyExceptOtherDirections) {
  std::set<std::string> keys = {key_of(planned(kLayer))};
  Layer linear = kLayer;
  linear.fuse.clear();
  linear.fuse_input.clear();
  const std::string linear_key = key_of(planned(linear));
  EXPECT_TRUE(keys.insert(linear_key).second);
  const std::vector<Layer> layers = each_changed(kLayer, kOther);
  EXPECT_EQ(layers.size(), 14u + 2 * 7 + 2 * 3);  // two axes of seven fields, two activations of three
  for (const Layer& layer : layers) {
    const Layer changed = legal(layer);
    const std::string key = key_of(planned(changed));
    if (changed.directions != kLayer.directions) {
      EXPECT_EQ(key, linear_key) << "the forward kernel is the same whatever else the layer has";
    } else {
      EXPECT_TRUE(keys.insert(key).second) << canonical_form(changed);
    }
  }
}

TEST(KeyFieldsTest, EveryDirectionHasAnotherKey) {
  Layer layer = kLayer;
  layer.fuse.clear();
  layer.fuse_input.clear();
  layer.bias = true;
  layer.directions.assign(all_directions().begin(), all_directions().end());
  std::set<std::string> keys;
  for (const Direction direction : layer.directions) {
    const Problem problem{layer, direction, *target_named("sm_90a")};
    EXPECT_TRUE(keys.insert(key_of(made_of(problem, plan(problem).value().front()).value())).second)
        << name_of(direction);
  }
}

TEST(KeyFieldsTest, FieldsOfATargetMakeAnotherKeyWhereTheyMakeAnotherKernel) {
  const PlannedTarget base = *target_named("sm_90a");
  PlannedTarget other = Target{.architecture = "sm_100",
                               .capability = 100,
                               .board = "B200",
                               .rates = RateSource::kDataSheet,
                               .features = {Feature::kTma},
                               .multiprocessors = 3,
                               .max_shared_bytes = 6 << 10,
                               .shared_bytes_per_sm = 12 << 10,
                               .reserved_shared_bytes = 0,
                               .max_threads_per_sm = 1024,
                               .bytes_per_second = 1e9,
                               .f32_flops = 1e9,
                               .f64_flops = 1e9,
                               .tf32_flops = 1e9,
                               .f16_flops = 1e9,
                               .bf16_flops = 1e9,
                               .sm = {1e9, 1, 2, 3, 4, 5, 6},
                               .launch_seconds = 1e-5,
                               .packed_bytes_per_second = 1e9};
  other.chip = "NVIDIA H100 80GB HBM3";
  for (const CostFactorName& factor : kCostFactorNames) {
    other.factors.*factor.member = 2 * base.factors.*factor.member + 1;
  }
  const MadeKernel before = planned(kLayer, base);
  bool architecture = false, source = false;
  for (const PlannedTarget& target : each_changed(base, other)) {
    const MadeKernel after = planned(kLayer, target);
    const bool same_source = after.source.text == before.source.text;
    const bool same_name = target.architecture == base.architecture;
    EXPECT_EQ(key_of(after) == key_of(before), same_source && same_name);
    architecture = architecture || !same_name;
    source = source || (!same_source && same_name);
  }
  EXPECT_TRUE(architecture);
  EXPECT_TRUE(source) << "no limit of a target changes a plan: nothing was tested";
  // The architecture counts by itself, whatever the source says of it.
  MadeKernel renamed = before;
  renamed.problem.target.architecture = "sm_90";
  EXPECT_NE(key_of(renamed), key_of(before));
}

ParameterValue another(const ParameterValue& value) {
  const auto change = []<typename T>(T it) -> ParameterValue {
    if constexpr (std::is_same_v<T, bool>) {
      it = !it;
    } else if constexpr (std::is_arithmetic_v<T>) {
      it += 1;
    } else if constexpr (std::is_same_v<T, TypeName>) {
      it.spelling = it.spelling == "double" ? "float" : "double";
    } else {
      it.push_back(1);
    }
    return it;
  };
  return std::visit(change, value);
}

TEST(KeyFieldsTest, FieldsOfAPlanMakeAnotherKeyWhereTheyMakeAnotherSource) {
  const MadeKernel before = planned(kLayer);
  std::vector<Plan> plans;
  for (const auto& [name, value] : before.plan.parameters) {
    plans.push_back(before.plan);
    plans.back().parameters[name] = another(value);
  }
  const std::size_t parameters = plans.size();
  Plan other{.template_name = "other",
             .parameters = {},
             .launch = before.plan.launch,
             .swapped = true,
             .alignment = 32,
             .predicted_seconds = 1e-3,
             .recorded = RecordedTime{1e-3, "a chip"},
             .summary = "another summary",
             .reason = "another reason"};
  KernelPlan& main = other.launch.kernels.back();
  main.threads += 32;
  main.cluster += 1;
  main.shared_bytes += 16;
  for (Plan& changed : each_changed(before.plan, other)) {
    plans.push_back(std::move(changed));
  }
  EXPECT_EQ(plans.size(), parameters + 11);
  std::size_t refused = 0, same = 0;
  for (const Plan& changed : plans) {
    const auto after = made_of(before.problem, changed);
    refused += after ? 0 : 1;
    if (after) {
      same += after->source.text == before.source.text ? 1 : 0;
      EXPECT_EQ(key_of(*after) == key_of(before), after->source.text == before.source.text);
    }
    // A launch of other numbers is another kernel.
    if (after && kernels_in(after->source) != kernels_in(before.source)) {
      EXPECT_NE(key_of(*after), key_of(before));
    }
  }
  EXPECT_GE(refused, 2u) << "an unknown template and missing parameters";
  EXPECT_GE(same, 1u) << "the reason, which is for people";
  EXPECT_GE(plans.size() - refused - same, parameters / 2);
}

TEST(KeyFieldsTest, CompilersAndKindsMakeAnotherKey) {
  const MadeKernel made = planned(kLayer);
  const std::set<std::string> keys = {
      key_of(made, BinaryKind::kCubin),
      key_of(made, BinaryKind::kPtx),
      key_of(made, BinaryKind::kCubin, "another"),
      key_of(made, BinaryKind::kPtx, "another"),
      key_of(made, BinaryKind::kCubin, ""),
      key_of(made, BinaryKind::kPtx, ""),
  };
  EXPECT_EQ(keys.size(), 6u);
  // Options of NVRTC, except the architecture, which is a field of its own.
  std::vector<std::string> options;
  const Key key = binary_key(made, BinaryKind::kCubin, "");
  for (const KeyField& field : key.fields()) {
    if (field.name == "option") {
      options.push_back(field.value);
    }
  }
  EXPECT_EQ(options, std::vector<std::string>(kNvrtcOptions.begin(), kNvrtcOptions.end()));
}

TEST(KeyFieldsTest, FieldsOfTheHostsCompilerMakeAnotherKey) {
  const host::HostCompiler base{.command = {"/usr/bin/g++", "-m64"}, .version = "g++ 12", .flags = {"-O1"}};
  const host::HostCompiler other{.command = {"/usr/bin/g++", "-m32"}, .version = "g++ 13", .flags = {"-O1", "-mfma"}};
  const std::string unit = host::host_translation_unit(planned(kLayer).source);
  std::set<std::string> keys = {host_library_key(base, unit).hex()};
  for (const host::HostCompiler& changed : each_changed(base, other)) {
    EXPECT_TRUE(keys.insert(host_library_key(changed, unit).hex()).second);
  }
  EXPECT_TRUE(keys.insert(host_library_key(base, unit + " ").hex()).second);
  // Where it lies is nothing to its bytes.
  host::HostCompiler moved = base;
  moved.command.front() = "/opt/bin/g++";
  EXPECT_FALSE(keys.insert(host_library_key(moved, unit).hex()).second);
}

// Users' entries stay theirs: other keys are for another kKeyFormat alone (runtime/store/format.h).
TEST(KeyFieldsTest, EntriesThatWereMadeBeforeAreFound) {
  MadeKernel made;
  made.source.text = "source";
  made.problem.target.architecture = "sm_90a";
  EXPECT_EQ(binary_key(made, BinaryKind::kCubin, "nvrtc a").hex(),
            "d2f2c42edca12adff5da4c4c40fcc630547cd3eff747b073001de667c5dfeae0");
  EXPECT_EQ(binary_key(made, BinaryKind::kPtx, "nvrtc a").hex(),
            "8af3309894639b929954daa833cbe99cef38668c26ccbc8d70c6330a13338b29");
  const host::HostCompiler compiler{.command = {"/usr/bin/g++", "-m64"}, .version = "g++ 12", .flags = {"-O1"}};
  const Key library = host_library_key(compiler, "unit");
  EXPECT_EQ(library.fields(), (KeyFields{{"format", "1"},
                                         {"kind", "host library"},
                                         {"source", "unit"},
                                         {"architecture", std::string(library.field("architecture"))},
                                         {"compiler", "g++ 12"},
                                         {"option", "-m64"},
                                         {"option", "-O1"}}));
}

// Numbers as no source of ours may have them: 1.234,5
struct Commas : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

TEST(KeyFieldsTest, NothingOfTheSurroundingsChangesAKey) {
  const Scratch scratch;
  const auto library = scratch.path() / "elsewhere" / "libnvrtc.so.99";
  std::filesystem::create_directories(library.parent_path());
  std::filesystem::copy_file(CONVTGEN_FAKE_NVRTC, library);
  constexpr const char* kText = "conv_transpose2d 2048 -> 6; kernel 4; fuse leaky_relu(0.125), scale(12345.5)";
  const auto make = [&](const std::string& name) {
    const auto layers = parse_file("layer " + name + " { " + kText + " }").value();
    CubinMaker maker(std::make_shared<Store>(StoreOptions{.folder = (scratch.path() / "store").string()}));
    return maker.make_for_chip(layers.at(0).layer, Direction::kForward, Chip{90}, {}).value();
  };
  std::optional<MadeKernel> before;
  {
    const Variable nvrtc("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC);
    before = make("up");
    EXPECT_TRUE(before->compiled);
  }

  // (That it does not change with time, a test of the store shows: KeyTest.IsTheSameInEveryProcess.)
  const Variable nvrtc("CONVTGEN_NVRTC", library.c_str());
  const Variable variables[] = {{"LC_ALL", "de_DE.UTF-8"}, {"TZ", "Asia/Tokyo"}, {"HOME", "/elsewhere"},
                                {"USER", "another"},       {"CXX", "g++ -O3"},   {"PATH", "/usr/bin"},
                                {"CONVTGEN_LOG", "off"},   {"PWD", "/"}};
  const std::string c_locale = std::setlocale(LC_ALL, nullptr);
  const auto folder = std::filesystem::current_path();
  const std::locale classic = std::locale::global(std::locale(std::locale::classic(), new Commas));
  std::setlocale(LC_ALL, "");
  std::filesystem::current_path(scratch.path());
  const MadeKernel after = make("down");
  std::filesystem::current_path(folder);
  std::locale::global(classic);
  std::setlocale(LC_ALL, c_locale.c_str());

  EXPECT_EQ(after.key, before->key);
  EXPECT_EQ(after.source.text, before->source.text);
  EXPECT_EQ(after.binary.bytes, before->binary.bytes);
  EXPECT_FALSE(after.compiled);
}

}  // namespace
}  // namespace convtgen::jit
