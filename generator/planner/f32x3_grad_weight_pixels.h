// Plans for the template `f32x3_grad_weight_pixels` (templates/f32x3_grad_weight_pixels/): which weights a block makes,
// from which positions at a time, and into how many slices all positions are cut.
#pragma once

#include <optional>

#include "generator/layer/shape.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// Plans for a problem of grad_weight, best first, at most 8. Errors: why there is none, naming the property of the
/// layer and the limit.
[[nodiscard]] Result<std::vector<Plan>> plans_f32x3_grad_weight_pixels(const Problem& problem);
/// The same with another program than the template's own, whose layout plans then have.
[[nodiscard]] Result<std::vector<Plan>> plans_f32x3_grad_weight_pixels(const Problem& problem,
                                                                       const ConstantProgram& program);

/// The largest magnitudes of channels, split copies, the products, the sums of grad_y where the layer has a bias, and
/// the addition of slices.
[[nodiscard]] LaunchPlan f32x3_grad_weight_pixels_launch(const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> f32x3_grad_weight_pixels_seconds(const Problem& problem, const Plan& plan,
                                                                     const InputSizes& sizes);

}  // namespace convtgen
