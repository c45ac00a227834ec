// Part of the template `grad_weight_rows`: how stages come to shared memory. Tensor copies bring rows that are whole 16
// bytes in memory. Rows of other widths come through the registers of a producer warpgroup.
#pragma once

#include "device/barrier.h"
#include "device/memory.h"
#include "device/tensor_copy.h"
#include "device/parts.h"
#include "layout.h"

// What a block reads. Positions are of x{if P::rows_in_columns: ; their rows are of grad_y}.
struct Source {
  int in;   // its first channel of x
  int out;  // of grad_y
  int ins;  // channels of x from there on
  int outs;
  int input_row;   // of a stage's first row of x
  int window_row;  // of its first row of grad_y
  int origin_w;    // where a copy may begin, at or before the taps' own
};

// A stage's first position.
struct Tile {
  int image;
  int row;
  int column;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, const int row_tiles, const int column_tiles) {
  Tile tile;
  tile.image = static_cast<int>(index / row_tiles / column_tiles);
  tile.row = static_cast<int>(index % row_tiles) * P::tile_rows;
  tile.column = static_cast<int>(index / row_tiles % column_tiles) * P::tile_columns;
  return tile;
}

// ---- By tensor copies ----

constexpr bool kHasCopies = P::input_copies || P::window_copies;

// Issues the copies of a stage: a box for each part of the rows of x, and one of grad_y.{with raw:  Those of x complete
// `raw`.}
__device__ __forceinline__ void copy_stage(unsigned char* stage, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, unsigned long long* raw, const Source& source,
                                           const Tile& tile) {
  mbarrier_arrive_expect(full,
                         (P::input_copies && !P::splits ? kInputBytes : 0) + (P::window_copies ? kWindowBytes : 0));
  if (kSplitsBoxes) {
    mbarrier_arrive_expect(raw, kBoxesBytes);
  }
  if (P::input_copies) {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      tensor_load_4d(stage + box * kBoxBytes, x_map, kSplitsBoxes ? raw : full,
                     (kFlat ? tile.row * P::width : tile.column) + box * kBoxPixels, source.in,
                     kFlat ? 0 : tile.row + source.input_row, tile.image);
    }
  }
  if (P::window_copies) {
    tensor_load_4d(stage + kInputBytes, grad_y_map, full, tile.column * P::stride_w + source.origin_w, source.out,
                   tile.row * P::stride_h + source.window_row, tile.image);
  }
}

// ---- Through registers ----

// Adjacent threads load adjacent words of a row of one channel. A batch is what a thread has in flight.
constexpr int kMostWords = 32;  // of a batch
__host__ __device__ constexpr int row_lanes(int words) {
  return words >= 32 ? 32 : 1 << highest_bit(2 * words - 1);
}
constexpr int kWordElements = 4 / kBytes;
constexpr int kInputWords = P::tile_columns / kWordElements;  // of a row
constexpr int kInputRows = kBoxRows * P::block_in;            // of all channels
constexpr int kInputLanes = row_lanes(kInputWords);
constexpr int kInputLoads = ceil_div(kInputWords, 32);  // of a thread from a row
constexpr int kInputTurns = ceil_div(kInputRows, P::producers / kInputLanes);
constexpr int kInputTurn = smaller(kInputTurns, kMostWords / kInputLoads);  // rows of a batch
constexpr int kInputBatches = P::input_copies ? 0 : ceil_div(kInputTurns, kInputTurn);
constexpr int kWindowWords = ceil_div(kWindowColumns, kWordElements);
constexpr int kWindowLanes = row_lanes(kWindowWords);
constexpr int kWindowLoads = ceil_div(kWindowWords, 32);
constexpr int kWindowTurns = ceil_div(kWindowRows * P::block_out, P::producers / kWindowLanes);
constexpr int kWindowTurn = smaller(kWindowTurns, kMostWords / kWindowLoads);
constexpr int kWindowBatches = P::window_copies ? 0 : ceil_div(kWindowTurns, kWindowTurn);
constexpr int kBatches = kInputBatches + kWindowBatches;  // of a stage
using Words = unsigned int[kMostWords];

