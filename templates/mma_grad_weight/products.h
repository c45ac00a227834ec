// Part of the template `mma_grad_weight`: the products of a stage.
// Needs: P, high_halves(), low_halves(), operand()
#pragma once

#include "device/matrix_load.h"
#include "device/mma.h"
#include "device/split.h"
#include "layout.h"

// One thread's accumulators: of each tap of its warp, tile of 16 input channels and tile of 8 output channels. Values
// that are split have those of products of high parts, and of products of a high with a low part.
using PartAccumulators = float[kWarpTaps][kWarpInTiles][kWarpOutTiles][4];
using Accumulators = PartAccumulators[kParts];

// A thread's sums of grad_y, of the warp's output channels: of tf32 of one channel of each tile, else products with
// ones. And their totals, of one strip after the other.
using BiasAccumulators = float[kParts][kWarpOutTiles][4];
using BiasTotals = float[kWarpOutTiles][2];

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else if (P::type == kWgmmaBf16) {
    mma_k16_bf16(acc, a, b);
  } else {
    mma_k8_tf32(acc, a, b);
  }
}

// Where a lane's words of fragments begin in a stage: of x, and of grad_y for the warp's first kernel row and each of
// its columns of taps, or the first one.
constexpr int kWindowPlaces = P::along_row ? 1 : kWarpTapsW;
struct Places {
  int input;
  int window[kWindowPlaces];
  bool is_odd[kWindowPlaces];  // of whole rows, whether a tap's first element is the second one of a word
  int first_kw;                // of a warp that adds up grad_y, if it is one
  bool sums;
};

// Pixels from the first half of a product's positions to the second one.
__host__ __device__ constexpr int half_pixels(int pitch) {
  return kPart == kInstructionK ? kHalf * kApart : kHalf / kPart * kPartRows * pitch;
}

// A lane's place in the first product of a stage{with pitch: , whose positions have rows of `pitch`}. 16 bits: the row
// of 8x8 matrices that it points to, of two units of channels by halves of the positions. Those of A are the units of a
// half, then of the other one; those of B the halves of a unit, then of the other one. tf32: its first word, of channel
// lane / 4. Whole rows: the row of matrices of A, whose rows are channels; of B the word of two positions of channel
// lane / 4.
__device__ __forceinline__ int lane_place(int lane, const bool is_a, const int pitch, const int pixel_bytes,
                                          const int unit_bytes, const int channel_bytes) {
  if constexpr (kWholeRows) {
    const int pixel = is_a ? lane / 16 * half_pixels(pitch) : lane % 4 * 2;
    return pixel * pixel_bytes + (is_a ? lane % 16 : lane / 4) * channel_bytes;
  }
  const int position = P::type == kWgmmaTf32 ? lane % 4 : is_a ? lane % 8 + lane / 16 * 8 : lane % 16;
  const int pixel = position / kPart * (kPartRows * pitch) + position % kPart * kApart;
  return pixel * pixel_bytes + (P::type == kWgmmaTf32 ? lane / 16 * unit_bytes + lane / 4 % 4 * channel_bytes
                                : is_a                ? lane / 8 % 2 * unit_bytes
                                                      : lane / 16 * unit_bytes);
}

