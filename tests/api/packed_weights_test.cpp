// Calls of a kernel that reads packed weights: what they are given, on the host device and over the fake driver.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/jit/gpu.h"
#include "runtime/jit/host_kernel.h"
#include "runtime/support/counters.h"
#include "tests/cuda_device/fake_driver.h"
#include "tests/reference/packed_layer.h"

namespace convtgen::jit {
namespace {

using convtgen::testing::packed_layer;
using convtgen::testing::PackedLayer;

void* made_up(std::uint64_t number) {
  return reinterpret_cast<void*>(number);
}
const Arrays kAllArrays =
    forward_arrays(made_up(0x10000), made_up(0x20000), made_up(0x30000), made_up(0x40000), made_up(0x50000));
constexpr InputSizes kSizes{2, {3, 4}};

KernelFacts facts_of(PackedLayer layer) {
  CallForm form = CallForm::make(layer.problem.layer, layer.source.recipe).value();
  return {.problem = std::move(layer.problem),
          .plan = std::move(layer.plan),
          .source = std::move(layer.source),
          .layer_text = {},
          .plan_text = {},
          .key = {},
          .architecture = "test",
          .form = std::move(form)};
}

TEST(PackedCallTest, WeightsDecideWhatIsLaunched) {
  const CallForm form = facts_of(packed_layer()).form;
  EXPECT_EQ(form.workspace_bytes(form.shape(kSizes).value()).value(), 80);
  EXPECT_EQ(form.kept_bytes(), 80);
  const auto both = form.call(kAllArrays, kSizes);
  ASSERT_TRUE(both) << both.error().message;
  const auto slots = [](const KernelCall& call, std::size_t count) {
    return std::vector<std::uint64_t>(call.slots.begin(), call.slots.begin() + static_cast<std::ptrdiff_t>(count));
  };
  EXPECT_EQ(both->kernels[0].blocks, 2);
  EXPECT_EQ(slots(both->kernels[0], 2), (std::vector<std::uint64_t>{0x20000, 0x50000}));
  EXPECT_GT(both->kernels[1].blocks, 0);
  EXPECT_EQ(slots(both->kernels[1], 7), (std::vector<std::uint64_t>{0x10000, 0x50000, 0x30000, 0x40000, 2, 3, 4}));
  Arrays packed_before = kAllArrays;
  packed_before.set(Role::kWeight, nullptr);
  const auto alone = form.call(packed_before, kSizes);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->kernels[0].blocks, 0);
  EXPECT_EQ(slots(alone->kernels[1], 7), slots(both->kernels[1], 7));
  const auto empty = form.call({}, {0, {3, 4}});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->kernels[0].blocks + empty->kernels[1].blocks, 0);
}

TEST(PackedCallTest, WrongWorkspacesAreNamedWithTheirBytes) {
  const CallForm form = facts_of(packed_layer()).form;
  const auto refusal = [&](void* workspace, bool with_weight = true) {
    Arrays arrays = kAllArrays;
    arrays.workspace = workspace;
    arrays.set(Role::kWeight, with_weight ? arrays.of(Role::kWeight) : nullptr);
    const auto call = form.call(arrays, kSizes);
    return call ? std::string() : call.error().message;
  };
  constexpr const char* kNull = "workspace is null: the kernel needs 80 bytes there, for a packed copy of the weights";
  EXPECT_EQ(refusal(nullptr), kNull);
  EXPECT_EQ(refusal(nullptr, false), kNull);
  EXPECT_EQ(refusal(made_up(0x50040)),
            "workspace (0x50040) is misaligned: its 80 bytes must begin at a multiple of 128");
  EXPECT_EQ(refusal(kAllArrays.of(Role::kY)), "workspace (80 bytes) overlaps y");
  EXPECT_EQ(refusal(made_up(0x10080)), "workspace (80 bytes) overlaps x");  // 288 bytes
  EXPECT_EQ(refusal(made_up(0x20000)), "workspace (80 bytes) overlaps weight");
  EXPECT_EQ(refusal(made_up(0x20000), false), "");
  EXPECT_EQ(refusal(made_up(0x30000)), "workspace (80 bytes) overlaps bias");
  EXPECT_EQ(refusal(made_up(0x10180)), "");
}

TEST(PackedCallTest, WeightsThatTheOtherKernelReadsTooAreNeverLeftOut) {
  PackedLayer layer = packed_layer();
  std::vector<KernelParameter>& parameters = layer.source.recipe.kernels[1].parameters;
  parameters.insert(parameters.begin(), {"weight", "const float*"});
  ASSERT_TRUE(bind_arguments(layer.source.recipe));
  const CallForm form = facts_of(layer).form;
  EXPECT_TRUE(form.call(kAllArrays, kSizes));
  Arrays without = kAllArrays;
  without.set(Role::kWeight, nullptr);
  const auto call = form.call(without, kSizes);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().message,
            "weight is null: the kernel convolve keeps no packed copy and reads the weights in each call, so each call "
            "needs them");
}

