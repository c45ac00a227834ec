// Plans for the gradient of the bias: of the template `grad_bias`, which makes it alone, and for templates that make it
// with the gradient of the weights (templates/device/channel_sums.h).
#pragma once

#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"

namespace convtgen {

/// The one plan of `grad_bias`. Errors: a number that the kernel's 32-bit coordinates can't hold.
[[nodiscard]] Result<std::vector<Plan>> plans_grad_bias(const Problem& problem);
[[nodiscard]] LaunchPlan grad_bias_launch(const Problem& problem, const Plan& plan);

/// Into how many slices the positions of grad_y are cut for this target, whose sums stand in the workspace.
[[nodiscard]] std::int64_t bias_slices(const Problem& problem);
/// Adds the kernel that makes these sums, and their region, to the launches of a plan that has `bias_slices`.
void add_channel_sums(LaunchPlan& launch, const Problem& problem, const Plan& plan);

}  // namespace convtgen
