// Kernels with packed weights over the fake driver: what is launched, and what is wrong with a workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/launcher/names.h"
#include "generator/planner/candidates.h"
#include "tests/launcher/over_fake_driver.h"
#include "tests/launcher/with_packing.h"

namespace convtgen::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kInvalid = 1;
constexpr std::size_t kPackedBytes = 8 * 6 * 4 * 4 * sizeof(float);

/// What the fake driver loads for a source: a line for each kernel, with the bytes of its parameters.
std::string image_of(const KernelSource& source) {
  const auto line = [](const std::string& symbol, const std::vector<KernelParameter>& parameters) {
    std::string text = symbol;
    for (const KernelParameter& parameter : parameters) {
      text += parameter.type.contains('*') || parameter.type.contains("long") ? " 8" : " 4";
    }
    return text;
  };
  std::string image;
  for (const RecipeKernel& kernel : source.recipe.kernels) {
    image += (image.empty() ? "" : "\n") + line(kernel.symbol, kernel.parameters);
  }
  return image + '\0';
}

/// A layer whose kernel for sm_90a packs its weights, and whose kernel for sm_80 does not.
class PackedWeights : public OverFakeDriver {
 protected:
  void SetUp() override {
    OverFakeDriver::SetUp();
    const LayerSet set{"net", "net.h", LaunchFormat::kCubin, false, {target("sm_80"), target("sm_90a")}};
    const SetKernel kernel{"up", parse_layer("conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias").value(),
                           Direction::kForward};
    for (const CodeTarget& code : set.targets) {
      const Problem problem{kernel.layer, kernel.direction, code.target};
      const Plan best = plan(problem).value().front();
      made_.push_back({code, best, specialize(problem, best).value()});
    }
    made_[1] = with_packing(kernel.layer, made_[1]);
    made_[1].source.recipe.kernels[1].waits = true;
    set_.write_launch_code(set, kernel, made_);
    for (const TargetKernel& made : made_) {
      write(set_.folder() / ("out/" + code_file("up_forward", made.code)), image_of(made.source));
    }
  }
  [[nodiscard]] static CodeTarget target(const char* name) { return code_target_named(name).value(); }

  struct Call {
    std::uintptr_t x = 0x1000000, weight = 0x2000000, bias = 0x3000000, y = 0x4000000, workspace = 0x5000000;
    std::int64_t batch = 2;
    std::size_t workspace_bytes = kPackedBytes;
  };
  int up(const Call& call) {
    using Up = int (*)(const void*, const void*, const void*, void*, void*, std::size_t, std::int64_t, std::int64_t,
                       std::int64_t, void*);
    return set_.function<Up>("up_forward")(at<void>(call.x), at<void>(call.weight), at<void>(call.bias),
                                           at<void>(call.y), at<void>(call.workspace), call.workspace_bytes, call.batch,
                                           9, 20, at<void>(0x77));
  }

  std::vector<TargetKernel> made_;  // for sm_80 and sm_90a
};

TEST_F(PackedWeights, ArePackedBeforeTheKernelUnlessTheCallGivesNone) {
  set_.build(strict_compilers().back());
  enter_context(9, 0);
  ASSERT_EQ(up({}), 0) << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 2u);
  const KernelSource& source = made_[1].source;
  const fake::SeenLaunch packing = state_->launches[0], main = state_->launches[1];
  EXPECT_EQ(packing.symbol, source.recipe.kernels[0].symbol);
  EXPECT_THAT(packing.grid, ElementsAre(8 * 6 * 4 * 4 / 32, 1, 1));
  EXPECT_THAT(packing.block, ElementsAre(32, 1, 1));
  EXPECT_EQ(packing.shared_bytes, 0u);
  EXPECT_THAT(packing.arguments, ElementsAre(0x2000000, 0x5000000));
  EXPECT_EQ(packing.stream, 0x77u);
  EXPECT_EQ(main.symbol, source.symbol);
  EXPECT_THAT(main.arguments, ElementsAre(0x1000000, 0x5000000, 0x3000000, 0x4000000, 9, 20));
  EXPECT_EQ(main.stream, 0x77u);
  EXPECT_FALSE(packing.overlaps) << "what it overwrites may still be read";
  EXPECT_TRUE(main.overlaps);

  ASSERT_EQ(up({.weight = 0}), 0) << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 3u);
  EXPECT_EQ(state_->launches[2].symbol, source.symbol);
  EXPECT_EQ(state_->launches[2].grid, main.grid);
  EXPECT_EQ(state_->launches[2].arguments, main.arguments);
  EXPECT_FALSE(state_->launches[2].overlaps) << "with the packing alone";
  EXPECT_EQ(state_->live_modules, 1);
}

