// Embedded binaries over the fake driver: which is loaded, what is launched, and what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <tuple>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "tests/launcher/built_set.h"
#include "tests/launcher/over_fake_driver.h"

namespace convtgen::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr const char* kLayers =
    "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias }\n"
    "layer int { conv_transpose2d 4 -> 2; kernel 3; input 1x8x8 }\n"
    "layer operator { conv_transpose1d 4 -> 2; kernel 3; dtype f16; input ?x? }\n";
constexpr const char* kArchitectures = "sm_80,sm_90a,compute_80";

using Up = int (*)(const float*, const float*, const float*, float*, void*, std::size_t, std::int64_t, std::int64_t,
                   std::int64_t, void*);
using Int = int (*)(const float*, const float*, float*, void*, std::size_t, void*);
using Line = int (*)(const std::uint16_t*, const std::uint16_t*, std::uint16_t*, void*, std::size_t, std::int64_t,
                     std::int64_t, void*);

class LaunchedByDriver : public OverFakeDriver {
 protected:
  void make_set(const std::function<void()>& before_build = {}, const Compiler& compiler = strict_compilers().front()) {
    set_.generate(kLayers, kArchitectures, false, {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}});
    if (before_build) {
      before_build();
    }
    set_.build(compiler);
  }
  int up(void* stream = nullptr, std::int64_t batch = 2, std::int64_t height = 9, std::int64_t width = 20) {
    return set_.function<Up>("up_forward")(at<float>(0x1000000), at<float>(0x2000000), at<float>(0x3000000),
                                           at<float>(0x4000000), nullptr, 0, batch, height, width, stream);
  }
};

class LaunchedByDriverFromEveryCompiler : public LaunchedByDriver, public testing::WithParamInterface<Compiler> {};

/// The planner's own words on `up` for an architecture.
struct Planned {
  std::int64_t blocks;
  int threads;
};
Planned planned_up(const std::string& architecture, const InputSizes& sizes) {
  const Layer layer = parse_file(kLayers).value().front().layer;
  const Problem problem{layer, Direction::kForward, target_named(architecture).value()};
  const Plan best = plan(problem).value().front();
  return {grid_blocks(problem, best, shape_of(layer, sizes).value()).value(), best.launch.main().threads};
}

TEST_P(LaunchedByDriverFromEveryCompiler, TheBinaryThatFitsIsLaunchedAsPlanned) {
  make_set({}, GetParam());
  std::map<std::string, std::string> symbols;
  for (const auto& [major, minor, architecture] : std::vector<std::tuple<int, int, std::string>>{
           {8, 0, "sm_80"}, {8, 6, "sm_80"}, {8, 9, "sm_80"}, {9, 0, "sm_90a"}, {10, 0, "sm_80"}, {12, 1, "sm_80"}}) {
    enter_context(major, minor);
    ASSERT_EQ(up(at<void>(0x77)), 0) << set_.last_error();
    const fake::SeenLaunch& launch = state_->launches.back();
    const Planned planned = planned_up(architecture, {2, {9, 20}});
    EXPECT_THAT(launch.grid, testing::ElementsAre(planned.blocks, 1, 1));
    EXPECT_THAT(launch.block, testing::ElementsAre(planned.threads, 1, 1));
    EXPECT_THAT(launch.arguments, testing::ElementsAre(0x1000000, 0x2000000, 0x3000000, 0x4000000, 9, 20));
    EXPECT_EQ(launch.stream, 0x77u);
    const auto [known, is_new] = symbols.emplace(architecture, launch.symbol);
    EXPECT_EQ(known->second, launch.symbol) << major << "." << minor;
  }
  EXPECT_NE(symbols.at("sm_80"), symbols.at("sm_90a"));
  EXPECT_EQ(state_->wrong_contexts, 0);
}

