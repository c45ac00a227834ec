// Plans for the template `direct_rows` (templates/direct_rows/): which outputs a thread, a warp and a block make, and
// whether they are stored from registers.
#pragma once

#include <optional>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a forward problem, at most 8, all different, those first that are predicted to be the fastest.
/// Errors: what the template does not take: input and weights of a tile that don't fit shared memory, many phases, or
/// so much arithmetic that what is stored matters little.
[[nodiscard]] Result<std::vector<Plan>> plans_direct_rows(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_direct_rows(const Problem& problem, const ConstantProgram& program);

/// The plan's tiles.
[[nodiscard]] TileGrid direct_rows_grid(const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> direct_rows_seconds(const Problem& problem, const Plan& plan,
                                                        const InputSizes& sizes);

}  // namespace convtgen
