// Part of the template `grad_weight_pixels`: x and grad_y with channels last, split, before the products.
#pragma once

#include "device/call_sizes.h"
#include "device/memory.h"
#include "grad_weight/channel_tile.h"
#include "grad_weight/scales.h"

constexpr int kWords = kVector;  // of a unit
using Word = float;
#include "grad_weight/split_unit.h"

// A position's channels have their high parts first, then their low ones. What is beyond the last image is zero.
constexpr int kSplitUnits = kCopyLoads / kWords;     // of a thread
constexpr int kSplitRows = kCopySide / kSplitUnits;  // positions from one to the next
constexpr int kSplitScalesOffset = P::channels_last ? 0 : 4 * kCopySide * kCopyPitch;
constexpr int kSplitSharedBytes = kSplitScalesOffset + 4 * kCopySide;

// `from` and `to` are a chunk's. It has so many images of the batch. {with first_scanned: `first_scanned` is the
// place of the tensor's first channel among all that were scanned.}
__device__ __forceinline__ void split_tile(const Element* __restrict__ from, unsigned char* __restrict__ to,
                                           const float* __restrict__ maxima, unsigned char* shared, const int channels,
                                           const int first_scanned, int first_position, int first_channel, int images,
                                           const int plane, int thread) {
  float* scales = reinterpret_cast<float*>(shared + kSplitScalesOffset);
  Element* tile = reinterpret_cast<Element*>(shared);
  const int octet = thread % (kCopySide / kWords);
  const int row = thread / (kCopySide / kWords);
  const int channel = first_channel + octet * kWords;
  Word words[kSplitUnits][kWords];
  if (P::channels_last) {
#pragma unroll
    for (int i = 0; i < kSplitUnits; ++i) {
      const int position = first_position + row + i * kSplitRows;
      load_channels(words[i], from + (position * channels + channel), position < images * plane && channel < channels);
    }
  } else {
    bring_tile(tile, from, channels, first_position, first_channel, images, plane, thread);
  }
  if (thread < kCopySide) {
    scales[thread] =
        first_channel + thread < channels ? scale_of_channel(maxima, first_scanned + first_channel + thread) : 1;
  }
  __syncthreads();
  // Adjacent threads write the units of a position.
#pragma unroll
  for (int i = 0; i < kSplitUnits; ++i) {
    const int position = first_position + row + i * kSplitRows;
    if (!P::channels_last) {
#pragma unroll
      for (int c = 0; c < kWords; ++c) {
        words[i][c] = tile[(octet * kWords + c) * kCopyPitch + (row + i * kSplitRows)];
      }
    }
    if (position < P::chunk_images * plane && channel < channels) {
      store_split(to + (position * (2 * channels) + channel) * 2, channels * 2, words[i], scales + octet * kWords);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kCopyThreads)
    split_channels_last(const Element* __restrict__ x, const Element* __restrict__ grad_y,
                        const float* __restrict__ maxima, unsigned char* __restrict__ x_parts,
                        unsigned char* __restrict__ grad_y_parts, int batch, int first_image) {
  constexpr int kInputPlane = P::height * P::width;
  const int window_plane = output_rows(P::height) * output_columns(P::width);
  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int first = P::chunks == 1 ? 0 : first_image;
  const int images = batch - first;
  const int of_window = static_cast<int>(blockIdx.x) -
                        ceil_div(P::chunk_images * kInputPlane, kCopySide) * kInputCopyColumns;  // its tile of grad_y
  if (of_window < 0) {
    split_tile(x + first * (P::in_channels * kInputPlane), x_parts, maxima, shared, P::in_channels, 0,
               blockIdx.x / kInputCopyColumns * kCopySide, blockIdx.x % kInputCopyColumns * kCopySide, images,
               kInputPlane, threadIdx.x);
  } else {
    split_tile(grad_y + first * (P::out_channels * window_plane), grad_y_parts, maxima, shared, P::out_channels,
               P::in_channels, of_window / kWindowCopyColumns * kCopySide, of_window % kWindowCopyColumns * kCopySide,
               images, window_plane, threadIdx.x);
  }
}
