// What planners of templates for gradients of weights share whose values are split: a kernel before the others looks
// for the largest magnitude of each channel, by slices of the positions.
#pragma once

#include <vector>

#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// The plans with as many slices as keep the chip's threads busy.
[[nodiscard]] Result<std::vector<Plan>> with_scan_slices(const Problem& problem, const ConstantProgram& program,
                                                         Result<std::vector<Plan>> plans);
/// Adds the kernel before those that are there, and the region of the workspace that it writes.
void add_scan(LaunchPlan& launch, const Plan& plan, const ConstantProgram& program);

}  // namespace convtgen
