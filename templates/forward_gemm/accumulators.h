// A thread's accumulators of a tile.
// Needs: kAccumulatorSets, kInstructionN, kMTiles
#pragma once

#include "device/warpgroup.h"
#include "layout.h"

// By sets of fused phases and by instruction tiles of 64 positions.
using Accumulators = float[kAccumulatorSets][kMTiles][kInstructionN / 2];

constexpr int kSetAccumulators = kMTiles * kInstructionN / 2;
// The i-th of them.
__device__ __forceinline__ float& acc_at(Accumulators& acc, int i) {
  return acc[i / kSetAccumulators][i / (kInstructionN / 2) % kMTiles][i % (kInstructionN / 2)];
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
#pragma unroll
  for (int i = 0; i < kAccumulatorSets * kSetAccumulators; ++i) {
    wgmma_pin(acc_at(acc, i));
  }
}