TEST_F(LaunchedByDriver, WhatFitsNothingIsAnErrorThatSaysWhatThereIs) {
  make_set();
  enter_context(7, 5);
  EXPECT_EQ(up(), 3);
  EXPECT_THAT(set_.last_error(),
              AllOf(HasSubstr("up_forward"), HasSubstr("sm_80 sm_90a compute_80"), HasSubstr("7.5")));
  state_->max_shared_bytes = 1024;
  enter_context(8, 0);
  EXPECT_EQ(up(), 3);
  EXPECT_THAT(set_.last_error(), AllOf(HasSubstr("shared memory"), HasSubstr("1024")));
  EXPECT_EQ(state_->live_modules, 0);
}

TEST_F(LaunchedByDriver, ACubinGoesBeforePtxAndThePtxCompilersLogIsTold) {
  make_set([&] { write(set_.folder() / "out/up_forward.compute_80.ptx", "bad"); });
  enter_context(8, 6);
  EXPECT_EQ(up(), 0) << set_.last_error();
  enter_context(10, 0);
  EXPECT_EQ(up(), 7);
  EXPECT_THAT(set_.last_error(), AllOf(HasSubstr("compute_80"), HasSubstr("ptxas fatal: nonsense")));
}

TEST_F(LaunchedByDriver, SizesThatTheLayerFixesAreNoArguments) {
  make_set();
  ASSERT_EQ(set_.function<Int>("int_forward")(at<float>(16), at<float>(0x1000), at<float>(0x2000), nullptr, 0, nullptr),
            0)
      << set_.last_error();
  EXPECT_THAT(state_->launches.back().arguments, testing::ElementsAre(16, 0x1000, 0x2000));
  ASSERT_EQ(set_.function<Line>("operator_forward")(at<std::uint16_t>(16), at<std::uint16_t>(0x1000),
                                                    at<std::uint16_t>(0x2000), at<unsigned char>(0x4000), 1 << 16, 3,
                                                    50, nullptr),
            0)
      << set_.last_error();
  SetSizes sizes{};
  ASSERT_EQ(set_.function<int (*)(SetSizes*)>("int_forward_sizes")(&sizes), 0);
  EXPECT_EQ(sizes.out_channels, 2);
  EXPECT_EQ(sizes.out[1], 10);
  EXPECT_EQ(sizes.y_elements, 200);
  EXPECT_EQ(sizes.weight_elements, 72);
  EXPECT_EQ(sizes.element_bytes, 4);
  EXPECT_EQ(set_.function<std::size_t (*)()>("int_forward_workspace")(), 0u);
}

TEST_F(LaunchedByDriver, TheTableListsTheKernels) {
  make_set();
  std::vector<std::string> names;
  const auto* const* kernel = set_.function<const SetKernelFacts* const* (*)()>("kernels")();
  for (; *kernel != nullptr; ++kernel) {
    names.push_back(std::string((*kernel)->layer) + " " + (*kernel)->name + " " + (*kernel)->architectures);
    EXPECT_EQ(canonical_form(parse_layer((*kernel)->text).value()), (*kernel)->text);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("up up_forward sm_80 sm_90a compute_80", "int int_forward sm_80 sm_90a compute_80",
                                   "operator operator_forward sm_80 sm_90a compute_80"));
}

