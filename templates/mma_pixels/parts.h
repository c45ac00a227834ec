// Part of the template `mma_pixels`: tiles that several blocks make, each for a part of the steps.
#pragma once

#include "device/static_parameters.h"
#include "layout.h"

// The tile, of all phases, of what a block makes.
__device__ inline int tile_of(int index, int whole) {
  return index < whole ? index : whole + (index - whole) / P::parts;
}

__device__ inline int phase_of(int tile, int tiles) {
  return kPhasesTogether ? tile % kPhases : tile / tiles;
}

// The first step of a part, which has whole k-blocks where their taps follow one another. Of a whole tile: 0.
__device__ inline int first_step(int part, int taps) {
  return part < 0      ? 0
         : kTapsInside ? kKBlocks * part / P::parts * taps
                       : static_cast<int>(static_cast<long long>(kKBlocks) * taps * part / P::parts);
}

__device__ inline int steps_of(int part, int taps) {
  return part < 0 ? kKBlocks * taps : first_step(part + 1, taps) - first_step(part, taps);
}

// Where a thread's sums of a part begin.
__device__ inline float* part_of(float* partials, int number, int thread) {
  return partials + (static_cast<long long>(number) * (kPartBytes / 4) + thread * 4);
}

// Puts a thread's sums into the workspace.
__device__ __forceinline__ void put_part(const Accumulators& acc, float* partials, int number, int thread) {
  float* to = part_of(partials, number, thread);
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int eight = 0; eight < kWarpChannels / 8; ++eight) {
      const float(&values)[4] = acc[tile][eight];
      *reinterpret_cast<uint4*>(to + (tile * (kWarpChannels / 8) + eight) * (kThreads * 4)) =
          make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                     __float_as_uint(values[3]));
    }
  }
}

// Adds the sums of a part that a thread has put there.
__device__ __forceinline__ void add_part(Accumulators& acc, const float* from) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int eight = 0; eight < kWarpChannels / 8; ++eight) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + (tile * (kWarpChannels / 8) + eight) * (kThreads * 4));
      acc[tile][eight][0] += __uint_as_float(words.x);
      acc[tile][eight][1] += __uint_as_float(words.y);
      acc[tile][eight][2] += __uint_as_float(words.z);
      acc[tile][eight][3] += __uint_as_float(words.w);
    }
  }
}
