// A template of three kernels, two regions of the workspace and a tensor map, added by its folder and one line: by the
// plan's recipe it runs on the host device, in the engine, in launch code and in tuning.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <convtgen/convtgen.h>

#include <cstring>
#include <limits>

#include "generator/language/language.h"
#include "generator/launcher/names.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/reference/run_layer.h"
#include "runtime/tune/tune.h"
#include "tests/cli/process.h"
#include "tests/launcher/over_fake_driver.h"
#include "tests/store/folders.h"

namespace convtgen::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kLayer =
    "conv_transpose2d 6 -> 5; kernel 3x2; stride 2; padding 1; bias; fuse scale(1), scale(1)";
const InputSizes kSizes{3, {4, 9}};

Problem problem_of(const std::string& layer) {
  return {parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
}

/// What a call reads, what it has to give, and what it gives, in the host's memory.
struct Numbers {
  Layer layer;
  Shape shape;
  LayerInputs inputs;
  std::vector<float> y;

  explicit Numbers(const std::string& text, const InputSizes& sizes = kSizes, int seed = 1)
      : layer(parse_layer(text).value()),
        shape(shape_of(layer, sizes).value()),
        inputs(random_inputs(layer, shape, static_cast<std::uint64_t>(seed))),
        y(static_cast<std::size_t>(shape.output_elements), std::numeric_limits<float>::quiet_NaN()) {}
  [[nodiscard]] std::string wrong() const {
    HostArray got = make_array(layer.dtype, output_shape(layer, shape));
    std::memcpy(got.bytes.data(), y.data(), got.bytes.size());
    const Comparison comparison = compare(layer, shape, define_all(layer, shape, inputs), got);
    return comparison.passed() ? "" : describe(comparison, layer);
  }
};

/// Memory that begins where a workspace may.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : bytes_(bytes + kWorkspaceAlignment, std::byte{0xff}) {}
  [[nodiscard]] void* begin() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
  }

 private:
  std::vector<std::byte> bytes_;
};

class Split : public ::testing::TestWithParam<const char*> {};

TEST_P(Split, ComputesTheDefinition) {
  const Problem problem = problem_of(fmt::format("conv_transpose2d {}; fuse scale(1), scale(1)", GetParam()));
  const std::vector<Plan> plans = plan(problem).value();
  ASSERT_EQ(plans.front().template_name, "split");
  const InputSizes sizes{2, {5, 40}};
  const auto device = open_host_device().value();
  const LayerInputs inputs = random_inputs(problem.layer, shape_of(problem.layer, sizes).value(), 1);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {  // whatever the order of threads and blocks
    device->set_seed(seed);
    const auto run = run_layer(*device, problem, plans.front(), sizes, inputs);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->call.launches.size(), 3U);
    EXPECT_TRUE(run->verification.passed()) << describe(run->verification, problem.layer);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Split,
                         ::testing::Values("4 -> 4; kernel 3; input 2x5x40", "3 -> 1; kernel 3x2; bias",
                                           "6 -> 3; kernel 4; stride 3x2; padding 2x1; output_padding 1x0; bias",
                                           "2 -> 30; kernel 3x5; stride 2; dilation 3x2; padding 4x7; input ?x5x?",
                                           "6 -> 3; kernel 3x2; stride 2; bias; weight_layout channels_last"));

TEST(SplitRecipe, HasThreeKernelsTwoRegionsAndAMap) {
  const Problem problem = problem_of(kLayer);
  const KernelSource source = specialize(problem, plan(problem).value().front()).value();
  const Recipe& recipe = source.recipe;
  ASSERT_EQ(recipe.kernels.size(), 3U);
  EXPECT_TRUE(recipe.kernels[0].once);
  EXPECT_FALSE(recipe.kernels[0].waits);
  EXPECT_TRUE(recipe.kernels[1].waits);
  EXPECT_TRUE(recipe.kernels[2].waits);
  EXPECT_EQ(&source.main(), &recipe.kernels[2]);
  ASSERT_EQ(recipe.regions.size(), 2U);
  EXPECT_EQ(recipe.regions[0].bytes, (Amount{.constant = 6 * 6 * 8 * 4}));
  EXPECT_EQ(recipe.regions[1].bytes, (Amount{.factor = 2 * 8 * 4, .per = Quantity::kOutPixels}));
  EXPECT_EQ(recipe.maps.size(), 1U);
  EXPECT_TRUE(recipe.may_omit_weight());
  // Chips without tensor maps have the other three.
  const Problem old{problem.layer, problem.direction, target_named("sm_75").value()};
  EXPECT_TRUE(specialize(old, plan(old).value().front()).value().recipe.maps.empty());
  for (const RecipeKernel& kernel : recipe.kernels) {
    EXPECT_THAT(source.text, HasSubstr(kernel.symbol + "("));
  }
}

