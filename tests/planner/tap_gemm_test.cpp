#include "generator/planner/table/templates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/predict.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

Problem grad_input_of(const std::string& layer, std::string_view architecture = "sm_90a") {
  return problem_of(layer + "; directions grad_input", architecture);
}

/// Layers of benchmarks/layers.convt, and one of open sizes.
constexpr const char* kTapLayers[] = {
    "128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc",
    "1024 -> 512; kernel 2x2; stride 2x2; input 8x32x32; bias; dtype f16; layout nhwc",
    "72 -> 40; kernel 3x5; stride 1x4; dilation 2x1; dtype bf16; layout nhwc",
};

TEST(PlanTapGemm, PlansFitTheChipAndAreTheBestFirst) {
  std::set<int> clusters;
  for (const std::string layer : kTapLayers) {
    const Problem problem = grad_input_of(layer);
    const std::vector<Plan> plans = kTapGemm.plans(problem).value();
    EXPECT_LE(plans.size(), 16u);
    double before = 0;
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      EXPECT_LE(each.launch.main().shared_bytes, problem.target.max_shared_bytes);
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
      EXPECT_EQ(each.predicted_seconds, kTapGemm.seconds(problem, each, planned_sizes(problem.layer)));
      // Two warpgroups that multiply, with at most 128 accumulators in a thread, or three with 64, and a warp that
      // copies.
      const bool has_three = integer(each, "block_m") == 192;
      EXPECT_EQ(each.launch.main().threads, has_three ? 416 : 288);
      EXPECT_LE(integer(each, "block_m") * integer(each, "block_n"), has_three ? 192 * 128 : 128 * 256);
      EXPECT_EQ(each.launch.main().cluster, integer(each, "cluster"));
      clusters.insert(each.launch.main().cluster);
      const std::int64_t box = integer(each, "box_n") * integer(each, "box_h") * integer(each, "box_w");
      EXPECT_EQ(box % 8, 0);
      EXPECT_EQ(integer(each, "block_m") % box, 0);
    }
  }
  EXPECT_EQ(clusters, (std::set<int>{1, 2, 4}));
}

// A box's elements are a stride apart, and it is as wide as the swizzle.
TEST(PlanTapGemm, TensorCopiesBringAStageFromPixelsThatAreAStrideApart) {
  for (const std::string layer : kTapLayers) {
    const Problem problem = grad_input_of(layer);
    const std::vector<Plan> plans = kTapGemm.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      const LaunchPlan launch = each.launch;
      ASSERT_EQ(launch.maps.size(), 1u);
      const TensorMap& form = launch.maps[0].form;
      std::uint32_t positions = 1;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        EXPECT_LE(form.box[axis], 256u);
        positions *= axis == 0 ? 1 : (form.box[axis] - 1) / form.steps[axis] + 1;
      }
      EXPECT_EQ(integer(each, "block_m") % positions, 0);
      EXPECT_EQ(form.box[0] * 2, static_cast<std::uint32_t>(swizzle_bytes(form.swizzle)));
      EXPECT_EQ(form.steps[1], problem.layer.axes[kWidth].stride);
      EXPECT_EQ(form.steps[2], problem.layer.axes[kHeight].stride);
      ASSERT_EQ(launch.kernels.size(), 2u);
      EXPECT_EQ(launch.kernels[0].function, "pack_weights");
      EXPECT_EQ(launch.kernels[1].cluster, each.launch.main().cluster);
      EXPECT_EQ(launch.regions.at(0).bytes.constant, each.launch.packed_bytes());
    }
  }
}

