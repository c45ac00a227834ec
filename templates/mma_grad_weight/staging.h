// Part of the template `mma_grad_weight`: how stages come to shared memory, by asynchronous copies of channels of a
// pixel, or through registers by units of channels.
// Needs: Element, P, Source, Tile
#pragma once

#include "device/async_copy.h"
#include "device/element.h"
#include "device/memory.h"
#include "layout.h"

// ---- Places ----

constexpr int kCopy = larger(P::copy_bytes, kBytes) / kBytes;  // elements
constexpr int kInputPieces = kInputUnits * kPieces;            // of a pixel
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
// Whether there is such a piece.
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

// Known images that are as high as a tile: it reaches no more than the next one.
constexpr bool kFewImages = P::height >= P::tile_rows;

// How many images behind the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row, const int in_h) {
  return kFewImages ? (row >= in_h + kHaloH ? 1 : 0) : row / (in_h + kHaloH);
}

__device__ __forceinline__ Pixel input_pixel(unsigned int pixel, const Tile& tile, const int batch, const int in_h,
                                             const int in_w) {
  const int row = tile.row + static_cast<int>(pixel / kInputPitch);
  Pixel place;
  place.image = images_before(row, in_h);
  place.row = row - place.image * (in_h + kHaloH);
  place.column = tile.column + static_cast<int>(pixel % kInputPitch);
  place.is_inside = tile.image + place.image < batch && (kHaloH == 0 || place.row < in_h) && place.column < in_w;
  return place;
}
// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int pixel, const Source& source, const Tile& tile,
                                              const int batch, const int in_h, const int out_h, const int out_w) {
  const int plane_index = static_cast<int>(pixel / kPlanePixels);
  const unsigned int of_plane = pixel % kPlanePixels;
  const int row = tile.row + static_cast<int>(of_plane / kWindowPitch);
  Pixel place;
  place.image = images_before(row, in_h);
  place.row =
      (row - place.image * (in_h + kHaloH)) * P::stride_h + plane_index / kPlanesW * P::dilation_h + source.origin_h;
  place.column = (tile.column + static_cast<int>(of_plane % kWindowPitch)) * P::stride_w +
                 plane_index % kPlanesW * P::dilation_w + source.origin_w;
  place.is_inside = tile.image + place.image < batch && static_cast<unsigned int>(place.row) < out_h &&
                    static_cast<unsigned int>(place.column) < out_w;
  return place;
}

