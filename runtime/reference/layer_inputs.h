// What a call of a layer reads: given, or random.
#pragma once

#include <cstdint>
#include <optional>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/recipe/recipe.h"
#include "generator/support/error.h"
#include "runtime/reference/host_array.h"
#include "runtime/reference/layer_arrays.h"

namespace convtgen {

/// Arrays in the layer's memory orders. One that the direction does not read has an empty shape.
struct LayerInputs {
  HostArray x = {};
  HostArray weight = {};
  std::optional<HostArray> bias = {};
  HostArray grad_y = {};
  /// Null if absent, and for what calls write.
  [[nodiscard]] const HostArray* of(Role role) const;
  /// Of a role that calls read.
  void set(Role role, HostArray array);
};

/// What the direction reads; an array depends on the seed and its role alone. x and bias are in [-1, 1), and so is
/// grad_y for grad_input. The others have the amplitude that keeps sums near 1, whatever their number of terms:
/// - weight: sqrt(9 / K) for the K products of an element of y or grad_x
/// - grad_y for grad_weight: sqrt(9 / K) for the K = N * H * W products of a tap
/// - grad_y for grad_bias: sqrt(3 / K) for the K summands of a channel
[[nodiscard]] LayerInputs random_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                                        Direction direction = Direction::kForward);

/// Of the arrays that the direction reads; others are not looked at.
/// Errors: one is missing, or its dtype or shape is not what the layer and the shape ask for; a bias, and the layer has
/// none.
[[nodiscard]] Result<void> check_inputs(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                                        Direction direction = Direction::kForward);

}  // namespace convtgen
