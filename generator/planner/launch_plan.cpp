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

void add_packing(LaunchPlan& launch, const Plan& plan) {
  launch.kernels.insert(launch.kernels.begin(), packing_kernel(plan));
  launch.regions.push_back({.name = "packed",
                            .what = "a packed copy of the weights",
                            .bytes = {.constant = plan.packed_bytes},
                            .kept = true});
}

std::vector<Tensor> tensors_of(const Layer& layer, Direction direction, std::int64_t alignment) {
  const std::int64_t element = bytes_of(layer.dtype);
  const auto tensor_of = [&](Role role, bool written) {
    Tensor tensor{.role = role, .alignment = std::max(alignment, element), .written = written};
    switch (role) {
      case Role::kX:
      case Role::kGradX:
        tensor.elements = {.factor = layer.in_channels, .per = Quantity::kInPixels};
        break;
      case Role::kY:
      case Role::kGradY:
        tensor.elements = {.factor = layer.out_channels, .per = Quantity::kOutPixels};
        break;
      case Role::kWeight:
      case Role::kGradWeight:
        tensor.elements = {.constant = weight_elements(layer)};
        tensor.alignment = element;
        break;
      case Role::kBias:
      case Role::kGradBias:
        tensor.elements = {.constant = layer.out_channels};
        tensor.alignment = element;
        break;
    }
    return tensor;
  };
  const Roles roles = roles_of(layer, direction);
  std::vector<Tensor> tensors;
  for (const Role role : roles.written) {
    tensors.push_back(tensor_of(role, true));
  }
  for (const Role role : roles.read) {
    tensors.push_back(tensor_of(role, false));
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
    add_packing(launch, plan);
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
