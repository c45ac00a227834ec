// The places of the input and of the output that each tap of a layer multiplies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"

namespace convtgen {

/// Of one axis and one of its taps: `count` places of the input from `in` on, which the tap brings to `out` and to
/// every stride-th place after it.
struct TapRow {
  std::int64_t in = 0, out = 0, count = 0;
};

/// All i with 0 <= o < out_extent for o = i * stride - padding before + tap * dilation.
[[nodiscard]] inline TapRow tap_row(const Axis& axis, std::int64_t in_extent, std::int64_t out_extent,
                                    std::int64_t tap) {
  const std::int64_t shift = tap * axis.dilation - axis.padding.before;  // o of i = 0
  const std::int64_t first = shift < 0 ? (-shift + axis.stride - 1) / axis.stride : 0;
  const std::int64_t end = shift < out_extent ? std::min(in_extent, (out_extent - 1 - shift) / axis.stride + 1) : 0;
  return {first, first * axis.stride + shift, std::max<std::int64_t>(0, end - first)};
}

/// The one enumeration of these pairs, for all axes.
class TapPairs {
 public:
  TapPairs(const Layer& layer, const Shape& shape) : layer_(layer), shape_(shape) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      for (std::int64_t tap = 0; tap < layer.axes[axis].kernel; ++tap) {
        rows_[axis].push_back(tap_row(layer.axes[axis], shape.in[axis], shape.out[axis], tap));
      }
    }
  }

  /// From one pair of a row to the next one the input's place moves by 1, and the output's by this.
  [[nodiscard]] std::int64_t out_step() const { return layer_.axes[kWidth].stride; }

  /// body(in, out, count) for each row of pairs: the numbers of its first places in their planes, and how many there
  /// are.
  template <typename Body>
  void for_each_row(const Extents& tap, const Body& body) const {
    const TapRow& z = row(kDepth, tap);
    const TapRow& y = row(kHeight, tap);
    const TapRow& x = row(kWidth, tap);
    for (std::int64_t a = 0; a < z.count && x.count > 0; ++a) {
      const std::int64_t in_z = z.in + a;
      const std::int64_t out_z = z.out + a * layer_.axes[kDepth].stride;
      for (std::int64_t b = 0; b < y.count; ++b) {
        const std::int64_t in_y = in_z * shape_.in[kHeight] + y.in + b;
        const std::int64_t out_y = out_z * shape_.out[kHeight] + y.out + b * layer_.axes[kHeight].stride;
        body(in_y * shape_.in[kWidth] + x.in, out_y * shape_.out[kWidth] + x.out, x.count);
      }
    }
  }

  /// How many pairs of one axis each place of the output is in, or each one of the input.
  [[nodiscard]] std::vector<std::int64_t> pairs_of_places(std::size_t axis, bool of_output) const {
    std::vector<std::int64_t> pairs(static_cast<std::size_t>(of_output ? shape_.out[axis] : shape_.in[axis]));
    for (const TapRow& row : rows_[axis]) {
      for (std::int64_t i = 0; i < row.count; ++i) {
        ++pairs[static_cast<std::size_t>(of_output ? row.out + i * layer_.axes[axis].stride : row.in + i)];
      }
    }
    return pairs;
  }

 private:
  [[nodiscard]] const TapRow& row(std::size_t axis, const Extents& tap) const {
    return rows_[axis][static_cast<std::size_t>(tap[axis])];
  }

  const Layer& layer_;
  const Shape& shape_;
  std::array<std::vector<TapRow>, kAxes> rows_;
};

/// The place of the input that a tap brings to a place of the output; nothing if it brings none.
[[nodiscard]] inline std::optional<Extents> input_of(const Layer& layer, const Shape& shape, const Extents& out,
                                                     const Extents& tap) {
  Extents in;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const Axis& axis = layer.axes[i];
    const std::int64_t from = out[i] + axis.padding.before - tap[i] * axis.dilation;
    if (from < 0 || from % axis.stride != 0 || from / axis.stride >= shape.in[i]) {
      return std::nullopt;
    }
    in[i] = from / axis.stride;
  }
  return in;
}

/// The place of the output that a tap brings a place of the input to; nothing where that is outside.
[[nodiscard]] inline std::optional<Extents> output_of(const Layer& layer, const Shape& shape, const Extents& in,
                                                      const Extents& tap) {
  Extents out;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const Axis& axis = layer.axes[i];
    out[i] = in[i] * axis.stride - axis.padding.before + tap[i] * axis.dilation;
    if (out[i] < 0 || out[i] >= shape.out[i]) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace convtgen