// Removing what orders the kernels must be found.
TEST(SplitRecipe, ReadingBeforeTheWaitIsAnError) {
  const Problem problem = problem_of(kLayer);
  const Plan best = plan(problem).value().front();
  const LayerInputs inputs = random_inputs(problem.layer, shape_of(problem.layer, kSizes).value(), 1);
  const KernelSource source = specialize(problem, best).value();
  const std::string wait = "grid_dependency_wait();\n";
  int found = 0;
  for (std::size_t at = source.text.find("  " + wait); at != std::string::npos;
       at = source.text.find("  " + wait, at + 1)) {
    KernelSource without = source;
    without.text.erase(at, wait.size() + 2);
    const auto device = open_host_device().value();
    auto loaded = load_source(*device, problem, best, without, store_in_memory());
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto call = make_call(*device, *loaded, kSizes, inputs);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_FALSE(run_call(*device, *loaded, *call));
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST(SplitInTheEngine, RunsByTheCApi) {
  convtgen_device* device = nullptr;
  convtgen_layer* layer = nullptr;
  convtgen_kernel* kernel = nullptr;
  ASSERT_EQ(convtgen_device_open("host", &device), CONVTGEN_OK) << convtgen_last_error();
  ASSERT_EQ(convtgen_layer_parse(kLayer, nullptr, &layer), CONVTGEN_OK) << convtgen_last_error();
  ASSERT_EQ(convtgen_prepare(device, layer, CONVTGEN_FORWARD, &kernel), CONVTGEN_OK) << convtgen_last_error();
  EXPECT_THAT(convtgen_kernel_plan(kernel), HasSubstr("template split"));
  // The packed weights, and 2 slices of 8 floats for each output pixel.
  constexpr std::size_t kPacked = 6 * 6 * 8 * 4;
  std::size_t bytes = 0;
  std::size_t kept = 0;
  const convtgen_sizes six{6, {1, 4, 9}}, three{3, {1, 4, 9}};
  ASSERT_EQ(convtgen_kernel_workspace(kernel, &six, &bytes, &kept), CONVTGEN_OK);
  EXPECT_EQ(kept, kPacked);
  EXPECT_EQ(bytes, kPacked + 6 * 7 * 16 * 64) << "it grows with the batch";
  ASSERT_EQ(convtgen_kernel_workspace(kernel, &three, &bytes, nullptr), CONVTGEN_OK);
  EXPECT_EQ(bytes, kPacked + 3 * 7 * 16 * 64);
  Workspace workspace(bytes);
  const auto launch = [&](Numbers& numbers, const void* weight) {
    const convtgen_tensors tensors{.struct_size = sizeof(tensors),
                                   .x = numbers.inputs.x.bytes.data(),
                                   .weight = weight,
                                   .bias = numbers.inputs.bias->bytes.data(),
                                   .y = numbers.y.data(),
                                   .grad_y = nullptr,
                                   .grad_x = nullptr,
                                   .grad_weight = nullptr,
                                   .grad_bias = nullptr,
                                   .workspace = workspace.begin(),
                                   .workspace_bytes = bytes};
    EXPECT_EQ(convtgen_launch(kernel, &tensors, &three, nullptr), CONVTGEN_OK) << convtgen_last_error();
  };
  Numbers first(kLayer);
  launch(first, first.inputs.weight.bytes.data());
  EXPECT_EQ(first.wrong(), "");
  Numbers second(kLayer, kSizes, 2);
  second.inputs.weight = first.inputs.weight;
  launch(second, nullptr);
  EXPECT_EQ(second.wrong(), "") << "with the weights that the first call packed";
  convtgen_kernel_destroy(kernel);
  convtgen_layer_destroy(layer);
  convtgen_device_close(device);
}

/// A set of the layer in launch code, for sm_90a and the host device.
class SplitInLaunchCode : public OverFakeDriver {
 protected:
  void SetUp() override {
    OverFakeDriver::SetUp();
    const CodeTarget code = code_target_named("sm_90a").value();
    const SetKernel kernel{"up", parse_layer(kLayer).value(), Direction::kForward};
    const Problem problem{kernel.layer, kernel.direction, code.target};
    const Plan best = plan(problem).value().front();
    made_ = {code, best, specialize(problem, best).value()};
    const auto device = open_host_device({.portable = true}).value();
    const auto library = device->compile(made_.source, "");
    ASSERT_TRUE(library) << library.error().message;
    set_.write_launch_code({"net", "net.h", LaunchFormat::kCubin, true, {code}}, kernel, {made_});
    write(set_.folder() / ("out/" + host_file("up_forward")), library->bytes);
    std::string image;
    for (const RecipeKernel& each : made_.source.recipe.kernels) {
      image += (image.empty() ? "" : "\n") + each.symbol;
      for (const KernelParameter& parameter : each.parameters) {
        image += parameter.type == "int" ? " 4" : " 8";  // the fake driver reports the first word of a map
      }
    }
    write(set_.folder() / ("out/" + code_file("up_forward", code)), image + '\0');
    set_.build(strict_compilers().front());
  }
  int up(const void* x, const void* weight, const void* bias, void* y, void* workspace) {
    using Up = int (*)(const void*, const void*, const void*, void*, void*, std::size_t, std::int64_t, std::int64_t,
                       std::int64_t, void*);
    return set_.function<Up>("up_forward")(x, weight, bias, y, workspace, workspace_bytes(), 3, 4, 9, nullptr);
  }
  [[nodiscard]] std::size_t workspace_bytes() const {
    using Workspace = std::size_t (*)(std::int64_t, std::int64_t, std::int64_t);
    return set_.function<Workspace>("up_forward_workspace")(3, 4, 9);
  }

  TargetKernel made_;
};

TEST_F(SplitInLaunchCode, RunsOnTheHostDevice) {
  ASSERT_EQ(set_.function<int (*)(int)>("use_host")(1), 0) << set_.last_error();
  EXPECT_EQ(workspace_bytes(), 6U * 6 * 8 * 4 + 3 * 7 * 16 * 64);
  Workspace workspace(workspace_bytes());
  Numbers numbers(kLayer);
  const auto run = [&](const void* weight) {
    std::ranges::fill(numbers.y, std::numeric_limits<float>::quiet_NaN());
    return up(numbers.inputs.x.bytes.data(), weight, numbers.inputs.bias->bytes.data(), numbers.y.data(),
              workspace.begin());
  };
  ASSERT_EQ(run(numbers.inputs.weight.bytes.data()), 0) << set_.last_error();
  EXPECT_EQ(numbers.wrong(), "");
  ASSERT_EQ(run(nullptr), 0) << set_.last_error();
  EXPECT_EQ(numbers.wrong(), "");
}

TEST_F(SplitInLaunchCode, LaunchesAllKernelsByTheDriver) {
  enter_context(9, 0);
  ASSERT_EQ(up(at<void>(0x1000000), at<void>(0x2000000), at<void>(0x3000000), at<void>(0x4000000), at<void>(0x5000000)),
            0)
      << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 3U);
  const std::vector<RecipeKernel>& kernels = made_.source.recipe.kernels;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(state_->launches[i].symbol, kernels[i].symbol);
    EXPECT_EQ(state_->launches[i].overlaps, i > 0);
  }
  constexpr std::uint64_t kPartial = 0x5000000 + 6 * 6 * 8 * 4;
  constexpr std::uint64_t kF32 = 7;  // the fake driver adds a map's type to its address
  EXPECT_THAT(state_->launches[0].arguments, ElementsAre(0x2000000, 0x5000000));
  EXPECT_THAT(state_->launches[0].grid, ElementsAre((6 * 6 * 8 + 63) / 64, 1, 1));
  EXPECT_THAT(state_->launches[1].arguments, ElementsAre(0x1000000, 0x5000000 + kF32, kPartial, 3, 4, 9));
  EXPECT_THAT(state_->launches[1].grid, ElementsAre(2 * ((3 * 7 * 16 + 63) / 64), 1, 1));
  EXPECT_THAT(state_->launches[2].arguments, ElementsAre(kPartial, 0x3000000, 0x4000000, 3, 4, 9));
  EXPECT_THAT(state_->launches[2].grid, ElementsAre((3 * 7 * 16 * 5 + 63) / 64, 1, 1));
  ASSERT_EQ(up(at<void>(0x1000000), nullptr, at<void>(0x3000000), at<void>(0x4000000), at<void>(0x5000000)), 0)
      << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 5U);
  EXPECT_FALSE(state_->launches[3].overlaps) << "the launch before it is not of this call";
  EXPECT_TRUE(state_->launches[4].overlaps);
}

TEST(SplitInTheProgram, IsRunAndVerified) {
  const std::string layer = std::string(kLayer) + "; input 3x4x9";
  const Outcome explained = convtgen({"explain", "--no-compile", "-e", layer});
  EXPECT_THAT(explained.out, HasSubstr("template    split, forward")) << explained.err;
  const Outcome run = convtgen({"run", "--device", "host", "-e", layer});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("verified"));
}

TEST(SplitInTuning, IsMeasuredWithTheOthers) {
  const Problem problem = problem_of(kLayer);
  const auto device = open_host_device().value();
  const convtgen::testing::Scratch scratch;
  convtgen::Store store({.folder = scratch.path().string()});
  DeviceMaker maker(*device, store_of(""));
  const auto tuned = tune(*device, store, maker, {problem, kSizes}, {.candidates = 2});
  ASSERT_TRUE(tuned) << tuned.error().message;
  ASSERT_EQ(tuned->candidates.size(), 2U);
  EXPECT_EQ(tuned->candidates[0].plan.template_name, "split");
  EXPECT_EQ(tuned->candidates[0].problem, "");
  EXPECT_GT(tuned->candidates[0].milliseconds, 0);
}

}  // namespace
}  // namespace convtgen::test
