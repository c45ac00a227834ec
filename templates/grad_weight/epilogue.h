// Accumulators become sums of a slice, or the gradient itself.
// Needs: kColumnRows, kPairedTaps, kStoredColumns, store_vector(), widen()
#pragma once

#include "device/barrier.h"
#include "device/weight_order.h"
#include "grad_weight/pipeline.h"
#include "layout.h"

// ---- Epilogue ----

// Adds the accumulators to the thread's totals, and zeroes them. The first time, it sets the totals.
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

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row, int i) {
  if (kChannelsTogether) {
    return row / P::block_out * kTapPitch + row % P::block_out + i;
  }
  if (kTaps % kStoreVector == 0) {
    return (row % kTaps + i) * kTapPitch + row / kTaps;
  }
  return (row + i) % kTaps * kTapPitch + (row + i) / kTaps;
}

// A thread's place among the columns that are stored at once.
__device__ __forceinline__ int column_at(int place) {
  constexpr int kOfWarp = 8 / kColumnDistance;
  return kColumnDistance == 1 ? place
                              : place % kOfWarp * kColumnDistance + place / kOfWarp % kColumnDistance + place / 8 * 8;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, int first_column, int count, const Target& target,
                                              float* __restrict__ partial, Element* __restrict__ grad_weight, bool adds,
                                              int thread) {
  const int place = thread / kVectorThreads;
  const int end = kConsumers % kVectorThreads == 0 || place < kColumnsAtOnce ? count : 0;
  for (int vector = thread % kVectorThreads; vector < kVectors; vector += kVectorThreads) {
    const int row = vector * kStoreVector;
    const int tap = kChannelsTogether ? row / P::block_out : row % kTaps;
    const int channel = kChannelsTogether ? row % P::block_out : row / kTaps;
    const int kw = target.first_kw + tap % P::taps_w;
    const int co = target.first_out + channel;
    const bool is_inside =
        (P::kernel_w % P::taps_w == 0 || kw < P::kernel_w) && (kGroupOut % P::block_out == 0 || co < kGroupOut);
#pragma unroll 2
    for (int column = column_at(place); column < end; column += kColumnsAtOnce) {
      const int kh = target.first_kh +
                     (kColumnRows == 1 ? tap / P::taps_w : kColumnRows - 1 - (first_column + column) / P::block_in);
      const int ci =
          target.first_in + (kColumnRows == 1 ? first_column + column : (first_column + column) % P::block_in);
      if (is_inside && (P::kernel_h % P::taps_h == 0 || kh < P::kernel_h) &&
          (kGroupIn % P::block_in == 0 || ci < kGroupIn)) {
        const float* from = columns + column * kColumnPitch;
        float sums[kStoreVector];
        if constexpr (kChannelsTogether && kStoreVector == 4) {
          const float4 together = *reinterpret_cast<const float4*>(from + place_in_column(row, 0));
          sums[0] = together.x;
          sums[1] = together.y;
          sums[2] = together.z;
          sums[3] = together.w;
        } else {
#pragma unroll
          for (int i = 0; i < kStoreVector; ++i) {
            sums[i] = from[place_in_column(row, i)];
          }
        }
        const long long weight = weight_offset_at(static_cast<long long>(target.group) * kGroupIn + ci, co, kh, kw,
                                                  kGroupOut, P::kernel_d * P::kernel_h, P::kernel_w);
        if constexpr (P::slices == 1) {
          if (adds) {  // to what is there
#pragma unroll
            for (int i = 0; i < kStoreVector; ++i) {
              sums[i] += widen(grad_weight[weight + i]);
            }
          }
          store_vector(grad_weight + weight, sums);
        } else {
          const long long at = target.slice * kWeights + weight;
          partial[at] = adds ? partial[at] + sums[0] : sums[0];
        }
      }
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators (&acc)[kOwnTiles], float* columns, const Target& target,
                                            float* __restrict__ partial, Element* __restrict__ grad_weight, bool adds,
                                            int warpgroup, int thread) {
  const int lane = thread % 32;
#pragma unroll
  for (int first = 0; first < kColumns; first += kStoredColumns) {
    named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
#pragma unroll
    for (int tile = 0; tile < kOwnTiles; ++tile) {
      const int rows = rows_of_tile(tile, warpgroup, thread);
      if (rows < kTaps * kBlocksOfRows) {
        float* to =
            columns + lane % 4 * 2 * kColumnPitch + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
#pragma unroll
        for (int column = 0; column < kStoredColumns; column += 8) {
          if (first + column < kColumns) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              to[(column + i % 2) * kColumnPitch + i / 2 * (kPairedTaps ? kTapPitch : 8)] =
                  acc[tile][(first + column) / 2 + i];
            }
          }
        }
      }
    }
    named_barrier_sync(1, kConsumers);
    store_columns(columns, first, min(kStoredColumns, kColumns - first), target, partial, grad_weight, adds, thread);
  }
}
