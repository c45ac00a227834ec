// The gradient of the bias by the threads that multiply, for gradients of weights: sums of the rows of A fragments,
// which are of grad_y. The template's columns.h says whether each of its elements is in one fragment. Needs: kOwnTiles,
// kSumsRows, kTaps, operand(), rows_of_tile(), widen()
// Needs: kPairedTaps, kRoundsSummed, kSumsRows, operand(), widen()
#pragma once

#include "device/barrier.h"
#include "device/warpgroup.h"
#include "grad_weight/pipeline.h"

// A thread's sums of its two rows of each tile; of both together where they are taps of one channel.
constexpr int kRowSums = kPairedTaps ? 1 : 2;
using RowSums = float[kOwnTiles][kRowSums];

__device__ __forceinline__ float sum_of_word(unsigned int word) {
  if constexpr (P::type == kWgmmaTf32) {
    return __uint_as_float(word);
  } else {
    return widen(static_cast<unsigned short>(word & 0xffffu)) + widen(static_cast<unsigned short>(word >> 16));
  }
}

// Adds a fragment's rows. Its words come as they are in memory, and leave as products take them.
__device__ __forceinline__ void add_fragment(float (&sums)[kRowSums], unsigned int (&fragment)[4]) {
  const float first = sum_of_word(fragment[0]) + sum_of_word(fragment[2]);
  const float second = sum_of_word(fragment[1]) + sum_of_word(fragment[3]);
  if constexpr (kPairedTaps) {
    sums[0] += first + second;
  } else {
    sums[0] += first;
    sums[1] += second;
  }
  // The assembler put the additions off, and spilled the words of later fragments.
  const unsigned int sum = __float_as_uint(sums[0]);
  const unsigned int other_sum = __float_as_uint(sums[kRowSums - 1]);
  const unsigned int made[4] = {sum, other_sum, sum, other_sum};
  wgmma_keep_operand(made, gridDim.x >> 31);
  if constexpr (kRoundsSummed) {
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      fragment[word] = operand(fragment[word]);
    }
  }
}

// Blocks of a slice that have the same output channels share their sums: those of the first input channels store them.
constexpr int kBiasParts = kTapGroups;  // of a slice

static_assert(!kSumsRows || P::bias_slices == P::slices * kBiasParts, "all sums are added");

// Stores the sums of a block's channels, through shared memory.
__device__ __forceinline__ void store_row_sums(const RowSums& row_sums, float* sums, const Target& target, int part,
                                               float* __restrict__ partial_bias, int warpgroup, int thread) {
  named_barrier_sync(1, kConsumers);  // the stages have been read
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
    const int rows = rows_of_tile(tile, warpgroup, thread);
#pragma unroll
    for (int half = 0; half < kRowSums; ++half) {
      // A row's positions are shared by four lanes.
      float sum = row_sums[tile][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (thread % 4 == 0 && rows < kTaps * kBlocksOfRows) {
        const int channel = channel_of_rows(rows) + thread % 32 / 4 + half * 8;
        sums[tap_of_rows(rows) / kRowTaps * P::block_out + channel] = sum;
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  if (target.first_in == 0 && thread < P::block_out &&
      (kGroupOut % P::block_out == 0 || target.first_out + thread < kGroupOut)) {
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < kTaps / kRowTaps; ++tap) {
      sum += sums[tap * P::block_out + thread];
    }
    partial_bias[part * P::out_channels + target.group * kGroupOut + target.first_out + thread] = sum;
  }
}
