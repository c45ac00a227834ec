// Part of the template `mma_grad_weight`: how stages come to shared memory, by asynchronous copies of channels of a
// pixel, or through registers by units of channels.
// Needs: Element, P, Source, Tile
#pragma once

#include "device/async_copy.h"
#include "device/element.h"
#include "device/memory.h"
#include "grad_weight/split_unit.h"
#include "layout.h"

// ---- Places ----

constexpr int kCopy = larger(P::copy_bytes, kElementBytes) / kElementBytes;  // elements
constexpr int kInputPieces = kInputUnits * kPieces;                          // of a pixel
constexpr int kWindowPieces = kWindowUnits * kPieces;

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of(int turn, int thread, const int pixels, const int pieces) {
  const unsigned int index = turn * kThreads + thread;
  return !P::channels_last        ? index % pixels
         : kThreads % pieces == 0 ? turn * (kThreads / pieces) + static_cast<unsigned int>(thread) / pieces
                                  : index / pieces;
}
__device__ __forceinline__ unsigned int piece_of(int turn, int thread, const int pixels, const int pieces) {
  const unsigned int index = turn * kThreads + thread;
  return !P::channels_last        ? index / pixels
         : kThreads % pieces == 0 ? static_cast<unsigned int>(thread) % pieces
                                  : index % pieces;
}
// Whether there is such a piece, where threads have so many turns.
__device__ __forceinline__ bool is_piece(int turn, int thread, const int turns, const int pixels, const int pieces) {
  return turns * kThreads == pixels * pieces || turn * kThreads + thread < pixels * pieces;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch + piece / kPieces * kInputUnitPitch + piece % kPieces * P::copy_bytes;
}
__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * kWindowPixelPitch + piece / kPieces * kWindowUnitPitch + piece % kPieces * P::copy_bytes;
}

// Where a pixel lies: how many images behind the first one of its tile, its row and column; and whether there is one.
struct Pixel {
  int image;
  int row;
  int column;
  bool is_inside;
};

// How many images behind the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row, const int in_h) {
  return kFewImages ? (row >= in_h + kHaloH ? 1 : 0) : row / (in_h + kHaloH);
}

