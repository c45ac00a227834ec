// What the templates for gradients of weights launch: products by slices of the positions, the sums of grad_y where the
// layer has a bias, and the addition of slices.
#pragma once

#include <cstdint>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// Bytes that the sums of slices, and what blocks keep in memory besides them, may take beyond the result.
inline constexpr std::int64_t kMostPartialBytes = std::int64_t{64} << 20;

/// What such a template adds up after its products.
struct AddedSlices {
  std::int64_t slices = 1;            // of the positions
  std::int64_t weights = 0;           // of the layer
  std::int64_t weight_alignment = 0;  // bytes that the address of grad_weight is a multiple of; 0: those of an element
  std::int64_t bias_slices = 1;       // of the positions whose sums grad_bias is made of
  std::int64_t totals_bytes = 0;      // of all blocks; 0: they keep none in memory
  bool sums_channels = true;          // by a kernel for that; else the products' kernel makes the sums of grad_y
  std::int64_t add_parts = 1;         // threads that add a weight's slices
  std::int64_t add_shared_bytes = 0;  // of a block of these
};

/// Adds to a launch that has the products, the main kernel, the sums of grad_y, the addition of slices, and the regions
/// of the workspace.
void add_slices(LaunchPlan& launch, const Layer& layer, const AddedSlices& added);

/// So many blocks for all slices, whose tiles are rows and columns of a plane.
[[nodiscard]] Grid sliced_grid(const Layer& layer, std::int64_t blocks, std::int64_t tile_rows,
                               std::int64_t tile_columns);

}  // namespace convtgen
