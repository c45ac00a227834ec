// Part of the template `mma_taps_grad_weight`: how stages come to shared memory, by asynchronous copies, or through
// registers where elements of 16 bits are not known to lie in whole words.
// Needs: Element, Offset, P
#pragma once

#include "device/async_copy.h"
#include "layout.h"

// Copies some adjacent elements, or zeros.
__device__ __forceinline__ void copy(unsigned char* to, const Element* from, const int elements, bool is_inside) {
  if (elements * kElementBytes == 16) {
    async_copy_16(to, from, is_inside ? 16 : 0);
  } else if (elements * kElementBytes == 8) {
    async_copy_8(to, from, is_inside ? 8 : 0);
  } else if (elements * kElementBytes == 4) {
    async_copy_4(to, from, is_inside ? 4 : 0);
  } else {
    Element value = 0;
    if (is_inside) {
      value = *from;
    }
    *reinterpret_cast<Element*>(to) = value;
  }
}

// What a block reads: the first channel that it has of x and of grad_y, in the first image, and how many channels are
// left there.
struct Source {
  const Element* x;
  const Element* grad_y;
  int ins;
  int outs;
};

// A tile of positions.
struct Tile {
  long long image;
  int row;
  int column;
};

// Zeros x of all stages, where rows of products have no channels: nothing else is written there.
__device__ __forceinline__ void zero_inputs(unsigned char* shared, int thread) {
#pragma unroll 1
  for (int stage = 0; stage < P::stages; ++stage) {
#pragma unroll 1
    for (int i = thread; i < kInputBytes / 16; i += kThreads) {
      *reinterpret_cast<uint4*>(shared + (stage * kStageBytes + i * 16)) = make_uint4(0, 0, 0, 0);
    }
  }
}

// Threads share the copies of rows: of a short one each has the same vector of every row that it brings.
__host__ __device__ constexpr int copying_threads(int vectors) {
  return vectors <= kThreads ? kThreads / vectors * vectors : kThreads;
}
__device__ __forceinline__ int vector_of(int turn, int thread, const int vectors) {
  return vectors <= kThreads ? thread % vectors : (turn * kThreads + thread) % vectors;
}
__device__ __forceinline__ int row_of(int turn, int thread, const int vectors) {
  return vectors <= kThreads ? turn * (kThreads / vectors) + thread / vectors : (turn * kThreads + thread) / vectors;
}
// Whether a thread has a copy in a turn.
__device__ __forceinline__ bool has_copy(int turn, int thread, const int vectors, const int copies) {
  return (copying_threads(vectors) == kThreads || thread < copying_threads(vectors)) &&
         (copies % copying_threads(vectors) == 0 || turn * copying_threads(vectors) + thread < copies);
}

// Issues the thread's copies of x: zeros where the image or the channels end.
__device__ __forceinline__ void copy_input(unsigned char* to, const Source& source, const Tile& tile, const int in_h,
                                           const int in_w, int thread) {
  const Element* x = source.x + tile.image * P::x_channels * (static_cast<long long>(in_h) * in_w);
#pragma unroll 4
  for (int turn = 0; turn < ceil_div(kInputCopies, copying_threads(kInputVectors)); ++turn) {
    if (has_copy(turn, thread, kInputVectors, kInputCopies)) {
      const int vector = vector_of(turn, thread, kInputVectors);
      const int rest = row_of(turn, thread, kInputVectors);  // position, or row of a channel
      const int channel = P::channels_last ? vector * kInputCopy : rest / P::tile_rows;
      const int row = P::channels_last ? rest / P::tile_columns : rest % P::tile_rows;
      const int column = P::channels_last ? rest % P::tile_columns : vector * kInputCopy;
      const int iy = tile.row + row;
      const int ix = tile.column + column;
      const bool is_inside = (kWholeRows || iy < in_h) && (kWholeColumns || ix < in_w) &&
                             (kGroupIn % kCopiedIn == 0 || channel < source.ins);
      const Offset from = P::channels_last ? (static_cast<Offset>(iy) * in_w + ix) * P::x_channels + channel
                                           : (static_cast<Offset>(channel) * in_h + iy) * in_w + ix;
      const int place = P::channels_last ? rest * kInputPitch + channel * kElementBytes
                                         : channel * kInputPitch + (row * P::tile_columns + column) * kElementBytes;
      copy(to + place, x + (is_inside ? from : 0), kInputCopy, is_inside);
    }
  }
}

// The same of the window of grad_y, whose first row and first element of a row are those of the tile's first position.
__device__ __forceinline__ void copy_window(unsigned char* to, const Source& source, const Tile& tile, int first_kh,
                                            int first_kw, const int out_h, const int out_w, int thread) {
  const Element* grad_y = source.grad_y + tile.image * P::y_channels * (static_cast<long long>(out_h) * out_w);
  const int first_row = tile.row * P::stride_h - P::padding_h + P::dilation_h * first_kh;
  const int first_column = tile.column * P::stride_w - P::padding_w + P::dilation_w * first_kw;
  constexpr int kVectors = kRuns * kRunVectors;  // of a row
#pragma unroll 4
  for (int turn = 0; turn < ceil_div(kWindowCopies, copying_threads(kVectors)); ++turn) {
    if (has_copy(turn, thread, kVectors, kWindowCopies)) {
      const int of_row = vector_of(turn, thread, kVectors);
      const int rest = row_of(turn, thread, kVectors);
      const int vector = of_row % kRunVectors;
      const int run = of_row / kRunVectors;
      const int row = rest % kWindowRows;
      const int plane = rest / kWindowRows;
      const int oy = first_row + (kRowsApart ? row / kSpanH * P::stride_h + row % kSpanH : row);
      bool is_inside = (kWindowRowsInside || (oy >= 0 && oy < out_h)) &&
                       (P::channels_last || kGroupOut % P::block_out == 0 || plane < source.outs);
      Offset element = 0;
      if constexpr (kFlat) {
        element = static_cast<Offset>(first_column) * kTogether - kWindowShift + run * kRunStep + vector * kWindowCopy;
        is_inside = is_inside && element >= 0 && element < static_cast<Offset>(out_w) * kTogether;
      } else {
        const int ox = first_column + run;
        element = static_cast<Offset>(ox) * kPixelStep + vector * kWindowCopy;
        is_inside =
            is_inside && ox >= 0 && ox < out_w && (kGroupOut % P::block_out == 0 || vector * kWindowCopy < source.outs);
      }
      const Offset from =
          (P::channels_last ? static_cast<Offset>(oy) : static_cast<Offset>(plane) * out_h + oy) * out_w * kPixelStep +
          element;
      copy(to + (plane * kPlanePitch + row * kRowPitch + run * kRunPitch + vector * kWindowCopy) * kElementBytes,
           grad_y + (is_inside ? from : 0), kWindowCopy, is_inside);
    }
  }
}
