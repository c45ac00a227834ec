// Plans of the template `halo_gemm`: tensor cores of sm_90a with the input and packed weights in shared memory.
#pragma once

#include <optional>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Best first, by the time that a simple model predicts. Errors: why there is none, such as another architecture or
/// compute mode, groups, a dilation on an axis with a stride, or nothing fits.
[[nodiscard]] Result<std::vector<Plan>> plans_halo_gemm(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_halo_gemm(const Problem& problem, const ConstantProgram& program);

/// What the launch of such a plan is computed from. It may say more blocks than there are tiles: those that
/// find none left end at once.
[[nodiscard]] TileGrid halo_gemm_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call of that plan at these sizes.
[[nodiscard]] std::optional<double> halo_gemm_seconds(const Problem& problem, const Plan& plan,
                                                      const InputSizes& sizes);

}  // namespace convtgen
