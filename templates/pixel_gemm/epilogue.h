// Accumulators become sums of a slice, or the gradient itself.
// Needs, above its line, narrow() and the type WeightIndex of device/weight_order.h, whatever that is.
#pragma once

#include "device/barrier.h"
#include "device/weight_order.h"
#include "layout.h"
#include "pixel_gemm/pipeline.h"

// ---- Epilogue ----

// Adds the accumulators to the thread's totals, and begins anew. The first time there are none yet.
__device__ __forceinline__ void promote(Accumulators (&acc)[kOwnTiles], float* totals, bool is_first) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      float* total = totals + (tile * (kColumns / 2) + i) * kConsumers;
      *total = is_first ? acc[tile][i] : *total + acc[tile][i];
      acc[tile][i] = 0;
    }
  }
}

// The accumulators with the thread's totals.
__device__ __forceinline__ void add_totals(Accumulators (&acc)[kOwnTiles], const float* totals) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      acc[tile][i] += totals[(tile * (kColumns / 2) + i) * kConsumers];
    }
  }
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_columns(const float* columns, int first_column, int count, const Target& target,
                                              float* __restrict__ partial, Element* __restrict__ grad_weight,
                                              int thread) {
#pragma unroll 4
  for (int i = thread; i < count * kRows; i += kConsumers) {
    const int column = i / kRows;
    const int row = i % kRows;
    const int tap = P::weight_channels_last ? row / P::block_out : row % kTaps;
    const int channel = P::weight_channels_last ? row % P::block_out : row / kTaps;
    const int kh = target.first_kh +
                   (kColumnRows == 1 ? tap / P::taps_w : kColumnRows - 1 - (first_column + column) / P::block_in);
    const int kw = target.first_kw + tap % P::taps_w;
    const int ci = target.first_in + (kColumnRows == 1 ? first_column + column : (first_column + column) % P::block_in);
    const int co = target.first_out + channel;
    if ((P::kernel_h % P::taps_h == 0 || kh < P::kernel_h) && (P::kernel_w % P::taps_w == 0 || kw < P::kernel_w) &&
        (kGroupIn % P::block_in == 0 || ci < kGroupIn) && (kGroupOut % P::block_out == 0 || co < kGroupOut)) {
      const float sum = columns[column * kColumnPitch + tap * kTapPitch + channel];
      const long long weight = weight_offset_at(static_cast<long long>(target.group) * kGroupIn + ci, co, kh, kw,
                                                kGroupOut, P::kernel_h, P::kernel_w);
      if (P::slices == 1) {
        grad_weight[weight] = narrow(sum);
      } else {
        partial[target.slice * kWeights + weight] = sum;
      }
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators (&acc)[kOwnTiles], float* columns, const Target& target,
                                            float* __restrict__ partial, Element* __restrict__ grad_weight,
                                            int warpgroup, int thread) {
  const int lane = thread % 32;
#pragma unroll
  for (int first = 0; first < kColumns; first += kStoredColumns) {
    named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
#pragma unroll
    for (int tile = 0; tile < kOwnTiles; ++tile) {
      const int rows = (tile * P::consumer_groups + warpgroup) * 4 + thread / 32 % 4;
      if (rows < kTaps * kBlocksOfRows) {
        float* to =
            columns + lane % 4 * 2 * kColumnPitch + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
#pragma unroll
        for (int column = 0; column < kStoredColumns; column += 8) {
          if (first + column < kColumns) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[tile][(first + column) / 2 + i];
            }
          }
        }
      }
    }
    named_barrier_sync(1, kConsumers);
    store_columns(columns, first, min(kStoredColumns, kColumns - first), target, partial, grad_weight, thread);
  }
}
