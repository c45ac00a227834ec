// What a ConvTranspose cuts off the ends of an axis, by the rules of the operator's versions.
//
// The standard has several sources: the operator's text (whose rules for opset 1 to 10 and from 11 on differ), its
// shape inference, and its reference implementation. Where they contradict each other, nobody's reading is guessed. One
// case is settled by a test of the standard's backend suite, test_convtranspose_output_shape: an output_shape that is
// larger than what the taps reach extends the end.
#pragma once

#include <cstdint>
#include <optional>

#include "generator/layer/axis.h"
#include "generator/onnx/options.h"
#include "generator/onnx/refusal.h"

namespace convtgen::onnx {

enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };

/// One axis of a ConvTranspose as its attributes have it. Numbers are within a layer's limits, pads at least 0.
struct CropInput {
  std::int64_t opset = 0;  // of the model
  AutoPad auto_pad = AutoPad::kNotSet;
  std::int64_t stride = 1;
  std::int64_t reach = 1;  // dilation * (kernel - 1) + 1
  std::int64_t output_padding = 0;
  Padding pads = {};                              // 0 where the node has none
  std::optional<std::int64_t> extent = {};        // of the input
  std::optional<std::int64_t> output_shape = {};  // of this axis
};

/// Positions that are cut off at each end, after output_padding has been added at the end. Negative: added.
struct Crop {
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool operator==(const Crop&) const = default;
};

/// Errors: the sources contradict each other (the reason names each reading, and ONNX Runtime's), or the crop depends
/// on an extent that is unknown.
[[nodiscard]] Judged<Crop> crop_of_axis(const CropInput& axis, const ImportOptions& options);

}  // namespace convtgen::onnx
