#include "generator/planner/grad_weight_launch.h"

#include <algorithm>

#include "generator/planner/grad_bias.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/scalar.h"

namespace convtgen {

LaunchPlan grad_weight_launch(const Problem& problem, const Plan& plan, GradWeightLaunch products) {
  const Layer& layer = problem.layer;
  const std::int64_t slices = integer_of(plan, "slices");
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  if (products.weight_alignment > 0) {
    std::ranges::find(launch.tensors, Role::kGradWeight, &Tensor::role)->alignment = products.weight_alignment;
  }
  launch.kernels.push_back(
      {.function = std::move(products.function),
       .suffix = "",
       .threads = plan.threads,
       .shared_bytes = plan.shared_bytes,
       .grid = {.blocks_per_tile = slices * products.blocks, .bounds = std::move(products.bounds)}});
  if (slices > 1) {
    launch.regions.push_back({.name = "partial",
                              .what = "sums of slices of the positions",
                              .bytes = {.constant = slices * products.weights * sum_bytes(layer)}});
  }
  if (products.totals_bytes > 0) {
    launch.regions.push_back(
        {.name = "totals", .what = "fp32 totals of the blocks", .bytes = {.constant = products.totals_bytes}});
  }
  if (layer.bias) {
    add_channel_sums(launch, problem, plan);
  }
  const std::int64_t added = (slices > 1 ? products.weights : 0) + (layer.bias ? layer.out_channels : 0);
  if (added > 0) {
    launch.kernels.push_back(
        {.function = "add_slices", .suffix = "_add", .grid = {.axes = {{{.constant = added}, 1}}}, .per_thread = true});
  }
  return launch;
}

}  // namespace convtgen
