// Part of the template `mma_pixels`: outputs of fused phases, which are columns of a product.
// Needs: epilogue(), kGroupColumns, own_channel(), store_together()
#pragma once

#include "device/epilogue.h"

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
