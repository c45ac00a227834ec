#include "generator/planner/launch_plan.h"

#include <algorithm>

#include "generator/planner/exchange.h"
#include "generator/planner/templates.h"

namespace convtgen {
namespace {

constexpr std::int64_t kPackedRowBytes = 16;

/// The packing of the weights, which later calls with the same weights do without.
KernelPlan packing_kernel(const Plan& plan) {
  return {.function = "pack_weights",
          .suffix = "_pack",
          .grid = {.axes = {{{.constant = plan.packed_bytes}, kPackedRowBytes * plan.packed_rows}}},
          .per_thread = true,
          .once = true};
}

}  // namespace

std::vector<Tensor> tensors_of(const Layer& layer, Direction direction, std::int64_t alignment) {
  const std::int64_t element = bytes_of(layer.dtype);
  const std::int64_t wide = std::max(alignment, element);
  const std::int64_t weights = weight_elements(layer);
  const Amount in{.factor = layer.in_channels, .per = Quantity::kInPixels};
  const Amount out{.factor = layer.out_channels, .per = Quantity::kOutPixels};
  std::vector<Tensor> tensors;
  switch (direction) {
    case Direction::kForward:
      tensors = {{.role = Role::kY, .elements = out, .alignment = wide, .written = true},
                 {.role = Role::kX, .elements = in, .alignment = wide},
                 {.role = Role::kWeight, .elements = {.constant = weights}, .alignment = element}};
      if (layer.bias) {
        tensors.push_back({.role = Role::kBias, .elements = {.constant = layer.out_channels}, .alignment = element});
      }
      break;
    case Direction::kGradInput:
      tensors = {{.role = Role::kGradX, .elements = in, .alignment = wide, .written = true},
                 {.role = Role::kGradY, .elements = out, .alignment = wide},
                 {.role = Role::kWeight, .elements = {.constant = weights}, .alignment = element}};
      break;
    case Direction::kGradWeight:
      tensors = {{.role = Role::kGradWeight, .elements = {.constant = weights}, .alignment = element, .written = true}};
      if (layer.bias) {
        tensors.push_back({.role = Role::kGradBias,
                           .elements = {.constant = layer.out_channels},
                           .alignment = element,
                           .written = true});
      }
      tensors.push_back({.role = Role::kX, .elements = in, .alignment = wide});
      tensors.push_back({.role = Role::kGradY, .elements = out, .alignment = wide});
      break;
    case Direction::kGradBias:
      tensors = {{.role = Role::kGradBias,
                  .elements = {.constant = layer.out_channels},
                  .alignment = element,
                  .written = true},
                 {.role = Role::kGradY, .elements = out, .alignment = wide}};
      break;
  }
  return tensors;
}

LaunchPlan launch_plan_of(const Problem& problem, const Plan& plan) {
  if (is_exchanged(problem, plan)) {
    return exchanged_launch(problem, plan, launch_plan_of(exchanged_problem(problem).value(), plan));
  }
  if (const Template& known = template_of(plan); known.launch != nullptr) {
    return known.launch(problem, plan);
  }
  LaunchPlan launch;
  launch.tensors = tensors_of(problem.layer, problem.direction, plan.alignment);
  if (plan.packed_bytes > 0) {
    launch.kernels.push_back(packing_kernel(plan));
    launch.regions.push_back({.name = "packed",
                              .what = "a packed copy of the weights",
                              .bytes = {.constant = plan.packed_bytes},
                              .kept = true});
  }
  launch.kernels.push_back({.function = plan.template_name,
                            .suffix = "",
                            .threads = plan.threads,
                            .cluster = plan.cluster,
                            .shared_bytes = plan.shared_bytes,
                            .grid = tile_grid_of(problem, plan).grid()});
  return launch;
}

}  // namespace convtgen
