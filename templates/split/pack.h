// The packing of weights that are split: B fragments of high and of low parts, with a scale for each output channel.
// Needs: Element, kChannelTiles, kColumnMaxima, kColumnPhases, kFragmentBytes, kGroupIn, kGroupOut, kInstructionK,
//   kKernelTaps, kLaneValues, kPackBlocks, kPackColumns, kPackedMaximaOffset, kPackedTileBytes, kPackers, kPackParts,
//   kPhaseGroups, kWarpChannels, kWeightBytes, P, packed_offset(), WeightIndex
#pragma once

#include "device/exchanged_weights.h"
#include "device/split.h"
#include "device/thread_channels.h"
#include "layout.h"

// Rows of 16 bytes that a thread packs, if the grid has a block for each such group of columns and part.
constexpr int kThreadRows = static_cast<int>(kPackedBytes / (16LL * kPackers * kPackBlocks));
constexpr int kSplitRows = larger(kThreadRows, 1);

// The weight of an input and an output channel of a group and a kernel tap, zero beyond the channels.
//
// Where phases are columns, `co` is a column, and the tap is one of its taps.
__device__ inline float weight_at(const Element* __restrict__ weight, int group, int ci, int co, int tap) {
  if constexpr (kColumnPhases > 1) {
    return (kGroupIn % P::block_k == 0 || ci < kGroupIn) &&
                   (kGroupOut * kColumnPhases % P::block_n == 0 || co < kGroupOut * kColumnPhases)
               ? weight[product_weight_offset(
                     static_cast<WeightIndex>(P::weights_exchanged ? ci : group * kGroupIn + ci),
                     (P::weights_exchanged ? group * kGroupOut : 0) + co / kColumnPhases,
                     tap * kColumnPhases + co % kColumnPhases, kGroupIn, kGroupOut, kKernelTaps * kColumnPhases)]
               : 0;
  }
  return (kGroupIn % P::block_k == 0 || ci < kGroupIn) && (kGroupOut % P::block_n == 0 || co < kGroupOut)
             ? weight[product_weight_offset(static_cast<WeightIndex>(P::weights_exchanged ? ci : group * kGroupIn + ci),
                                            P::weights_exchanged ? group * kGroupOut + co : co, tap, kGroupIn,
                                            kGroupOut, kKernelTaps)]
             : 0;
}

// The i-th of a block's columns that are packed, where these are phases: in their order, which is that of the weights.
__device__ inline int packed_column(int i) {
  return i - i % kWarpChannels + column_of_channel(i % kWarpChannels);
}

// The input channel of a lane's i-th weight of a k-step.
__device__ inline int channel_of_weight(int item, int i) {
  return item / (4 * kKernelTaps) * kInstructionK + i / 2 * 8 + item % 4 * 2 + i % 2;
}

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
__device__ __forceinline__ void pack_split(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  // Some columns at a time, each with a scale of its own, which each block that packs a part of them finds by itself.
  const int first = threadIdx.x / kPackColumns;
  for (int block = blockIdx.x; block < kPackBlocks; block += gridDim.x) {
    const int index = block / kPackParts;
    const int part = block % kPackParts;
    const int n = index * kPackColumns % P::block_n + threadIdx.x % kPackColumns;
    const int column = kColumnPhases > 1 ? packed_column(n) : n;
    const int channel_tile = index * kPackColumns / P::block_n;
    const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;
    const int first_tile = (group * (kPhaseGroups - 1)) * kChannelTiles + channel_tile;  // of the first phase rows
    const int of_warp = column % kWarpChannels;
    const int co = (channel_tile - group * kChannelTiles) * P::block_n + column - of_warp + channel_of_column(of_warp);
    unsigned char* to = packed + static_cast<long long>(first_tile) * kPackedTileBytes;
    float most = 0;
#pragma unroll 8
    for (int i = first; i < kGroupIn * kKernelTaps; i += kPackers / kPackColumns) {
      most = larger_finite(most, weight_at(weight, group, i / kKernelTaps, co, i % kKernelTaps));
    }
    for (int mask = 16; mask >= kPackColumns; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    }
    float* maxima = reinterpret_cast<float*>(to + kPackedMaximaOffset) + (column * kColumnMaxima + part * 8);
    if (threadIdx.x % 32 / kPackColumns == 0) {
      maxima[threadIdx.x / 32] = most;
    }
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) {
      most = fmaxf(most, maxima[warp]);
    }
    const int exponent = scale_exponent(most);
    if (part == 0 && first < kPhaseGroups) {
      reinterpret_cast<int*>(to + static_cast<long long>(first) * (kChannelTiles * kPackedTileBytes) +
                             kWeightBytes)[column] = exponent;
    }
#pragma unroll 2
    for (int item = first + part * (kPackers / kPackColumns); item < kLaneValues;
         item += kPackParts * (kPackers / kPackColumns)) {
      const int tap = item / 4 % kKernelTaps;
      const int k_step = item / (4 * kKernelTaps);
      SplitPair pairs[2];
      CONVTGEN_UNROLL
      for (int half = 0; half < 2; ++half) {
        pairs[half] = split_pair(weight_at(weight, group, channel_of_weight(item, half * 2), co, tap),
                                 weight_at(weight, group, channel_of_weight(item, half * 2 + 1), co, tap),
                                 power_of_two(exponent), true);
      }
      unsigned char* of_tap = to + packed_offset(k_step, tap);
      reinterpret_cast<uint4*>(of_tap + column / 8 * kFragmentBytes)[column % 8 * 4 + item % 4] =
          make_uint4(pairs[0].high, pairs[1].high, pairs[0].low, pairs[1].low);
    }
  }
}
