// Places of gradients' sources that need not be 64-bit (UnseenOffsets).
#pragma once

namespace convtgen::testing {

// Partial results of slices take at most 64 MiB: a thread each adds them.
inline constexpr const char* kAddingSlices = "kernel: const long long i";
inline constexpr const char* kAddingBlocks = "kernel: static_cast<long long>(blockIdx.x)";
// No memory holds the positions of as many tiles.
inline constexpr const char* kFirstTile = "kernel: const long long first_tile";
inline constexpr const char* kTilesOfBatch = "kernel: static_cast<long long>(batch)";

}  // namespace convtgen::testing
