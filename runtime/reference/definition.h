// The transposed convolution by its definition, in fp64 and written apart from the kernels: what they are held to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "runtime/reference/host_array.h"

namespace convtgen {

/// For each of some outputs: the sum before the fuse chain, and what its rounding errors are measured by.
struct Definition {
  std::vector<double> sum;          // bias + sum of x * w
  std::vector<double> magnitude;    // |bias| + sum of |x| * |w|
  std::vector<std::int64_t> terms;  // summands, the bias among them
};

/// Bytes of the three for an output.
inline constexpr std::int64_t kDefinedBytes = 24;

/// Bytes of main memory that define_all() takes beside its inputs and what it returns.
[[nodiscard]] std::int64_t definition_bytes(const Shape& shape);

/// All outputs, in y's memory order. Scatter form: every input element adds its product with every tap to the output
/// that o = i * stride - padding + k * dilation names on each axis, if there is one. Needs check_inputs() to have
/// passed.
[[nodiscard]] Definition define_all(const Layer& layer, const Shape& shape, const LayerInputs& inputs);

/// The outputs at these offsets of y's memory. Gather form: looks for the inputs that reach each of them.
[[nodiscard]] Definition define_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                                   std::span<const std::int64_t> outputs);

/// Where an offset of y's memory lies.
struct OutputPosition {
  std::int64_t n = 0, c = 0;
  Extents at = {0, 0, 0};  // its place on each axis
  bool operator==(const OutputPosition&) const = default;
};
[[nodiscard]] OutputPosition output_position(const Layer& layer, const Shape& shape, std::int64_t offset);
[[nodiscard]] std::int64_t output_offset(const Layer& layer, const Shape& shape, const OutputPosition& position);

}  // namespace convtgen
