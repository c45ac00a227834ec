#include "generator/planner/grad_weight/launch.h"

#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/scalar.h"

namespace convtgen {

void add_slices(LaunchPlan& launch, const Layer& layer, const AddedSlices& added) {
  if (added.weight_alignment > 0) {
    align(launch, Role::kGradWeight, added.weight_alignment);
  }
  if (added.slices > 1) {
    launch.regions.push_back({.name = "partial",
                              .what = "sums of slices of the positions",
                              .bytes = {.constant = added.slices * added.weights * sum_bytes(layer)}});
  }
  if (added.totals_bytes > 0) {
    launch.regions.push_back(
        {.name = "totals", .what = "fp32 totals of the blocks", .bytes = {.constant = added.totals_bytes}});
  }
  if (layer.bias) {
    add_channel_sums(launch, layer, added.bias_slices, added.sums_channels);
  }
  const std::int64_t sums = (added.slices > 1 ? added.weights : 0) + (layer.bias ? layer.out_channels : 0);
  if (sums > 0) {
    launch.kernels.push_back({.function = "add_slices",
                              .suffix = "_add",
                              .shared_bytes = added.add_shared_bytes,
                              .grid = {.axes = {{{.constant = sums * added.add_parts}, 1}}},
                              .per_thread = true});
  }
}

Grid sliced_grid(const Layer& layer, std::int64_t blocks, std::int64_t tile_rows, std::int64_t tile_columns) {
  return by_planes({.blocks_per_tile = blocks, .bounds = staged_bounds(layer, tile_rows, tile_columns)}, layer,
                   Quantity::kInDepth);
}

}  // namespace convtgen
