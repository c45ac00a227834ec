// Plans of the template `gather` (tests/templates/gather/), which takes what asks for it by `fuse scale(1)`.
#pragma once

#include <vector>

#include "generator/planner/plan.h"

namespace convtgen {

/// One plan, which is ranked first. Errors: the layer does not ask for it, or is not one that it takes.
[[nodiscard]] Result<std::vector<Plan>> plans_gather(const Problem& problem);

[[nodiscard]] TileGrid gather_grid(const Problem& problem, const Plan& plan);

}  // namespace convtgen
