// Part of the template `mma_pixels`: outputs of fused phases, which are columns of a product.
// Needs: epilogue(), kGroupColumns, narrow(), own_channel(), store_together()
#pragma once

#include "device/epilogue.h"

// Stores pairs that begin with a position's second phase: its next position's first phase is the next quad's. Rows have
// whole pairs. It takes what store_phases() does. Collective.
__device__ __forceinline__ void store_shifted_pairs(const Accumulators& acc, Element* __restrict__ y,
                                                    const long long* stored, const int* first_columns,
                                                    const float* bias, int row, int column, int left, long long plane,
                                                    const int out_w) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = row + tile * 16 + half * 8;
      const long long to = stored[position];
      const int ox = first_columns[position];
#pragma unroll
      for (int i = 0; i < kWarpChannels / 4; i += 2) {
        const int own = own_channel(column, i);
        const float first = acc[tile][i / 2][half * 2];
        const float eighth = half == 0 ? acc[tile][i / 2][2] : tile + 1 < kWarpTiles ? acc[tile + 1][i / 2][0] : 0;
        const float next = __shfl_sync(0xffffffffu, lane < 4 ? eighth : first, (lane + 4) % 32);
        if (to >= 0 && (kGroupColumns % P::block_n == 0 || own < left)) {
          const float own_bias = P::has_bias ? bias[own] : 0;
          Element* at = y + to + ox + own / 2 * plane;
          // The warp's first and last outputs are halves of pairs with those of other warps.
          if (tile == 0 && half == 0 && lane < 4 && ox >= 0) {
            *at = narrow(epilogue(first, own_bias));
          }
          if (ox + 1 < out_w) {
            float values[P::store];
            values[0] = epilogue(acc[tile][i / 2][half * 2 + 1], own_bias);
            values[P::store - 1] = epilogue(next, own_bias);
            if (tile + 1 == kWarpTiles && half == 1 && lane >= 28) {
              at[1] = narrow(values[0]);
            } else {
              store_together(at + 1, values);
            }
          }
        }
      }
    }
  }
}

// Stores a thread's outputs: of each position so many adjacent ones of a channel together. Columns before a row's first
// output, and after its last one, are of no output: whole vectors, since rows begin and end with these. `stored` is
// where each position's row begins, and `first_columns` its first phase's column; else it takes what store_outputs()
// does.
__device__ __forceinline__ void store_phases(const Accumulators& acc, Element* __restrict__ y, const long long* stored,
                                             const int* first_columns, const float* bias, int row, int column, int left,
                                             long long plane, const int out_w) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = row + tile * 16 + half * 8;
      const long long to = stored[position];
      const int first = first_columns[position];
      if (to >= 0) {
#pragma unroll
        for (int i = 0; i < kWarpChannels / 4; i += P::store) {
          const int own = own_channel(column, i);
          const int ox = first + own % P::column_phases;
          if (ox >= 0 && ox < out_w && (kGroupColumns % P::block_n == 0 || own < left)) {
            float values[P::store];
#pragma unroll
            for (int v = 0; v < P::store; ++v) {
              values[v] = epilogue(acc[tile][(i + v) / 2][half * 2 + (i + v) % 2], P::has_bias ? bias[own] : 0);
            }
            store_together(y + to + ox + own / P::column_phases * plane, values);
          }
        }
      }
    }
  }
}
