// Gradients of the input by the templates of forward layers. With stride 1 the gradient is itself a transposed
// convolution, of grad_y by the weights with their channels exchanged and their taps mirrored:
//   grad_x[ci, i] = sum over co, k of grad_y[co, stride * i - padding + dilation * k] * w[ci, co, k]
//                 = sum over co, k' of grad_y[co, stride * i + (dilation * (kernel - 1) - padding) - dilation * k'] *
//                   w'[co, ci, k']
// with k' = kernel - 1 - k, which is the forward sum with a padding of dilation * (kernel - 1) - padding. With another
// stride such a sum has one phase, and reads the input at stride * i (Axis::input_stride).
#pragma once

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// The forward problem that makes grad_x of grad_y. Its padding may be negative: then no tap reaches the first inputs.
/// Its stride is 1, its input stride the problem's. Errors: the problem is no gradient of the input.
[[nodiscard]] Result<Problem> exchanged_problem(const Problem& problem);
/// Sizes of its calls.
[[nodiscard]] InputSizes exchanged_sizes(const Layer& layer, const InputSizes& sizes);

/// From a plan for the exchanged problem to one for the problem: its weights are read in the other order, its x is
/// grad_y, its y is grad_x.
void exchange_plan(const Problem& problem, Plan& plan);
/// The same of its launches alone.
[[nodiscard]] LaunchPlan exchanged_launch(const Problem& problem, const Plan& plan, LaunchPlan forward);

}  // namespace convtgen
