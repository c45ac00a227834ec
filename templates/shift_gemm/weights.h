// The packing of weights: B operands in the order in which products read them.
#pragma once

#include "device/element.h"
#include "device/grid.h"
#include "forward_gemm/weights.h"
#include "layout.h"

// The weight of an input and an output channel, zero outside of the layer.
__device__ __forceinline__ Element weight_at(const Element* __restrict__ weight, int ci, int co, int tap) {
  return (P::in_channels % P::block_k == 0 || ci < P::in_channels) &&
                 (P::out_channels % P::block_n == 0 || co < P::out_channels)
             ? weight[product_weight_offset(static_cast<WeightIndex>(ci), co, tap, P::in_channels, P::out_channels, kTaps)]
             : static_cast<Element>(0);
}

// The row of 16 bytes that a column has in one half of a tap's operand.
__device__ __forceinline__ int operand_row(int tap, int k_step, int half, int n) {
  return (tap / kFusedPhases * kKSteps + k_step) * (2 * kInstructionN) + half * kInstructionN +
         tap % kFusedPhases * P::block_n + n;
}

constexpr int kPackedRows = greatest_common_divisor(kAllKSteps, 4);

// Packs {kPackedRows} rows of 16 bytes, of successive k-steps, so that their loads are in flight together. Adjacent
// threads read adjacent weights, of all phase rows.
__device__ __forceinline__ void pack(const Element* __restrict__ weight, unsigned char* __restrict__ packed,
                                     int index) {
  const int place = P::weight_channels_last ? index / P::block_n % kTaps : index % kTaps;
  const int n = P::weight_channels_last ? index % P::block_n : index / kTaps % P::block_n;
  const int half = index / (kTaps * P::block_n) % 2;
  const int first = index / (kTaps * P::block_n * 2) % (kAllKSteps / kPackedRows) * kPackedRows;
  const int channel_tile = index / (kTaps * P::block_n * 2 * (kAllKSteps / kPackedRows));
  if (channel_tile < P::groups * kChannelTiles) {
    const int kh = place / P::kernel_w;
    const int tap = kRowGroups == 1 ? place : kh / kRowGroups * P::kernel_w + place % P::kernel_w;
    const int phase_row = kPhaseGroups == 1 ? 0 : (kh + P::stride_h - P::padding_h % P::stride_h) % P::stride_h;
    const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;
    const int n_tile = (group * (kPhaseGroups - 1) + phase_row) * kChannelTiles + channel_tile;
    const int co = (channel_tile - group * kChannelTiles) * P::block_n + channel_of_column(n);
    unsigned char* tile_weights = packed + static_cast<long long>(n_tile) * kPackedTileBytes;
    if constexpr (P::groups > 1) {
      weight += group * kGroupWeights;
    }
#pragma unroll
    for (int k_step = first; k_step < first + kPackedRows; ++k_step) {
      const int ci = k_step * kInstructionK + (P::channels_last ? half * (kVector / 4) : half * kVector);
      unsigned int words[4];
      CONVTGEN_UNROLL
      for (int word = 0; word < 4; ++word) {
        if (P::type == kWgmmaTf32) {
          words[word] = operand(bits_of(weight_at(weight, ci + (P::channels_last ? 2 : 1) * word, co, place)));
        } else {
          const int pair = (P::channels_last ? 4 : 2) * word;
          words[word] = static_cast<unsigned int>(weight_at(weight, ci + pair, co, place)) |
                        static_cast<unsigned int>(weight_at(weight, ci + pair + 1, co, place)) << 16;
        }
      }
      unsigned char* block_weights = tile_weights + k_block_of(k_step, kh) * kKBlockWeightBytes;
      *reinterpret_cast<uint4*>(block_weights + operand_row(tap, k_step % kKSteps, half, n) * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// Packs the weights by N tile, k-block, tap and k-step: two columns of a B operand each.
//
// An N tile is a block's output channels and phase rows. With channels last, a consumer loads adjacent channels of x
// together, so a product's K is another order of them.
extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
}
