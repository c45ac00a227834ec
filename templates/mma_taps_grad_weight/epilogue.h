// Part of the template `mma_taps_grad_weight`: accumulators become sums of a slice, or the gradient itself.
// Needs: PartAccumulators, Element, P, narrow()
#pragma once

#include "device/weight_order.h"
#include "grad_weight/target.h"
#include "layout.h"

// Puts four sums to shared memory, or adds them to what lies there.
__device__ __forceinline__ void put_four(float* to, const float4& sums, bool adds) {
  float4 all = sums;
  if (adds) {
    const float4 before = *reinterpret_cast<const float4*>(to);
    all = make_float4(before.x + sums.x, before.y + sums.y, before.z + sums.z, before.w + sums.w);
  }
  *reinterpret_cast<float4*>(to) = all;
}
__device__ __forceinline__ void put_two(float* to, const float2& sums, bool adds) {
  float2 all = sums;
  if (adds) {
    const float2 before = *reinterpret_cast<const float2*>(to);
    all = make_float2(before.x + sums.x, before.y + sums.y);
  }
  *reinterpret_cast<float2*>(to) = all;
}

// Puts a warp's accumulators to shared memory. Of columns that were read together those of two tiles alternate.
__device__ __forceinline__ void put_results(const PartAccumulators& acc, float* results, int lane, int warp_in,
                                            int warp_columns, bool adds) {
#pragma unroll
  for (int half = 0; half < 2 * kRowTiles; ++half) {  // eight input channels
    float* row = results + (warp_in * (kRowTiles * 16) + half * 8 + lane / 4) * kResultPitch +
                 warp_columns * (8 * kTilesAcross) + lane % 4 * (2 * kTilesTogether);
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const int first = i * kTilesTogether;
      const int second = first + kTilesTogether - 1;
      const int low = half % 2 * 2;
      if constexpr (kPairs) {
        put_four(row + i * 16,
                 make_float4(acc[half / 2][first][low], acc[half / 2][second][low], acc[half / 2][first][low + 1],
                             acc[half / 2][second][low + 1]),
                 adds);
      } else {
        put_two(row + i * 8, make_float2(acc[half / 2][first][low], acc[half / 2][first][low + 1]), adds);
      }
    }
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* results, const Target& target,
                                            float* __restrict__ partial, Element* __restrict__ grad_weight, int warp_in,
                                            int warp_columns, int warp_k, int thread) {
#pragma unroll 1
  for (int k = 0; k < P::warps_k; ++k) {
    __syncthreads();  // the stages have been read, or the warps before have added theirs
    if (warp_k == k) {
      put_results(acc, results, thread % 32, warp_in, warp_columns, k > 0);
    }
  }
  __syncthreads();
  constexpr int kTaps = P::taps_h * P::taps_w;
#pragma unroll 2
  for (int i = thread; i < P::block_in * (kTaps * P::block_out); i += kThreads) {
    const int row = i / (kTaps * P::block_out);
    const int of_channel = i % (kTaps * P::block_out);
    const int tap = P::weight_channels_last ? of_channel / P::block_out : of_channel % kTaps;
    const int out = P::weight_channels_last ? of_channel % P::block_out : of_channel / kTaps;
    const int kh = target.first_kh + tap / P::taps_w;
    const int kw = target.first_kw + tap % P::taps_w;
    const int ci = target.first_in + row;
    const int co = target.first_out + out;
    if ((kGroupIn % P::block_in == 0 || ci < kGroupIn) && (kGroupOut % P::block_out == 0 || co < kGroupOut) &&
        (P::kernel_h % P::taps_h == 0 || kh < P::kernel_h) && (P::kernel_w % P::taps_w == 0 || kw < P::kernel_w)) {
      const int of_taps = (P::channels_last ? 0 : out * P::taps_h) + tap / P::taps_w;
      const int column = of_taps * kRowColumns + kLead + tap % P::taps_w * kTogether + (P::channels_last ? out : 0);
      const float sum = results[row * kResultPitch + column];
      const long long weight = weight_offset_at(static_cast<long long>(target.group) * kGroupIn + ci, co, kh, kw,
                                                kGroupOut, P::kernel_h, P::kernel_w);
      if constexpr (P::slices == 1) {
        grad_weight[weight] = narrow(sum);
      } else {
        partial[target.slice * kWeights + weight] = sum;
      }
    }
  }
}
