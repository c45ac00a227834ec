// The transposed convolution and its gradients by their definition, in fp64 and written apart from the kernels: what
// they are held to.
//
// All of them add over the same pairs of a place i of the input and a place o of the output, for each tap k:
// o = i * stride - padding before + k * dilation on each axis. With x[n, ci, i], w[ci, co, k] and y[n, co, o]
// - y adds up x * w, and the bias
// - grad_x adds up grad_y * w
// - grad_weight adds up x * grad_y
// and grad_bias[co] is the sum of grad_y over all n and o.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/recipe/recipe.h"
#include "runtime/reference/layer_inputs.h"

namespace convtgen {

/// For each of some elements: the sum before the fuse chain, and what its rounding errors are measured by.
struct Definition {
  std::vector<double> sum;          // of products and of the bias
  std::vector<double> magnitude;    // the same of their absolute values
  std::vector<std::int64_t> terms;  // summands, the bias among them
  /// How far errors of activated inputs (input_error()) may carry the sum; empty without `fuse_input`.
  std::vector<double> carried = {};
};

/// Bytes of these for an element.
[[nodiscard]] inline std::int64_t defined_bytes(const Layer& layer) {
  return layer.fuse_input.empty() ? 24 : 32;
}

/// Bytes of main memory that define_all() takes besides its inputs and what it returns.
[[nodiscard]] std::int64_t definition_bytes(const Layer& layer, const Shape& shape, Role role);

/// All elements of what a call writes (y, grad_x, grad_weight or grad_bias), in its memory order. Needs check_inputs()
/// to have passed for the direction that writes it. The result does not depend on the number of threads.
///
/// y and grad_x in scatter form: every element of the input adds its product with every tap to the output, and the
/// other way round.
[[nodiscard]] Definition define_all(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                                    Role role = Role::kY);

/// x as products take it, in an array of the same shape.
[[nodiscard]] HostArray activated_input(const Layer& layer, const HostArray& x);

/// The elements at these offsets of its memory. y and grad_x in gather form: looks for what reaches each of them.
[[nodiscard]] Definition define_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                                   std::span<const std::int64_t> offsets, Role role = Role::kY);

}  // namespace convtgen