__device__ __forceinline__ Pixel input_pixel(unsigned int pixel, const Tile& tile, const int planes, const int in_h,
                                             const int in_w) {
  const int row = tile.row + static_cast<int>(pixel / kInputPitch);
  Pixel place;
  place.image = images_before(row, in_h);
  place.row = row - place.image * (in_h + kHaloH);
  place.column = tile.column + static_cast<int>(pixel % kInputPitch);
  place.is_inside = tile.image + place.image < planes && (kHaloH == 0 || place.row < in_h) && place.column < in_w;
  return place;
}
// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int pixel, const Source& source, const Tile& tile,
                                              const int planes, const int in_h, const int out_h, const int out_w) {
  const int plane_index = static_cast<int>(pixel / kPlanePixels);
  const unsigned int of_plane = pixel % kPlanePixels;
  const int row = tile.row + static_cast<int>(of_plane / kWindowPitch);
  Pixel place;
  place.image = images_before(row, in_h);
  place.row =
      (row - place.image * (in_h + kHaloH)) * P::stride_h + plane_index / kPlanesW * P::dilation_h + source.origin_h;
  place.column = (tile.column + static_cast<int>(of_plane % kWindowPitch)) * P::stride_w +
                 plane_index % kPlanesW * P::dilation_w + source.origin_w;
  place.is_inside = tile.image + place.image < planes && static_cast<unsigned int>(place.row) < out_h &&
                    static_cast<unsigned int>(place.column) < out_w;
  return place;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of(const Pixel& pixel, const int channels, const int height,
                                               const int width) {
  if (kShort) {
    return pixel.image * (channels * height * width) +
           (pixel.row * width + pixel.column) * (P::channels_last ? channels : 1);
  }
  return pixel.image * (channels * (static_cast<long long>(height) * width)) +
         (static_cast<long long>(pixel.row) * width + pixel.column) * (P::channels_last ? channels : 1);
}

// The same from the first channel of all volumes, of a pixel in a plane `z` of its volume.
__device__ __forceinline__ long long offset_in_volume(const Pixel& pixel, int volume, int z, const int channels,
                                                      const int depth, const int height, const int width) {
  const long long pixels = static_cast<long long>(height) * width;
  const long long of_volume = z * pixels + (static_cast<long long>(pixel.row) * width + pixel.column);
  return volume * (channels * (depth * pixels)) + of_volume * (P::channels_last ? channels : 1);
}

// ---- Tables of pixels ----

// The table of a stage, which is this one of the slice.
__device__ __forceinline__ unsigned char* table_of(unsigned char* shared, int stage) {
  return shared + (kTableOffset + stage % 2 * kTableBytes);
}

// Where there is no pixel: a multiple of all vectors.
constexpr unsigned long long kOutside = kShort ? 0xfffffff0ull : 0xfffffffffffffff0ull;

// Finds the pixels of a stage: those of x, then those of the window. All threads share them.
__device__ __forceinline__ void find_pixels(unsigned char* table, const Source& source, const Tile& tile, int kd,
                                            int thread, const int planes, const int in_d, const int in_h,
                                            const int in_w, const int out_d, const int out_h, const int out_w) {
#pragma unroll 1
  for (int pixel = thread; pixel < kPixels; pixel += kThreads) {
    const bool is_input = pixel < kInputPixels;
    const Pixel place = is_input ? input_pixel(pixel, tile, planes, in_h, in_w)
                                 : window_pixel(pixel - kInputPixels, source, tile, planes, in_h, out_h, out_w);
    bool is_inside = place.is_inside;
    long long offset = 0;
    if constexpr (kDeep) {
      const int plane = tile.image + place.image;
      const int volume = plane / in_d;
      const int iz = plane % in_d;
      const int oz = iz * P::stride_d + (P::dilation_d * kd - P::padding_d);
      is_inside = is_inside && (is_input || (oz >= 0 && oz < out_d));
      offset = is_input ? offset_in_volume(place, volume, iz, P::in_channels, in_d, in_h, in_w)
                        : offset_in_volume(place, volume, oz, P::out_channels, out_d, out_h, out_w);
    } else {
      offset =
          is_input ? offset_of(place, P::in_channels, in_h, in_w) : offset_of(place, P::out_channels, out_h, out_w);
    }
    const unsigned long long found = is_inside ? static_cast<unsigned long long>(offset) * kElementBytes : kOutside;
    if constexpr (kShort) {
      *reinterpret_cast<unsigned int*>(table + pixel * 4) = static_cast<unsigned int>(found);
    } else {
      *reinterpret_cast<unsigned long long*>(table + pixel * 8) = found;
    }
  }
}

// What was found, in bytes.
__device__ __forceinline__ unsigned long long pixel_offset(const unsigned char* table, int pixel) {
  if constexpr (kShort) {
    return *reinterpret_cast<const unsigned int*>(table + pixel * 4);
  } else {
    return *reinterpret_cast<const unsigned long long*>(table + pixel * 8);
  }
}

// The elements of a pixel.
__device__ __forceinline__ const Element* at_pixel(const Element* first, unsigned long long offset) {
  return reinterpret_cast<const Element*>(reinterpret_cast<const unsigned char*>(first) + offset);
}

// What a stage is read from: its first image.
__device__ __forceinline__ const Element* input_of(const Source& source, int image, const int in_h, const int in_w) {
  return kDeep ? source.x : source.x + image * (P::in_channels * (static_cast<long long>(in_h) * in_w));
}
__device__ __forceinline__ const Element* window_of(const Source& source, int image, const int out_h, const int out_w) {
  return kDeep ? source.grad_y : source.grad_y + image * (P::out_channels * (static_cast<long long>(out_h) * out_w));
}

// ---- Asynchronous copies ----

// One asynchronous copy: `bytes` from memory, and zeros for the rest of it.
__device__ __forceinline__ void copy(void* to, const Element* from, int bytes) {
  if (P::copy_bytes == 16) {
    async_copy_16(to, from, bytes);
  } else if (P::copy_bytes == 8) {
    async_copy_8(to, from, bytes);
  } else {
    async_copy_4(to, from, bytes);
  }
}

// Issues a batch of the thread's copies of a stage: zeros where the images or the channels end.
__device__ __forceinline__ void copy_batch(unsigned char* to, const Source& source, int image,
                                           const unsigned char* table, int batch_index, int thread, const int in_h,
                                           const int in_w, const int out_h, const int out_w) {
  const Element* x = input_of(source, image, in_h, in_w);
  const Element* grad_y = window_of(source, image, out_h, out_w);
  // All offsets come from shared memory first, so that no copy waits for its own.
  unsigned long long offsets[kBatch];
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kBatches, kInputPixels, kInputPieces)) {
      offsets[i] = pixel_offset(table, pixel_of(turn, thread, kInputPixels, kInputPieces));
    }
  }
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kBatches, kWindowPixels, kWindowPieces)) {
      offsets[kInputBatch + i] =
          pixel_offset(table, kInputPixels + pixel_of(turn, thread, kWindowPixels, kWindowPieces));
    }
  }
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kBatches, kInputPixels, kInputPieces)) {
      const int piece = piece_of(turn, thread, kInputPixels, kInputPieces);
      const bool any = offsets[i] != kOutside && (kGroupIn % P::block_in == 0 || piece * kCopy < source.ins);
      copy(to + input_place(pixel_of(turn, thread, kInputPixels, kInputPieces), piece),
           at_pixel(x + piece * kCopy, offsets[i]), any ? kCopy * kElementBytes : 0);
    }
  }
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kBatches, kWindowPixels, kWindowPieces)) {
      const unsigned long long offset = offsets[kInputBatch + i];
      const int piece = piece_of(turn, thread, kWindowPixels, kWindowPieces);
      const bool any = offset != kOutside && (kGroupOut % P::block_out == 0 || piece * kCopy < source.outs);
      copy(to + window_place(pixel_of(turn, thread, kWindowPixels, kWindowPieces), piece),
           at_pixel(grad_y + piece * kCopy, offset), any ? kCopy * kElementBytes : 0);
    }
  }
}

