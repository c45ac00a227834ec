// Part of the template `mma_phases`: outputs, through what lanes of a warp exchange, so that they store adjacent ones.
#pragma once

#include "device/epilogue.h"
#include "layout.h"

using WeightIndex = long long;
#include "device/defined_sum.h"

// Lines whose sums are loaded before the first is stored.
constexpr int kLinesTogether = kLines <= 8       ? kLines
                               : kLines % 4 == 0 ? 4
                               : kLines % 3 == 0 ? 3
                               : kLines % 2 == 0 ? 2
                                                 : 1;

// Stores a warp's outputs of a tile.
__device__ __forceinline__ void store_tile(const Accumulators& acc, float* exchange, const Element* __restrict__ x,
                                           const Element* __restrict__ weight, const Element* __restrict__ bias,
                                           Element* __restrict__ y, const Tile& tile, const CallSizes& sizes, int first,
                                           int lane) {
#pragma unroll
  for (int chunk = 0; chunk < P::warp_chunks; ++chunk) {
#pragma unroll
    for (int i = 0; i < kRowTiles * 2; ++i) {
      const int row = i * 8 + lane / 4;  // of the products
      float* line = exchange + row / P::stride_w * kLinePitch;
      if (kRows % kInstructionM == 0 || row < kRows) {
#pragma unroll
        for (int j = 0; j < 2 * kVector; ++j) {
          const int element = (lane % 4 * (2 * kVector) + j) * P::stride_w + row % P::stride_w;
          line[place_in_line(element)] = acc[chunk][i / 2][j % kVector][i % 2 * 2 + j / kVector];
        }
      }
    }
    __syncwarp();  // all lanes have written
#pragma unroll 2
    for (int element = lane; element < kLine; element += 32) {
      const int position = first + chunk * kChunk + element / P::stride_w;
      const int tile_row = position / P::staged_columns;
      const int tile_column = position % P::staged_columns;
      const int out_row = (tile.row + tile_row) * P::stride_h - P::padding_h;
      const int out_column = (tile.column + tile_column) * P::stride_w - P::padding_w + element % P::stride_w;
      if (tile_row < P::tile_h && tile_column < kTileColumns && out_column >= 0 && out_column < sizes.out_w) {
        Element* to = y + ((static_cast<long long>(tile.image) * P::y_channels * sizes.out_h + out_row) * sizes.out_w +
                           out_column);
        const float* from = exchange + place_in_line(element);
#pragma unroll 1
        for (int line = 0; line < kLines; line += kLinesTogether) {
          float sums[kLinesTogether];
          float finite = 0;  // else NaN
#pragma unroll
          for (int i = 0; i < kLinesTogether; ++i) {
            sums[i] = from[(line + i) * kLinePitch];
            finite = fmaf(sums[i], 0, finite);
          }
          if (finite != 0) {
#pragma unroll
            for (int i = 0; i < kLinesTogether; ++i) {
              sums[i] = defined_sum((line + i) / P::stride_h, out_row + (line + i) % P::stride_h + P::padding_h,
                                    out_column + P::padding_w, tile.image, x, weight, sizes.in_h, sizes.in_w);
            }
          }
#pragma unroll
          for (int i = 0; i < kLinesTogether; ++i) {
            const int channel = (line + i) / P::stride_h;
            const int row = (line + i) % P::stride_h;
            if (out_row + row >= 0 && out_row + row < sizes.out_h) {
              to[(static_cast<long long>(channel) * sizes.out_h + row) * sizes.out_w] =
                  narrow(epilogue(sums[i], P::has_bias ? widen(bias[channel]) : 0));
            }
          }
        }
      }
    }
    __syncwarp();  // all lanes have read what is written next
  }
}
