// The phases of one axis: which taps make which outputs, with no divisibility test left for run time.
//
// Output position o = stride * m + r has phase r. A tap k reaches it from input i = (o + padding - dilation * k) /
// stride where that division is exact, so every tap belongs to exactly one phase,
//   r(k) = (dilation * k - padding) mod stride,
// and reads input i = m + e(k) with the constant e(k) = (r(k) + padding - dilation * k) / stride.
#pragma once

#include <cstdint>

#include "generator/layer/axis.h"

namespace convtgen {

/// r(k), in [0, stride).
[[nodiscard]] constexpr std::int64_t phase_of_tap(const Axis& axis, std::int64_t k) {
  const std::int64_t r = (axis.dilation * k - axis.padding.before) % axis.stride;
  return r < 0 ? r + axis.stride : r;
}

/// e(k), of either sign.
[[nodiscard]] constexpr std::int64_t offset_of_tap(const Axis& axis, std::int64_t k) {
  return (phase_of_tap(axis, k) + axis.padding.before - axis.dilation * k) / axis.stride;
}

/// Least and greatest e(k) over all taps: the halo of a tile is [least, greatest]. e falls as k grows.
[[nodiscard]] constexpr std::int64_t least_offset(const Axis& axis) {
  return offset_of_tap(axis, axis.kernel - 1);
}
[[nodiscard]] constexpr std::int64_t greatest_offset(const Axis& axis) {
  return offset_of_tap(axis, 0);
}

}  // namespace convtgen
