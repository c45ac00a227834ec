// What templates that make the gradient of the bias with that of the weights share with `grad_bias`, which makes it
// alone (templates/device/channel_sums.h).
#pragma once

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// Into how many slices the positions of grad_y are cut for this target, whose sums stand in the workspace: the
/// templates' parameter `bias_slices`. 1 for a layer without a bias.
[[nodiscard]] std::int64_t bias_slices(const Problem& problem);
/// Adds the region of so many sums to a launch, and the kernel that makes them unless another one does.
void add_channel_sums(LaunchPlan& launch, const Layer& layer, std::int64_t slices, bool by_kernel = true);

}  // namespace convtgen