// tf32: rounds in place what one of the thread's own copies has written.
__device__ __forceinline__ void round_piece(unsigned char* place) {
  if (P::copy_bytes == 16) {
    const uint4 v = *reinterpret_cast<const uint4*>(place);
    *reinterpret_cast<uint4*>(place) = make_uint4(operand(v.x), operand(v.y), operand(v.z), operand(v.w));
  } else if (P::copy_bytes == 8) {
    const uint2 v = *reinterpret_cast<const uint2*>(place);
    *reinterpret_cast<uint2*>(place) = make_uint2(operand(v.x), operand(v.y));
  } else {
    *reinterpret_cast<unsigned int*>(place) = operand(*reinterpret_cast<const unsigned int*>(place));
  }
}
__device__ __forceinline__ void round_stage(unsigned char* stage, int thread) {
#pragma unroll 4
  for (int turn = 0; turn < kInputTurns; ++turn) {
    if (is_piece(turn, thread, kInputTurns, kInputPixels, kInputPieces)) {
      round_piece(stage + input_place(pixel_of(turn, thread, kInputPixels, kInputPieces),
                                      piece_of(turn, thread, kInputPixels, kInputPieces)));
    }
  }
#pragma unroll 4
  for (int turn = 0; turn < kWindowTurns; ++turn) {
    if (is_piece(turn, thread, kWindowTurns, kWindowPixels, kWindowPieces)) {
      round_piece(stage + window_place(pixel_of(turn, thread, kWindowPixels, kWindowPieces),
                                       piece_of(turn, thread, kWindowPixels, kWindowPieces)));
    }
  }
}

// ---- Through registers ----

// A batch in registers, on its way to shared memory.
using Words = Word[kBatch][kWords];

// Loads a unit's elements: zeros outside of the images and for channels that there are not. `step` is from a channel to
// the next one.
__device__ __forceinline__ void load_unit(Word (&words)[kWords], const Element* __restrict__ from, bool is_inside,
                                          int left, const bool is_whole, const long long step) {
  if constexpr (P::wide && kSplit) {
    load_channels(words, from, is_inside && (is_whole || left > 0));
  } else if constexpr (P::wide) {
    const uint4 vector = is_inside && (is_whole || left > 0) ? load_constant_16(from) : make_uint4(0, 0, 0, 0);
    words[0] = vector.x;
    words[1] = vector.y;
    words[2] = vector.z;
    words[3] = vector.w;
  } else {
#pragma unroll
    for (int c = 0; c < kWords; ++c) {
      const bool is_there = is_inside && (is_whole || c < left);
      if constexpr (kSplit) {
        words[c] = is_there ? from[c * step] : 0;
      } else {
        words[c] = is_there ? bits_of(from[c * step]) : 0;
      }
    }
  }
}

