// The scales of channels, from the largest finite magnitudes in them, for gradients of weights whose values are split.
// Needs: Element, kThreads, P
#pragma once

#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/split.h"
#include "layout.h"

constexpr int kScanThreads = 256;
constexpr int kScanReads = 8;  // of a thread, that are in flight together
// With channels last adjacent threads read four channels each, of up to 32. Else a row of threads reads positions of
// one image, and several rows read several images where these are small.
constexpr int kScanPixels = P::height < 0 || P::width < 0 ? 1 << 30 : P::height * P::width;
constexpr int kScanLanes = P::channels_last                 ? (smaller(P::in_channels, P::out_channels) >= 32   ? 8
                                                               : smaller(P::in_channels, P::out_channels) >= 16 ? 4
                                                                                                                : 2)
                           : kScanPixels <= 16 * kScanReads ? 16
                           : kScanPixels <= 64 * kScanReads ? 64
                                                            : 256;
constexpr int kScanRows = kScanThreads / kScanLanes;
constexpr int kScanChannels = P::channels_last ? 4 * kScanLanes : 1;  // of a block
constexpr int kScanTilesIn = ceil_div(P::in_channels, kScanChannels);
constexpr int kScanTiles = kScanTilesIn + ceil_div(P::out_channels, kScanChannels);
constexpr int kScannedChannels = P::in_channels + P::out_channels;

// The largest finite magnitudes that a thread finds in its part of a slice.
__device__ __forceinline__ float4 scan_slice(const Element* __restrict__ from, const int channels,
                                             const int all_channels, int tile, int slice, const int batch,
                                             const long long plane, int thread) {
  float4 most = make_float4(0, 0, 0, 0);
  if (P::channels_last) {
    const int channel = tile * kScanChannels + thread % kScanLanes * 4;
    const long long end = batch * plane * (slice + 1) / P::scan_slices;
    if (channel < channels) {
      for (long long first = batch * plane * slice / P::scan_slices + thread / kScanLanes; first < end;
           first += kScanReads * kScanRows) {
        uint4 read[kScanReads];
#pragma unroll
        for (int i = 0; i < kScanReads; ++i) {
          read[i] = make_uint4(0, 0, 0, 0);
          if (first + i * kScanRows < end) {
            read[i] = load_constant_16(from + (first + i * kScanRows) * all_channels + channel);
          }
        }
#pragma unroll
        for (int i = 0; i < kScanReads; ++i) {
          most.x = larger_finite(most.x, __uint_as_float(read[i].x));
          most.y = larger_finite(most.y, __uint_as_float(read[i].y));
          most.z = larger_finite(most.z, __uint_as_float(read[i].z));
          most.w = larger_finite(most.w, __uint_as_float(read[i].w));
        }
      }
    }
  } else {
    constexpr int kPiece = kScanReads * kScanLanes;
    const long long pieces = (plane + (kPiece - 1)) / kPiece;  // of an image
    const long long end = batch * pieces * (slice + 1) / P::scan_slices;
    for (long long piece = batch * pieces * slice / P::scan_slices + thread / kScanLanes; piece < end;
         piece += kScanRows) {
      const long long image = piece / pieces;
      const long long position = piece % pieces * kPiece + thread % kScanLanes;
      const Element* next = from + (image * all_channels + tile) * plane + position;
      float read[kScanReads];
#pragma unroll
      for (int i = 0; i < kScanReads; ++i) {
        read[i] = position + i * kScanLanes < plane ? next[i * kScanLanes] : 0;
      }
#pragma unroll
      for (int i = 0; i < kScanReads; ++i) {
        most.x = larger_finite(most.x, read[i]);
      }
    }
  }
  return most;
}

// (slice, channel): the largest finite magnitude in one slice of a channel of x, then of grad_y.
extern "C" __global__ void __launch_bounds__(kScanThreads)
    scan_channels(const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ maxima,
                  int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kScanTiles;
  const int tile = blockIdx.x % kScanTiles;
  const bool is_input = tile < kScanTilesIn;
  const float4 most =
      is_input
          ? scan_slice(x, P::in_channels, P::x_channels, tile, slice, batch, static_cast<long long>(in_h) * in_w * in_d,
                       thread)
          : scan_slice(grad_y, P::out_channels, P::y_channels, tile - kScanTilesIn, slice, batch,
                       static_cast<long long>(output_rows(in_h)) * output_columns(in_w) * output_depth(in_d), thread);
  // Those of a channel: in NCHW first of a warp.
  float* found = static_cast<float*>(shared_memory());
  float* to = maxima + slice * kScannedChannels + (is_input ? 0 : P::in_channels);
  const int channels = is_input ? P::in_channels : P::out_channels;
  const int first = (is_input ? tile : tile - kScanTilesIn) * kScanChannels;
  if (P::channels_last) {
    float* own = found + thread / kScanLanes * kScanChannels + thread % kScanLanes * 4;
    own[0] = most.x;
    own[1] = most.y;
    own[2] = most.z;
    own[3] = most.w;
    __syncthreads();
    if (thread < kScanChannels && first + thread < channels) {
      float largest = 0;
#pragma unroll 8
      for (int row = 0; row < kScanRows; ++row) {
        largest = fmaxf(largest, found[row * kScanChannels + thread]);
      }
      to[first + thread] = largest;
    }
  } else {
    float of_warp = most.x;
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      of_warp = fmaxf(of_warp, __shfl_xor_sync(0xffffffffu, of_warp, mask));
    }
    if (thread % 32 == 0) {
      found[thread / 32] = of_warp;
    }
    __syncthreads();
    if (thread == 0) {
      float largest = 0;
#pragma unroll
      for (int warp = 0; warp < kScanThreads / 32; ++warp) {
        largest = fmaxf(largest, found[warp]);
      }
      to[first] = largest;
    }
  }
}
constexpr int kScanSharedBytes = P::channels_last ? 4 * kScanRows * kScanChannels : 4 * (kScanThreads / 32);

// The scale of a channel: what brings its largest finite magnitude to at least 2^14 and below 2^15.
__device__ __forceinline__ float scale_of_channel(const float* __restrict__ maxima, int channel) {
  float most = 0;
#pragma unroll 8
  for (int slice = 0; slice < P::scan_slices; ++slice) {
    most = fmaxf(most, maxima[slice * kScannedChannels + channel]);
  }
  return power_of_two(scale_exponent(most));
}

// The scales of the block's channels, and 1 for those beyond the group's last. All threads share them.
__device__ __forceinline__ void find_scales(float* scales, const float* __restrict__ maxima, int first_in, int ins,
                                            int first_out, int outs, int thread) {
  for (int i = thread; i < P::block_in + P::block_out; i += kThreads) {
    const int channel = i < P::block_in ? i : i - P::block_in;
    const bool is_there = channel < (i < P::block_in ? ins : outs);
    scales[i] =
        is_there ? scale_of_channel(maxima, channel + (i < P::block_in ? first_in : P::in_channels + first_out)) : 1;
  }
}

__device__ __forceinline__ int exponent_of(float scale) {
  return __float_as_int(scale) / (1 << 23) - 127;
}
