// Part of the template `mma_taps_grad_weight`: the sums of grad_y, for the gradient of the bias.
// Needs: Element, P, widen()
#pragma once

#include "grad_weight/target.h"
#include "layout.h"

// A thread's sum of the values of its channel which a tile's positions read by the taps from the padding on, as many as
// the stride: a window has each value of grad_y for one tile.
__device__ __forceinline__ float sum_window(const unsigned char* window, int thread) {
  constexpr int kColumnsOfTile = P::tile_columns * P::stride_w;
  constexpr int kPixels = P::tile_rows * P::stride_h * kColumnsOfTile;
  constexpr int kFirst = P::padding_h * kRowPitch + kWindowShift + P::padding_w * kPixelPitch;
  const int channel = thread % P::block_out;
  const unsigned char* of_channel =
      window + (kFirst + (P::channels_last ? channel : channel * kPlanePitch)) * kElementBytes;
  float sum = 0;
#pragma unroll 4
  for (int pixel = thread / P::block_out; pixel < kPixels; pixel += kSummingThreads / P::block_out) {
    const int place = pixel / kColumnsOfTile * kRowPitch + pixel % kColumnsOfTile * kPixelPitch;
    sum += widen(*reinterpret_cast<const Element*>(of_channel + place * kElementBytes));
  }
  return kSummingThreads == kThreads || thread < kSummingThreads ? sum : 0;
}

// Stores the sums of a block's channels, which its threads have: in parts, then these, in order.
__device__ __forceinline__ void store_bias(float sum, float* shared, const Target& target,
                                           float* __restrict__ partial_bias, int thread) {
  __syncthreads();  // the results before have been stored
  shared[thread] = sum;
  __syncthreads();
  constexpr int kPartThreads = kSummedParts * P::block_out;
  if (thread < kPartThreads) {
    float part = 0;
#pragma unroll 4
    for (int i = thread; i < kSummingThreads; i += kPartThreads) {
      part += shared[i];
    }
    shared[thread] = part;
  }
  __syncthreads();
  if (thread < P::block_out && (kGroupOut % P::block_out == 0 || target.first_out + thread < kGroupOut)) {
    float all = 0;
#pragma unroll
    for (int i = 0; i < kSummedParts; ++i) {
      all += shared[i * P::block_out + thread];
    }
    partial_bias[target.slice * P::out_channels + target.group * kGroupOut + target.first_out + thread] = all;
  }
}
