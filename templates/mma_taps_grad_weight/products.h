// Part of the template `mma_taps_grad_weight`: the products of a stage.
// Needs: P, high_halves(), low_halves(), operand()
#pragma once

#include "device/matrix_load.h"
#include "device/mma.h"
#include "device/parts.h"
#include "layout.h"

// One thread's accumulators: of each tile of 16 input channels and of 8 columns of its warp.
using PartAccumulators = float[kRowTiles][kTilesAcross][4];

// The thread's accumulator of this number.
__device__ __forceinline__ float& acc_at(PartAccumulators& acc, const int i) {
  return acc[i / (kTilesAcross * 4)][i / 4 % kTilesAcross][i % 4];
}

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else if (P::type == kWgmmaBf16) {
    mma_k16_bf16(acc, a, b);
  } else {
    mma_k8_tf32(acc, a, b);
  }
}

// ---- Places ----

// Where a lane's words begin in a stage: of x, and of the window for each tile of columns (or two, which are read
// together).
constexpr int kPlaces = kTilesAcross / kTilesTogether;
struct Places {
  int input;
  int columns[kPlaces];
};

// Bytes of the window from the first position of a product to another one of it.
__host__ __device__ constexpr int window_place(int position) {
  return (position / kPart * (kPositionRows * kRowPitch) + position % kPart * kPositionPitch) * kElementBytes;
}
// From the first half of a product's positions to the second one.
constexpr int kHalfPlace = window_place(kInstructionK / 2);

// Bytes of the window from a position's first tap to a column of the products.
__device__ __forceinline__ int column_place(int column) {
  const int row = column / kRowColumns;
  const int of_row = column % kRowColumns;
  const int plane = row / P::taps_h;
  const int of_tap =
      kTapsTogether ? of_row - kLead : of_row / kTogether * (P::dilation_w * kPixelPitch) + of_row % kTogether;
  return (plane * kPlanePitch + row % P::taps_h * (P::dilation_h * kRowPitch) + kWindowShift + of_tap) * kElementBytes;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in, int warp_columns) {
  Places places;
  const int first_channel = warp_in * (kRowTiles * 16);
  if constexpr (P::type == kWgmmaTf32) {
    places.input = P::channels_last ? lane % 4 * kInputPitch + (first_channel + lane / 4) * kElementBytes
                                    : (first_channel + lane / 4) * kInputPitch + lane % 4 * kElementBytes;
  } else {
    places.input = P::channels_last
                       ? (lane % 8 + lane / 16 * 8) * kInputPitch + (first_channel + lane / 8 % 2 * 8) * kElementBytes
                       : (first_channel + lane % 16) * kInputPitch + lane / 16 * 8 * kElementBytes;
  }
  const int position = window_place(lane % 4 * (P::type == kWgmmaTf32 ? 1 : 2));
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    const int column = ((warp_columns * kPlaces + i) * 8 + lane / 4) * kTilesTogether;
    places.columns[i] = kInputBytes + position + column_place(min(column, kColumns - kTilesTogether));
  }
  return places;
}

// ---- Fragments ----

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}
__device__ __forceinline__ unsigned int shared_half(const unsigned char* from) {
  return *reinterpret_cast<const unsigned short*>(from);
}

// A value, rounded as products take it; of those that are split, as it is.
__device__ __forceinline__ unsigned int word_of_tf32(const unsigned char* from) {
  return P::splits ? shared_word(from) : operand(shared_word(from));
}

// Loads an A fragment: 16 input channels by the positions of a product.
__device__ __forceinline__ void load_rows(unsigned int (&a)[4], const unsigned char* from) {
  if constexpr (P::type == kWgmmaTf32) {
    constexpr int kChannels = 8 * (P::channels_last ? kElementBytes : kInputPitch);
    constexpr int kHalf = 4 * (P::channels_last ? kInputPitch : kElementBytes);
    a[0] = word_of_tf32(from);
    a[1] = word_of_tf32(from + kChannels);
    a[2] = word_of_tf32(from + kHalf);
    a[3] = word_of_tf32(from + (kHalf + kChannels));
  } else if constexpr (P::channels_last) {
    matrix_load_x4_transposed(a, from);
  } else {
    matrix_load_x4(a, from);
  }
}

