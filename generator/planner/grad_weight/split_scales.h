// What the templates share that may split values into two parts: the kernel that finds the largest magnitudes before.
#pragma once

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// As many slices of the positions as keep the chip's threads busy, each of so many tiles of channels: the templates'
/// parameter `scan_slices`.
[[nodiscard]] std::int64_t scan_slices(const Target& target, std::int64_t tiles);
/// Adds the kernel, first in the launch, and the region of the workspace that it writes: a maximum for each channel.
void add_scan(LaunchPlan& launch, std::int64_t slices, std::int64_t tiles, std::int64_t shared_bytes,
              std::int64_t channels);

}  // namespace convtgen
