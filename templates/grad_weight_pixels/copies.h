// Part of the template `grad_weight_pixels`: x and grad_y of NCHW, copied to channels last before the products.
#pragma once

#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/template.h"

// A block copies a tile: positions of all images, one after the other, by channels. In shared memory each channel's
// positions are an odd number of words apart, so that columns are read without bank conflicts.
constexpr int kCopyThreads = 256;
constexpr int kCopySide = 64;  // positions and channels
constexpr int kCopyPitch = kCopySide + 2;
constexpr int kCopyLoads = kCopySide * kCopySide / kCopyThreads;  // of a thread
constexpr int kCopySharedBytes = kCopySide * kCopyPitch * 2;
constexpr int kInputCopyColumns = ceil_div(P::in_channels, kCopySide);  // tiles of the same positions
constexpr int kWindowCopyColumns = ceil_div(P::out_channels, kCopySide);

__device__ __forceinline__ void copy_channels_last(const Element* __restrict__ from, Element* __restrict__ to,
                                                   Element* tile, const int channels, int first_position,
                                                   int first_channel, int positions, const int plane, int thread) {
  const int position = first_position + thread % kCopySide;
  const int channel = first_channel + thread / kCopySide;
  const int image = position / plane;
  const Element* column = from + (image * channels + channel) * plane + position % plane;
  Element loaded[kCopyLoads];
#pragma unroll
  for (int i = 0; i < kCopyLoads; ++i) {
    const int next = i * (kCopyThreads / kCopySide);
    loaded[i] = position < positions && channel + next < channels ? column[next * plane] : 0;
  }
#pragma unroll
  for (int i = 0; i < kCopyLoads; ++i) {
    tile[(thread / kCopySide + i * (kCopyThreads / kCopySide)) * kCopyPitch + thread % kCopySide] = loaded[i];
  }
  __syncthreads();
  // Adjacent threads write the channels of a position, eight each.
#pragma unroll
  for (int i = 0; i < kCopySide * kCopySide / 8 / kCopyThreads; ++i) {
    const int written = (thread + i * kCopyThreads) / (kCopySide / 8);
    const int octet = thread % (kCopySide / 8);
    if (first_position + written < positions && first_channel + octet * 8 < channels) {
      const Element* row = tile + octet * 8 * kCopyPitch + written;
      unsigned int words[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        words[word] = row[2 * word * kCopyPitch] | static_cast<unsigned int>(row[(2 * word + 1) * kCopyPitch]) << 16;
      }
      *reinterpret_cast<uint4*>(to + (first_position + written) * channels + (first_channel + octet * 8)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kCopyThreads)
    to_channels_last(const Element* __restrict__ x, const Element* __restrict__ grad_y, Element* __restrict__ x_pixels,
                     Element* __restrict__ grad_y_pixels, int batch) {
  constexpr int kInputPlane = P::height * P::width;
  const int window_plane = output_rows(P::height) * output_columns(P::width);
  Element* tile = static_cast<Element*>(shared_memory());
  const int of_window = static_cast<int>(blockIdx.x) -
                        (batch * kInputPlane + (kCopySide - 1)) / kCopySide * kInputCopyColumns;  // its tile of grad_y
  if (of_window < 0) {
    copy_channels_last(x, x_pixels, tile, P::in_channels, blockIdx.x / kInputCopyColumns * kCopySide,
                       blockIdx.x % kInputCopyColumns * kCopySide, batch * kInputPlane, kInputPlane, threadIdx.x);
  } else {
    copy_channels_last(grad_y, grad_y_pixels, tile, P::out_channels, of_window / kWindowCopyColumns * kCopySide,
                       of_window % kWindowCopyColumns * kCopySide, batch * window_plane, window_plane, threadIdx.x);
  }
}
