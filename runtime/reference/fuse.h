// Chains of activations in fp64, and how far they can carry an error of what goes in.
#pragma once

#include <span>

#include "generator/layer/layer.h"

namespace convtgen {

/// One step, as PyTorch's functions of the same names treat numbers, infinities and NaN.
[[nodiscard]] double activate(const Activation& step, double value);

/// Every step in its order.
[[nodiscard]] double apply_fuse(std::span<const Activation> fuse, double value);

/// A value and how far a legal computation may be from it.
struct Ball {
  double value = 0;
  double radius = 0;
};

/// The chain applied to every number of the ball, by a computation in the precision of the sums (f32, or f64 for f64):
/// monotone steps by their ends, the others by their Lipschitz constants, and some rounding errors for each step.
[[nodiscard]] Ball carry_fuse(std::span<const Activation> fuse, Ball ball, Dtype sum);

/// x as products take it: what the layer's `fuse_input` makes of it, rounded to the dtype.
[[nodiscard]] double input_value(const Layer& layer, double x);

/// How far that may be off where the chain is computed in the precision of the sums, as in carry_fuse(): another number
/// may be the nearest one of the dtype.
[[nodiscard]] double input_error(const Layer& layer, double x);

}  // namespace convtgen
