// The arrays of a layer's calls by their roles: their shapes, and where their elements lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

/// What a gradient is the gradient of, whose shape and order it has; other roles are their own.
[[nodiscard]] Role without_gradient(Role role);

/// (N, C, H, W) or (N, H, W, C).
[[nodiscard]] std::vector<std::int64_t> input_shape(const Layer& layer, const Shape& shape);
[[nodiscard]] std::vector<std::int64_t> output_shape(const Layer& layer, const Shape& shape);
/// (Cin, Cout/groups, KH, KW) or (Cin, KH, KW, Cout/groups).
[[nodiscard]] std::vector<std::int64_t> weight_shape(const Layer& layer);
/// One of these, or (Cout) for a bias.
[[nodiscard]] std::vector<std::int64_t> array_shape(const Layer& layer, const Shape& shape, Role role);
[[nodiscard]] std::int64_t element_count(const Shape& shape, Role role);

/// Where a weight stands: its input channel of all groups, its output channel in the group, its tap.
struct WeightPosition {
  std::int64_t in = 0, out = 0, tap = 0;
  bool operator==(const WeightPosition&) const = default;
};
[[nodiscard]] std::int64_t weight_offset(const Layer& layer, const WeightPosition& position);
[[nodiscard]] WeightPosition weight_position(const Layer& layer, std::int64_t offset);

/// Images: an array of x or y, or of one of their gradients.
struct Images {
  std::int64_t channels = 0;
  Extents extents = {};  // of a plane: one image's channel
  [[nodiscard]] std::int64_t places() const { return extents[kDepth] * extents[kHeight] * extents[kWidth]; }
};
[[nodiscard]] Images images_of(const Shape& shape, Role role);

/// Where a plane lies in its array: place i of it at base + i * pitch.
struct PlaneOffsets {
  std::int64_t base = 0, pitch = 1;
  [[nodiscard]] std::int64_t at(std::int64_t place) const { return base + place * pitch; }
};
[[nodiscard]] PlaneOffsets plane_offsets(const Layer& layer, const Images& images, std::int64_t n, std::int64_t c);

/// The place of a number below the extents' product, the last axis fastest.
[[nodiscard]] Extents place_of(std::int64_t number, const Extents& extents);
[[nodiscard]] std::int64_t number_of(const Extents& place, const Extents& extents);
[[nodiscard]] Extents kernel_of(const Layer& layer);

/// An element's indices. Of x, y and their gradients: image, channel, place. Of weights: input channel (n), output
/// channel in its group (c), tap. Of a bias: output channel (c).
struct ElementPosition {
  std::int64_t n = 0, c = 0;
  Extents at = {0, 0, 0};  // on each axis
  bool operator==(const ElementPosition&) const = default;
};
[[nodiscard]] ElementPosition position_of(const Layer& layer, const Shape& shape, Role role, std::int64_t offset);
[[nodiscard]] std::int64_t offset_of(const Layer& layer, const Shape& shape, Role role,
                                     const ElementPosition& position);
/// "y[n=1, c=2, y=7, x=4]", "grad_weight[ci=3, co=0, kh=1, kw=2]", "grad_bias[co=5]"; with z and kd for three axes.
[[nodiscard]] std::string position_text(const Layer& layer, Role role, const ElementPosition& position);

}  // namespace convtgen
