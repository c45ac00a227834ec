#include "generator/planner/search/cost.h"

#include <algorithm>
#include <numeric>

#include "generator/planner/plan/launch_plan.h"

namespace convtgen {
namespace {

/// Of the fastest instructions that give the mode's accuracy: tensor cores where they take its type.
double arithmetic_rate(Compute compute, const Target& target) {
  switch (compute) {
    case Compute::kF64:
      return target.f64_flops;
    case Compute::kF32:
      return target.f32_flops;
    case Compute::kTf32:
      return std::max(target.tf32_flops, target.f32_flops);
    case Compute::kF16:
      return std::max(target.f16_flops, target.f32_flops);
    case Compute::kBf16:
      return std::max(target.bf16_flops, target.f32_flops);
    case Compute::kF32x3:
      return std::max(target.f16_flops / 3, target.f32_flops);  // three products of halves
  }
  return target.f32_flops;
}

/// Share of the positions of an axis that some tap reaches: a stride leaves out the phases that have none.
double reached(const Axis& axis) {
  const std::int64_t phases = axis.stride / std::gcd(axis.stride, axis.dilation);
  return static_cast<double>(std::min(axis.kernel, phases)) / static_cast<double>(axis.stride);
}

/// Share of the memory of grad_y that its gradients read: of whole rows, or of whole pixels where those are sectors.
double read_share(const Layer& layer) {
  constexpr std::int64_t kSectorBytes = 32;
  const bool by_pixels = layer.layout == Layout::kNhwc && layer.out_channels * bytes_of(layer.dtype) >= kSectorBytes;
  return reached(layer.axes[kDepth]) * reached(layer.axes[kHeight]) * (by_pixels ? reached(layer.axes[kWidth]) : 1);
}

constexpr std::int64_t kOpenDepth = 32;
constexpr std::int64_t kOpenExtent = 256;
constexpr std::int64_t kOpenBatch = 16;

}  // namespace

InputSizes planned_sizes(const Layer& layer) {
  return {.batch = layer.batch.value_or(kOpenBatch),
          .extents = {layer.axes[kDepth].extent.value_or(kOpenDepth), layer.axes[kHeight].extent.value_or(kOpenExtent),
                      layer.axes[kWidth].extent.value_or(kOpenExtent)}};
}

Cost cost_of(const Problem& problem, const Shape& shape) {
  const Layer& layer = problem.layer;
  Cost cost;
  cost.flops = problem.direction == Direction::kGradBias ? static_cast<double>(shape.output_elements)
                                                         : 2.0 * static_cast<double>(multiply_adds(layer, shape));
  const Quantities quantities = quantities_of(shape);
  // The gradient of the bias reads all of grad_y.
  const bool is_read_in_part =
      problem.direction == Direction::kGradInput || problem.direction == Direction::kGradWeight;
  for (const Tensor& tensor : tensors_of(layer, problem.direction, 0)) {
    const auto elements = tensor.elements.in(quantities);
    const double share = is_read_in_part && tensor.role == Role::kGradY ? read_share(layer) : 1;
    cost.bytes += elements ? static_cast<double>(*elements) * bytes_of(layer.dtype) * share : 0;
  }
  const double arithmetic = cost.flops / arithmetic_rate(layer.compute, problem.target);
  const double memory = cost.bytes / problem.target.bytes_per_second;
  cost.memory_bound = memory >= arithmetic;
  cost.floor_seconds = std::max(memory, arithmetic);
  return cost;
}

}  // namespace convtgen
