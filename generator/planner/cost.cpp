#include "generator/planner/cost.h"

#include <algorithm>

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
  cost.flops = 2.0 * static_cast<double>(multiply_adds(layer, shape));
  const double elements = static_cast<double>(shape.input_elements) + static_cast<double>(shape.weight_elements) +
                          static_cast<double>(shape.output_elements) +
                          (layer.bias ? static_cast<double>(layer.out_channels) : 0.0);
  cost.bytes = elements * bytes_of(layer.dtype);
  const double arithmetic = cost.flops / arithmetic_rate(layer, problem.target);
  const double memory = cost.bytes / problem.target.bytes_per_second;
  cost.memory_bound = memory >= arithmetic;
  cost.floor_seconds = std::max(memory, arithmetic);
  return cost;
}

}  // namespace convtgen
