// What the cost models say of a plan at other sizes than it was made for.
#pragma once

#include <optional>

#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"

namespace convtgen {

/// About the seconds of a call of the plan at these sizes, which go with what the layer states. At planned_sizes() it
/// is the plan's own `predicted_seconds`. Nothing for `direct`, which has no model, and without outputs.
[[nodiscard]] std::optional<double> predict(const Problem& problem, const Plan& plan, const InputSizes& sizes);

}  // namespace convtgen
