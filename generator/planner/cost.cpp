#include "generator/planner/cost.h"

#include <algorithm>

#include "generator/planner/launch_plan.h"

namespace convtgen {
namespace {

double arithmetic_rate(const Layer& layer, const Target& target) {
  double rate = 0;
  switch (layer.compute) {
    case Compute::kF64:
      return target.f64_flops;
    case Compute::kTf32:
      rate = target.tf32_flops;
      break;
    case Compute::kF16:
    case Compute::kBf16:
      rate = target.f16_flops;
      break;
    case Compute::kF32x3:
      rate = target.f16_flops / 3;  // three products of halves
      break;
    case Compute::kF32:
      break;
  }
  return rate > 0 ? rate : target.f32_flops;
}

constexpr std::int64_t kOpenExtent = 256;
constexpr std::int64_t kOpenBatch = 16;

}  // namespace

InputSizes planned_sizes(const Layer& layer) {
  return {.batch = layer.batch.value_or(kOpenBatch),
          .extents = {layer.axes[kDepth].extent.value_or(kOpenExtent), layer.axes[kHeight].extent.value_or(kOpenExtent),
                      layer.axes[kWidth].extent.value_or(kOpenExtent)}};
}

Cost cost_of(const Problem& problem, const Shape& shape) {
  const Layer& layer = problem.layer;
  Cost cost;
  cost.flops = problem.direction == Direction::kGradBias ? static_cast<double>(shape.output_elements)
                                                         : 2.0 * static_cast<double>(multiply_adds(layer, shape));
  const Quantities quantities = quantities_of(shape);
  for (const Tensor& tensor : tensors_of(layer, problem.direction, 0)) {
    const auto elements = tensor.elements.in(quantities);
    cost.bytes += elements ? static_cast<double>(*elements) * bytes_of(layer.dtype) : 0;
  }
  const double arithmetic = cost.flops / arithmetic_rate(layer, problem.target);
  const double memory = cost.bytes / problem.target.bytes_per_second;
  cost.memory_bound = memory >= arithmetic;
  cost.floor_seconds = std::max(memory, arithmetic);
  return cost;
}

}  // namespace convtgen
