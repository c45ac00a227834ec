#include "generator/onnx/crops.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace convtgen::onnx {
namespace {

/// The operator's second version.
constexpr std::int64_t kSecondVersion = 11;

/// What one source of the standard makes of an axis. Without a crop it depends on an unknown extent.
struct Reading {
  std::string source;
  std::optional<Crop> crop;
};

enum class Extra { kBefore, kAfter };

/// Splits a total evenly; where it is odd, one end gets one more.
Crop split(std::int64_t total, Extra extra) {
  const std::int64_t less = total / 2;
  return extra == Extra::kBefore ? Crop{total - less, less} : Crop{less, total - less};
}

bool is_same(AutoPad auto_pad) {
  return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
}

/// The end that has the extra position where the text of auto_pad describes it, in all versions.
Extra extra_of_auto_pad(AutoPad auto_pad) {
  return auto_pad == AutoPad::kSameUpper ? Extra::kAfter : Extra::kBefore;
}

/// The extent of the output before anything is cut off.
std::optional<std::int64_t> uncut(const CropInput& axis) {
  if (!axis.extent) {
    return std::nullopt;
  }
  return axis.stride * (*axis.extent - 1) + axis.output_padding + axis.reach;
}

std::string text_of(const CropInput& axis) {
  return axis.opset < kSecondVersion ? "the text of opset 1 to 10" : "the text of opset 11 and later";
}

/// SAME_UPPER and SAME_LOWER without output_shape.
std::vector<Reading> readings_of_same(const CropInput& axis) {
  const Extra extra = extra_of_auto_pad(axis.auto_pad);
  std::vector<Reading> readings;
  if (axis.opset >= kSecondVersion) {  // out = in * stride
    const std::int64_t total = axis.output_padding + axis.reach - axis.stride;
    readings.push_back({text_of(axis) + " (output = input * stride)", split(total, extra)});
  } else if (axis.stride == 1) {  // "output spatial size match the input"
    readings.push_back({text_of(axis) + " (output = input)", split(axis.output_padding + axis.reach - 1, extra)});
  } else {
    const auto extent = uncut(axis);
    readings.push_back({text_of(axis) + " (output = input)",
                        extent ? std::optional(split(*extent - *axis.extent, extra)) : std::nullopt});
  }
  readings.push_back(
      {"ONNX's shape inference (output_padding is added, and nothing is cut off where the stride is "
       "larger than the kernel reaches)",
       split(std::max<std::int64_t>(0, axis.reach - axis.stride), extra)});
  return readings;
}

/// The positions that output_shape leaves to cut off.
std::vector<Reading> readings_of_output_shape(const CropInput& axis, std::int64_t total) {
  const bool is_old = axis.opset < kSecondVersion;
  const bool is_upper = axis.auto_pad == AutoPad::kSameUpper;
  std::vector<Reading> readings;
  if (total < 0) {
    readings.push_back({"ONNX's backend test test_convtranspose_output_shape", Crop{0, total}});
  } else {
    // The formulas of the two versions are each other's opposite.
    readings.push_back({text_of(axis), split(total, is_upper == is_old ? Extra::kBefore : Extra::kAfter)});
  }
  if (!is_same(axis.auto_pad)) {
    readings.push_back({"ONNX's reference implementation", Crop{axis.pads.before, total - axis.pads.before}});
  } else if (is_old && total >= 0) {
    readings.push_back({"the text of auto_pad there", split(total, extra_of_auto_pad(axis.auto_pad))});
  }
  return readings;
}

/// ONNX Runtime has one rule for all versions of the operator.
Crop crop_of_onnx_runtime(const CropInput& axis, std::optional<std::int64_t> total_of_shape) {
  const Extra extra = axis.auto_pad == AutoPad::kSameUpper ? Extra::kAfter : Extra::kBefore;
  if (total_of_shape) {
    return *total_of_shape < 0 ? Crop{0, *total_of_shape} : split(*total_of_shape, extra);
  }
  return split(std::max<std::int64_t>(0, axis.output_padding + axis.reach - axis.stride), extra);
}

std::string describe(const Crop& crop) {
  const auto end = [](std::int64_t count) {
    return count < 0 ? fmt::format("adds {}", -count) : fmt::format("cuts off {}", count);
  };
  return fmt::format("{} before and {} after", end(crop.before), end(crop.after));
}

}  // namespace

Judged<Crop> crop_of_axis(const CropInput& axis, const ImportOptions& options) {
  if (!axis.output_shape && !is_same(axis.auto_pad)) {
    return axis.auto_pad == AutoPad::kValid ? Crop{} : Crop{axis.pads.before, axis.pads.after};
  }
  const std::string attribute = axis.output_shape ? "output_shape" : "auto_pad";
  const std::string value = axis.output_shape                      ? fmt::format("{}", *axis.output_shape)
                            : axis.auto_pad == AutoPad::kSameUpper ? "SAME_UPPER"
                                                                   : "SAME_LOWER";
  std::optional<std::int64_t> total;
  if (axis.output_shape) {
    const auto extent = uncut(axis);
    if (!extent) {
      return refuse(attribute, value,
                    "what it cuts off depends on the extent of the input, which the file leaves open");
    }
    total = *extent - *axis.output_shape;
  }
  const Crop runtime = crop_of_onnx_runtime(axis, total);
  if (options.auto_pad_as == AutoPadAs::kOnnxRuntime) {
    return runtime;
  }
  const std::vector<Reading> readings = total ? readings_of_output_shape(axis, *total) : readings_of_same(axis);
  if (std::ranges::all_of(
          readings, [&](const Reading& reading) { return reading.crop && reading.crop == readings.front().crop; })) {
    return *readings.front().crop;
  }
  std::string reason = "the standard's sources contradict each other: ";
  for (const Reading& reading : readings) {
    reason += fmt::format("{}{} {}", &reading == &readings.front() ? "" : "; ", reading.source,
                          reading.crop ? describe(*reading.crop) : "depends on the extent of the input");
  }
  reason += fmt::format(". --auto-pad-as onnxruntime takes ONNX Runtime's reading, which {}", describe(runtime));
  return refuse(attribute, value, std::move(reason));
}

}  // namespace convtgen::onnx
