// What the facts of templates share that stage tiles of positions with a window of taps (templates/window).
#pragma once

#include <cstdint>

#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {

/// Positions of an axis that have outputs.
[[nodiscard]] inline std::int64_t positions_of(std::int64_t out, const Axis& axis) {
  return (out - 1 + axis.padding.before) / axis.stride - axis.padding.before / axis.stride + 1;
}

/// Tiles of an image along its depth: of one plane of the output, or of as many positions as a block goes along.
[[nodiscard]] inline std::int64_t tiles_along_depth(const Layer& layer, const Plan& plan, const Shape& shape) {
  return plan.parameters.contains("tile_d")
             ? ceil_div(positions_of(shape.out[kDepth], layer.axes[kDepth]), integer(plan, "tile_d"))
             : shape.out[kDepth];
}

/// Tiles of a call: of images, and of all images' positions as one sequence.
[[nodiscard]] inline std::int64_t tiles_of_window(const Layer& layer, const Plan& plan, const Shape& shape) {
  return shape.batch * tiles_along_depth(layer, plan, shape) *
         ceil_div(positions_of(shape.out[kHeight], layer.axes[kHeight]), integer(plan, "tile_h")) *
         ceil_div(positions_of(shape.out[kWidth], layer.axes[kWidth]), integer(plan, "tile_w"));
}

[[nodiscard]] inline std::int64_t tiles_of_window_sequence(const Layer& /*layer*/, const Plan& plan,
                                                           const Shape& shape) {
  return ceil_div(shape.batch * shape.out[kHeight] * shape.out[kWidth], integer(plan, "tile_w"));
}

}  // namespace convtgen::testing
