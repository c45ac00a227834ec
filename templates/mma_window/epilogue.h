// Stores a warp's accumulators as outputs.
// Needs: columns_to(), Element, first_column(), first_row(), kAdjacentChannels, kernel_column(), kernel_row(), kFlat,
//   kGroupOut, kHaloH, kHaloW, kPhases, kVolume, kWarpChannels, P, rows_to(), store_together()
#pragma once

#include "device/epilogue.h"
#include "device/thread_channels.h"
#include "mma_window/accumulators.h"
#include "window/tile.h"

// Whether any tap makes outputs of a phase of the block; the others are bias alone.
__host__ __device__ constexpr bool is_made(int phase) {
  bool made = false;
  for (int y = 0; y <= kHaloH; ++y) {
    for (int x = 0; x <= kHaloW; ++x) {
      made = made || (kernel_row(y, phase / P::stride_w) >= 0 && kernel_column(x, phase % P::stride_w) >= 0);
    }
  }
  return made;
}

// The thread's i-th channel of a phase of a tile, for its row of that half.
__device__ __forceinline__ float acc_of(const float (&acc)[kPhases][kWarpChannels / 8][4], int phase, int i, int half) {
  return is_made(phase) ? acc[phase][i / 2][half * 2 + i % 2] : 0;
}

// Stores a thread's outputs in nhwc, which are the `row`-th positions of its warp's tiles and the eighth after these.
// {with place: `place` is the warp's first position in the block's tile, }`channel` the thread's first channel of the
// block's, `y` the block's first channel of the first image{with left: , `left` how many channels there are from there
// on}.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, Element* __restrict__ y, const float* bias,
                                             const Tile& tile, int place, int row, int channel, int left,
                                             const int phase_row, const int batch, const int in_h, const int in_w,
                                             const int out_d, const int out_h, const int out_w) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int first = 0; first < P::warp_tiles; ++first) {
      const int plane = kVolume ? tile.plane : 0;
      const int column = first_column(place) + columns_to(first, row + half * 8);
      const int at = kFlat ? tile.m_x + column : 0;  // in the sequence
      const int image = kFlat ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
      const int m_y =
          kFlat ? at / (in_w + kGapW) % (in_h + kGapH) : tile.m_y + first_row(place) + rows_to(first, row + half * 8);
      const int m_x = kFlat ? at % (in_w + kGapW) : tile.m_x + column;
#pragma unroll
      for (int phase_h = 0; phase_h < P::phase_rows; ++phase_h) {
        const int oy = m_y * P::stride_h + phase_row + phase_h - P::padding_h;
        if (oy >= 0 && oy < out_h && (!kFlat || image < batch)) {
#pragma unroll
          for (int phase_w = 0; phase_w < P::stride_w; ++phase_w) {
            const int ox = m_x * P::stride_w - P::padding_w + phase_w;
            if (ox >= 0 && ox < out_w) {
              Element* to =
                  y + (((static_cast<long long>(image) * out_d + plane) * out_h + oy) * out_w + ox) * P::y_channels +
                  channel;
#pragma unroll
              for (int i = 0; i < kWarpChannels / 4; i += P::store) {
                const int before = channels_before(i);
                if (kGroupOut % P::block_n == 0 || before < left - channel) {
                  float values[P::store];
#pragma unroll
                  for (int v = 0; v < P::store; ++v) {
                    values[v] = epilogue(acc_of(acc[first], phase_h * P::stride_w + phase_w, i + v, half),
                                         P::has_bias ? bias[channel + before + v] : 0);
                  }
                  store_together(to + before, values);
                }
              }
            }
          }
        }
      }
    }
  }
}

#include "mma_window/store_planes.h"

// Stores a warp's outputs. {with first: `first` is its first position in the block's tile, }`channel` its first channel
// of the block's{with first_channel: , whose first one of all is `first_channel`}{with place: ; `place` is the warp's
// in shared memory}{with left: , `left` how many channels of the group there are from the block's first one on}.
__device__ __forceinline__ void store_tiles(const Accumulators& acc, Element* __restrict__ y, Element* place,
                                            const float* bias, const Tile& tile, int first, int lane, int channel,
                                            int first_channel, int left, const int phase_row, const int batch,
                                            const int in_h, const int in_w, const int out_d, const int out_h,
                                            const int out_w) {
  if constexpr (P::channels_last) {
    store_pixels(acc, y + first_channel, bias, tile, first, lane / 4, channel + lane % 4 * kAdjacentChannels, left,
                 phase_row, batch, in_h, in_w, out_d, out_h, out_w);
  } else {
    store_planes(acc, y + static_cast<long long>(first_channel) * out_d * out_h * out_w, place, bias, tile, first, lane,
                 channel, left, phase_row, batch, in_h, in_w, out_d, out_h, out_w);
  }
}
