// The rules of the operator's versions for what is cut off, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/onnx/crops.h"

namespace convtgen::onnx {
namespace {

using testing::HasSubstr;

constexpr ImportOptions kStandard, kRuntime{AutoPadAs::kOnnxRuntime};

/// An axis of 5 inputs with stride 2, whose taps reach `reach` outputs.
CropInput axis(std::int64_t opset, AutoPad auto_pad, std::int64_t reach) {
  return {.opset = opset, .auto_pad = auto_pad, .stride = 2, .reach = reach, .extent = 5};
}

CropInput with_output(CropInput input, std::int64_t output_shape) {
  input.output_shape = output_shape;
  return input;
}

std::string refusal(const CropInput& input) {
  const auto crop = crop_of_axis(input, kStandard);
  EXPECT_FALSE(crop) << "taken: " << crop->before << ":" << crop->after;
  return crop ? "" : crop.error().attribute + ": " + crop.error().reason;
}

TEST(Crops, PadsAreTakenAsTheyAre) {
  CropInput input = axis(11, AutoPad::kNotSet, 4);
  input.pads = {1, 2};
  EXPECT_EQ(crop_of_axis(input, kStandard), (Crop{1, 2}));
  input.extent = {};
  EXPECT_EQ(crop_of_axis(input, kStandard), (Crop{1, 2}));
  EXPECT_EQ(crop_of_axis(axis(11, AutoPad::kValid, 4), kStandard), (Crop{0, 0}));
}

TEST(Crops, SameFromOpset11OnGivesInputTimesStride) {
  EXPECT_EQ(crop_of_axis(axis(11, AutoPad::kSameUpper, 4), kStandard), (Crop{1, 1}));
  EXPECT_EQ(crop_of_axis(axis(11, AutoPad::kSameUpper, 5), kStandard), (Crop{1, 2}));
  EXPECT_EQ(crop_of_axis(axis(22, AutoPad::kSameLower, 5), kStandard), (Crop{2, 1}));
  CropInput open = axis(11, AutoPad::kSameUpper, 5);
  open.extent = {};
  EXPECT_EQ(crop_of_axis(open, kStandard), (Crop{1, 2}));  // the input's extent does not matter
}

TEST(Crops, SameBeforeOpset11GivesTheInputsExtent) {
  CropInput input = axis(1, AutoPad::kSameUpper, 4);
  input.stride = 1;
  EXPECT_EQ(crop_of_axis(input, kStandard), (Crop{1, 2}));
  input.auto_pad = AutoPad::kSameLower;
  EXPECT_EQ(crop_of_axis(input, kStandard), (Crop{2, 1}));
  // With a stride, shape inference has the rule of opset 11: 2 * 4 + 4 - 5 = 7 against 4 - 2 = 2 to cut off.
  const std::string reason = refusal(axis(10, AutoPad::kSameUpper, 4));
  EXPECT_THAT(reason, HasSubstr("the text of opset 1 to 10 (output = input) cuts off 3 before and cuts off 4 after"));
  EXPECT_THAT(reason, HasSubstr("ONNX's shape inference"));
  EXPECT_THAT(reason, HasSubstr("cuts off 1 before and cuts off 1 after. --auto-pad-as onnxruntime"));
  EXPECT_EQ(crop_of_axis(axis(10, AutoPad::kSameUpper, 4), kRuntime), (Crop{1, 1}));
}

TEST(Crops, SameWithOutputPaddingIsContradictory) {
  CropInput input = axis(11, AutoPad::kSameUpper, 4);
  input.output_padding = 1;
  const std::string reason = refusal(input);
  EXPECT_THAT(reason, HasSubstr("auto_pad: "));
  EXPECT_THAT(reason, HasSubstr("the text of opset 11 and later (output = input * stride) cuts off 1 before"));
  EXPECT_THAT(reason, HasSubstr("cuts off 1 before and cuts off 1 after. --auto-pad-as"));
  EXPECT_EQ(crop_of_axis(input, kRuntime), (Crop{1, 2}));
}

TEST(Crops, SameWithAStrideBeyondTheKernelIsContradictory) {
  const CropInput input = axis(11, AutoPad::kSameUpper, 1);
  EXPECT_THAT(refusal(input), HasSubstr("nothing is cut off"));
  EXPECT_EQ(crop_of_axis(input, kRuntime), (Crop{0, 0}));
}

TEST(Crops, OutputShapeWithSameSplitsAsAutoPadHasIt) {
  // 2 * 4 + 4 = 12 outputs before the crop.
  EXPECT_EQ(crop_of_axis(with_output(axis(11, AutoPad::kSameUpper, 4), 9), kStandard), (Crop{1, 2}));
  EXPECT_EQ(crop_of_axis(with_output(axis(11, AutoPad::kSameLower, 4), 9), kStandard), (Crop{2, 1}));
  // In opset 1 the formula has the extra position at the other end than the text of auto_pad.
  EXPECT_EQ(crop_of_axis(with_output(axis(1, AutoPad::kSameUpper, 4), 10), kStandard), (Crop{1, 1}));
  const std::string reason = refusal(with_output(axis(1, AutoPad::kSameUpper, 4), 9));
  EXPECT_THAT(reason, HasSubstr("the text of opset 1 to 10 cuts off 2 before and cuts off 1 after"));
  EXPECT_THAT(reason, HasSubstr("the text of auto_pad there cuts off 1 before and cuts off 2 after"));
  EXPECT_EQ(crop_of_axis(with_output(axis(1, AutoPad::kSameUpper, 4), 9), kRuntime), (Crop{1, 2}));
}

TEST(Crops, OutputShapeAloneDiffersFromTheReferenceImplementation) {
  EXPECT_EQ(crop_of_axis(with_output(axis(11, AutoPad::kNotSet, 4), 12), kStandard), (Crop{0, 0}));
  // One position: opset 1 cuts it off the end, as the reference implementation does; opset 11 the beginning.
  EXPECT_EQ(crop_of_axis(with_output(axis(1, AutoPad::kNotSet, 4), 11), kStandard), (Crop{0, 1}));
  const std::string reason = refusal(with_output(axis(11, AutoPad::kNotSet, 4), 11));
  EXPECT_THAT(reason, HasSubstr("output_shape: "));
  EXPECT_THAT(reason, HasSubstr("the text of opset 11 and later cuts off 1 before and cuts off 0 after"));
  EXPECT_THAT(reason, HasSubstr("ONNX's reference implementation cuts off 0 before and cuts off 1 after"));
  EXPECT_THAT(refusal(with_output(axis(1, AutoPad::kValid, 4), 10)),
              HasSubstr("cuts off 1 before and cuts off 1 after"));
  EXPECT_EQ(crop_of_axis(with_output(axis(1, AutoPad::kNotSet, 4), 9), kRuntime), (Crop{2, 1}));
}

TEST(Crops, OutputShapeBeyondTheTapsExtendsTheEnd) {
  for (const std::int64_t opset : {1, 11}) {
    for (const AutoPad auto_pad : {AutoPad::kNotSet, AutoPad::kValid, AutoPad::kSameUpper, AutoPad::kSameLower}) {
      EXPECT_EQ(crop_of_axis(with_output(axis(opset, auto_pad, 4), 13), kStandard), (Crop{0, -1}));
      EXPECT_EQ(crop_of_axis(with_output(axis(opset, auto_pad, 4), 13), kRuntime), (Crop{0, -1}));
    }
  }
}

TEST(Crops, OutputShapeNextToPadsIsContradictory) {
  CropInput input = with_output(axis(11, AutoPad::kNotSet, 4), 12);
  input.pads = {1, 0};
  EXPECT_THAT(refusal(input), HasSubstr("ONNX's reference implementation cuts off 1 before and adds 1 after"));
  EXPECT_EQ(crop_of_axis(input, kRuntime), (Crop{0, 0}));
}

TEST(Crops, OutputShapeNeedsTheInputsExtent) {
  CropInput input = with_output(axis(11, AutoPad::kSameUpper, 4), 9);
  input.extent = {};
  EXPECT_THAT(refusal(input), HasSubstr("depends on the extent of the input, which the file leaves open"));
}

}  // namespace
}  // namespace convtgen::onnx