__device__ __forceinline__ Places places_of(int lane, int warp_in, int warp_out, int warp_taps, bool sums) {
  Places places;
  places.input = lane_place(lane, true, kInputPitch, kInputPixelPitch, kInputUnitPitch, kInputChannelPitch) +
                 warp_in * (kWarpIn / kVector * kInputUnitPitch);
  const int window = kInputBytes +
                     lane_place(lane, false, kWindowPitch, kWindowPixelPitch, kWindowUnitPitch, kWindowChannelPitch) +
                     warp_out * (kWarpOut / kVector * kWindowUnitPitch);
  if constexpr (P::sums_bias) {
    places.first_kw = warp_taps * kWarpTapsW;
    places.sums = sums && warp_in == 0;
  }
#pragma unroll
  for (int column = 0; column < kWindowPlaces; ++column) {
    const int kw = warp_taps * kWarpTapsW + column;
    if constexpr (kWholeRows) {
      const int element = kw * P::dilation_w + kRowShift;
      places.window[column] = window + element / 2 * 4;
      places.is_odd[column] = element % 2 == 1;
    } else {
      places.window[column] = window + (kw % kPeriodW * kPlanePixels + kw / kPeriodW * kStepW) * kWindowPixelPitch;
    }
  }
  return places;
}

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// Rounds the first words of a fragment, which the stage has as they lie in memory.
__device__ __forceinline__ void round_words(unsigned int (&words)[4], const int count) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    words[i] = operand(words[i]);
  }
}

// Loads an A fragment: 16 input channels by the positions of a product.
__device__ __forceinline__ void load_rows(unsigned int (&a)[4], const unsigned char* from) {
  if constexpr (P::type == kWgmmaTf32) {
    constexpr int kNextHalf = half_pixels(kInputPitch) * kInputPixelPitch;
    a[0] = shared_word(from);
    a[1] = shared_word(from + 2 * kInputUnitPitch);
    a[2] = shared_word(from + kNextHalf);
    a[3] = shared_word(from + (kNextHalf + 2 * kInputUnitPitch));
    if constexpr (kPlanar) {
      round_words(a, 4);
    }
  } else if constexpr (kWholeRows) {
    matrix_load_x4(a, from);
  } else {
    matrix_load_x4_transposed(a, from);
  }
}

// Two elements of a row that are a stride apart, as a word: the first one is in the word at `from`. Words of both at
// multiples of 8 bytes are one load, which has no bank conflicts.
__device__ __forceinline__ unsigned int pair_at(const unsigned char* from, bool is_odd, const bool is_aligned) {
  if constexpr (P::stride_w == 1) {
    return is_odd ? shared_word(from) >> 16 | shared_word(from + 4) << 16 : shared_word(from);
  }
  uint2 words;
  if (P::stride_w == 2 && is_aligned) {
    words = *reinterpret_cast<const uint2*>(from);
  } else {
    words = make_uint2(shared_word(from), shared_word(from + P::stride_w * kElementBytes));
  }
  return is_odd ? high_halves(words.x, words.y) : low_halves(words.x, words.y);
}
// Whether that is so of a warp's column of taps.
__host__ __device__ constexpr bool is_aligned_column(int column) {
  return P::warps_taps == 1 && kWindowPitch % 2 == 0 && (column * P::dilation_w + kRowShift) / 2 % 2 == 0;
}

// Loads two B fragments, one after the other: eight output channels each. A warp may have the first alone.
__device__ __forceinline__ void load_columns(unsigned int (&b)[4], const unsigned char* from, bool is_odd,
                                             const bool is_aligned) {
  if constexpr (kWholeRows) {
    constexpr int kNextHalf = half_pixels(kWindowPitch) * kWindowPixelPitch;
    b[0] = pair_at(from, is_odd, is_aligned);
    b[1] = pair_at(from + kNextHalf, is_odd, is_aligned);
    if (kWarpOutTiles > 1) {
      b[2] = pair_at(from + kWindowUnitPitch, is_odd, is_aligned);
      b[3] = pair_at(from + (kNextHalf + kWindowUnitPitch), is_odd, is_aligned);
    }
  } else if constexpr (P::type == kWgmmaTf32) {
    constexpr int kNextHalf = half_pixels(kWindowPitch) * kWindowPixelPitch;
    b[0] = shared_word(from);
    b[1] = shared_word(from + kNextHalf);
    if (kWarpOutTiles > 1) {
      b[2] = shared_word(from + 2 * kWindowUnitPitch);
      b[3] = shared_word(from + (kNextHalf + 2 * kWindowUnitPitch));
    }
  } else if constexpr (kWarpOutTiles > 1) {
    matrix_load_x4_transposed(b, from);
  } else {
    unsigned int one[2];
    matrix_load_x2_transposed(one, from);
    b[0] = one[0];
    b[1] = one[1];
  }
}

