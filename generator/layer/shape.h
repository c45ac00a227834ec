// Shape arithmetic of a layer, in 64 bits, and the limits that PyTorch checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/support/error.h"

namespace convtgen {

/// A broken limit: the language's word for the property at fault ("output_padding"), and the sentence for the user.
struct Violation {
  std::string property;
  std::string message;
  std::vector<std::string> involved;  // the other properties that the judgement rests on ("stride", "dilation")
};

/// Limits of our own, besides PyTorch's.
inline constexpr std::int64_t kMaxTaps = 4096;          // KD * KH * KW
inline constexpr std::int64_t kMaxExtent = 2147483647;  // any single number of a layer, any extent of a tensor

/// Every limit the layer breaks; empty for a legal layer. Sizes given as "?" are not judged.
/// Axes that the layer does not have must be kNoAxis.
[[nodiscard]] std::vector<Violation> check_limits(const Layer& layer);

/// The sizes of the input at run time.
struct InputSizes {
  std::int64_t batch = 0;
  Extents extents = {};
  bool operator==(const InputSizes&) const = default;
};

/// All extents of one call of the layer, in elements.
struct Shape {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  Extents in = {};
  std::int64_t out_channels = 0;
  Extents out = {};
  std::int64_t input_elements = 0, weight_elements = 0, output_elements = 0;
  bool operator==(const Shape&) const = default;
};

/// The word of the property that names the channels: "conv_transpose1d" to "conv_transpose3d".
[[nodiscard]] std::string_view operator_name(const Layer& layer);

/// out = (in - 1) * stride - (padding before + after) + dilation * (kernel - 1) + output_padding + 1 (PyTorch's, whose
/// padding is the same at both ends), divided by input_stride where that is not 1;
/// not positive where the padding eats everything, and the nearest 64-bit number where the result has more bits.
[[nodiscard]] std::int64_t output_extent(const Axis& axis, std::int64_t in);

/// Taps of the kernel, and elements of the weights, of a layer within the limits.
[[nodiscard]] std::int64_t tap_count(const Layer& layer);
[[nodiscard]] std::int64_t weight_elements(const Layer& layer);

/// Channels of the tensors in which x and y lie, and their gradients: the layer's own unless it has slices.
[[nodiscard]] std::int64_t x_tensor_channels(const Layer& layer);
[[nodiscard]] std::int64_t y_tensor_channels(const Layer& layer);
/// Makes a tensor that has no more channels than the layer's one of its own: equal layers are equal.
void drop_own_channels(Layer& layer);

/// The values of a property on the layer's axes, as the language writes them: "4x4", "1:2x0".
[[nodiscard]] std::string axes_text(const Layer& layer, std::int64_t Axis::* property);
[[nodiscard]] std::string axes_text(const Layer& layer, Padding Axis::* property);

/// "1", or "1:2" where the ends differ.
[[nodiscard]] std::string padding_text(const Padding& padding);

/// The layer's own sizes, where all are known.
/// Errors: a size is "?" (names it).
[[nodiscard]] Result<InputSizes> known_sizes(const Layer& layer);

/// The shape for given input sizes. A batch of zero is legal.
/// Errors: a size that contradicts the layer, is negative, gives a non-positive output, or overflows 64 bits.
[[nodiscard]] Result<Shape> shape_of(const Layer& layer, const InputSizes& sizes);

/// Pairs of an input position and a tap of one axis that land inside the output (2^63 - 1 where there are more).
[[nodiscard]] std::int64_t pairs_of_axis(const Axis& axis, std::int64_t in, std::int64_t out);

/// Multiply-adds of one forward call: every (input, tap, output channel) pair that lands inside the output, exactly
/// (2^63 - 1 where there are more). The time it takes grows with the kernel, not with the sizes.
[[nodiscard]] std::int64_t multiply_adds(const Layer& layer, const Shape& shape);

}  // namespace convtgen
