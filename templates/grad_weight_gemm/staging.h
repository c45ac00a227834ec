// Part of the template `grad_weight_gemm`: producers bring positions of x and of the planes of grad_y through registers
// to shared memory.
#pragma once

#include "device/memory.h"
#include "layout.h"

// A stage's place: the image and row of its first row, and its first column.
struct Tile {
  int image;
  int row;
  int column;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, const long long row_tiles, const int in_h) {
  const long long row = index % row_tiles * P::tile_rows;
  Tile tile;
  tile.image = static_cast<int>(row / (in_h + kHaloH));
  tile.row = static_cast<int>(row % (in_h + kHaloH));
  tile.column = static_cast<int>(index / row_tiles) * P::tile_columns;
  return tile;
}

// What a block reads: its first channels of x and grad_y, how many there are, and the origin of its taps.
struct Source {
  const Element* x;
  const Element* grad_y;
  int ins;
  int outs;
  int origin_h;
  int origin_w;
};

// A batch is what a thread has in flight: some units of channels at one position. Threads share the positions and, in
// so many lanes, the units of a position: with channels last eight positions by as many units as are adjacent, else as
// makes the fewest batches.
constexpr int kWords = P::channels_last ? 4 : kPack;  // of a unit
constexpr int kMostUnits = 32 / kWords;               // of a batch
__host__ __device__ constexpr int turns(int pixels, int units, int lanes) {
  return ceil_div(pixels, P::producers / lanes) * ceil_div(units, lanes);
}
__host__ __device__ constexpr int lanes_from(int pixels, int units, int lanes) {
  return lanes >= 8 || turns(pixels, units, lanes) <= turns(pixels, units, lanes_from(pixels, units, 2 * lanes))
             ? lanes
             : lanes_from(pixels, units, 2 * lanes);
}
__host__ __device__ constexpr int unit_lanes(int pixels, int units) {
  return !P::channels_last ? lanes_from(pixels, units, 1) : units % 4 == 0 ? 4 : units % 2 == 0 ? 2 : 1;
}
constexpr int kInputLanes = unit_lanes(kInputPixels, kInputUnits);
constexpr int kWindowLanes = unit_lanes(kWindowPixels, kWindowUnits);
constexpr int kInputChunks = ceil_div(kInputUnits, kInputLanes* kMostUnits);  // batches of a position
constexpr int kWindowChunks = ceil_div(kWindowUnits, kWindowLanes* kMostUnits);
constexpr int kInputBatch = ceil_div(kInputUnits, kInputLanes* kInputChunks);  // units
constexpr int kWindowBatch = ceil_div(kWindowUnits, kWindowLanes* kWindowChunks);
constexpr int kInputBatches = ceil_div(kInputPixels, P::producers / kInputLanes) * kInputChunks;  // of a stage
constexpr int kWindowBatches = ceil_div(kWindowPixels, P::producers / kWindowLanes) * kWindowChunks;
constexpr int kBatches = kInputBatches + kWindowBatches;
using Words = unsigned int[kMostUnits][kWords];

// The thread's position and first unit of a batch.
__device__ inline int pixel_of(int batch_index, int thread, const int lanes, const int chunks) {
  const int own = P::channels_last ? thread / (8 * lanes) * 8 + thread % 8 : thread % (P::producers / lanes);
  return batch_index / chunks * (P::producers / lanes) + own;
}
__device__ inline int unit_of(int batch_index, int thread, const int lanes, const int chunks, const int units) {
  const int own = P::channels_last ? thread / 8 % lanes : thread / (P::producers / lanes);
  return batch_index % chunks * (units * lanes) + own;
}

// Loads a unit: zeros where it is outside the image, and for channels that there are not. `plane` is from a channel to
// the next one.
__device__ __forceinline__ void load_unit(unsigned int (&words)[kWords], const Element* __restrict__ from,
                                          bool is_inside, int left, const bool is_whole, const long long plane) {
  if (P::channels_last) {
    uint4 loaded = make_uint4(0, 0, 0, 0);
    if (is_inside && (is_whole || left > 0)) {
      loaded = load_constant_16(from);
    }
    words[0] = loaded.x;
    words[1] = loaded.y;
    words[2] = loaded.z;
    words[3] = loaded.w;
  } else {
#pragma unroll
    for (int c = 0; c < kPack; ++c) {
      words[c] = is_inside && (is_whole || c < left) ? bits_of(from[c * plane]) : 0;
    }
  }
}

// Loads a batch of x.
__device__ __forceinline__ void load_input(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w) {
  const int pixel = pixel_of(batch_index, thread, kInputLanes, kInputChunks);
  const int unit = unit_of(batch_index, thread, kInputLanes, kInputChunks, kInputBatch);
  const int row = tile.row + pixel / kInputPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int iy = row % (in_h + kHaloH);
  const int ix = tile.column + pixel % kInputPitch;
  const bool is_inside = pixel < (P::flat ? P::tile_rows * kInputPitch : kInputPixels) && image < batch &&
                         (kHaloH == 0 || iy < in_h) && ix < in_w;
  const long long plane = static_cast<long long>(in_h) * in_w;
  const Element* from = source.x + static_cast<long long>(image) * P::in_channels * plane;
  from += P::channels_last ? (static_cast<long long>(iy) * in_w + ix) * P::in_channels + unit * kPack
                           : unit * kPack * plane + static_cast<long long>(iy) * in_w + ix;
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int next = i * kInputLanes;  // unit
    load_unit(words[i], from + (P::channels_last ? next * kPack : next * kPack * plane),
              is_inside && (kInputUnits % (kInputLanes * kInputBatch) == 0 || unit + next < kInputUnits),
              source.ins - (unit + next) * kPack, kGroupIn % P::block_in == 0, plane);
  }
}

