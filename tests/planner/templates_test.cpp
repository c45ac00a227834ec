#include "generator/planner/templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/predict.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Templates, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Template& known : templates()) {
    EXPECT_EQ(template_named(known.name).value(), &known);
    EXPECT_THAT(std::string(known.program()), StartsWith("(program"));
    EXPECT_THAT(std::string(known.program().substr(0, 100)), HasSubstr(std::string(known.name)));
    names.insert(known.name);
  }
  EXPECT_EQ(names.size(), templates().size());
  // The first of each direction takes every layer.
  for (const auto& [direction, name] :
       {std::pair(Direction::kForward, "direct"), std::pair(Direction::kGradInput, "direct_grad_input"),
        std::pair(Direction::kGradWeight, "direct_grad_weight"), std::pair(Direction::kGradBias, "grad_bias")}) {
    EXPECT_EQ(std::ranges::find(templates(), direction, &Template::direction)->name, name);
  }
}

TEST(Templates, AnUnknownNameIsAnErrorThatListsThem) {
  const auto unknown = template_named("indirect");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(
      unknown.error().message,
      StartsWith(
          "there is no template 'indirect'; there are: direct, direct_rows, mma_rows, shift_gemm, f32x3_gemm, "
          "roll_gemm, halo_gemm, overlap_gemm, patch_gemm, phase_gemm, mma_phases, "
          "direct_grad_input, tap_gemm, direct_grad_weight, grad_weight_gemm, grad_weight_pixels, grad_weight_rows, "
          "f32x3_grad_weight, f32x3_grad_weight_pixels, grad_bias"));
  EXPECT_FALSE(template_named(""));

  // A plan that no planner made is never taken for one of another template.
  const Problem problem = problem_of("conv_transpose2d 4 -> 4; kernel 3; input 1x8x8");
  Plan plan = convtgen::plan(problem).value().front();
  plan.template_name = "indirect";
  EXPECT_THROW(static_cast<void>(launch_plan_of(problem, plan)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(predict(problem, plan, {1, {8, 8}})), std::invalid_argument);
}

struct Refused {
  const char* template_name;
  const char* layer;
  const char* reason;
  const char* architecture = "sm_90a";
};

class Reasons : public ::testing::TestWithParam<Refused> {};

TEST_P(Reasons, NameThePropertyAndTheLimit) {
  const auto all =
      candidates(problem_of(fmt::format("conv_transpose2d {}", GetParam().layer), GetParam().architecture));
  ASSERT_TRUE(all) << all.error().message;
  const auto found = std::ranges::find(all->refusals, GetParam().template_name, &Refusal::template_name);
  ASSERT_NE(found, all->refusals.end());
  EXPECT_EQ(found->reason, GetParam().reason);
}

const Refused kRefused[] = {
    {"shift_gemm", "16 -> 16; kernel 3; compute tf32", "architecture sm_80; wgmma is an instruction of sm_90a",
     "sm_80"},
    {"shift_gemm", "16 -> 16; kernel 3", "compute f32; it takes tf32, f16, bf16"},
    {"shift_gemm", "16 -> 64; kernel 3; groups 4; compute tf32", "groups of 4 input channels; tensor cores want 16"},
    {"shift_gemm", "64 -> 16; kernel 3; groups 4; compute tf32", "groups of 4 output channels; tensor cores want 8"},
    {"shift_gemm", "16 -> 16; kernel 3; dtype f16; input 1x8x9", "a width of 9; copies of 4 bytes take multiples of 2"},
    {"shift_gemm", "16 -> 16; kernel 3; dtype f16", "an open width; copies of 4 bytes take multiples of 2"},
    {"shift_gemm", "17 -> 16; kernel 3; dtype f16; layout nhwc",
     "17 input channels; copies of 4 bytes take multiples of 2"},
    {"shift_gemm", "16 -> 16; kernel 9; stride 8; compute tf32",
     "stride 8x8: a block accumulates 64 phases at once; at most 32"},
    {"shift_gemm", "16 -> 16; kernel 23x23; compute tf32",
     "kernel 23x23 takes 1058 products, each written out; at most 1024"},
    {"shift_gemm", "16 -> 16; kernel 3; compute f32x3", "compute f32x3; it takes tf32, f16, bf16"},
    {"f32x3_gemm", "16 -> 16; kernel 3; compute tf32", "compute tf32; it takes f32x3"},
    {"f32x3_gemm", "16 -> 64; kernel 3; groups 4; compute f32x3", "groups of 4 input channels; tensor cores want 16"},
    {"f32x3_gemm", "16 -> 16; kernel 9; stride 8; compute f32x3",
     "stride 8x8: a block accumulates 64 phases at once; at most 16"},
    {"f32x3_gemm", "16 -> 16; kernel 15x23; compute f32x3",
     "kernel 15x23 takes 1035 products, each written out; at most 1024"},
    {"f32x3_gemm", "16 -> 16; kernel 3; dilation 1x40; compute f32x3",
     "dilation * (kernel - 1) is 80 in width: a row of taps and its accumulators take 664 registers of a thread; at "
     "most 168"},
    {"roll_gemm", "16 -> 16; kernel 3; compute f32x3", "compute f32x3; it takes tf32, f16, bf16"},
    {"roll_gemm", "16 -> 16; kernel 3; groups 2; compute tf32", "2 groups; it takes 1"},
    {"roll_gemm", "16 -> 16; kernel 3; stride 1x2; compute tf32", "stride 1x2; it takes 1"},
    {"roll_gemm", "16 -> 16; kernel 3; dilation 2; compute tf32", "dilation 2 in height; it takes 1"},
    {"roll_gemm", "16 -> 16; kernel 1x3; compute tf32", "kernel height 1; in nchw it takes 2 and more"},
    {"roll_gemm", "16 -> 16; kernel 3; dilation 1x20; compute tf32",
     "dilation * (kernel - 1) is 40 in width; at most 24"},
    {"roll_gemm", "16 -> 16; kernel 3x25; padding 0x25; compute tf32; input 1x8x64", "padding 25 in width; at most 24"},
    {"roll_gemm", "16 -> 16; kernel 3; compute tf32; input 1x8x9",
     "a width of 9; copies of 16 bytes take multiples of 4"},
    {"roll_gemm", "16 -> 16; kernel 3; compute tf32", "an open width; copies of 16 bytes take multiples of 4"},
    {"roll_gemm", "12 -> 16; kernel 3; dtype f16; layout nhwc",
     "12 input channels; copies of 16 bytes take multiples of 8"},
    {"roll_gemm", "16 -> 16; kernel 33x3; compute tf32; input 1x8x64", "kernel height 33; at most 32"},
    {"roll_gemm", "520 -> 8; kernel 2; dtype f16; input 1x8x64",
     "520 input channels are no multiple of 32, and stages do not hold all of them"},
    {"halo_gemm", "16 -> 16; kernel 3; groups 2; compute tf32", "2 groups; it takes 1"},
    {"halo_gemm", "16 -> 16; kernel 3; stride 1x2; dilation 1x3; compute tf32",
     "stride 2 and dilation 3 in width; one of them must be 1"},
    {"halo_gemm", "16 -> 16; kernel 2x66; stride 1x66; compute tf32; layout nhwc",
     "stride 66 in width and 16 output channels in nhwc: a product makes that many phases; at most 32"},
    {"halo_gemm", "16 -> 16777216; kernel 1x256; stride 1x256; compute tf32",
     "16777216 output channels of 256 phases in width are too many for 32 bits"},
    {"halo_gemm", "16 -> 16; kernel 17; compute tf32",
     "kernel 17x17 takes 289 products, each written out; at most 256"},
    {"halo_gemm", "16 -> 16; kernel 3; dilation 40; compute tf32",
     "kernel 3x3, dilation 40x40: a tile's input with its halo has 7744 pixels; at most 1024"},
    {"halo_gemm", "4096 -> 4194304; kernel 1x2; input 1x1x8; dtype f16; layout nhwc",
     "packed weights of more than 16384 MiB, or 1024 MiB of a block"},
};
INSTANTIATE_TEST_SUITE_P(Each, Reasons, ::testing::ValuesIn(kRefused));

// What a reason says there is too much of is more than the limit that it names.
class ReasonsOfDirection : public ::testing::TestWithParam<Direction> {};
TEST_P(ReasonsOfDirection, AreTrueOfRandomLayers) {
  const Direction direction = GetParam();
  const std::regex most(R"((\d+)[^;0-9]*; (?:at most|tensor cores want) (\d+))");
  const std::regex bytes(R"(take ([\d.]+) KiB .* has ([\d.]+) KiB)");
  convtgen::testing::LayerSource source(20261124);
  int compared = 0;
  const int layers = direction == Direction::kForward ? 3000 : direction == Direction::kGradInput ? 400 : 1500;
  for (int i = 0; i < layers; ++i) {
    Problem problem{source.next().layer, direction, target_named("sm_90a").value()};
    if (direction != Direction::kForward) {
      problem.layer.fuse.clear();
      problem.layer.directions = {direction};
    }
    SCOPED_TRACE(canonical_form(problem.layer));
    const auto all = candidates(problem);
    ASSERT_TRUE(all) << all.error().message;
    std::set<std::string_view> planned;
    for (const Plan& each : all->plans) {
      planned.insert(each.template_name);
    }
    // Of gradients of the input also those of forward layers that are for tensor cores.
    const auto own = std::ranges::count(templates(), direction, &Template::direction);
    EXPECT_EQ(planned.size() + all->refusals.size(),
              static_cast<std::size_t>(own + (direction == Direction::kGradInput ? 4 : 0)));
    for (const Refusal& refusal : all->refusals) {
      EXPECT_FALSE(planned.contains(refusal.template_name));
      EXPECT_FALSE(refusal.reason.empty());
      std::smatch numbers;
      if (std::regex_search(refusal.reason, numbers, bytes)) {
        EXPECT_GT(std::stod(numbers[1]), std::stod(numbers[2])) << refusal.reason;
        ++compared;
      } else if (std::regex_search(refusal.reason, numbers, most)) {
        const bool is_least = refusal.reason.contains("want");
        EXPECT_EQ(std::stoll(numbers[1]) < std::stoll(numbers[2]), is_least) << refusal.reason;
        EXPECT_NE(numbers[1], numbers[2]) << refusal.reason;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, direction == Direction::kForward ? 100 : direction == Direction::kGradInput ? 50 : 3);
}

INSTANTIATE_TEST_SUITE_P(Directions, ReasonsOfDirection,
                         ::testing::Values(Direction::kForward, Direction::kGradInput, Direction::kGradWeight),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace convtgen
