// Plans for the template `roll_gemm` (templates/roll_gemm/): blocks of tensor-core products that walk down the image.
#pragma once

#include <optional>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans of `roll_gemm` for a forward problem, best first. Errors: why it has none for the layer or the target.
[[nodiscard]] Result<std::vector<Plan>> plans_roll_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_roll_gemm(const Problem& problem, const ConstantProgram& program);

/// The numbers of a launch of that plan.
[[nodiscard]] TileGrid roll_gemm_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call of that plan at these sizes; nothing where there are no outputs.
[[nodiscard]] std::optional<double> roll_gemm_seconds(const Problem& problem, const Plan& plan,
                                                      const InputSizes& sizes);

}  // namespace convtgen
