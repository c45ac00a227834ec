// Plans for the template `phase_gemm` (templates/phase_gemm/): which positions a block walks down, from which stages.
#pragma once

#include <optional>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a forward problem, best first, at most 16. Errors: why there is none, naming the property of the layer and
/// the limit.
[[nodiscard]] Result<std::vector<Plan>> plans_phase_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_phase_gemm(const Problem& problem, const ConstantProgram& program);

/// One kernel: nothing is packed.
[[nodiscard]] LaunchPlan phase_gemm_launch(const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> phase_gemm_seconds(const Problem& problem, const Plan& plan,
                                                       const InputSizes& sizes);

}  // namespace convtgen