__device__ __forceinline__ unsigned int load_word(const Element* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// Loads a batch of x: zeros where the image or the channels end.
__device__ __forceinline__ void load_input(Words& words, const Element* __restrict__ x, const Source& source,
                                           const Tile& tile, int batch_index, int thread, const int in_h) {
#pragma unroll
  for (int turn = 0; turn < kInputTurn; ++turn) {
    const int row = (batch_index * kInputTurn + turn) * (P::producers / kInputLanes) + thread / kInputLanes;
    const int channel = row % P::block_in;
    const int iy = tile.row + source.input_row + row / P::block_in;
    const bool exists = row < kInputRows && (!P::rows_in_columns || iy >= 0) && iy < in_h &&
                        (kGroupIn % P::block_in == 0 || channel < source.ins);
    const Element* from =
        x + ((static_cast<long long>(tile.image) * P::x_channels + source.in + channel) * in_h + iy) * P::width;
#pragma unroll
    for (int load = 0; load < kInputLoads; ++load) {
      const int column = tile.column + (thread % kInputLanes + load * 32) * kWordElements;
      words[turn * kInputLoads + load] =
          exists && column < P::width && (kInputWords % kInputLanes == 0 || column < tile.column + P::tile_columns)
              ? load_word(from + column)
              : 0;
    }
  }
}

// Writes a batch of x to its stage, where the swizzle has it.
__device__ __forceinline__ void store_input(unsigned char* input, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int turn = 0; turn < kInputTurn; ++turn) {
    const int row = (batch_index * kInputTurn + turn) * (P::producers / kInputLanes) + thread / kInputLanes;
#pragma unroll
    for (int load = 0; load < kInputLoads; ++load) {
      const int word = thread % kInputLanes + load * 32;
      const int place =
          word / (kBoxPixels / kWordElements) * kBoxBytes + row * P::swizzle + word % (kBoxPixels / kWordElements) * 4;
      if (row < kInputRows && (kInputWords % kInputLanes == 0 || word < kInputWords)) {
        if constexpr (P::splits) {
          unsigned char* to = input + (place ^ place / 128 % (P::swizzle / 16) * 16);
          *reinterpret_cast<unsigned int*>(to) = high_part(words[turn * kInputLoads + load]);
          *reinterpret_cast<unsigned int*>(to + kInputPartBytes) = low_part(words[turn * kInputLoads + load]);
        } else {
          *reinterpret_cast<unsigned int*>(input + (place ^ place / 128 % (P::swizzle / 16) * 16)) =
              operand(words[turn * kInputLoads + load]);
        }
      }
    }
  }
}

// Loads a batch of grad_y.
__device__ __forceinline__ void load_window(Words& words, const Element* __restrict__ grad_y, const Source& source,
                                            const Tile& tile, int batch_index, int thread, const int out_h,
                                            const int out_w) {
#pragma unroll
  for (int turn = 0; turn < kWindowTurn; ++turn) {
    const int row = (batch_index * kWindowTurn + turn) * (P::producers / kWindowLanes) + thread / kWindowLanes;
    const int channel = row % P::block_out;
    const int oy = tile.row * P::stride_h + source.window_row + row / P::block_out;
    const bool exists = row < kWindowRows * P::block_out && (P::rows_in_columns || oy >= 0) && oy < out_h &&
                        (kGroupOut % P::block_out == 0 || channel < source.outs);
    const Element* from =
        grad_y + ((static_cast<long long>(tile.image) * P::y_channels + source.out + channel) * out_h + oy) * out_w;
#pragma unroll
    for (int load = 0; load < kWindowLoads; ++load) {
      const int column =
          tile.column * P::stride_w + source.origin_w + (thread % kWindowLanes + load * 32) * kWordElements;
      words[turn * kWindowLoads + load] =
          exists && column >= 0 && column < out_w && thread % kWindowLanes + load * 32 < kWindowWords
              ? load_word(from + column)
              : 0;
    }
  }
}

// Writes a batch of grad_y to its stage.
__device__ __forceinline__ void store_window(unsigned char* window, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int turn = 0; turn < kWindowTurn; ++turn) {
    const int row = (batch_index * kWindowTurn + turn) * (P::producers / kWindowLanes) + thread / kWindowLanes;
#pragma unroll
    for (int load = 0; load < kWindowLoads; ++load) {
      const int word = thread % kWindowLanes + load * 32;
      if (row < kWindowRows * P::block_out && word < kWindowWords) {
        const unsigned int loaded = words[turn * kWindowLoads + load];
        *reinterpret_cast<unsigned int*>(window + row * kPitchBytes + word * 4) =
            kSumsRows || P::splits ? loaded : operand(loaded);
      }
    }
  }
}

// Loads a batch of a stage: those of x come first.
__device__ __forceinline__ void load_batch(Words& words, const Element* __restrict__ x,
                                           const Element* __restrict__ grad_y, const Source& source, const Tile& tile,
                                           int batch_index, int thread, const int in_h, const int out_h,
                                           const int out_w) {
  if (kWindowBatches == 0 || (kInputBatches > 0 && batch_index < kInputBatches)) {
    load_input(words, x, source, tile, batch_index, thread, in_h);
  } else {
    load_window(words, grad_y, source, tile, batch_index - kInputBatches, thread, out_h, out_w);
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* stage, const Words& words, int batch_index, int thread) {
  if (kWindowBatches == 0 || (kInputBatches > 0 && batch_index < kInputBatches)) {
    store_input(stage, words, batch_index, thread);
  } else {
    store_window(stage + kInputBytes, words, batch_index - kInputBatches, thread);
  }
}