// By how many rows (or columns) of its plane an inner tap is moved.
__host__ __device__ constexpr int steps_of_tap(int inner) {
  return inner / kInnerPeriod * kInnerStep;
}
// What an inner tap reads for a step of a strip, as a number of the strip's loads for one outer tap.
__host__ __device__ constexpr int load_of(int step, int inner) {
  return inner % kInnerPeriod * kPlaneLoads + step + steps_of_tap(inner);
}
// Whether no step before reads it: the next tap of the plane did, kInnerStep steps ago.
__host__ __device__ constexpr bool is_new(int step, int inner) {
  return step < kInnerStep || inner + kInnerPeriod >= kInnerTaps;
}
// Bytes from the warp's first inner tap at the strip's first step to an inner tap at a step, and of along_row from the
// first outer tap to another one.
__host__ __device__ constexpr int offset_of_load(int step, int inner, int outer) {
  return P::along_row
             ? (outer % kPeriodH * (kPlanesW * kPlanePixels) + outer / kPeriodH * kStepH * kWindowPitch +
                inner % kPeriodW * kPlanePixels + step + steps_of_tap(inner)) *
                   kWindowPixelPitch
             : (inner % kPeriodH * (kColumnPlanes * kPlanePixels) + (step + steps_of_tap(inner)) * kWindowPitch) *
                   kWindowPixelPitch;
}
// Pixels of x from a step of a strip to the next one.
constexpr int kInputStep = P::along_row ? 1 : kInputPitch;

// Whether the sums of grad_y take what a load of the strip brings, by its number among those of an outer tap: the rows
// of the kernel from the padding on, as many as the stride, read each row of grad_y once.
__host__ __device__ constexpr bool is_summed_row(int load) {
  const int plane = load / kPlaneLoads;
  const int row = plane + (P::padding_h + kPeriodH - 1 - plane) / kPeriodH * kPeriodH;
  const int step = load % kPlaneLoads - steps_of_tap(row);
  return P::sums_bias && !P::along_row && step >= 0 && step < P::strip;
}
// The same of the kernel's columns.
__device__ __forceinline__ bool is_summed_column(int kw) {
  return kw >= P::padding_w && kw < P::padding_w + P::stride_w;
}

// Adds up loaded B fragments.
__device__ __forceinline__ void sum_columns(BiasAccumulators& sums, const unsigned int (&b)[kParts][kWarpOutLoads][4]) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int tile = 0; tile < kWarpOutTiles; ++tile) {
      const unsigned int words[2] = {b[part][tile / 2][tile % 2 * 2], b[part][tile / 2][tile % 2 * 2 + 1]};
      if constexpr (P::type == kWgmmaTf32) {
        sums[part][tile][0] += __uint_as_float(words[0]) + __uint_as_float(words[1]);
      } else {
        constexpr unsigned int kOnes = P::type == kWgmmaF16 ? 0x3c003c00 : 0x3f803f80;
        const unsigned int ones[4] = {kOnes, kOnes, kOnes, kOnes};
        multiply_add(sums[part][tile], ones, words);
      }
    }
  }
}

// Adds a strip's sums to the totals.
__device__ __forceinline__ void add_sums(BiasTotals& totals, const BiasAccumulators& sums) {
#pragma unroll
  for (int tile = 0; tile < kWarpOutTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < (P::type == kWgmmaTf32 ? 1 : 2); ++i) {
      totals[tile][i] += kSplit ? with_low(sums[0][tile][i], sums[kParts - 1][tile][i]) : sums[0][tile][i];
    }
  }
}

