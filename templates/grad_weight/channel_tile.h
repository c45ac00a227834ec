// Tiles of x and grad_y on their way to channels last, for gradients of weights: positions of all images, one after the
// other, by channels. A block copies one.
#pragma once

#include "device/template.h"
#include "grad_weight/problem.h"

constexpr int kCopyThreads = 256;
constexpr int kCopySide = 64;                                           // positions and channels
constexpr int kCopyLoads = kCopySide * kCopySide / kCopyThreads;        // of a thread
constexpr int kInputCopyColumns = ceil_div(P::in_channels, kCopySide);  // tiles of the same positions
constexpr int kWindowCopyColumns = ceil_div(P::out_channels, kCopySide);

// In shared memory each channel's positions of NCHW are an odd number of words apart, so that units of channels are
// read without bank conflicts.
constexpr int kCopyPitch = kCopySide + 4 / static_cast<int>(sizeof(Element));

// Brings a tile of NCHW to shared memory, with zeros beyond so many images and beyond the channels. All of the block's
// threads share it, and wait for each other at its end.
__device__ __forceinline__ void bring_tile(Element* tile, const Element* __restrict__ from, const int channels,
                                           int first_position, int first_channel, int images, const int plane,
                                           int thread) {
  const int position = first_position + thread % kCopySide;
  const int channel = first_channel + thread / kCopySide;
  const int image = position / plane;
  const Element* column = from + (image * channels + channel) * plane + position % plane;
  Element loaded[kCopyLoads];
#pragma unroll
  for (int i = 0; i < kCopyLoads; ++i) {
    const int next = i * (kCopyThreads / kCopySide);
    loaded[i] = image < images && channel + next < channels ? column[next * plane] : 0;
  }
#pragma unroll
  for (int i = 0; i < kCopyLoads; ++i) {
    tile[(thread / kCopySide + i * (kCopyThreads / kCopySide)) * kCopyPitch + thread % kCopySide] = loaded[i];
  }
}
