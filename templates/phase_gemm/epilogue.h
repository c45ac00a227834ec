// Part of the template `phase_gemm`: outputs, from registers.
#pragma once

#include "device/epilogue.h"
#include "layout.h"

using WeightIndex = long long;
#include "device/defined_sum.h"

// A thread's biases, of each of its outputs of a position.
using Biases = float[P::has_bias ? kSlots : 1];

__device__ __forceinline__ void load_biases(Biases& biases, const Element* __restrict__ bias, int quarter) {
  if (P::has_bias) {
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      biases[slot] = widen(bias[output_of_slot(slot, quarter) % P::out_channels]);
    }
  }
}

// Where a vector of outputs lies: in an image, a row, and an element of this; and whether it exists.
struct Vector {
  int image;
  int row;
  int element;
  bool exists;
};

// The vector of a slot of a thread's position i of a tile's row. `own` is its first position.
__device__ __forceinline__ Vector vector_of(const Tile& tile, int position_row, int own, int i, int slot, int quarter,
                                            const CallSizes& sizes) {
  const int place = own + (i / 2 * (64 * P::warpgroups) + i % 2 * 8);
  const int position = P::tile_n > 1 ? place % kPitch : place;
  const int output = output_of_slot(slot, quarter);
  Vector vector;
  vector.image = P::tile_n > 1 ? tile.image + place / kPitch : tile.image;
  vector.row = position_row * P::stride_h - P::padding_h + output / kLine;
  vector.element = (tile.column + position) * kLine - P::padding_w * P::out_channels + output % kLine;
  vector.exists = (kPositions == kProductRows || place < kPositions) &&
                  (P::tile_n == 1 || (position < P::tile_w && vector.image < sizes.batch)) &&
                  (kOutputs == kRowColumns || output < kOutputs) && vector.row >= 0 && vector.row < sizes.out_h &&
                  vector.element >= 0 && vector.element < sizes.out_w * P::out_channels;
  return vector;
}
__device__ __forceinline__ Element* address_of(Element* __restrict__ y, const Vector& vector, const CallSizes& sizes) {
  return y + ((static_cast<long long>(vector.image) * sizes.out_h + vector.row) * sizes.out_w * P::out_channels +
              vector.element);
}

// 0 where all sums of a vector are finite, else NaN.
__device__ __forceinline__ float check_finite(const RowSums& sums, int i, int slot) {
  float finite = 0;
#pragma unroll
  for (int v = 0; v < P::store; ++v) {
    finite = fmaf(sums[i][slot + v], 0, finite);
  }
  return finite;
}

// Stores a thread's outputs of a row of positions. Returns 0 where all sums are finite, else NaN.
__device__ __forceinline__ float store_row(const RowSums& sums, const Biases& biases, Element* __restrict__ y,
                                           const Tile& tile, int position_row, int own, int quarter,
                                           const CallSizes& sizes) {
  float finite = 0;
#pragma unroll
  for (int i = 0; i < 2 * kMTiles; ++i) {
#pragma unroll
    for (int slot = 0; slot < kSlots; slot += P::store) {
      const Vector vector = vector_of(tile, position_row, own, i, slot, quarter, sizes);
      if (vector.exists) {
        float values[P::store];
#pragma unroll
        for (int v = 0; v < P::store; ++v) {
          values[v] = epilogue(sums[i][slot + v], P::has_bias ? biases[slot + v] : 0);
        }
        store_together(address_of(y, vector, sizes), values);
        finite += check_finite(sums, i, slot);
      }
    }
  }
  return finite;
}

// Makes those outputs again that are not finite.
__device__ __forceinline__ void make_again(const RowSums& sums, const Element* __restrict__ x,
                                           const Element* __restrict__ weight, const Element* __restrict__ bias,
                                           Element* __restrict__ y, const Tile& tile, int position_row, int own,
                                           int quarter, const CallSizes& sizes) {
#pragma unroll
  for (int i = 0; i < 2 * kMTiles; ++i) {
#pragma unroll
    for (int slot = 0; slot < kSlots; slot += P::store) {
      const Vector vector = vector_of(tile, position_row, own, i, slot, quarter, sizes);
      if (vector.exists && check_finite(sums, i, slot) != 0) {
        Element* to = address_of(y, vector, sizes);
#pragma unroll 1
        for (int v = 0; v < P::store; ++v) {
          const int channel = (vector.element + v) % P::out_channels;
          const float sum =
              defined_sum(channel, vector.row + P::padding_h, (vector.element + v) / P::out_channels + P::padding_w,
                          vector.image, x, weight, sizes.in_h, sizes.in_w);
          to[v] = narrow(epilogue(sum, P::has_bias ? widen(bias[channel]) : 0));
        }
      }
    }
  }
}