// Adds the products of a tap at one step.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, const int tap,
                                             const unsigned int (&a)[kParts][kWarpInTiles][4],
                                             const unsigned int (&b)[kParts][kWarpOutLoads][4]) {
#pragma unroll
  for (int out_tile = 0; out_tile < kWarpOutTiles; ++out_tile) {
    const unsigned int high[2] = {b[0][out_tile / 2][out_tile % 2 * 2], b[0][out_tile / 2][out_tile % 2 * 2 + 1]};
#pragma unroll
    for (int tile = 0; tile < kWarpInTiles; ++tile) {
      multiply_add(acc[0][tap][tile][out_tile], a[0][tile], high);
    }
    if constexpr (kSplit) {
      const unsigned int low[2] = {b[kParts - 1][out_tile / 2][out_tile % 2 * 2],
                                   b[kParts - 1][out_tile / 2][out_tile % 2 * 2 + 1]};
#pragma unroll
      for (int tile = 0; tile < kWarpInTiles; ++tile) {
        multiply_add(acc[kParts - 1][tap][tile][out_tile], a[kParts - 1][tile], high);
        multiply_add(acc[kParts - 1][tap][tile][out_tile], a[0][tile], low);
      }
    }
  }
}

// Adds the products of a strip of a stage, which begins at `stage`.
__device__ __forceinline__ void multiply_strip(Accumulators& acc, BiasTotals& bias_totals, const unsigned char* stage,
                                               const Places& places, int strip) {
  const int row = strip / kColumnStrips * kStripRows;
  const int column = strip % kColumnStrips * kStripColumns;
  const unsigned char* input = stage + places.input + (row * kInputPitch + column) * kInputPixelPitch;
  const unsigned char* window = stage + (row * kWindowPitch + column) * kWindowPixelPitch;
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
  unsigned int a[P::strip][kParts][kWarpInTiles][4];
  BiasAccumulators sums = {};
#pragma unroll
  for (int outer = 0; outer < kOuterTaps; ++outer) {
    unsigned int b[kInnerPlanes * kPlaneLoads][kParts][kWarpOutLoads][4];
#pragma unroll
    for (int step = 0; step < P::strip; ++step) {
      if (outer == 0) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
#pragma unroll
          for (int tile = 0; tile < kWarpInTiles; ++tile) {
            load_rows(a[step][part][tile], input + (part * kInputPartBytes + step * (kInputStep * kInputPixelPitch) +
                                                    tile * (16 / kVector * kInputUnitPitch)));
          }
        }
      }
#pragma unroll
      for (int inner = 0; inner < kInnerTaps; ++inner) {
        const int load = load_of(step, inner);
        if (is_new(step, inner)) {
#pragma unroll
          for (int part = 0; part < kParts; ++part) {
#pragma unroll
            for (int two = 0; two < kWarpOutLoads; ++two) {
              load_columns(b[load][part][two],
                           window + places.window[P::along_row ? 0 : outer] +
                               (part * kWindowPartBytes + offset_of_load(step, inner, outer) +
                                two * (16 / kVector * kWindowUnitPitch)),
                           kWholeRows && places.is_odd[P::along_row ? 0 : outer], is_aligned_column(outer));
            }
          }
          if (is_summed_row(load) && places.sums && is_summed_column(places.first_kw + outer)) {
            sum_columns(sums, b[load]);
          }
          if constexpr (kPlanar && !kWholeRows) {
#pragma unroll
            for (int two = 0; two < kWarpOutLoads; ++two) {
              round_words(b[load][0][two], kWarpOutTiles > 1 ? 4 : 2);
            }
          }
        }
        const int tap = P::along_row ? outer * kWarpTapsW + inner : inner * kWarpTapsW + outer;
        multiply_tap(acc, tap, a[step], b[load]);
      }
    }
  }
  if constexpr (P::sums_bias) {
    add_sums(bias_totals, sums);
  }
}
