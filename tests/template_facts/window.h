// What the facts of templates share that stage tiles of positions with a window of taps (templates/window).
#pragma once

#include <cstdint>

#include "generator/layer/shape.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/plan/plan.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {

/// Tiles of a call: of images, and of all images' positions as one sequence.
[[nodiscard]] inline std::int64_t tiles_of_window(const Layer& layer, const Plan& plan, const Shape& shape) {
  const auto positions = [](std::int64_t out, const Axis& axis) {
    return (out - 1 + axis.padding.before) / axis.stride - axis.padding.before / axis.stride + 1;
  };
  return shape.batch * shape.out[kDepth] * ceil_div(positions(shape.out[kHeight], layer.axes[kHeight]), integer(plan, "tile_h")) *
         ceil_div(positions(shape.out[kWidth], layer.axes[kWidth]), integer(plan, "tile_w"));
}

[[nodiscard]] inline std::int64_t tiles_of_window_sequence(const Layer& /*layer*/, const Plan& plan, const Shape& shape) {
  return ceil_div(shape.batch * shape.out[kHeight] * shape.out[kWidth], integer(plan, "tile_w"));
}

}  // namespace convtgen::testing
