// Part of the template `mma_grad_weight`: how stages come to shared memory, by asynchronous copies of channels of a
// pixel, or through registers by units of channels.
// Needs: Element, P, Source, Tile
#pragma once

#include "device/async_copy.h"
#include "device/element.h"
#include "device/memory.h"
#include "layout.h"

// ---- Places ----

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ int pixel_of(int index, const int pixels, const int pieces) {
  return P::channels_last ? index / pieces : index % pixels;
}
__device__ __forceinline__ int piece_of(int index, const int pixels, const int pieces) {
  return P::channels_last ? index % pieces : index / pixels;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch + piece / kPieces * kInputUnitPitch + piece % kPieces * P::copy_bytes;
}
__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * kWindowPixelPitch + piece / kPieces * kWindowUnitPitch +
         piece % kPieces * P::copy_bytes;
}

// Where a pixel's first channel lies in x, or -1 outside of the images.
__device__ __forceinline__ long long input_pixel(int pixel, const Tile& tile, const int batch, const int in_h,
                                                 const int in_w) {
  const int row = tile.row + pixel / kInputPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int iy = row % (in_h + kHaloH);
  const int ix = tile.column + pixel % kInputPitch;
  const long long plane = static_cast<long long>(in_h) * in_w;
  return image < batch && (kHaloH == 0 || iy < in_h) && ix < in_w
             ? image * (P::in_channels * plane) +
                   (static_cast<long long>(iy) * in_w + ix) * (P::channels_last ? P::in_channels : 1)
             : -1;
}
// The same of grad_y.
__device__ __forceinline__ long long window_pixel(int pixel, const Source& source, const Tile& tile, const int batch,
                                                  const int in_h, const int out_h, const int out_w) {
  const int plane_index = pixel / kPlanePixels;
  const int row = tile.row + pixel % kPlanePixels / kWindowPitch;
  const int column = tile.column + pixel % kPlanePixels % kWindowPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int oy = row % (in_h + kHaloH) * P::stride_h + plane_index / kPlanesW * P::dilation_h + source.origin_h;
  const int ox = column * P::stride_w + plane_index % kPlanesW * P::dilation_w + source.origin_w;
  const long long plane = static_cast<long long>(out_h) * out_w;
  return image < batch && oy >= 0 && oy < out_h && ox >= 0 && ox < out_w
             ? image * (P::out_channels * plane) +
                   (static_cast<long long>(oy) * out_w + ox) * (P::channels_last ? P::out_channels : 1)
             : -1;
}

// ---- Asynchronous copies ----

constexpr int kCopy = larger(P::copy_bytes, kBytes) / kBytes;  // elements
constexpr int kInputPieces = kInputUnits * kPieces;            // of a pixel
constexpr int kWindowPieces = kWindowUnits * kPieces;

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

// Issues the thread's copies of a stage: zeros where the images or the channels end.
__device__ __forceinline__ void copy_stage(unsigned char* to, const Source& source, const Tile& tile, int thread,
                                           const int batch, const int in_h, const int in_w, const int out_h,
                                           const int out_w) {
#pragma unroll 4
  for (int turn = 0; turn < kInputTurns; ++turn) {
    const int index = turn * kThreads + thread;
    const int pixel = pixel_of(index, kInputPixels, kInputPieces);
    if (kInputPixels * kInputPieces % kThreads == 0 || pixel < kInputPixels) {
      const int piece = piece_of(index, kInputPixels, kInputPieces);
      const long long at = input_pixel(pixel, tile, batch, in_h, in_w);
      const bool any = at >= 0 && (kGroupIn % P::block_in == 0 || piece * kCopy < source.ins);
      copy(to + input_place(pixel, piece), any ? source.x + at + piece * kCopy : source.x,
           any ? kCopy * kBytes : 0);
    }
  }
#pragma unroll 4
  for (int turn = 0; turn < kWindowTurns; ++turn) {
    const int index = turn * kThreads + thread;
    const int pixel = pixel_of(index, kWindowPixels, kWindowPieces);
    if (kWindowPixels * kWindowPieces % kThreads == 0 || pixel < kWindowPixels) {
      const int piece = piece_of(index, kWindowPixels, kWindowPieces);
      const long long at = window_pixel(pixel, source, tile, batch, in_h, out_h, out_w);
      const bool any = at >= 0 && (kGroupOut % P::block_out == 0 || piece * kCopy < source.outs);
      copy(to + window_place(pixel, piece), any ? source.grad_y + at + piece * kCopy : source.grad_y,
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
    const int index = turn * kThreads + thread;
    const int pixel = pixel_of(index, kInputPixels, kInputPieces);
    if (kInputPixels * kInputPieces % kThreads == 0 || pixel < kInputPixels) {
      round_piece(stage + input_place(pixel, piece_of(index, kInputPixels, kInputPieces)));
    }
  }
#pragma unroll 4
  for (int turn = 0; turn < kWindowTurns; ++turn) {
    const int index = turn * kThreads + thread;
    const int pixel = pixel_of(index, kWindowPixels, kWindowPieces);
    if (kWindowPixels * kWindowPieces % kThreads == 0 || pixel < kWindowPixels) {
      round_piece(stage + window_place(pixel, piece_of(index, kWindowPixels, kWindowPieces)));
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
                                           int thread, const int batch, const int in_h, const int in_w,
                                           const int out_h, const int out_w) {
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const int turn = batch_index * kBatch + i;
    if (turn < kInputTurns) {
      const int index = turn * kThreads + thread;
      const int pixel = pixel_of(index, kInputPixels, kInputUnits);
      const int channel = piece_of(index, kInputPixels, kInputUnits) * kVector;
      const long long at = input_pixel(pixel, tile, batch, in_h, in_w);
      const long long step = P::channels_last ? 1 : static_cast<long long>(in_h) * in_w;
      load_unit(words[i], source.x + at + channel * step,
                at >= 0 && (kInputPixels * kInputUnits % kThreads == 0 || index < kInputPixels * kInputUnits),
                source.ins - channel, kGroupIn % P::block_in == 0, step);
    } else {
      const int index = (turn - kInputTurns) * kThreads + thread;
      const int pixel = pixel_of(index, kWindowPixels, kWindowUnits);
      const int channel = piece_of(index, kWindowPixels, kWindowUnits) * kVector;
      const long long at = window_pixel(pixel, source, tile, batch, in_h, out_h, out_w);
      const long long step = P::channels_last ? 1 : static_cast<long long>(out_h) * out_w;
      load_unit(words[i], source.grad_y + at + channel * step, at >= 0 && index < kWindowPixels * kWindowUnits,
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
      const int index = turn * kThreads + thread;
      if (kInputPixels * kInputUnits % kThreads == 0 || index < kInputPixels * kInputUnits) {
        place = input_place(pixel_of(index, kInputPixels, kInputUnits), piece_of(index, kInputPixels, kInputUnits));
      }
    } else {
      const int index = (turn - kInputTurns) * kThreads + thread;
      if (index < kWindowPixels * kWindowUnits) {
        place =
            window_place(pixel_of(index, kWindowPixels, kWindowUnits), piece_of(index, kWindowPixels, kWindowUnits));
      }
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
