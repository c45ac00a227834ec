// Plans of layers whose x or y is channels of a larger tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "generator/planner/candidates.h"
#include "generator/planner/records/tuning_record.h"
#include "generator/planner/table/templates.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

std::string refusal_of_slices(const Template& of, std::string_view layer) {
  const auto plans = of.plans(problem_of(layer));
  return plans ? std::string() : plans.error().message;
}

TEST(PlanSlices, TemplatesWithoutThemSayWhatTheyTake) {
  EXPECT_EQ(refusal_of_slices(kRollGemm,
                              "64 -> 64; kernel 3x3; padding 1; input 8x64x64; dtype f16; layout nhwc; x_channels 128"),
            "x_channels 128; it takes whole tensors");
  EXPECT_EQ(
      refusal_of_slices(kPhaseGemm,
                        "64 -> 4; kernel 4; stride 2; padding 1; input 8x64x64; dtype f16; layout nhwc; y_channels 72"),
      "y_channels 72; it takes whole tensors");
  EXPECT_EQ(
      refusal_of_slices(kGradWeightPixels,
                        "64 -> 64; kernel 4; stride 2; padding 1; input 8x64x64; dtype f16; x_channels 72; directions "
                        "grad_weight"),
      "x_channels 72; it takes whole tensors");
}

TEST(PlanSlices, PitchesThatCopiesDoNotDivideAreRefused) {
  EXPECT_EQ(refusal_of_slices(kPatchGemm,
                              "256 -> 256; kernel 2; stride 2; input 8x14x14; dtype f16; layout nhwc; y_channels 260"),
            "y_channels 260; copies of 16 bytes take multiples of 8");
  EXPECT_EQ(
      refusal_of_slices(kGradWeightRows,
                        "64 -> 64; kernel 4; stride 2; padding 1; input 8x9x14; dtype f16; x_channels 65; directions "
                        "grad_weight"),
      "x_channels 65; the bytes of the tensor's images are no multiple of 16, which are copied together");
}

// What is loaded and stored together divides pixels with channels last, or images.
TEST(PlanSlices, PlansTakeNarrowerVectorsForNarrowerPitches) {
  std::map<std::int64_t, std::int64_t> alignments;  // by the channels of y's tensor
  for (const std::int64_t channels : {128, 132, 130, 129}) {
    const Problem problem =
        problem_of("64 -> 64; kernel 2; stride 2; input 8x64x64; dtype f16; layout nhwc; y_channels " +
                       std::to_string(channels) + "; x_channels " + std::to_string(channels),
                   "sm_80");
    for (const Plan& plan : kMmaGemm.plans(problem).value()) {
      EXPECT_EQ(channels * 2 % std::max<std::int64_t>(plan.alignment, 2), 0) << plan.reason;
      alignments[channels] = std::max(alignments[channels], plan.alignment);
    }
  }
  EXPECT_EQ(alignments, (std::map<std::int64_t, std::int64_t>{{128, 16}, {132, 8}, {130, 4}, {129, 2}}));
}

TEST(PlanSlices, EveryDirectionHasAPlanWhateverThePitch) {
  for (const std::string layout : {"nchw", "nhwc"}) {
    for (const std::string compute : {"dtype f32", "compute tf32", "compute f32x3", "dtype f16", "dtype f64"}) {
      for (const std::string direction : {"forward", "grad_input", "grad_weight", "grad_bias"}) {
        for (const std::string slices : {"x_channels 25", "y_channels 41; x_channels 1000", "y_channels 48"}) {
          const std::string layer = "24 -> 40; kernel 4; stride 2; padding 1; input ?x7x9; bias; layout " + layout +
                                    "; " + compute + "; " + slices + "; directions " + direction;
          const auto plans = plan(problem_of(layer));
          EXPECT_TRUE(plans && !plans->empty()) << layer;
        }
      }
    }
  }
}

// Records are found by the layer and the plan's choices: slices are the layer's.
TEST(PlanSlices, PlansAreRecordedWithoutThem) {
  const Problem problem = problem_of("64 -> 64; kernel 2; stride 2; input 8x64x64; y_channels 128");
  const Plan first = plan(problem).value().front();
  EXPECT_EQ(integer(first, "y_channels"), 128);
  EXPECT_EQ(plan_json(first).find("_channels\":128"), std::string::npos) << plan_json(first);
}

// In gradients of the input the plan's x is grad_y.
TEST(PlanSlices, ExchangedPlansExchangeThem) {
  const Problem problem = problem_of(
      "64 -> 32; kernel 3; padding 1; input 8x64x64; dtype f16; x_channels 72; y_channels 96; directions grad_input");
  const auto plans = plan(problem).value();
  const auto swapped = std::ranges::find(plans, true, &Plan::swapped);
  ASSERT_NE(swapped, plans.end());
  EXPECT_EQ(integer(*swapped, "x_channels"), 96);
  EXPECT_EQ(integer(*swapped, "y_channels"), 72);
  for (const Tensor& tensor : swapped->launch.tensors) {
    const Amount more{.factor = 8, .per = Quantity::kInImage}, of_y{.factor = 64, .per = Quantity::kOutImage};
    EXPECT_EQ(tensor.gap, tensor.role == Role::kGradX ? more : tensor.role == Role::kGradY ? of_y : Amount{});
  }
}

}  // namespace
}  // namespace convtgen
