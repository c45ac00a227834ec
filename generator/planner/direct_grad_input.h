// Plans for the template `direct_grad_input` (templates/direct_grad_input/): which rectangle of inputs a thread and a
// block make.
#pragma once

#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a problem of grad_input, at least one and at most 8, all different; the template takes every legal layer.
/// The first is what the cost of the layer suggests, the others are what tuning measures beside it.
/// Errors: a number that the kernel's 32-bit coordinates can't hold.
[[nodiscard]] Result<std::vector<Plan>> plans_direct_grad_input(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_direct_grad_input(const Problem& problem, const ConstantProgram& program);

[[nodiscard]] LaunchPlan direct_grad_input_launch(const Problem& problem, const Plan& plan);

}  // namespace convtgen
