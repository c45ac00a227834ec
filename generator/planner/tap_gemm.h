// Plans for the template `tap_gemm` (templates/tap_gemm/): which positions and channels a block makes, from which
// stages, and how many blocks share the copies of the weights.
#pragma once

#include <optional>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a problem of grad_input, best first, at most 16. Errors: why there is none, naming the property of the
/// layer and the limit.
[[nodiscard]] Result<std::vector<Plan>> plans_tap_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_tap_gemm(const Problem& problem, const ConstantProgram& program);

/// The packing of the weights, and the products.
[[nodiscard]] LaunchPlan tap_gemm_launch(const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> tap_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes);

}  // namespace convtgen
