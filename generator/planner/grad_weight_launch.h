// What the templates for gradients of weights launch: products by slices of the positions, the sums of grad_y where the
// layer has a bias, and the addition of slices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/planner/launch_plan.h"

namespace convtgen {

/// Bytes that the sums of slices, and what blocks keep in memory beside them, may take beyond the result.
inline constexpr std::int64_t kMostPartialBytes = std::int64_t{64} << 20;

struct GradWeightLaunch {
  std::string function;               // of the products
  std::int64_t blocks = 0;            // of a slice
  std::int64_t weights = 0;           // of the layer
  std::int64_t weight_alignment = 0;  // bytes that the address of grad_weight is a multiple of; 0: those of an element
  std::int64_t totals_bytes = 0;      // of all blocks; 0: they keep none in memory
  std::vector<Grid::Bound> bounds;
};

[[nodiscard]] LaunchPlan grad_weight_launch(const Problem& problem, const Plan& plan, GradWeightLaunch products);

}  // namespace convtgen
