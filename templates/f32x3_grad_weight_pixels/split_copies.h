// Part of the template `f32x3_grad_weight_pixels`: x and grad_y with channels last, split, before the products.
#pragma once

#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/template.h"
#include "pixel_gemm/scales.h"
#include "pixel_gemm/split_unit.h"

// A block splits a tile: positions of all images, one after the other, by channels. A position's channels have their
// high parts first, then their low ones. What is beyond the last image is zero. Values of NCHW go through shared
// memory, each channel's positions an odd number of words apart, so that units of channels are read without bank
// conflicts.
constexpr int kSplitThreads = 256;
constexpr int kSplitSide = 64;  // positions and channels
constexpr int kSplitPitch = kSplitSide + 1;
constexpr int kSplitLoads = kSplitSide * kSplitSide / kSplitThreads;  // of a thread
constexpr int kSplitUnits = kSplitLoads / kWords;                     // of a thread
constexpr int kSplitScalesOffset = P::channels_last ? 0 : 4 * kSplitSide * kSplitPitch;
constexpr int kSplitSharedBytes = kSplitScalesOffset + 4 * kSplitSide;
constexpr int kInputSplitColumns = ceil_div(P::in_channels, kSplitSide);  // tiles of the same positions
constexpr int kWindowSplitColumns = ceil_div(P::out_channels, kSplitSide);

// `from` and `to` are a chunk's. It has so many images that are there. `first_scanned` is the place of the tensor's
// first channel among all that were scanned.
__device__ __forceinline__ void split_tile(const Element* __restrict__ from, unsigned char* __restrict__ to,
                                           const float* __restrict__ maxima, unsigned char* shared, const int channels,
                                           const int first_scanned, int first_position, int first_channel, int images,
                                           const int plane, int thread) {
  float* scales = reinterpret_cast<float*>(shared + kSplitScalesOffset);
  float* tile = reinterpret_cast<float*>(shared);
  float loaded[kSplitUnits][kWords];
  const int octet = thread % (kSplitSide / kWords);
  const int row = thread / (kSplitSide / kWords);
  constexpr int kRows = kSplitSide / kSplitUnits;  // positions from a thread's unit to its next one
  if (P::channels_last) {
#pragma unroll
    for (int i = 0; i < kSplitUnits; ++i) {
      uint4 first = make_uint4(0, 0, 0, 0);
      uint4 second = make_uint4(0, 0, 0, 0);
      const int position = first_position + row + i * kRows;
      if (position < images * plane && first_channel + octet * kWords < channels) {
        const Element* unit = from + (position * channels + first_channel + octet * kWords);
        first = load_constant_16(unit);
        second = load_constant_16(unit + 4);
      }
      loaded[i][0] = __uint_as_float(first.x);
      loaded[i][1] = __uint_as_float(first.y);
      loaded[i][2] = __uint_as_float(first.z);
      loaded[i][3] = __uint_as_float(first.w);
      loaded[i][4] = __uint_as_float(second.x);
      loaded[i][5] = __uint_as_float(second.y);
      loaded[i][6] = __uint_as_float(second.z);
      loaded[i][7] = __uint_as_float(second.w);
    }
  } else {
    const int position = first_position + thread % kSplitSide;
    const int channel = first_channel + thread / kSplitSide;
    const int image = position / plane;
    const Element* column = from + (image * channels + channel) * plane + position % plane;
#pragma unroll
    for (int i = 0; i < kSplitLoads; ++i) {
      const int next = i * (kSplitThreads / kSplitSide);
      loaded[i / kWords][i % kWords] = image < images && channel + next < channels ? column[next * plane] : 0;
    }
#pragma unroll
    for (int i = 0; i < kSplitLoads; ++i) {
      tile[(thread / kSplitSide + i * (kSplitThreads / kSplitSide)) * kSplitPitch + thread % kSplitSide] =
          loaded[i / kWords][i % kWords];
    }
  }
  if (thread < kSplitSide) {
    scales[thread] =
        first_channel + thread < channels ? scale_of_channel(maxima, first_scanned + first_channel + thread) : 1;
  }
  __syncthreads();
  // Adjacent threads write the units of a position.
#pragma unroll
  for (int i = 0; i < kSplitUnits; ++i) {
    const int position = row + i * kRows;
    if (!P::channels_last) {
#pragma unroll
      for (int c = 0; c < kWords; ++c) {
        loaded[i][c] = tile[(octet * kWords + c) * kSplitPitch + position];
      }
    }
    if (first_position + position < P::chunk_images * plane && first_channel + octet * kWords < channels) {
      store_split(to + ((first_position + position) * (2 * channels) + first_channel + octet * kWords) * 2,
                  channels * 2, loaded[i], scales + octet * kWords);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kSplitThreads)
    split_channels_last(const Element* __restrict__ x, const Element* __restrict__ grad_y,
                        const float* __restrict__ maxima, unsigned char* __restrict__ x_parts,
                        unsigned char* __restrict__ grad_y_parts, int batch, int first_image) {
  constexpr int kInputPlane = P::height * P::width;
  const int window_plane = output_rows(P::height) * output_columns(P::width);
  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int first = P::chunks == 1 ? 0 : first_image;
  const int images = batch - first;
  const int of_window = static_cast<int>(blockIdx.x) -
                        ceil_div(P::chunk_images * kInputPlane, kSplitSide) * kInputSplitColumns;  // its tile of grad_y
  if (of_window < 0) {
    split_tile(x + first * (P::in_channels * kInputPlane), x_parts, maxima, shared, P::in_channels, 0,
               blockIdx.x / kInputSplitColumns * kSplitSide, blockIdx.x % kInputSplitColumns * kSplitSide, images,
               kInputPlane, threadIdx.x);
  } else {
    split_tile(grad_y + first * (P::out_channels * window_plane), grad_y_parts, maxima, shared, P::out_channels,
               P::in_channels, of_window / kWindowSplitColumns * kSplitSide,
               of_window % kWindowSplitColumns * kSplitSide, images, window_plane, threadIdx.x);
  }
}
