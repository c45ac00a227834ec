// Part of the template `grad_weight_patches`: how tensor copies bring the boxes of a stage.
#pragma once

#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/tensor_copy.h"
#include "layout.h"

// The rows and planes of x whose positions are multiplied, and how many tiles they have.
struct Tiles {
  int columns;
  int rows;
  long long all;
};
__device__ __forceinline__ Tiles tiles_of(int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int columns = (input_columns(width) + (P::tile_columns - 1)) / P::tile_columns;
  const int rows = ((P::flat ? batch * in_d * in_h : in_h) + (P::tile_rows - 1)) / P::tile_rows;
  return {columns, rows, (P::flat ? 1 : static_cast<long long>(batch) * in_d) * rows * columns};
}

// A tile's first position. Those of a row of tiles follow one another, so that what is adjacent is read together.
struct Place {
  int column;
  int row;
  int plane;
};
__device__ __forceinline__ Place place_of(long long tile, const Tiles& tiles) {
  return {static_cast<int>(tile % tiles.columns) * P::tile_columns,
          static_cast<int>(tile / tiles.columns % tiles.rows) * P::tile_rows,
          P::flat ? 0 : static_cast<int>(tile / tiles.columns / tiles.rows)};
}
// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Place& place, const Tiles& tiles) {
  place.column += P::tile_columns;
  if (place.column >= tiles.columns * P::tile_columns) {
    place.column = 0;
    place.row += P::tile_rows;
    if (!P::flat && place.row >= tiles.rows * P::tile_rows) {
      place.row = 0;
      ++place.plane;
    }
  }
}

// Issues the copies of a stage.
__device__ __forceinline__ void copy_stage(unsigned char* stage, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Target& target, int kd, const Place& place) {
  mbarrier_arrive_expect(full, kCopiedBytes);
#pragma unroll
  for (int box = 0; box < kInBoxes; ++box) {
    tensor_load_4d(stage + box * kInputBoxBytes, x_map, full, target.first_in + box * kInBox, place.column, place.row,
                   place.plane);
  }
#pragma unroll
  for (int box = 0; box < kRowBoxes; ++box) {
    const int row = box * kRowBox;  // of the products
    const int tap = row / kAdjacentRows;
    const int kh = kWholeRows ? tap : tap / P::taps_w;
    const int first =
        kWholeRows ? 0 : (target.first_kw + tap % P::taps_w) * P::y_channels + target.first_out;  // of adjacent ones
    tensor_load_5d(stage + (kInputBytes + box * kRowBoxBytes), grad_y_map, full, first + row % kAdjacentRows,
                   place.column, target.first_kh + kh, place.row, place.plane * P::kernel_d + kd);
  }
}

// Zeros{with first:  from `first`}{with last:  up to `last`}.
__device__ __forceinline__ void zero_bytes(unsigned char* bytes, const int first, const int last) {
  for (int i = first + static_cast<int>(threadIdx.x) * 16; i < last; i += kThreads * 16) {
    *reinterpret_cast<uint4*>(bytes + i) = make_uint4(0, 0, 0, 0);
  }
}

// Zeros that whole products read, and that no copy overwrites: in each stage after the positions of a box, and after
// the rows.
constexpr bool kHasTails = kBoxPositions != kPositions || kRows % 64 != 0;
__device__ __forceinline__ void zero_tails(unsigned char* shared) {
  for (int stage = 0; stage < P::stages; ++stage) {
    unsigned char* input = shared + stage * kStageBytes;
    if (kBoxPositions != kPositions) {
      for (int box = 0; box < kInBoxes; ++box) {
        zero_bytes(input + box * kInputBoxBytes, kPositions * kInSwizzle, kInputBoxBytes);
      }
      for (int box = 0; box < kRowBoxes; ++box) {
        zero_bytes(input + (kInputBytes + box * kRowBoxBytes), kPositions * kRowSwizzle, kRowBoxBytes);
      }
    }
    zero_bytes(input + kInputBytes, kRowBoxes * kRowBoxBytes, kMTiles * kProductBytes);
  }
  fence_proxy_async();
}
