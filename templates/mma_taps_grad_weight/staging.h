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

// Issues the thread's copies of x: zeros where the image or the channels end.
__device__ __forceinline__ void copy_input(unsigned char* to, const Source& source, const Tile& tile, const int in_h,
                                           const int in_w, int thread) {
  const Element* x = source.x + tile.image * P::x_channels * (static_cast<long long>(in_h) * in_w);
#pragma unroll 4
  for (int i = thread; i < kInputCopies; i += kThreads) {
    const int vector = i % kInputVectors;
    const int rest = i / kInputVectors;
    if constexpr (P::channels_last) {
      const int iy = tile.row + rest / P::tile_columns;
      const int ix = tile.column + rest % P::tile_columns;
      const bool is_inside = (kWholeRows || iy < in_h) && (kWholeColumns || ix < in_w) &&
                             (kGroupIn % kCopiedIn == 0 || vector * kInputCopy < source.ins);
      const Element* from = x + ((static_cast<Offset>(iy) * in_w + ix) * P::x_channels + vector * kInputCopy);
      copy(to + rest * kInputPitch + vector * (kInputCopy * kElementBytes), is_inside ? from : x, kInputCopy,
           is_inside);
    } else {
      const int row = rest % P::tile_rows;
      const int channel = rest / P::tile_rows;
      const int iy = tile.row + row;
      const int ix = tile.column + vector * kInputCopy;
      const bool is_inside = (kWholeRows || iy < in_h) && (kWholeColumns || ix < in_w) &&
                             (kGroupIn % kCopiedIn == 0 || channel < source.ins);
      const Element* from = x + ((static_cast<Offset>(channel) * in_h + iy) * in_w + ix);
      copy(to + channel * kInputPitch + (row * P::tile_columns + vector * kInputCopy) * kElementBytes,
           is_inside ? from : x, kInputCopy, is_inside);
    }
  }
}

// The same of the window of grad_y, whose first row and first element of a row are those of the tile's first position.
__device__ __forceinline__ void copy_window(unsigned char* to, const Source& source, const Tile& tile, int first_kh,
                                            int first_kw, const int out_h, const int out_w, int thread) {
  const Element* grad_y = source.grad_y + tile.image * P::y_channels * (static_cast<long long>(out_h) * out_w);
  const int first_row = tile.row * P::stride_h - P::padding_h + P::dilation_h * first_kh;
  const int first_column = tile.column * P::stride_w - P::padding_w + P::dilation_w * first_kw;
#pragma unroll 4
  for (int i = thread; i < kWindowCopies; i += kThreads) {
    const int vector = i % kRunVectors;
    const int run = i / kRunVectors % kRuns;
    const int row = i / (kRunVectors * kRuns) % kWindowRows;
    const int plane = i / (kRunVectors * kRuns * kWindowRows);
    const int oy = first_row + (kRowsApart ? row / kSpanH * P::stride_h + row % kSpanH : row);
    const bool is_row = (kWindowRowsInside || (oy >= 0 && oy < out_h)) &&
                        (P::channels_last || kGroupOut % P::block_out == 0 || plane < source.outs);
    const Offset of_row =
        (P::channels_last ? static_cast<Offset>(oy) : static_cast<Offset>(plane) * out_h + oy) * out_w * kPixelStep;
    bool is_inside = false;
    Offset element = 0;
    if constexpr (kFlat) {
      element = static_cast<Offset>(first_column) * kTogether - kWindowShift + run * kRunStep + vector * kWindowCopy;
      is_inside = is_row && element >= 0 && element < static_cast<Offset>(out_w) * kTogether;
    } else {
      const int ox = first_column + run;
      element = static_cast<Offset>(ox) * kPixelStep + vector * kWindowCopy;
      is_inside =
          is_row && ox >= 0 && ox < out_w && (kGroupOut % P::block_out == 0 || vector * kWindowCopy < source.outs);
    }
    copy(to + (plane * kPlanePitch + row * kRowPitch + run * kRunPitch + vector * kWindowCopy) * kElementBytes,
         is_inside ? grad_y + (of_row + element) : grad_y, kWindowCopy, is_inside);
  }
}