TEST_F(LaunchedByDriver, WrongCalls) {
  make_set();
  const auto up = set_.function<Up>("up_forward");
  float* x = at<float>(0x1000000);
  float* w = at<float>(0x2000000);
  float* b = at<float>(0x3000000);
  float* y = at<float>(0x4000000);
  constexpr std::int64_t kMost = 2147483647;
  const auto expect = [&](int status, const std::string& words) {
    EXPECT_EQ(status, 1) << words;
    EXPECT_THAT(set_.last_error(), AllOf(HasSubstr("up_forward: "), HasSubstr(words)));
  };
  expect(up(nullptr, w, b, y, nullptr, 0, 1, 8, 8, nullptr), "x is null");
  expect(up(x, nullptr, b, y, nullptr, 0, 1, 8, 8, nullptr),
         "weight is null: the kernel reads the weights in each call, so each call needs them");
  expect(up(x, w, nullptr, y, nullptr, 0, 1, 8, 8, nullptr), "bias is null");
  expect(up(x, w, b, nullptr, nullptr, 0, 1, 8, 8, nullptr), "y is null");
  expect(up(at<float>(0x1000002), w, b, y, nullptr, 0, 1, 8, 8, nullptr),
         "x (0x1000002) is misaligned: a multiple of 4");
  expect(up(x, w, b, x, nullptr, 0, 1, 8, 8, nullptr), "y overlaps x");
  expect(up(x, w, b, at<float>(0x2000000 - 64), nullptr, 0, 1, 8, 8, nullptr), "y overlaps weight");
  expect(up(x, w, b, y, nullptr, 0, -1, 8, 8, nullptr), "batch -1 is not from 0 to 2147483647");
  expect(up(x, w, b, y, nullptr, 0, 1, 0, 8, nullptr), "height 0 is not from 1");
  expect(up(x, w, b, y, nullptr, 0, 1, 8, kMost + 1, nullptr), "width 2147483648 is not from 1");
  expect(up(x, w, b, y, nullptr, 0, 1, 8, kMost, nullptr), "output width would be 4294967294");
  expect(up(x, w, b, y, nullptr, 0, 1 << 29, 1 << 14, 1 << 14, nullptr), "y has more bytes than 63 bits can count");
  expect(up(x, w, b, at<float>(std::uintptr_t{1} << 57), nullptr, 0, kMost, 1000, 1000, nullptr),
         "needs more blocks than a grid can have");
  EXPECT_EQ(state_->launches.size(), 0u);
  EXPECT_EQ(up(nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0, 8, 8, nullptr), 0)
      << "nothing to do, nothing looked at";
  const auto launch = [&](const void* kernel, const SetTensors& tensors, const SetInput& input) {
    return set_.function<KernelLaunch>("kernel_launch")(kernel, &tensors, &input, nullptr);
  };
  const auto* const* kernels = set_.function<const SetKernelFacts* const* (*)()>("kernels")();
  const SetTensors tensors{.x = x, .weight = w, .y = y};
  EXPECT_EQ(launch(nullptr, tensors, {1, {1, 8, 8}}), 1);
  EXPECT_EQ(set_.last_error(), "kernel is null");
  EXPECT_EQ(launch(kernels[1], {.x = x, .weight = w, .bias = b, .y = y}, {-1, {-1, -1, -1}}), 1);
  EXPECT_EQ(set_.last_error(), "int_forward: bias must be null: the layer has no bias");
  EXPECT_EQ(launch(kernels[1], {.x = x, .weight = w, .y = y, .grad_x = y}, {-1, {-1, -1, -1}}), 1);
  EXPECT_EQ(set_.last_error(), "int_forward: grad_x must be null: the call has y, x and weight");
  EXPECT_EQ(launch(kernels[1], tensors, {-1, {-1, 9, -1}}), 1);
  EXPECT_EQ(set_.last_error(), "int_forward: height 9 contradicts the layer, whose height is 8");
  EXPECT_EQ(launch(kernels[1], tensors, {-1, {2, 8, -1}}), 1);
  EXPECT_EQ(set_.last_error(), "int_forward: depth 2 contradicts the layer, whose depth is 1");
  EXPECT_EQ(launch(kernels[2], tensors, {1, {1, 1, 0}}), 1);
  EXPECT_THAT(set_.last_error(), HasSubstr("operator_forward: length 0"));
  EXPECT_STREQ(set_.function<const char* (*)(int)>("error_text")(1), "invalid argument");
  EXPECT_EQ(set_.function<int (*)(int)>("use_host")(1), 3);
  EXPECT_THAT(set_.last_error(), HasSubstr("made without the host device"));
  EXPECT_EQ(set_.function<int (*)(int)>("use_host")(2), 1);
}

