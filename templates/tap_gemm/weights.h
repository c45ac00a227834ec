// The packing of weights: B operands as they lie in shared memory, so that copies bring them as they are.
#pragma once

#include "device/grid.h"
#include "layout.h"

using WeightIndex = long long;

#include "device/weight_order.h"

// The input channel of the tile at column n of a product: eight of a thread's accumulators are adjacent channels.
__device__ __forceinline__ int channel_of_column(int n) {
  return n / 32 * 32 + n / 2 % 4 * 8 + n / 8 % 4 * 2 + n % 2;
}

// Packs a vector of output channels: adjacent threads read adjacent weights.
__device__ __forceinline__ void pack(const Element* __restrict__ weight, unsigned char* __restrict__ packed,
                                     int index) {
  const int tap = P::weight_channels_last ? index / (kVectors * kKBlocks) % kTaps : index % kTaps;
  const int all_vectors =
      P::weight_channels_last ? index % (kVectors * kKBlocks) : index / kTaps % (kVectors * kKBlocks);
  const int n = index / (kTaps * kVectors * kKBlocks) % P::block_n;
  const int n_tile = index / (kTaps * kVectors * kKBlocks) / P::block_n;
  if (kPackedBytes / 16 % 256 == 0 || n_tile < kNTiles) {
    const int ci = n_tile * P::block_n + channel_of_column(n);
    const int co = all_vectors * 8;
    const bool exists = (P::in_channels % P::block_n == 0 || ci < P::in_channels) &&
                        (P::out_channels % P::block_k == 0 || co < P::out_channels);
    unsigned int words[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const WeightIndex low = weight_offset(static_cast<WeightIndex>(ci), co + 2 * word, tap, P::out_channels, kTaps);
      words[word] = exists ? static_cast<unsigned int>(weight[low]) |
                                 static_cast<unsigned int>(weight[low + weight_channel_step(kTaps)]) << 16
                           : 0;
    }
    const int vector = all_vectors % kVectors ^ n / (128 / kSwizzle) % kVectors;  // its place in the row's swizzle
    *reinterpret_cast<uint4*>(packed + n_tile * kPackedTileBytes +
                              (tap * kKBlocks + all_vectors / kVectors) * kWeightBytes + n * kSwizzle + vector * 16) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// Packs the weights by N tile, tap and k-block: rows of output channels, one for each input channel of the tile.
extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
}