// The same of the planes of grad_y.
__device__ __forceinline__ void load_window(Words& words, const Source& source, const Tile& tile, int batch_index,
                                            int thread, const int batch, const int in_h, const int out_h,
                                            const int out_w) {
  const int pixel = pixel_of(batch_index, thread, kWindowLanes, kWindowChunks);
  const int unit = unit_of(batch_index, thread, kWindowLanes, kWindowChunks, kWindowBatch);
  const int plane_index = pixel / kPlanePixels;
  const int row = tile.row + pixel % kPlanePixels / kRowPitch;
  const int column = tile.column + pixel % kPlanePixels % kRowPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int oy = row % (in_h + kHaloH) * P::stride_h + plane_index / kPlanesW * P::dilation_h + source.origin_h;
  const int ox = column * P::stride_w + plane_index % kPlanesW * P::dilation_w + source.origin_w;
  const bool is_inside =
      pixel < kWindowPixels && image < batch && oy >= 0 && oy < out_h && ox >= 0 && ox < out_w;
  const long long plane = static_cast<long long>(out_h) * out_w;
  const Element* from = source.grad_y + static_cast<long long>(image) * P::out_channels * plane;
  from += P::channels_last ? (static_cast<long long>(oy) * out_w + ox) * P::out_channels + unit * kPack
                           : unit * kPack * plane + static_cast<long long>(oy) * out_w + ox;
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int next = i * kWindowLanes;  // unit
    load_unit(words[i], from + (P::channels_last ? next * kPack : next * kPack * plane),
              is_inside && (kWindowUnits % (kWindowLanes * kWindowBatch) == 0 || unit + next < kWindowUnits),
              source.outs - (unit + next) * kPack, kGroupOut % P::block_out == 0, plane);
  }
}

// Two channels in a word.
__device__ __forceinline__ uint4 packed_unit(const unsigned int (&words)[kWords]) {
  if (P::channels_last) {
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
  return make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]), low_halves(words[4], words[5]),
                    low_halves(words[6], words[7]));
}

// Writes a batch of x to its stage.
__device__ __forceinline__ void store_input(unsigned char* input, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread, kInputLanes, kInputChunks);
  const int unit = unit_of(batch_index, thread, kInputLanes, kInputChunks, kInputBatch);
  unsigned char* to = input + (P::type == kWgmmaTf32 ? pixel / 4 * kQuadPitch + unit * (kPack * 16) + pixel % 4 * 4
                                                     : unit * kInputUnitPitch + pixel * 16);
  if (kInputPixels % (P::producers / kInputLanes) == 0 || pixel < kInputPixels) {
#pragma unroll
    for (int i = 0; i < kInputBatch; ++i) {
      const int next = i * kInputLanes;  // unit
      if (kInputUnits % (kInputLanes * kInputBatch) == 0 || unit + next < kInputUnits) {
        if constexpr (P::type == kWgmmaTf32) {
#pragma unroll
          for (int c = 0; c < kPack; ++c) {
            *reinterpret_cast<unsigned int*>(to + (next * kPack + c) * 16) = operand(words[i][c]);
          }
        } else {
          *reinterpret_cast<uint4*>(to + next * kInputUnitPitch) = packed_unit(words[i]);
        }
      }
    }
  }
}

// The same of grad_y.
__device__ __forceinline__ void store_window(unsigned char* window, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread, kWindowLanes, kWindowChunks);
  const int unit = unit_of(batch_index, thread, kWindowLanes, kWindowChunks, kWindowBatch);
  unsigned char* to = window + (P::type == kWgmmaTf32 ? unit * (kPack * kChannelPitch) + pixel * 4
                                                      : unit * kWindowUnitPitch + pixel * 16);
  if (kWindowPixels % (P::producers / kWindowLanes) == 0 || pixel < kWindowPixels) {
#pragma unroll
    for (int i = 0; i < kWindowBatch; ++i) {
      const int next = i * kWindowLanes;  // unit
      if (kWindowUnits % (kWindowLanes * kWindowBatch) == 0 || unit + next < kWindowUnits) {
        if constexpr (P::type == kWgmmaTf32) {
#pragma unroll
          for (int c = 0; c < kPack; ++c) {
            *reinterpret_cast<unsigned int*>(to + (next * kPack + c) * kChannelPitch) = operand(words[i][c]);
          }
        } else {
          *reinterpret_cast<uint4*>(to + next * kWindowUnitPitch) = packed_unit(words[i]);
        }
      }
    }
  }
}

// Loads a batch of a stage: those of x come first.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w,
                                           const int out_h, const int out_w) {
  if (batch_index < kInputBatches) {
    load_input(words, source, tile, batch_index, thread, batch, in_h, in_w);
  } else {
    load_window(words, source, tile, batch_index - kInputBatches, thread, batch, in_h, out_h, out_w);
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* stage, const Words& words, int batch_index, int thread) {
  if (batch_index < kInputBatches) {
    store_input(stage, words, batch_index, thread);
  } else {
    store_window(stage + kInputBytes, words, batch_index - kInputBatches, thread);
  }
}
