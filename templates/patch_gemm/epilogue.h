// Part of the template `patch_gemm`: the outputs of a tile go through shared memory, so that whole sectors are stored.
#pragma once

#include "device/barrier.h"
#include "device/element.h"
#include "device/epilogue.h"
#include "layout.h"

using Accumulators = float[kColumns / 2];
constexpr bool kInPairs = !kTurned && kTaps == 4;  // of taps, whose halves are parted when they are loaded

// Outputs lie in shared memory in units of 16 bytes. Threads that write together, or read together, have units in
// different banks: `moved` is exclusive-or'ed.
//
// Of each tap, of each pixel, the channels: 8 pixels are written together, or 2 pixels with 4 taps.
__device__ inline unsigned int unit_of(unsigned int tap, unsigned int pixel, unsigned int unit) {
  const unsigned int lane_tap = tap / 2 % 4;
  const unsigned int moved = kTurned       ? pixel / (8 / kUnits) % kUnits
                             : kUnits == 4 ? lane_tap
                                           : (lane_tap & 1) | (lane_tap & 2) << 1;
  return ((tap * kTilePixels + pixel) * kUnits + unit) ^ moved;
}

// Of four taps, of two adjacent ones, of each pixel, words of both taps for each channel: first those of four channels
// of each eight, then those of the others. In the second two taps the first two channels of four are behind the others.
__device__ inline unsigned int pair_unit(unsigned int tap_pair, unsigned int pixel, unsigned int unit) {
  const unsigned int moved = (pixel & 1) << 2 | (pixel & 2) | (pixel & 4) >> 2;
  return ((tap_pair * kTilePixels + pixel) * (2 * kUnits) + unit) ^ moved % (2 * kUnits);
}

// A thread's biases. Its accumulators have the same channels in all tiles.
constexpr int kOwnBiases = !P::has_bias ? 1 : kTurned ? P::block_c / 4 : kInPairs ? kColumns / 8 : P::block_c;
using Biases = float[kOwnBiases];

// The channel, of the block's, of a thread's bias of this number.
__device__ inline int bias_channel(int i, int quarter) {
  return kTurned ? i / 2 * 8 + quarter * 2 + i % 2 : kInPairs ? i * 2 + quarter / 2 : i;
}

// Loads them from the bias of all channels, of which the block has those from first_out on.
__device__ __forceinline__ void load_biases(Biases& biases, const Element* __restrict__ bias, int first_out,
                                            int quarter) {
  if (P::has_bias) {
#pragma unroll
    for (int i = 0; i < kOwnBiases; ++i) {
      const int channel = first_out + bias_channel(i, quarter);
      biases[i] = P::out_channels % P::block_c == 0 || channel < P::out_channels ? widen(bias[channel]) : 0;
    }
  }
}

// An output of an accumulator, whose bias has this number.
__device__ __forceinline__ float output_of(float sum, const Biases& biases, int i) {
  return epilogue(sum, P::has_bias ? biases[i] : 0);
}

// Writes the outputs of a thread's accumulators of a pixel, `half` of its two, where the channels of a tap follow one
// another: two adjacent ones in a word.
__device__ __forceinline__ void put_channels(unsigned char* to, const Accumulators& acc, const Biases& biases, int half,
                                             unsigned int pixel, unsigned int quarter) {
#pragma unroll
  for (int group = 0; group < kColumns / 8; ++group) {
    const int channel = group * 8 % P::block_c;
    const unsigned int unit = unit_of(group * 8 / P::block_c, pixel, channel / 8);
    *reinterpret_cast<unsigned int*>(to + unit * 16 + quarter * 4) =
        pair(output_of(acc[group * 4 + half * 2], biases, channel / 4),
             output_of(acc[group * 4 + half * 2 + 1], biases, channel / 4 + 1));
  }
}

// Writes the outputs of a thread's accumulators of both pixels, where the four taps of a channel follow one another: of
// a channel two taps in a word.
__device__ __forceinline__ void put_four_taps(unsigned char* to, const Accumulators& acc, const Biases& biases,
                                              unsigned int pixel, unsigned int quarter) {
  const unsigned int tap_pair = quarter % 2;
  const unsigned int place = pair_unit(tap_pair, pixel, 0) * 16 + (quarter / 2 ^ tap_pair * 2) * 4;
#pragma unroll
  for (int group = 0; group < kColumns / 8; ++group) {
    const unsigned int moved = (group / 4 + group / 2 % 2 * kUnits) * 16 + group % 2 * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<unsigned int*>(to + ((place ^ moved) + half * (8 * 2 * kUnits * 16))) = pair(
          output_of(acc[group * 4 + half * 2], biases, group), output_of(acc[group * 4 + half * 2 + 1], biases, group));
    }
  }
}

