// Plans for the template `f32x3_gemm` (templates/f32x3_gemm/): fp32 by three products of f16 on tensor cores.
#pragma once

#include <optional>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans of `f32x3_gemm` for a forward problem, best first. Errors: why it has none for the layer or the target.
[[nodiscard]] Result<std::vector<Plan>> plans_f32x3_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_f32x3_gemm(const Problem& problem, const ConstantProgram& program);

/// The numbers of a launch of that plan.
[[nodiscard]] TileGrid f32x3_gemm_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call of that plan at these sizes.
[[nodiscard]] std::optional<double> f32x3_gemm_seconds(const Problem& problem, const Plan& plan,
                                                       const InputSizes& sizes);

}  // namespace convtgen
