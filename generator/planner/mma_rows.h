// Plans for the template `mma_rows` (templates/mma_rows/): the tile of a block, and the channels that a warp
// accumulates together.
#pragma once

#include <optional>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a forward problem, at most 16, all different, those first that are predicted to be the fastest.
/// Errors: what the template does not take: another mode than f16 and bf16, NCHW, chips without mma.sync of bf16,
/// groups whose channels are no multiples of 8, many column phases, tiles that don't fit shared memory, or so much
/// arithmetic that what is stored matters little.
[[nodiscard]] Result<std::vector<Plan>> plans_mma_rows(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_mma_rows(const Problem& problem, const ConstantProgram& program);

/// The plan's tiles.
[[nodiscard]] TileGrid mma_rows_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> mma_rows_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes);

}  // namespace convtgen
