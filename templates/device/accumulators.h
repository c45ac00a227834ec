// A thread's accumulators: of each of a warpgroup's tiles of 64 rows, those of all columns of a product.
// Needs, above its line, kMTiles, kInstructionN and kMostAccumulators.
#pragma once

#include "device/warpgroup.h"

using Accumulators = float[kMTiles][kInstructionN / 2];

static_assert(kInstructionN <= 256 && kMTiles * kInstructionN / 2 <= kMostAccumulators,
              "the accumulators fit the registers");

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
#pragma unroll
  for (int i = 0; i < kMTiles * (kInstructionN / 2); ++i) {
    wgmma_pin(acc[i / (kInstructionN / 2)][i % (kInstructionN / 2)]);
  }
}