// Loads a batch of a stage.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, int image, const unsigned char* table,
                                           int batch_index, int thread, const int in_d, const int in_h, const int in_w,
                                           const int out_d, const int out_h, const int out_w) {
  const Element* x = input_of(source, image, in_h, in_w);
  const Element* grad_y = window_of(source, image, out_h, out_w);
  const long long input_step = P::channels_last ? 1 : static_cast<long long>(in_h) * in_w * in_d;
  const long long window_step = P::channels_last ? 1 : static_cast<long long>(out_h) * out_w * out_d;
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int turn = batch_index * kInputBatch + i;
    const bool is_there = is_piece(turn, thread, kInputBatch * kBatches, kInputPixels, kInputUnits);
    const int channel = piece_of(turn, thread, kInputPixels, kInputUnits) * kVector;
    const unsigned long long offset =
        is_there ? pixel_offset(table, pixel_of(turn, thread, kInputPixels, kInputUnits)) : kOutside;
    load_unit(words[i], at_pixel(x + channel * input_step, offset), offset != kOutside, source.ins - channel,
              kGroupIn % P::block_in == 0, input_step);
  }
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    const bool is_there = is_piece(turn, thread, kWindowBatch * kBatches, kWindowPixels, kWindowUnits);
    const int channel = piece_of(turn, thread, kWindowPixels, kWindowUnits) * kVector;
    const unsigned long long offset =
        is_there ? pixel_offset(table, kInputPixels + pixel_of(turn, thread, kWindowPixels, kWindowUnits)) : kOutside;
    load_unit(words[kInputBatch + i], at_pixel(grad_y + channel * window_step, offset), offset != kOutside,
              source.outs - channel, kGroupOut % P::block_out == 0, window_step);
  }
}

// Writes a unit to its place. `scales` are those of its channels, of values that are split.
__device__ __forceinline__ void store_unit(unsigned char* to, const int low_offset, const Word (&words)[kWords],
                                           const float* scales) {
  if constexpr (kSplit) {
    store_split(to, low_offset, words, scales);
  } else if constexpr (P::type == kWgmmaTf32) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(operand(words[0]), operand(words[1]), operand(words[2]), operand(words[3]));
  } else if constexpr (P::wide) {
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]),
                   low_halves(words[kWords - 4], words[kWords - 3]), low_halves(words[kWords - 2], words[kWords - 1]));
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, const float* scales, int batch_index,
                                            int thread) {
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kBatches, kInputPixels, kInputUnits)) {
      const int unit = piece_of(turn, thread, kInputPixels, kInputUnits);
      store_unit(to + input_place(pixel_of(turn, thread, kInputPixels, kInputUnits), unit), kInputPartBytes, words[i],
                 scales + unit * kVector);
    }
  }
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kBatches, kWindowPixels, kWindowUnits)) {
      const int unit = piece_of(turn, thread, kWindowPixels, kWindowUnits);
      store_unit(to + window_place(pixel_of(turn, thread, kWindowPixels, kWindowUnits), unit), kWindowPartBytes,
                 words[kInputBatch + i], scales + (P::block_in + unit * kVector));
    }
  }
}

// Brings a batch on its way: by copies, or to registers.
__device__ __forceinline__ void bring_batch(unsigned char* to, Words& words, const Source& source, int image,
                                            const unsigned char* table, int batch_index, int thread, const int in_d,
                                            const int in_h, const int in_w, const int out_d, const int out_h,
                                            const int out_w) {
  if (P::copy_bytes > 0) {
    copy_batch(to, source, image, table, batch_index, thread, in_h, in_w, out_h, out_w);
  } else {
    load_batch(words, source, image, table, batch_index, thread, in_d, in_h, in_w, out_d, out_h, out_w);
  }
}