TEST_F(LaunchedByDriver, ACaptureNeedsAPreparedKernel) {
  make_set();
  enter_context(9, 0);
  void* stream = at<void>(0x55);
  state_->capturing.insert(0x55);
  EXPECT_EQ(up(stream), 8);
  EXPECT_THAT(set_.last_error(), AllOf(HasSubstr("up_forward"), HasSubstr("net_prepare()")));
  EXPECT_EQ(set_.function<int (*)()>("up_forward_prepare")(), 0) << "loading is no part of the capture";
  EXPECT_EQ(up(stream), 0) << set_.last_error();
  EXPECT_EQ(state_->live_modules, 1);
  EXPECT_EQ(set_.function<int (*)()>("prepare")(), 0);
  EXPECT_EQ(state_->live_modules, 3);
  EXPECT_EQ(state_->spoiled_captures, 0);
}

TEST_F(LaunchedByDriver, LaterCallsOnlyLaunch) {
  make_set();
  ASSERT_EQ(up(), 0) << set_.last_error();  // in the primary context: the thread has none
  EXPECT_EQ(state_->current_depth, 0);
  state_->calls.clear();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(up(), 0);
  }
  EXPECT_THAT(state_->calls, Each(std::string("cuLaunchKernel")));
  EXPECT_EQ(state_->calls.size(), 10u);
  EXPECT_EQ(state_->live_modules, 1);
}

TEST_F(LaunchedByDriver, AContextThatIsGoneIsNotTakenForANewOne) {
  make_set();
  void* gone = enter_context(9, 0);
  ASSERT_EQ(up(), 0);
  leave_context();
  reinterpret_cast<fake::DestroyContextFunction>(dlsym(driver_, "convtgen_fake_destroy_context"))(gone);
  enter_context(9, 0);
  ASSERT_EQ(up(), 0);
  EXPECT_EQ(state_->live_modules, 1);
  EXPECT_EQ(state_->wrong_contexts, 0);
}

TEST_F(LaunchedByDriver, ThreadsShareOneModule) {
  make_set();
  state_->record = false;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        failures += up() == 0 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(state_->live_modules, 1);
}

TEST_F(LaunchedByDriver, FailuresOfTheDriverAreTold) {
  make_set();
  enter_context(9, 0);
  state_->failures["cuLaunchKernel"] = 700;
  EXPECT_EQ(up(), 7);
  EXPECT_THAT(set_.last_error(),
              AllOf(HasSubstr("up_forward"), HasSubstr("launching convtgen_direct_rows_forward_"), HasSubstr("700")));
  state_->failures = {{"cuModuleLoadDataEx", 2}};
  enter_context(9, 0);
  EXPECT_EQ(up(), 10);
  state_->failures = {{"cuModuleGetFunction", 500}};
  const int modules = state_->live_modules;
  EXPECT_EQ(up(), 7);
  EXPECT_EQ(state_->live_modules, modules) << "unloaded again";
  state_->failures.clear();
  EXPECT_EQ(up(), 0) << "and loaded when it can be";
}

TEST_F(LaunchedByDriver, NoDriverAndNoGpu) {
  make_set();
  setenv("CONVTGEN_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  EXPECT_EQ(up(), 4);
  EXPECT_THAT(set_.last_error(), HasSubstr("/nowhere/libcuda.so"));
  EXPECT_EQ(set_.function<int (*)()>("prepare")(), 4);
  EXPECT_EQ(set_.function<int (*)()>("uses_host")(), 0) << "the set was made without it";
}

TEST_F(LaunchedByDriver, ADriverWithoutAGpu) {
  make_set();
  state_->device_count = 0;
  EXPECT_EQ(up(), 4);
  EXPECT_THAT(set_.last_error(), HasSubstr("sees no GPU"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, LaunchedByDriverFromEveryCompiler, testing::ValuesIn(strict_compilers()),
                         [](const auto& given) {
                           std::string name = given.param.name;
                           std::ranges::replace(name, '+', 'p');
                           return name;
                         });

}  // namespace
}  // namespace convtgen::test