// Loads the B fragments of 8 columns, or of the even and the odd ones of 16.
__device__ __forceinline__ void load_columns(unsigned int (&b)[kTilesTogether][2], const unsigned char* from) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if constexpr (P::type == kWgmmaTf32) {
      b[0][half] = word_of_tf32(from + half * kHalfPlace);
    } else if constexpr (kPairs) {
      const unsigned int first = shared_word(from + half * kHalfPlace);
      const unsigned int second = shared_word(from + (half * kHalfPlace + window_place(1)));
      b[0][half] = low_halves(first, second);
      b[kTilesTogether - 1][half] = high_halves(first, second);
    } else {
      b[0][half] = shared_half(from + half * kHalfPlace) | shared_half(from + (half * kHalfPlace + window_place(1)))
                                                               << 16;
    }
  }
}

// ---- Stages ----

// Splits the words of a fragment in their parts.
__device__ __forceinline__ void split_words(unsigned int (&high)[4], unsigned int (&low)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned int word = high[i];
    high[i] = nearest_part(word);
    low[i] = rest_of(word, high[i]);
  }
}

// Adds the products of a step, whose words begin at `input` and, for each tile of columns, at its place in `window`.
__device__ __forceinline__ void multiply_step(PartAccumulators& acc, const unsigned char* input,
                                              const unsigned char* window, const Places& places) {
  unsigned int a[kRowTiles][4];
  unsigned int low_a[kRowTiles][4];
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
    load_rows(a[tile], input + tile * 16 * (P::channels_last ? kElementBytes : kInputPitch));
    if constexpr (P::splits) {
      split_words(a[tile], low_a[tile]);
    }
  }
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    unsigned int b[kTilesTogether][2];
    load_columns(b, window + places.columns[i]);
    if constexpr (P::splits) {
      const unsigned int high[2] = {nearest_part(b[0][0]), nearest_part(b[0][1])};
      const unsigned int low[2] = {rest_of(b[0][0], high[0]), rest_of(b[0][1], high[1])};
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        multiply_add(acc[tile][i], low_a[tile], high);
        multiply_add(acc[tile][i], a[tile], low);
        multiply_add(acc[tile][i], a[tile], high);
      }
    } else {
#pragma unroll
      for (int each = 0; each < kTilesTogether; ++each) {
#pragma unroll
        for (int tile = 0; tile < kRowTiles; ++tile) {
          multiply_add(acc[tile][i * kTilesTogether + each], a[tile], b[each]);
        }
      }
    }
  }
}

// Adds the products of the warp's positions of a stage{with totals: , to the totals}.
__device__ __forceinline__ void multiply_stage(PartAccumulators& acc, PartAccumulators& totals,
                                               const unsigned char* stage, const Places& places, int warp_k) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll 1
  for (int first = 0; first < kOwnSteps; first += kStepsTogether) {
#pragma unroll
    for (int each = 0; each < kStepsTogether; ++each) {
      const int step = (first + each) * P::warps_k + warp_k;
      const int row = step / kRowSteps * (kInstructionK / kPart);
      const int column = step % kRowSteps * kPart;
      multiply_step(acc,
                    stage + places.input + step * (kInstructionK * (P::channels_last ? kInputPitch : kElementBytes)),
                    stage + (row * (kPositionRows * kRowPitch) + column * kPositionPitch) * kElementBytes, places);
    }
    if constexpr (P::splits) {
#pragma unroll
      for (int i = 0; i < kAccumulators; ++i) {
        acc_at(totals, i) += acc_at(acc, i);
        acc_at(acc, i) = 0;
      }
    }
  }
}
