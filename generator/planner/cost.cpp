#include "generator/planner/cost.h"

#include <algorithm>

namespace convtgen {

Cost cost_of(const Problem& problem, const Shape& shape) {
  const Layer& layer = problem.layer;
  Cost cost;
  cost.flops = 2.0 * static_cast<double>(multiply_adds(layer, shape));
  const double elements = static_cast<double>(shape.input_elements) + static_cast<double>(shape.weight_elements) +
                          static_cast<double>(shape.output_elements) +
                          (layer.bias ? static_cast<double>(layer.out_channels) : 0.0);
  cost.bytes = elements * bytes_of(layer.dtype);
  const double arithmetic =
      cost.flops / (layer.dtype == Dtype::kF64 ? problem.target.f64_flops : problem.target.f32_flops);
  const double memory = cost.bytes / problem.target.bytes_per_second;
  cost.memory_bound = memory >= arithmetic;
  cost.floor_seconds = std::max(memory, arithmetic);
  return cost;
}

}  // namespace convtgen
