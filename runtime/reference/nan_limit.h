// Where an output may be NaN though its definition is not (README, "Limits"): kernels multiply weights by zeros where
// the image ends, and an infinite or NaN weight times zero is NaN.
#pragma once

#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "runtime/reference/host_array.h"
#include "runtime/reference/layer_arrays.h"

namespace convtgen {

class NanLimit {
 public:
  /// Nowhere: all weights are finite.
  NanLimit() = default;
  /// Of y or grad_x, by the weights that its call reads; of other arrays nowhere.
  NanLimit(const Layer& layer, const Shape& shape, Role role, const HostArray& weight);

  /// Whether a weight of this element's channel that is not finite meets a zero outside of the image: its tap is of the
  /// element's phase, and what it multiplies there is outside.
  [[nodiscard]] bool allows_nan(const ElementPosition& at) const;
  [[nodiscard]] bool is_empty() const { return taps_.empty(); }

 private:
  Layer layer_;
  Shape shape_;
  bool is_forward_ = true;
  std::vector<std::vector<Extents>> taps_;  // of weights that are not finite, by the channel that they make
};

}  // namespace convtgen
