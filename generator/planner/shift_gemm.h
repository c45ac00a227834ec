// Plans for the template `shift_gemm` (templates/shift_gemm/): what a block of tensor-core products makes.
#pragma once

#include <optional>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans of `shift_gemm` for a forward problem, best first. Errors: why it has none for the layer or the target.
[[nodiscard]] Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem, const ConstantProgram& program);

/// The numbers of a launch of that plan.
[[nodiscard]] TileGrid shift_gemm_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call of that plan at these sizes.
[[nodiscard]] std::optional<double> shift_gemm_seconds(const Problem& problem, const Plan& plan,
                                                       const InputSizes& sizes);

}  // namespace convtgen
