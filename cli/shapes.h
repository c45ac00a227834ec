// Shapes of arrays as users know them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/recipe/recipe.h"

namespace convtgen::cli {

/// Arrays of 1-D layers have a height of 1 that users leave out: (N, C, L), (N, L, C), (Cin, Cout/groups, KL). Its
/// place in the shape; a bias has no height.
[[nodiscard]] std::size_t height_axis(const Layer& layer, Role role);
[[nodiscard]] std::vector<std::int64_t> user_shape(const Layer& layer, Role role, std::vector<std::int64_t> shape);

/// "x 1x4x5x6, weight 4x6x3x3, y 1x6x7x8": what calls read, then what they write.
[[nodiscard]] std::string shapes_text(const Layer& layer, const Shape& shape, Direction direction);

}  // namespace convtgen::cli