TEST(PackedCallTest, SourcesThatDoNotGoTogetherAreRefused) {
  PackedLayer layer = packed_layer();
  Recipe& recipe = layer.source.recipe;
  recipe.kernels[0].parameters.push_back({"scale", "float"});
  const auto unknown = bind_arguments(recipe);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "the kernel pack_weights has a parameter 'float scale' that no caller knows");
  recipe.kernels[0].parameters.pop_back();
  recipe.regions.clear();
  const auto nowhere = bind_arguments(recipe);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "the kernel pack_weights has a parameter 'float* packed' that no caller knows");
}

// A workspace as callers have it, in the host's memory.
struct alignas(kWorkspaceAlignment) Workspace {
  std::array<float, 32> floats;
  Workspace() { std::ranges::fill(floats, std::numeric_limits<float>::quiet_NaN()); }
};

class PackedOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    PackedLayer layer = packed_layer();
    std::shared_ptr<Device> device = open_host_device().value();
    const auto binary = device->compile(layer.source, "");
    ASSERT_TRUE(binary) << binary.error().message;
    EXPECT_EQ(binary->kernels, kernels_in(layer.source));
    auto kernel = load_on_host(device, facts_of(std::move(layer)), *binary);
    ASSERT_TRUE(kernel) << kernel.error().message;
    kernel_ = *std::move(kernel);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] = static_cast<float>(i % 7) - 3;
    }
  }
  static std::vector<float> weights(float scale) {
    std::vector<float> all(15);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = scale * static_cast<float>(i + 1);
    }
    return all;
  }
  [[nodiscard]] std::vector<float> expected(const std::vector<float>& weight) const {
    std::vector<float> y;
    for (std::size_t i = 0; i < 2 * 5 * 12; ++i) {
      const std::size_t image = i / 60, channel = i / 12 % 5, at = i % 12;
      float sum = bias_[channel];
      for (std::size_t from = 0; from < 3; ++from) {
        sum += x_[(image * 3 + from) * 12 + at] * weight[from * 5 + channel];
      }
      y.push_back(sum);
    }
    return y;
  }
  [[nodiscard]] std::vector<float> launched(const float* weight, Workspace& workspace) const {
    std::vector<float> y(2 * 5 * 12);
    const auto done = kernel_->launch(
        forward_arrays(x_.data(), weight, bias_.data(), y.data(), workspace.floats.data()), kSizes, nullptr);
    EXPECT_TRUE(done) << done.error().message;
    return y;
  }

  std::shared_ptr<PreparedKernel> kernel_;
  std::vector<float> x_ = std::vector<float>(2 * 3 * 12);
  std::vector<float> bias_ = {1, 2, 3, 4, 5};
};

TEST_F(PackedOnHost, WeightsStayPackedFromCallToCall) {
  const std::vector<float> first = weights(1), second = weights(-0.5F);
  Workspace one, two;
  EXPECT_EQ(launched(first.data(), one), expected(first));
  EXPECT_EQ(launched(nullptr, one), expected(first));
  EXPECT_EQ(launched(second.data(), two), expected(second));
  EXPECT_EQ(launched(nullptr, one), expected(first));
  EXPECT_EQ(launched(nullptr, two), expected(second));
  EXPECT_EQ(launched(second.data(), one), expected(second));
  EXPECT_EQ(one.floats[6], second[10 + 1]);  // the third input channel, the second output channel
  EXPECT_EQ(one.floats[7], 0.0F);
  EXPECT_TRUE(std::isnan(one.floats[20])) << "after its 80 bytes";
}

TEST_F(PackedOnHost, AWorkspaceThatNobodyFilledShows) {
  Workspace never;
  const auto y = launched(nullptr, never);
  EXPECT_TRUE(std::ranges::all_of(y, [](float value) { return std::isnan(value); }));
}

class PackedOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    library_ = dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW);
    state_ = reinterpret_cast<fake::StateFunction>(dlsym(library_, "convtgen_fake_state"))();
    *state_ = fake::State{};
    gpu_ = Gpu::open(0).value();
  }
  void TearDown() override { unsetenv("CONVTGEN_CUDA_DRIVER"); }
  [[nodiscard]] Outcome<std::shared_ptr<PreparedKernel>> load(const std::string& image) const {
    PackedLayer layer = packed_layer();
    layer.source.recipe.kernels[1].waits = waits_;
    Binary binary;
    binary.symbol = layer.source.symbol;
    binary.bytes = image;
    binary.kernels = kernels_in(layer.source);
    return gpu_->load(facts_of(std::move(layer)), std::move(binary), "a test");
  }

  static constexpr const char* kImage = "pack_weights 8 8\nconvolve 8 8 8 8 4 4 4\n";
  void* library_ = nullptr;
  fake::State* state_ = nullptr;
  std::shared_ptr<Gpu> gpu_;
  bool waits_ = true;  // the kernel for its packed weights
};

