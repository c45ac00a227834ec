// Plans of the template `split` (tests/templates/split/), which takes what asks for it by `fuse scale(1), scale(1)`.
#pragma once

#include <vector>

#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"

namespace convtgen {

/// One plan, which is ranked first. Errors: the layer does not ask for it, or is not one that it takes.
[[nodiscard]] Result<std::vector<Plan>> plans_split(const Problem& problem);

[[nodiscard]] TileGrid split_grid(const Problem& problem, const Plan& plan);

/// Packing, sums of slices, and their reduction.
[[nodiscard]] LaunchPlan split_launch(const Problem& problem, const Plan& plan);

}  // namespace convtgen