// From the first channel of the tile's first image to that of a pixel. An int where the images are known and small.
__device__ __forceinline__ long long pixel_offset(const Pixel& pixel, const int channels, const int known,
                                                  const int height, const int width) {
  if (known) {
    return pixel.image * (channels * height * width) +
           (pixel.row * width + pixel.column) * (P::channels_last ? channels : 1);
  }
  return pixel.image * (channels * (static_cast<long long>(height) * width)) +
         (static_cast<long long>(pixel.row) * width + pixel.column) * (P::channels_last ? channels : 1);
}
constexpr long long kMostInt = 0x7fffffff;
constexpr bool kIsKnown = P::height >= 0 && P::width >= 0;
constexpr long long kKnownInputs = static_cast<long long>(P::in_channels) * P::height * P::width;  // of an image
constexpr long long kKnownOutputs =
    static_cast<long long>(P::out_channels) *
    ((P::height - 1) * P::stride_h + P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h) *
    ((P::width - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);
constexpr bool kShortInputs = kIsKnown && kFewImages && kKnownInputs <= kMostInt / 4;
constexpr bool kShortOutputs = kIsKnown && kFewImages && kKnownOutputs <= kMostInt / 4;

// What a tile is read from: its first image.
__device__ __forceinline__ const Element* input_of(const Source& source, const Tile& tile, const int in_h,
                                                   const int in_w) {
  return source.x + tile.image * (P::in_channels * (static_cast<long long>(in_h) * in_w));
}
__device__ __forceinline__ const Element* window_of(const Source& source, const Tile& tile, const int out_h,
                                                    const int out_w) {
  return source.grad_y + tile.image * (P::out_channels * (static_cast<long long>(out_h) * out_w));
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
__device__ __forceinline__ void copy_batch(unsigned char* to, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w, const int out_h,
                                           const int out_w) {
  const Element* x = input_of(source, tile, in_h, in_w);
  const Element* grad_y = window_of(source, tile, out_h, out_w);
#pragma unroll 2
  for (int i = 0; i < kBatch; ++i) {
    const int turn = batch_index * kBatch + i;
    if (turn < kInputTurns) {
      if (is_piece(turn, thread, kInputTurns, kInputPixels, kInputPieces)) {
        const int pixel = pixel_of(turn, thread, kInputPixels, kInputPieces);
        const int piece = piece_of(turn, thread, kInputPixels, kInputPieces);
        const Pixel place = input_pixel(pixel, tile, batch, in_h, in_w);
        const bool any = place.is_inside && (kGroupIn % P::block_in == 0 || piece * kCopy < source.ins);
        copy(to + input_place(pixel, piece),
             x + (pixel_offset(place, P::in_channels, kShortInputs, in_h, in_w) + piece * kCopy),
             any ? kCopy * kBytes : 0);
      }
    } else if (turn < kTurns && is_piece(turn - kInputTurns, thread, kWindowTurns, kWindowPixels, kWindowPieces)) {
      const int pixel = pixel_of(turn - kInputTurns, thread, kWindowPixels, kWindowPieces);
      const int piece = piece_of(turn - kInputTurns, thread, kWindowPixels, kWindowPieces);
      const Pixel place = window_pixel(pixel, source, tile, batch, in_h, out_h, out_w);
      const bool any = place.is_inside && (kGroupOut % P::block_out == 0 || piece * kCopy < source.outs);
      copy(to + window_place(pixel, piece),
           grad_y + (pixel_offset(place, P::out_channels, kShortOutputs, out_h, out_w) + piece * kCopy),
           any ? kCopy * kBytes : 0);
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
using Words = unsigned int[kBatch][kVector];

// Loads a unit's elements: zeros outside of the images and for channels that there are not. `step` is from a channel to
// the next one.
__device__ __forceinline__ void load_unit(unsigned int (&words)[kVector], const Element* __restrict__ from,
                                          bool is_inside, int left, const bool is_whole, const long long step) {
#pragma unroll
  for (int c = 0; c < kVector; ++c) {
    words[c] = is_inside && (is_whole || c < left) ? bits_of(from[c * step]) : 0;
  }
}

// Loads a batch of a stage.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w, const int out_h,
                                           const int out_w) {
  const Element* x = input_of(source, tile, in_h, in_w);
  const Element* grad_y = window_of(source, tile, out_h, out_w);
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const int turn = batch_index * kBatch + i;
    if (turn < kInputTurns) {
      const int channel = piece_of(turn, thread, kInputPixels, kInputUnits) * kVector;
      const Pixel place = input_pixel(pixel_of(turn, thread, kInputPixels, kInputUnits), tile, batch, in_h, in_w);
      const long long step = P::channels_last ? 1 : static_cast<long long>(in_h) * in_w;
      load_unit(words[i], x + (pixel_offset(place, P::in_channels, kShortInputs, in_h, in_w) + channel * step),
                place.is_inside && is_piece(turn, thread, kInputTurns, kInputPixels, kInputUnits), source.ins - channel,
                kGroupIn % P::block_in == 0, step);
    } else {
      const int channel = piece_of(turn - kInputTurns, thread, kWindowPixels, kWindowUnits) * kVector;
      const Pixel place = window_pixel(pixel_of(turn - kInputTurns, thread, kWindowPixels, kWindowUnits), source, tile,
                                       batch, in_h, out_h, out_w);
      const long long step = P::channels_last ? 1 : static_cast<long long>(out_h) * out_w;
      load_unit(words[i], grad_y + (pixel_offset(place, P::out_channels, kShortOutputs, out_h, out_w) + channel * step),
                place.is_inside && turn * kThreads + thread < kInputTurns * kThreads + kWindowPixels * kWindowUnits,
                source.outs - channel, kGroupOut % P::block_out == 0, step);
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const int turn = batch_index * kBatch + i;
    int place = -1;
    if (turn < kInputTurns) {
      if (is_piece(turn, thread, kInputTurns, kInputPixels, kInputUnits)) {
        place = input_place(pixel_of(turn, thread, kInputPixels, kInputUnits),
                            piece_of(turn, thread, kInputPixels, kInputUnits));
      }
    } else if (turn * kThreads + thread < kInputTurns * kThreads + kWindowPixels * kWindowUnits) {
      place = window_place(pixel_of(turn - kInputTurns, thread, kWindowPixels, kWindowUnits),
                           piece_of(turn - kInputTurns, thread, kWindowPixels, kWindowUnits));
    }
    if (place >= 0) {
      if constexpr (P::type == kWgmmaTf32) {
        *reinterpret_cast<uint4*>(to + place) =
            make_uint4(operand(words[i][0]), operand(words[i][1]), operand(words[i][2]), operand(words[i][3]));
      } else {
        *reinterpret_cast<uint4*>(to + place) =
            make_uint4(low_halves(words[i][0], words[i][1]), low_halves(words[i][2], words[i][3]),
                       low_halves(words[i][4], words[i][5]), low_halves(words[i][6], words[i][7]));
      }
    }
  }
}

// Brings a batch on its way: by copies, or to registers.
__device__ __forceinline__ void bring_batch(unsigned char* to, Words& words, const Source& source, const Tile& tile,
                                            int batch_index, int thread, const int batch, const int in_h,
                                            const int in_w, const int out_h, const int out_w) {
  if (P::copy_bytes > 0) {
    copy_batch(to, source, tile, batch_index, thread, batch, in_h, in_w, out_h, out_w);
  } else {
    load_batch(words, source, tile, batch_index, thread, batch, in_h, in_w, out_h, out_w);
  }
}
