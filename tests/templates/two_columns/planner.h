// Plans of the template `two_columns` (tests/templates/two_columns/), which takes what asks for it by three times
// `scale(1)`.
#pragma once

#include <vector>

#include "generator/planner/plan.h"

namespace convtgen {

/// One plan, which is ranked first. Errors: the layer does not ask for it, or is not one that it takes.
[[nodiscard]] Result<std::vector<Plan>> plans_two_columns(const Problem& problem);

[[nodiscard]] TileGrid two_columns_grid(const Problem& problem, const Plan& plan);

}  // namespace convtgen
