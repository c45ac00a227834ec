// What the facts of the templates without tensor cores share.
#pragma once

#include <cstdint>

#include "generator/layer/layer.h"

namespace convtgen::testing {

/// Taps or phases that a source writes out; it goes over more by loops.
inline constexpr std::int64_t kMostWrittenOut = 256;

/// Taps of a kernel row by column: a source has them for all depth taps alike.
[[nodiscard]] inline std::int64_t plane_taps(const Layer& layer) {
  return layer.axes[kHeight].kernel * layer.axes[kWidth].kernel;
}

}  // namespace convtgen::testing
