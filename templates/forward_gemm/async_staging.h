// Input comes to shared memory by `cp.async`: rows of channels or, with channels last, pixels.
// Needs: ceil_div(), Element, kBytes, kChannelPitch, kCopy, kImagePlane, kInChannels, kPlane, kProducers, kRowBlocks,
//   kStagedColumns, kStagedRows, P, staged_pixel()
#pragma once

#include "device/async_copy.h"
#include "layout.h"

// Issues one copy: `bytes` from memory, and zeros for the rest of P::copy_bytes.
__device__ inline void copy_vector(Element* to, const Element* from, int bytes) {
  if (P::copy_bytes == 16) {
    async_copy_16(to, from, bytes);
  } else if (P::copy_bytes == 8) {
    async_copy_8(to, from, bytes);
  } else {
    async_copy_4(to, from, bytes);
  }
}

// Copies of a channel (of a pixel, with channels last), and how many channels (pixels) the producers copy at a time:
// each thread has the same place in all of them.
constexpr int kCopies =
    P::channels_last ? P::block_k / kCopy : P::tile_n * kStagedRows * ceil_div(kStagedColumns, kCopy);
constexpr int kAtOnce = kCopies < kProducers ? kProducers / kCopies : 1;

// Issues the copies of a k-block with its halo: zeros where the image, the batch or the channels end.
//
// `x` is the tile's first image, of `images` that are left.
__device__ __forceinline__ void stage_channels(Element* to, const Element* __restrict__ x, int first_channel,
                                               int first_row, int first_column, int thread, int images, const int in_h,
                                               const int in_w) {
  const int first = kCopies < kProducers ? thread / kCopies : 0;
  for (int place = kCopies < kProducers ? thread % kCopies : thread; place < kCopies && first < kAtOnce;
       place += kProducers) {
    const int column = place % (kStagedColumns / kCopy) * kCopy;
    const int row = place / (kStagedColumns / kCopy) % kStagedRows;
    const int image = place / (kStagedColumns / kCopy * kStagedRows);
    const int iy = first_row + row * P::input_stride_h;
    const int ix = first_column + column;
    const bool inside = (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h && ix >= 0 && ix < in_w;
    const int bytes = inside ? min(in_w - ix, kCopy) * kBytes : 0;
    const Element* from = x + ((static_cast<long long>(image) * kInChannels + first_channel) * in_h + iy) * in_w + ix;
    Element* staged = to + (image * kStagedRows + row) * kStagedColumns + column;
#pragma unroll 4
    for (int channel = first; channel < P::block_k; channel += kAtOnce) {
      const bool exists = inside && (P::in_channels % P::block_k == 0 || first_channel + channel < P::in_channels);
      copy_vector(staged + channel * kChannelPitch, exists ? from + static_cast<long long>(channel) * in_h * in_w : x,
                  exists ? bytes : 0);
    }
  }
}

// With channels last: where a staged pixel lies in memory, from the tile's first image on; -1 for one outside.
__device__ __forceinline__ long long find_pixel(int pixel, int first_row, int first_column, int images, const int in_h,
                                                const int in_w) {
  const int image = pixel / kImagePlane;
  const int iy = first_row + pixel / kStagedColumns % kStagedRows * P::input_stride_h;
  const int ix = first_column + pixel % kStagedColumns;
  const bool inside = (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h && ix >= 0 && ix < in_w;
  return inside ? (static_cast<long long>(image) * in_h + iy) * in_w + ix : -1;
}

// The thread's pixels. Places of a few pixels, which 32 bits count, are found once a tile; others for each k-block.
constexpr int kOwnPixels = ceil_div(kPlane, kAtOnce);
constexpr bool kKeepsPixels = P::channels_last && !P::bulk && kRowBlocks == 1 && kOwnPixels <= 8 && P::height >= 0 &&
                              P::width >= 0 && static_cast<long long>(P::tile_n) * P::height * P::width <= 0x7fffffff;
using Pixels = int[kKeepsPixels ? kOwnPixels : 1];

// Issues the copies of the pixels' channels of a k-block: zeros where a pixel is outside, and where channels end.
__device__ __forceinline__ void stage_pixels(Element* to, const Element* __restrict__ x, const Pixels& pixels,
                                             int first_channel, int first_row, int first_column, int thread, int images,
                                             const int in_h, const int in_w) {
  const int own = thread % kCopies * kCopy;
  const int left = P::in_channels % P::block_k == 0 ? kCopy : max(0, min(P::in_channels - first_channel - own, kCopy));
  if (kKeepsPixels) {
#pragma unroll
    for (int j = 0; j < kOwnPixels; ++j) {
      const int pixel = thread / kCopies + j * kAtOnce;
      const long long place = pixels[j];
      if (kPlane % kAtOnce == 0 || pixel < kPlane) {
        copy_vector(to + staged_pixel(pixel) + own,
                    place >= 0 && left > 0 ? x + place * kInChannels + first_channel + own : x,
                    place >= 0 && left > 0 ? left * kBytes : 0);
      }
    }
  } else {
    for (int pixel = thread / kCopies; pixel < kPlane; pixel += kAtOnce) {
      const long long place = find_pixel(pixel, first_row, first_column, images, in_h, in_w);
      copy_vector(to + staged_pixel(pixel) + own,
                  place >= 0 && left > 0 ? x + place * kInChannels + first_channel + own : x,
                  place >= 0 && left > 0 ? left * kBytes : 0);
    }
  }
}