// Writes the outputs of a thread's accumulators of a pixel, `half` of its two, where the eight or sixteen taps of a
// channel follow one another: a thread has the same taps of all channels, and writes of each tap eight.
__device__ __forceinline__ void put_many_taps(unsigned char* to, const Accumulators& acc, const Biases& biases,
                                              int half, unsigned int pixel, unsigned int quarter) {
  constexpr int kTapGroups = kTaps / 8;
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
#pragma unroll
    for (int i = 0; i < kTapGroups * 2; ++i) {
      const unsigned int tap = i / 2 * 8 + quarter * 2 + i % 2;
      unsigned int words[4];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int channel = unit * 8 + v * 2;
        const int group = channel * kTapGroups + i / 2;
        words[v] = pair(output_of(acc[group * 4 + half * 2 + i % 2], biases, channel),
                        output_of(acc[(group + kTapGroups) * 4 + half * 2 + i % 2], biases, channel + 1));
      }
      *reinterpret_cast<uint4*>(to + unit_of(tap, pixel, unit) * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// Writes the outputs of a thread's accumulators to shared memory.
__device__ __forceinline__ void put_outputs(unsigned char* to, const Accumulators& acc, const Biases& biases,
                                            unsigned int thread) {
  const unsigned int quarter = thread % 4;
  const unsigned int pixel = thread / 32 * 16 + thread % 32 / 4;  // and the eighth behind it
  if (kInPairs) {
    put_four_taps(to, acc, biases, pixel, quarter);
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (kTurned) {
        put_channels(to, acc, biases, half, pixel + half * 8, quarter);
      } else {
        put_many_taps(to, acc, biases, half, pixel + half * 8, quarter);
      }
    }
  }
}

// A thread's outputs as they are stored: a unit of some pixels, of each tap.
constexpr int kPixelsAtOnce = 128 / kUnits;
constexpr int kPasses = kTilePixels / kPixelsAtOnce;
using Outputs = uint4[kPasses * kTaps];

// Loads them from where warps of the warpgroup wrote them.
__device__ __forceinline__ void load_outputs(Outputs& loaded, const unsigned char* from, unsigned int thread) {
  const unsigned int unit = thread % kUnits;
  if (kInPairs) {
#pragma unroll
    for (int i = 0; i < kPasses * 2; ++i) {
      const unsigned int pixel = i / 2 * kPixelsAtOnce + thread / kUnits;
      const uint4 a = *reinterpret_cast<const uint4*>(from + pair_unit(i % 2, pixel, unit) * 16);
      const uint4 b = *reinterpret_cast<const uint4*>(from + pair_unit(i % 2, pixel, kUnits + unit) * 16);
      const bool turned = i % 2 == 1;
      const unsigned int words[8] = {turned ? a.z : a.x, turned ? a.w : a.y, turned ? a.x : a.z, turned ? a.y : a.w,
                                     turned ? b.z : b.x, turned ? b.w : b.y, turned ? b.x : b.z, turned ? b.y : b.w};
      loaded[i * 2] = make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]),
                                 low_halves(words[4], words[5]), low_halves(words[6], words[7]));
      loaded[i * 2 + 1] = make_uint4(high_halves(words[0], words[1]), high_halves(words[2], words[3]),
                                     high_halves(words[4], words[5]), high_halves(words[6], words[7]));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPasses * kTaps; ++i) {
      const unsigned int pixel = i / kTaps * kPixelsAtOnce + thread / kUnits;
      loaded[i] = *reinterpret_cast<const uint4*>(from + unit_of(i % kTaps, pixel, unit) * 16);
    }
  }
}

// A word that takes some of each load.
__device__ __forceinline__ unsigned int words_of_all(const Outputs& loaded) {
  unsigned int all = 0;
#pragma unroll
  for (int i = 0; i < kPasses * kTaps; ++i) {
    all |= loaded[i].x | loaded[i].z;
  }
  return all;
}

// Stores them. `first` is the tile's first pixel, of `pixels` in all.
__device__ __forceinline__ void store_outputs(Element* __restrict__ y, const Outputs& loaded, int thread, int first,
                                              int pixels, int first_out, const int in_w, const int out_w) {
  const int channel = first_out + thread % kUnits * 8;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int place = first + (pass * kPixelsAtOnce + thread / kUnits);
    if (place < pixels && (P::out_channels % P::block_c == 0 || channel < P::out_channels)) {
      const int row = place / in_w;  // of all images
      const int column = place - row * in_w;
      Element* to =
          y + ((static_cast<long long>(row) * P::stride_h * out_w + column * P::stride_w) * P::out_channels + channel);
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        store_global_16(to + (static_cast<long long>(tap / P::kernel_w) * out_w + tap % P::kernel_w) * P::out_channels,
                        loaded[pass * kTaps + tap]);
      }
    }
  }
}
