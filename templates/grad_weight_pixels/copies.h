// Part of the template `grad_weight_pixels`: x and grad_y of NCHW, copied to channels last before the products.
#pragma once

#include "device/call_sizes.h"
#include "device/memory.h"
#include "grad_weight/channel_tile.h"
#include "split_copies.h"

constexpr int kCopySharedBytes = kSplit ? kSplitSharedBytes : kCopySide * kCopyPitch * kElementBytes;

__device__ __forceinline__ void copy_channels_last(const Element* __restrict__ from, Element* __restrict__ to,
                                                   Element* tile, const int channels, int first_position,
                                                   int first_channel, int images, const int plane, int thread) {
  bring_tile(tile, from, channels, first_position, first_channel, images, plane, thread);
  __syncthreads();
  // Adjacent threads write the channels of a position, eight each.
#pragma unroll
  for (int i = 0; i < kCopySide * kCopySide / 8 / kCopyThreads; ++i) {
    const int written = (thread + i * kCopyThreads) / (kCopySide / 8);
    const int octet = thread % (kCopySide / 8);
    if (first_position + written < images * plane && first_channel + octet * 8 < channels) {
      const unsigned short* row = reinterpret_cast<const unsigned short*>(tile) + octet * 8 * kCopyPitch + written;
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
                       blockIdx.x % kInputCopyColumns * kCopySide, batch, kInputPlane, threadIdx.x);
  } else {
    copy_channels_last(grad_y, grad_y_pixels, tile, P::out_channels, of_window / kWindowCopyColumns * kCopySide,
                       of_window % kWindowCopyColumns * kCopySide, batch, window_plane, threadIdx.x);
  }
}