// Planes are a stride apart too, and zeros are where an image has none.
TEST(PlanTapGemm, ABoxOfVolumesHasPlanesOfOneImage) {
  const Problem problem = grad_input_of(
      "conv_transpose3d 72 -> 40; kernel 3x3x5; stride 2x1x4; padding 1x0x0; input ?x16x?x?; dtype f16; layout nhwc");
  const std::vector<Plan> plans = kTapGemm.plans(problem).value();
  std::set<std::int64_t> planes;
  std::set<bool> sharing;
  for (const Plan& each : plans) {
    SCOPED_TRACE(each.reason);
    const MapRecipe& map = each.launch.maps.at(0);
    const auto box = static_cast<std::uint32_t>(integer(each, "box_n"));
    EXPECT_EQ(map.form.rank, 5);
    EXPECT_EQ(map.form.steps, (std::array<std::uint32_t, 5>{1, 4, 1, 2, 1}));
    const bool shares = each.reason.find("up to 2 taps of the depth") != std::string::npos;
    EXPECT_EQ(map.form.box[3], 2 * (shares ? box + 1 : box) - 1);
    sharing.insert(shares);
    EXPECT_EQ(map.form.box[4], 1u);
    EXPECT_EQ(map.sizes[3], (Amount{.factor = 1, .per = Quantity::kOutDepth}));
    EXPECT_EQ(map.pitches[3], (Amount{.factor = 80, .per = Quantity::kOutPlane}));
    EXPECT_EQ(map.sizes[4], (Amount{.factor = 1, .per = Quantity::kBatch}));
    EXPECT_EQ(map.pitches[4], (Amount{.factor = 80, .per = Quantity::kOutImage}));
    planes.insert(box);
  }
  EXPECT_GT(*planes.rbegin(), 1);
  EXPECT_TRUE(sharing.contains(true));
  // Strides of the depth alone are strides, and one plane of one tap is an image.
  EXPECT_TRUE(
      kTapGemm.plans(grad_input_of("conv_transpose3d 8 -> 8; kernel 2x3x3; stride 2x1x1; dtype f16; layout nhwc")));
  const std::vector<Plan> flat =
      kTapGemm
          .plans(grad_input_of(
              "conv_transpose3d 8 -> 8; kernel 1x3x3; stride 1x2x2; input ?x1x?x?; dtype f16; layout nhwc"))
          .value();
  EXPECT_EQ(flat.at(0).launch.maps.at(0).form.rank, 4);
}

// Its rivals are templates of forward layers, whose open sizes are grad_y's.
TEST(PlanTapGemm, VolumesOfOpenSizesAreComparedAtSizesOfTheInput) {
  for (const char* sizes : {"?x?x?x?", "4x32x32x32"}) {
    const Problem problem = grad_input_of(fmt::format(
        "conv_transpose3d 128 -> 64; kernel 3x3x3; stride 2; padding 1; input {}; dtype f16; layout nhwc", sizes));
    const std::vector<Plan> plans = plan(problem).value();
    EXPECT_EQ(plans.front().template_name, "tap_gemm") << sizes;
    const auto rival = std::ranges::find_if(plans, &Plan::swapped);
    ASSERT_NE(rival, plans.end());
    EXPECT_EQ(rival->predicted_seconds, predict(problem, *rival, planned_sizes(problem.layer))) << sizes;
  }
}

TEST(PlanTapGemm, AHalfOfARowIsTakenWhereTheOtherWouldBeZeros) {
  const auto widths = [](const char* layer) {
    std::set<std::int64_t> all;
    const std::vector<Plan> plans = kTapGemm.plans(grad_input_of(layer)).value();
    for (const Plan& each : plans) {
      all.insert(integer(each, "block_k"));
    }
    return all;
  };
  EXPECT_EQ(widths("64 -> 64; kernel 2; stride 2; dtype f16; layout nhwc"), std::set<std::int64_t>{64});
  EXPECT_TRUE(widths("64 -> 32; kernel 2; stride 2; dtype f16; layout nhwc").contains(32));
}

TEST(PlanTapGemm, SaysWhyNot) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"16 -> 16; kernel 3; stride 2; compute tf32; layout nhwc", "compute tf32; it takes f16, bf16"},
      {"16 -> 16; kernel 3; stride 2; dtype f16", "NCHW; tensor copies of a pixel's channels need channels last"},
      {"16 -> 16; kernel 3; stride 2; groups 2; dtype f16; layout nhwc", "2 groups; it takes 1"},
      {"12 -> 16; kernel 3; stride 2; dtype f16; layout nhwc",
       "12 input channels; tensor copies and stores need whole 16 bytes, multiples of 8"},
      {"16 -> 4; kernel 3; stride 2; dtype f16; layout nhwc",
       "4 output channels; tensor copies and stores need whole 16 bytes, multiples of 8"},
      {"16 -> 16; kernel 3; dtype f16; layout nhwc",
       "stride 1; the gradient is a forward layer, whose templates read the input once for all taps"},
      {"16 -> 16; kernel 3; stride 1x9; dtype f16; layout nhwc",
       "stride 9; at most 8, which the elements of a tensor copy are apart"},
      {"32768 -> 32768; kernel 64; stride 2; dtype f16; layout nhwc",
       "packed weights of more than 1024 MiB of a block"},
  };
  for (const auto& [layer, reason] : kRefused) {
    const auto plans = kTapGemm.plans(grad_input_of(layer));
    ASSERT_FALSE(plans) << layer;
    EXPECT_EQ(plans.error().message, reason);
  }
  EXPECT_EQ(kTapGemm.plans(grad_input_of(kTapLayers[0], "sm_80")).error().message,
            "architecture sm_80 has no wgmma; it takes sm_90a");
}

}  // namespace
}  // namespace convtgen