TEST_F(PackedWeights, DriversThatCannotCaptureOverlapsGetNone) {
  state_->driver_version = 12020;
  set_.build(strict_compilers().front());
  enter_context(9, 0);
  ASSERT_EQ(up({}), 0) << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 2u);
  EXPECT_FALSE(state_->launches[1].overlaps);
}

TEST_F(PackedWeights, LaterCallsOnlyLaunchAndCanBeCaptured) {
  set_.build(strict_compilers().front());
  enter_context(9, 0);
  ASSERT_EQ(set_.function<int (*)()>("up_forward_prepare")(), 0) << set_.last_error();
  state_->capturing.insert(0x77);
  state_->calls.clear();
  ASSERT_EQ(up({.weight = 0}), 0) << set_.last_error();
  ASSERT_EQ(up({}), 0) << set_.last_error();
  ASSERT_EQ(up({.weight = 0}), 0) << set_.last_error();
  EXPECT_THAT(state_->calls, testing::Each(std::string("cuLaunchKernel")));
  EXPECT_EQ(state_->spoiled_captures, 0);
  std::vector<bool> overlaps;
  for (const fake::SeenLaunch& launch : state_->launches) {
    overlaps.push_back(launch.overlaps);
  }
  EXPECT_THAT(overlaps, ElementsAre(false, false, true, false)) << "after the packing of the same call, and never else";
}

TEST_F(PackedWeights, TheWorkspaceIsForTheKernelThatNeedsTheMost) {
  set_.build(strict_compilers().front());
  using Workspace = std::size_t (*)(std::int64_t, std::int64_t, std::int64_t);
  EXPECT_EQ(set_.function<Workspace>("up_forward_workspace")(2, 9, 20), kPackedBytes);
  const auto workspace = set_.function<KernelWorkspace>("kernel_workspace");
  const SetInput input{2, {1, 9, 20}};
  EXPECT_EQ(workspace(set_.function<const SetKernelFacts* const* (*)()>("kernels")()[0], &input), kPackedBytes);
  EXPECT_EQ(workspace(nullptr, &input), 0u);
  enter_context(8, 0);
  ASSERT_EQ(up({}), 0) << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 1u);
  EXPECT_EQ(state_->launches[0].symbol, made_[0].source.symbol);
  EXPECT_THAT(state_->launches[0].arguments, ElementsAre(0x1000000, 0x2000000, 0x3000000, 0x4000000, 9, 20));
  EXPECT_EQ(up({.weight = 0}), kInvalid) << "nothing is packed on this GPU";
  EXPECT_EQ(set_.last_error(),
            "up_forward: weight is null: the kernel for sm_80 (" + made_[0].source.symbol +
                ") keeps no packed copy and reads the weights in each call, so each call needs them; "
                "net_kernel_keeps_weights() returns whether null is legal on a GPU");
  EXPECT_EQ(state_->launches.size(), 1u);
}

TEST_F(PackedWeights, WhetherTheyAreKeptIsKnownBeforeACall) {
  set_.build(strict_compilers().front());
  using Query = int (*)(int*);
  const auto query = set_.function<Query>("up_forward_keeps_weights");
  const auto any = set_.function<int (*)(const void*, int*)>("kernel_keeps_weights");
  const void* kernel = set_.function<const SetKernelFacts* const* (*)()>("kernels")()[0];
  for (const auto& [major, expected] : {std::pair{9, 1}, std::pair{8, 0}}) {
    enter_context(major, 0);
    int keeps = -1;
    ASSERT_EQ(query(&keeps), 0) << set_.last_error();
    EXPECT_EQ(keeps, expected) << major;
    keeps = -1;
    ASSERT_EQ(any(kernel, &keeps), 0) << set_.last_error();
    EXPECT_EQ(keeps, expected) << major;
    EXPECT_EQ(up({.weight = 0}), expected == 1 ? 0 : kInvalid) << "as a call has it";
  }
  EXPECT_EQ(query(nullptr), kInvalid);
  EXPECT_EQ(set_.last_error(), "keeps is null");
  enter_context(7, 5);
  int keeps = -1;
  EXPECT_EQ(query(&keeps), 3) << "what _prepare returns";
  EXPECT_EQ(keeps, 0);
}

