// `roll_gemm` with output padding, which layers of stride 1 have only where columns are dilated: rows of outputs are
// longer by it, and in a sequence images lie farther apart. All plans of each layer are run.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace {

struct Case {
  const char* name;
  const char* layer;
  bool flat, strips, staged_epilogue;  // the plans that it must have
  InputSizes sizes = {};               // where the layer leaves them open
};

class OutputPadding : public ::testing::TestWithParam<Case> {};

TEST_P(OutputPadding, IsInTheRowsOfAllPlans) {
  const Layer layer = parse_layer(GetParam().layer).value();
  const InputSizes sizes = known_sizes(layer).value_or(GetParam().sizes);
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  bool flat = false, strips = false, staged_epilogue = false;
  const std::vector<Plan> plans = plan({layer, Direction::kForward, target_named("sm_90a").value()}).value();
  for (const Plan& each : plans) {
    if (!each.parameters.contains("thread_positions") || !each.parameters.contains("rows")) {  // whose blocks walk down
      continue;
    }
    flat = flat || flag(each, "flat");
    strips = strips || !flag(each, "flat");
    staged_epilogue = staged_epilogue || flag(each, "staged_epilogue");
    const std::optional<std::string> failure = failure_of(*device, layer, sizes, each, 1);
    EXPECT_FALSE(failure) << each.summary << "; " << each.reason << ": " << *failure;
  }
  EXPECT_TRUE(flat == GetParam().flat && strips == GetParam().strips && staged_epilogue == GetParam().staged_epilogue)
      << "flat " << flat << ", strips " << strips << ", staged_epilogue " << staged_epilogue;
}

constexpr Case kCases[] = {
    {"more_than_one",
     "conv_transpose2d 8 -> 5; kernel 2x3; padding 1x2; output_padding 0x3; dilation 1x4; input 5x3x8; bias; compute "
     "tf32",
     true, true, true},
    // The padding is more than the taps' reach: it is the output padding that makes outputs read after an image.
    {"padding_beyond_the_reach",
     "conv_transpose2d 8 -> 8; kernel 2x2; padding 1x5; output_padding 0x3; dilation 1x4; input 4x3x16; compute tf32",
     true, true, true},
    {"f16",
     "conv_transpose2d 16 -> 8; kernel 3x2; padding 2x1; output_padding 0x1; dilation 1x2; input 3x4x24; dtype f16",
     true, true, true},
    // Padding that differs at the end moves the output's end as output_padding does, in both directions.
    {"more_padding_at_the_end", "conv_transpose2d 8 -> 8; kernel 3x5; padding 0:2x0:3; input 3x4x16; compute tf32",
     true, true, true},
    {"all_of_the_padding_at_the_end",
     "conv_transpose2d 16 -> 8; kernel 2x4; padding 0:1x0:6; input 3x4x16; dtype f16; layout nhwc", true, true, false},
    {"more_padding_at_the_beginning",
     "conv_transpose2d 8 -> 8; kernel 3x4; padding 2:0x6:0; output_padding 0x1; dilation 1x2; input 3x4x16; compute "
     "tf32",
     true, true, true},
    // Strips of 128 and 256 positions whose last one has no pixel.
    {"strip_after_the_image",
     "conv_transpose2d 8 -> 8; kernel 2x2; output_padding 0x2; dilation 1x3; input 2x2x124; compute tf32", true, true,
     true},
    {"pixels",
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 3x0; output_padding 0x1; dilation 1x3; input 2x6x65; fuse "
     "sigmoid; dtype f16; layout nhwc",
     true, true, false},
    {"pixels_after_the_image",
     "conv_transpose2d 8 -> 8; kernel 2x2; output_padding 0x2; dilation 1x3; input 2x2x124; dtype bf16; layout nhwc",
     true, true, false},
    {"pixels_of_an_open_width",
     "conv_transpose2d 8 -> 8; kernel 3x3; padding 2x2; output_padding 0x1; dilation 1x3; input ?x?x?; dtype f16; "
     "layout nhwc",
     false,
     true,
     false,
     {3, {4, 20}}},
};
INSTANTIATE_TEST_SUITE_P(Layers, OutputPadding, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
