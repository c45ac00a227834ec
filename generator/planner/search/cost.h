// What a call costs with nothing in a cache: the work, the traffic, and the time a chip needs for the larger of them.
#pragma once

#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"

namespace convtgen {

struct Cost {
  double flops =
      0;  // a multiply-add is two, of the bias' gradient an addition one; only terms that land inside the output
  double bytes = 0;          // what the call reads and writes, moved once
  double floor_seconds = 0;  // max(bytes / memory rate, flops / ceiling of the compute mode)
  bool memory_bound = false;
};

/// The sizes that a layer is planned for: its own, and middling ones where it leaves them open. All templates predict
/// times at these, so that their plans can be compared.
[[nodiscard]] InputSizes planned_sizes(const Layer& layer);

[[nodiscard]] Cost cost_of(const Problem& problem, const Shape& shape);

}  // namespace convtgen
