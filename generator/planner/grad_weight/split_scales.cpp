#include "generator/planner/grad_weight/split_scales.h"

#include <algorithm>

namespace convtgen {

std::int64_t scan_slices(const Target& target, std::int64_t tiles) {
  constexpr std::int64_t kBlocks = 8;  // of an SM: 2048 threads
  constexpr std::int64_t kMostSlices = 32;
  return std::clamp<std::int64_t>(kBlocks * target.multiprocessors / tiles, 1, kMostSlices);
}

void add_scan(LaunchPlan& launch, std::int64_t slices, std::int64_t tiles, std::int64_t shared_bytes,
              std::int64_t channels) {
  launch.kernels.insert(launch.kernels.begin(), {.function = "scan_channels",
                                                 .suffix = "_scan",
                                                 .shared_bytes = shared_bytes,
                                                 .grid = {.blocks_per_tile = slices * tiles}});
  launch.regions.push_back({.name = "maxima",
                            .what = "the largest magnitudes of channels, by slices of the positions",
                            .bytes = {.constant = slices * channels * 4}});
}

}  // namespace convtgen