TEST_F(PackedWeights, WrongWorkspaces) {
  set_.build(strict_compilers().front());
  enter_context(9, 0);
  const auto expect = [&](const Call& call, const std::string& words) {
    EXPECT_EQ(up(call), kInvalid) << words;
    EXPECT_EQ(set_.last_error(), "up_forward: " + words);
  };
  expect({.workspace = 0}, "workspace is null: the kernel needs 3072 bytes there, for a packed copy of the weights");
  expect({.weight = 0, .workspace = 0},
         "workspace is null: the kernel needs 3072 bytes there, for a packed copy of the weights");
  expect({.workspace = 0x5000040},
         "workspace (0x5000040) is misaligned: its 3072 bytes must begin at a multiple of 128");
  expect({.workspace = 0x4000000}, "workspace (3072 bytes) overlaps y");
  expect({.workspace = 0x1000000 - 3072 + 128}, "workspace (3072 bytes) overlaps x");
  expect({.workspace = 0x2000000 + 3072 - 128}, "workspace (3072 bytes) overlaps weight");
  expect({.workspace = 0x3000000}, "workspace (3072 bytes) overlaps bias");
  expect({.workspace_bytes = kPackedBytes - 1},
         "workspace: 3071 bytes are too few: the call needs 3072, for a packed copy of the weights");
  expect({.x = 0, .workspace = 0}, "x is null");
  EXPECT_EQ(state_->launches.size(), 0u);
  EXPECT_EQ(up({.weight = 0, .workspace = 0x2000000}), 0) << "there are no weights to overlap";
  EXPECT_EQ(up({0, 0, 0, 0, 0, 0, 0}), 0) << "an empty batch: nothing to do, nothing looked at";
  EXPECT_EQ(state_->launches.size(), 1u);
}

TEST_F(PackedWeights, AModuleWithoutTheirKernelIsUnloadedAgain) {
  KernelSource half = made_[1].source;
  half.recipe.kernels.erase(half.recipe.kernels.begin());
  write(set_.folder() / "out/up_forward.sm_90a.cubin", image_of(half));
  set_.build(strict_compilers().front());
  enter_context(9, 0);
  EXPECT_EQ(up({}), 7);
  EXPECT_THAT(set_.last_error(), AllOf(HasSubstr("up_forward"), HasSubstr("finding the kernel in its module")));
  EXPECT_EQ(state_->live_modules, 0);
}

TEST_F(OverFakeDriver, TilesOfSeveralImagesAreCountedAsThePlannerDoes) {
  const CodeTarget code = code_target_named("sm_90a").value();
  const SetKernel kernel{
      "up",
      parse_layer("conv_transpose2d 256 -> 64; kernel 4; stride 2; padding 1; compute tf32; input 64x8x8").value(),
      Direction::kForward};
  const Problem problem{kernel.layer, kernel.direction, code.target};
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    return each.launch.packed_bytes() > 0 && each.launch.main().grid.axes[2].tile > 1;
  });
  ASSERT_NE(found, plans.end());
  const TargetKernel made{code, *found, specialize(problem, *found).value()};
  set_.write_launch_code({"net", "net.h", LaunchFormat::kCubin, false, {code}}, kernel, {made});
  write(set_.folder() / ("out/" + code_file("up_forward", code)), image_of(made.source));
  set_.build(strict_compilers().front());
  enter_context(9, 0);
  using Up = int (*)(const void*, const void*, void*, void*, std::size_t, void*);
  ASSERT_EQ(set_.function<Up>("up_forward")(at<void>(0x1000000), at<void>(0x2000000), at<void>(0x4000000),
                                            at<void>(0x3000000), std::size_t{1} << 30, nullptr),
            0)
      << set_.last_error();
  ASSERT_EQ(state_->launches.size(), 2u);
  EXPECT_THAT(state_->launches[0].grid, ElementsAre(made.source.recipe.kernels[0].grid.blocks({}).value(), 1, 1));
  const Shape shape = shape_of(kernel.layer, {64, {8, 8}}).value();
  Grid single = made.plan.launch.main().grid;
  single.axes[2].tile = 1;
  ASSERT_NE(single.blocks(quantities_of(shape)), grid_blocks(problem, made.plan, shape).value());
  EXPECT_THAT(state_->launches[1].grid, ElementsAre(grid_blocks(problem, made.plan, shape).value(), 1, 1));
}

}  // namespace
}  // namespace convtgen::test
