// Places of gradients' sources that need not be 64-bit (UnseenOffsets).
#pragma once

#include <utility>

#include "tests/template_facts/facts.h"

namespace convtgen::testing {

// Partial results of slices take at most 64 MiB: a thread each adds them.
inline constexpr const char* kAddingSlices = "kernel: const long long i";
inline constexpr const char* kAddingBlocks = "kernel: static_cast<long long>(blockIdx.x)";
// No memory holds the positions of as many tiles.
inline constexpr const char* kFirstTile = "kernel: const long long first_tile";
inline constexpr const char* kTilesOfBatch = "kernel: static_cast<long long>(batch)";

/// These, and how far a thread of the bias's sums goes on: no grid is so large.
inline UnseenOffsets with_bias_steps(UnseenOffsets places) {
  places.insert({"sum_elements: const long long step_images", "sum_elements: const long long step_places",
                 "sum_elements: static_cast<long long>(places.step)", "sum_vectors: const long long step_images",
                 "sum_vectors: const long long step_places"});
  return places;
}

}  // namespace convtgen::testing