TEST_F(PackedOnGpu, PacksOnTheSameStreamBeforehand) {
  const auto kernel = load(kImage).value();
  EXPECT_EQ(state_->live_modules, 1);
  state_->calls.clear();
  ASSERT_TRUE(kernel->launch(kAllArrays, kSizes, made_up(0x77)));
  Arrays packed_before = kAllArrays;
  packed_before.set(Role::kWeight, nullptr);
  ASSERT_TRUE(kernel->launch(packed_before, kSizes, made_up(0x78)));
  ASSERT_TRUE(kernel->launch({}, {0, {3, 4}}, nullptr));
  ASSERT_EQ(state_->launches.size(), 3u);
  const fake::SeenLaunch& packing = state_->launches[0];
  EXPECT_EQ(packing.symbol, "pack_weights");
  EXPECT_EQ(packing.grid, (std::vector<unsigned>{2, 1, 1}));
  EXPECT_EQ(packing.block, (std::vector<unsigned>{16, 1, 1}));
  EXPECT_EQ(packing.shared_bytes, 0u);
  EXPECT_EQ(packing.arguments, (std::vector<std::uint64_t>{0x20000, 0x50000}));
  EXPECT_EQ(packing.stream, 0x77u);
  EXPECT_FALSE(packing.overlaps) << "what it overwrites may still be read";
  for (const std::size_t i : {1, 2}) {
    const fake::SeenLaunch& main = state_->launches[i];
    EXPECT_EQ(main.symbol, "convolve");
    EXPECT_EQ(main.block, (std::vector<unsigned>{64, 1, 1}));
    EXPECT_EQ(main.arguments, (std::vector<std::uint64_t>{0x10000, 0x50000, 0x30000, 0x40000, 2, 3, 4}));
    EXPECT_EQ(main.stream, 0x76u + i);
    EXPECT_EQ(main.overlaps, i == 1) << "with the packing alone";
  }
  EXPECT_EQ(std::ranges::count(state_->calls, "cuLaunchKernel"), 3);
  EXPECT_EQ(state_->wrong_contexts + state_->calls_without_context, 0);
}

TEST_F(PackedOnGpu, OverlapsNothingThatIsNotItsOwn) {
  const auto kernel = load(kImage).value();
  Arrays packed_before = kAllArrays;
  packed_before.set(Role::kWeight, nullptr);
  const auto overlaps = [&] {
    std::vector<bool> each;
    for (const fake::SeenLaunch& launch : state_->launches) {
      each.push_back(launch.overlaps);
    }
    state_->launches.clear();
    return each;
  };
  for (const bool captured : {false, true}) {
    if (captured) {
      state_->capturing.insert(0x77);
    }
    // Before each call the stream may have a launch of others that still writes x, or reads y.
    ASSERT_TRUE(kernel->launch(packed_before, kSizes, made_up(0x77)));
    EXPECT_EQ(overlaps(), (std::vector<bool>{false})) << captured;
    ASSERT_TRUE(kernel->launch(kAllArrays, kSizes, made_up(0x77)));
    ASSERT_TRUE(kernel->launch(packed_before, kSizes, made_up(0x77)));
    ASSERT_TRUE(kernel->launch(kAllArrays, kSizes, made_up(0x77)));
    EXPECT_EQ(overlaps(), (std::vector<bool>{false, true, false, false, true})) << captured;
  }
  EXPECT_EQ(state_->spoiled_captures, 0);
}

TEST_F(PackedOnGpu, OverlapsWhereKernelDriverAndChipCan) {
  const auto overlaps = [&] {
    gpu_ = Gpu::open(0).value();
    EXPECT_TRUE(load(kImage).value()->launch(kAllArrays, kSizes, nullptr));
    EXPECT_EQ(state_->launches.back().symbol, "convolve");
    return state_->launches.back().overlaps;
  };
  EXPECT_TRUE(overlaps());
  state_->driver_version = 12020;
  EXPECT_FALSE(overlaps()) << "it can't capture such a launch";
  state_->driver_version = 12030;
  EXPECT_TRUE(overlaps());
  waits_ = false;
  EXPECT_FALSE(overlaps());
  waits_ = true;
  state_->capability_major = 8;
  EXPECT_FALSE(overlaps());
}

TEST_F(PackedOnGpu, ABinaryWithoutItsPackingKernelIsRefused) {
  const auto missing = load("convolve 8 8 8 8 4 4 4\n");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, Status::kDriver);
  EXPECT_NE(missing.error().message.find("finding the kernel pack_weights"), std::string::npos)
      << missing.error().message;
  EXPECT_EQ(state_->live_modules, 0);
}

TEST_F(PackedOnGpu, WhatTheDriverSaysOfPackingIsTold) {
  const auto kernel = load(kImage).value();
  state_->failures["cuLaunchKernel"] = 700;
  const auto launched = kernel->launch(kAllArrays, kSizes, nullptr);
  ASSERT_FALSE(launched);
  EXPECT_NE(launched.error().message.find("launching pack_weights (2 blocks of 16 threads)"), std::string::npos)
      << launched.error().message;
  EXPECT_TRUE(state_->launches.empty()) << "nothing runs on weights that were not packed";
}

}  // namespace
}  // namespace convtgen::jit
