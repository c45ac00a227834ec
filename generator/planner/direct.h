// Plans for the template `direct` (templates/direct/): which rectangle of outputs a thread and a block make.
#pragma once

#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans of `direct` for a forward problem, at least one and at most 12, all different; it takes every legal layer. The
/// first is what the cost of the layer suggests, the others are what tuning measures beside it.
/// Errors: a number that the kernel's 32-bit coordinates can't hold, or more phases than a source can write out.
[[nodiscard]] Result<std::vector<Plan>> plans_direct(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_direct(const Problem& problem, const ConstantProgram& program);
/// The first of them.
[[nodiscard]] Result<Plan> plan_direct(const Problem& problem);

[[nodiscard]] TileGrid direct_grid(const Problem& problem, const Plan& plan);

}  // namespace convtgen
