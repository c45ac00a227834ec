// Part of the template `patch_gemm`: outputs are stored from registers, as vectors of adjacent channels.
#pragma once

#include "columns.h"
#include "device/element.h"
#include "device/epilogue.h"

using Accumulators = float[kColumns / 2];

// A thread's biases, of its channels of each piece. Its accumulators have the same channels in all tiles.
using Biases = float[P::has_bias ? kPieces * P::store : 1];

// Whether this channel is one of the layer's, where the last block may have more.
__device__ inline bool has_channel(int channel) {
  return P::out_channels % P::block_c == 0 || channel < P::out_channels;
}

// Loads them from the bias of all channels; the block's channels begin at first_out.
__device__ __forceinline__ void load_biases(Biases& biases, const Element* __restrict__ bias, int first_out,
                                            int quarter) {
  if (P::has_bias) {
#pragma unroll
    for (int i = 0; i < kPieces * P::store; ++i) {
      const int channel = first_out + channel_of(i / P::store, quarter) + i % P::store;
      biases[i] = has_channel(channel) ? widen(bias[channel]) : 0;
    }
  }
}

// Stores the outputs of a tap of a pixel, `half` of the thread's two. `to` points to the block's first channel.
__device__ __forceinline__ void store_tap(Element* to, const Accumulators& acc, const Biases& biases, int half, int tap,
                                          int first_out, int quarter) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int channel = channel_of(piece, quarter);
    if (has_channel(first_out + channel)) {
      float outputs[P::store];
#pragma unroll
      for (int i = 0; i < P::store; ++i) {
        const float sum = acc[group_of(tap, piece, i) * 4 + half * 2 + place_in_group(i)];
        outputs[i] = epilogue(sum, P::has_bias ? biases[piece * P::store + i] : 0);
      }
      store_together(to + channel, outputs);
    }
  }
}

// Stores a tile's outputs. `first` is its first pixel, of `pixels` in all.
__device__ __forceinline__ void store_outputs(Element* __restrict__ y, const Accumulators& acc, const Biases& biases,
                                              int first, int pixels, int first_out, const int in_h, const int in_w,
                                              const int out_h, const int out_w) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int place = first + (threadIdx.x % 128 / 32 * 16 + half * 8 + threadIdx.x % 32 / 4);
    if (place < pixels) {
      const int row = place / in_w;  // of all images
      const int column = place - row * in_w;
      Element* to = y + (((kVolume ? static_cast<long long>(row / in_h) * P::stride_d * out_h + row % in_h * P::stride_h
                                   : static_cast<long long>(row) * P::stride_h) *
                              out_w +
                          column * P::stride_w) *
                             P::y_channels +
                         first_out);
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        store_tap(to + (static_cast<long long>(kVolume ? tap / (P::kernel_h * P::kernel_w) * out_h +
                                                             tap / P::kernel_w % P::kernel_h
                                                       : tap / P::kernel_w) *
                            out_w +
                        tap % P::kernel_w) *
                           P::y_channels,
                  acc, biases, half, tap, first_out, threadIdx.x % 4);
      }
    }
  }
}
