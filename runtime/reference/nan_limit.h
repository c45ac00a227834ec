// Where an output may be NaN though its definition is not (README, "Limits"). Kernels multiply weights by zeros where
// the image ends, and an infinite or NaN weight times zero is NaN. Some plans join the phases of outputs in one
// product: they multiply inputs by weights of zero where a phase lacks a tap.
#pragma once

#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "runtime/reference/host_array.h"
#include "runtime/reference/layer_arrays.h"

namespace convtgen {

class NanLimit {
 public:
  /// Nowhere: all weights are finite.
  NanLimit() = default;
  /// Of y or grad_x, by the weights that its call reads; of other arrays nowhere.
  NanLimit(const Layer& layer, const Shape& shape, Role role, const HostArray& weight);
  /// Also by the inputs that y is made of, for a plan that has_zero_taps().
  void add_zero_taps(const HostArray& x);

  /// Whether a weight of this element's channel that is not finite meets a zero outside of the image: its tap is of the
  /// element's phase, and what it multiplies there is outside. Or whether an input that is not finite meets a weight of
  /// zero: another phase of the element's position has a tap there.
  [[nodiscard]] bool allows_nan(const ElementPosition& at) const;
  [[nodiscard]] bool is_empty() const { return taps_.empty() && inputs_.empty(); }

 private:
  Layer layer_;
  Shape shape_;
  bool is_forward_ = true;
  std::vector<std::vector<Extents>> taps_;    // of weights that are not finite, by the channel that they make
  std::vector<std::vector<Extents>> inputs_;  // that are not finite in some channel, by their image
};

/// Whether the plan's products have weights of zero for taps that a phase of the output lacks, and its outputs are not
/// made again where an input is not finite.
[[nodiscard]] bool has_zero_taps(const Plan& plan);

}  // namespace convtgen
