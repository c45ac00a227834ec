// Part of the template `grad_weight_gemm`: producers bring positions of x and of the planes of grad_y through
// registers to shared memory.
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

// An item is a unit of channels at one position. With channels last, adjacent threads have adjacent units (tf32: of
// eight positions, which spreads them over the banks); else adjacent positions.
constexpr int kWords = P::channels_last ? 4 : kPack;  // of an item
constexpr int kBatch = 32 / kWords;                   // items that a thread has in flight
constexpr int kInputRound = !P::channels_last ? kInputPixels : P::type == kWgmmaTf32 ? 8 : 1;
constexpr int kWindowRound = !P::channels_last ? kWindowPixels : P::type == kWgmmaTf32 ? 8 : 1;
constexpr int kInputItems = ceil_div(kInputPixels, kInputRound) * kInputRound * kInputUnits;
constexpr int kWindowItems = ceil_div(kWindowPixels, kWindowRound) * kWindowRound * kWindowUnits;
constexpr int kBatches = ceil_div(kInputItems + kWindowItems, kBatch* P::producers);  // of a stage
using Words = unsigned int[kBatch][kWords];

// The unit of the i-th item, and its position.
__device__ inline int unit_of(int i, const int round, const int units) {
  return i / round % units;
}
__device__ inline int pixel_of(int i, const int round, const int units) {
  return i / (round * units) * round + i % round;
}

// Where an item is in memory: its first channel, how many there are from there on, and whether the position is inside the
// image.
struct Item {
  const Element* from;
  int left;
  bool is_inside;
};

// The i-th item of a stage's positions of x.
__device__ __forceinline__ Item input_item(int i, const Source& source, const Tile& tile, const int batch,
                                           const int in_h, const int in_w) {
  const int pixel = pixel_of(i, kInputRound, kInputUnits);
  const int ci = unit_of(i, kInputRound, kInputUnits) * kPack;
  const int row = tile.row + pixel / kInputPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int iy = row % (in_h + kHaloH);
  const int ix = tile.column + pixel % kInputPitch;
  Item item;
  item.from = P::channels_last
                  ? source.x + ((static_cast<long long>(image) * in_h + iy) * in_w + ix) * P::in_channels + ci
                  : source.x + ((static_cast<long long>(image) * P::in_channels + ci) * in_h + iy) * in_w + ix;
  item.left = source.ins - ci;
  item.is_inside = pixel < (P::flat ? P::tile_rows * kInputPitch : kInputPixels) && image < batch &&
                   (kHaloH == 0 || iy < in_h) && ix < in_w;
  return item;
}

// The same of the planes of grad_y.
__device__ __forceinline__ Item window_item(int i, const Source& source, const Tile& tile, const int batch,
                                            const int in_h, const int out_h, const int out_w) {
  const int pixel = pixel_of(i, kWindowRound, kWindowUnits);
  const int co = unit_of(i, kWindowRound, kWindowUnits) * kPack;
  const int plane = pixel / kPlanePixels;
  const int row = tile.row + pixel % kPlanePixels / kRowPitch;
  const int column = tile.column + pixel % kPlanePixels % kRowPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int oy = row % (in_h + kHaloH) * P::stride_h + plane / kPlanesW * P::dilation_h + source.origin_h;
  const int ox = column * P::stride_w + plane % kPlanesW * P::dilation_w + source.origin_w;
  Item item;
  item.from = P::channels_last
                  ? source.grad_y + ((static_cast<long long>(image) * out_h + oy) * out_w + ox) * P::out_channels + co
                  : source.grad_y + ((static_cast<long long>(image) * P::out_channels + co) * out_h + oy) * out_w + ox;
  item.left = source.outs - co;
  item.is_inside = i < kWindowItems && pixel < kWindowPixels && image < batch && oy >= 0 && oy < out_h && ox >= 0 &&
                   ox < out_w;
  return item;
}

// Loads an item: zeros where it is outside the image, and for channels that there are not. `plane` is from a channel to
// the next one.
__device__ __forceinline__ void load_item(unsigned int (&words)[kWords], const Item& item, long long plane) {
  if (P::channels_last) {
    uint4 loaded = make_uint4(0, 0, 0, 0);
    if (item.is_inside && item.left > 0) {
      loaded = load_constant_16(item.from);
    }
    words[0] = loaded.x;
    words[1] = loaded.y;
    words[2] = loaded.z;
    words[3] = loaded.w;
  } else {
#pragma unroll
    for (int c = 0; c < kPack; ++c) {
      words[c] = item.is_inside && c < item.left ? bits_of(item.from[c * plane]) : 0;
    }
  }
}

// Loads a batch of a stage's items: those of x come first.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w,
                                           const int out_h, const int out_w) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = (batch_index * kBatch + item) * P::producers + thread;
    if (i < kInputItems) {
      load_item(words[item], input_item(i, source, tile, batch, in_h, in_w), static_cast<long long>(in_h) * in_w);
    } else {
      load_item(words[item], window_item(i - kInputItems, source, tile, batch, in_h, out_h, out_w),
                static_cast<long long>(out_h) * out_w);
    }
  }
}

// Two channels in a word.
__device__ __forceinline__ uint4 unit_of_words(const unsigned int (&words)[kWords]) {
  if (P::channels_last) {
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
  return make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]), low_halves(words[4], words[5]),
                    low_halves(words[6], words[7]));
}

// Writes the i-th item of x to its stage.
__device__ __forceinline__ void store_input(unsigned char* input, const unsigned int (&words)[kWords], int i) {
  const int unit = unit_of(i, kInputRound, kInputUnits);
  const int pixel = pixel_of(i, kInputRound, kInputUnits);
  if (kInputPixels % kInputRound == 0 || pixel < kInputPixels) {
    if constexpr (P::type == kWgmmaTf32) {
      unsigned int* to =
          reinterpret_cast<unsigned int*>(input + pixel / 4 * kQuadPitch + unit * kPack * 16 + pixel % 4 * 4);
#pragma unroll
      for (int c = 0; c < kPack; ++c) {
        to[c * 4] = operand(words[c]);
      }
    } else {
      *reinterpret_cast<uint4*>(input + unit * kInputUnitPitch + pixel * 16) = unit_of_words(words);
    }
  }
}

// The same of grad_y.
__device__ __forceinline__ void store_window(unsigned char* window, const unsigned int (&words)[kWords], int i) {
  const int unit = unit_of(i, kWindowRound, kWindowUnits);
  const int pixel = pixel_of(i, kWindowRound, kWindowUnits);
  if (i < kWindowItems && (kWindowPixels % kWindowRound == 0 || pixel < kWindowPixels)) {
    if constexpr (P::type == kWgmmaTf32) {
#pragma unroll
      for (int c = 0; c < kPack; ++c) {
        *reinterpret_cast<unsigned int*>(window + (unit * kPack + c) * kChannelPitch + pixel * 4) = operand(words[c]);
      }
    } else {
      *reinterpret_cast<uint4*>(window + unit * kWindowUnitPitch + pixel * 16) = unit_of_words(words);
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* stage, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = (batch_index * kBatch + item) * P::producers + thread;
    if (i < kInputItems) {
      store_input(stage, words[item], i);
    } else {
      store_window(stage + kInputBytes, words[item], i - kInputItems);
    }
  }
}
