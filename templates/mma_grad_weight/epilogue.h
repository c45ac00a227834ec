// Part of the template `mma_grad_weight`: accumulators become sums of a slice, or the gradient itself.
// Needs: Accumulators, Element, narrow(), P
#pragma once

#include "device/split.h"
#include "device/weight_order.h"
#include "grad_weight/scales.h"
#include "grad_weight/target.h"
#include "layout.h"

// The thread's accumulator of this number.
__device__ __forceinline__ float& acc_at(PartAccumulators& acc, const int i) {
  return acc[i / (kWarpInTiles * kWarpOutTiles * 4)][i / (kWarpOutTiles * 4) % kWarpInTiles][i / 4 % kWarpOutTiles]
            [i % 4];
}

// Adds accumulators of high parts to the totals of values that are split, and begins them anew.
__device__ __forceinline__ void promote_high(PartAccumulators& totals, PartAccumulators& high) {
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(totals, i) += acc_at(high, i);
    acc_at(high, i) = 0;
  }
}

// The same of low parts.
__device__ __forceinline__ void promote_low(PartAccumulators& totals, PartAccumulators& low) {
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(totals, i) = with_low(acc_at(totals, i), acc_at(low, i));
    acc_at(low, i) = 0;
  }
}

// Undoes the scales of the totals, of their input and output channels.
__device__ __forceinline__ void unscale(PartAccumulators& totals, const float* scales, int warp_in, int warp_out,
                                        int lane) {
  const float* of_ins = scales + (warp_in * kWarpIn + lane / 4);
  const float* of_outs = scales + (P::block_in + warp_out * kWarpOut + lane % 4 * 2);
#pragma unroll
  for (int tap = 0; tap < kWarpTaps; ++tap) {
#pragma unroll
    for (int tile = 0; tile < kWarpInTiles; ++tile) {
#pragma unroll
      for (int out_tile = 0; out_tile < kWarpOutTiles; ++out_tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          totals[tap][tile][out_tile][i] =
              scaled_by(totals[tap][tile][out_tile][i],
                        -exponent_of(of_ins[tile * 16 + i / 2 * 8]) - exponent_of(of_outs[out_tile * 8 + i % 2]));
        }
      }
    }
  }
}

// The same of the sums of grad_y.
__device__ __forceinline__ void unscale_bias(BiasTotals& totals, const float* scales, int warp_out, int lane) {
  const float* of_outs = scales + (P::block_in + warp_out * kWarpOut + lane % 4 * 2);
#pragma unroll
  for (int tile = 0; tile < kWarpOutTiles; ++tile) {
    totals[tile][0] = scaled_by(totals[tile][0], -exponent_of(of_outs[tile * 8]));
    totals[tile][1] = scaled_by(totals[tile][1], -exponent_of(of_outs[tile * 8 + 1]));
  }
}

// Stores the sums of eight input channels of each warp, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_channels(const float* sums, const int first_channel, const Target& target, int kd,
                                               float* __restrict__ partial, Element* __restrict__ grad_weight,
                                               int thread) {
#pragma unroll 2
  for (int i = thread; i < kStoredChannels * (kTaps * P::block_out); i += kThreads) {
    const int stored = i / (kTaps * P::block_out);
    const int of_channel = i % (kTaps * P::block_out);
    const int tap = kChannelsTogether ? of_channel / P::block_out : of_channel % kTaps;
    const int out = kChannelsTogether ? of_channel % P::block_out : of_channel / kTaps;
    const int ci = target.first_in + stored / 8 * kWarpIn + first_channel + stored % 8;
    const int co = target.first_out + out;
    const int kh = target.first_kh + tap / P::taps_w;
    const int kw = target.first_kw + tap % P::taps_w;
    if ((kGroupIn % P::block_in == 0 || ci < kGroupIn) && (kGroupOut % P::block_out == 0 || co < kGroupOut) &&
        (P::kernel_h % P::taps_h == 0 || kh < P::kernel_h) && (P::kernel_w % P::taps_w == 0 || kw < P::kernel_w)) {
      const float sum = sums[stored * kChannelPitch + tap * kTapPitch + out];
      const long long weight =
          weight_offset_at(static_cast<long long>(target.group) * kGroupIn + ci, co, kd * P::kernel_h + kh, kw,
                           kGroupOut, P::kernel_d * P::kernel_h, P::kernel_w);
      if constexpr (P::slices == 1) {
        grad_weight[weight] = narrow(sum);
      } else {
        partial[target.slice * kWeights + weight] = sum;
      }
    }
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* sums, const Target& target, int kd,
                                            float* __restrict__ partial, Element* __restrict__ grad_weight, int warp_in,
                                            int warp_out, int warp_taps, int warp_k, int thread) {
  const int lane = thread % 32;
  float* own = sums + (warp_in * 8 + lane / 4) * kChannelPitch + warp_taps * (kWarpTapsW * kTapPitch) +
               warp_out * kWarpOut + lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2 * kWarpInTiles; ++half) {  // of a tile of 16 input channels
#pragma unroll 1
    for (int k = 0; k < P::warps_k; ++k) {
      __syncthreads();  // the stages, or the channels before, have been read, or the warps before have added theirs
      if (warp_k == k) {
#pragma unroll
        for (int tap = 0; tap < kWarpTaps; ++tap) {
#pragma unroll
          for (int column = 0; column < kWarpOutTiles; ++column) {
            float2* to = reinterpret_cast<float2*>(own + (tap / kWarpTapsW * P::taps_w + tap % kWarpTapsW) * kTapPitch +
                                                   column * 8);
            float2 sum =
                make_float2(acc[tap][half / 2][column][half % 2 * 2], acc[tap][half / 2][column][half % 2 * 2 + 1]);
            if (k > 0) {
              const float2 before = *to;
              sum.x = before.x + sum.x;
              sum.y = before.y + sum.y;
            }
            *to = sum;
          }
        }
      }
    }
    __syncthreads();
    store_channels(sums, half * 8, target, kd, partial, grad_weight, thread);
  }
}

// Stores the block's sums of grad_y, of the plane tap's share: those of its warps are added in their order.
__device__ __forceinline__ void store_bias(const BiasTotals& totals, float* shared, const Target& target, int kd,
                                           float* __restrict__ partial_bias, int warp_in, int warp_out, int warp_share,
                                           int thread) {
  const int lane = thread % 32;
  float* own = shared + warp_share * P::block_out + warp_out * kWarpOut;
  __syncthreads();  // the results before have been stored
#pragma unroll
  for (int tile = 0; tile < kWarpOutTiles; ++tile) {
    if constexpr (P::type == kWgmmaTf32) {
      const float two = totals[tile][0] + __shfl_xor_sync(0xffffffff, totals[tile][0], 1);
      const float sum = two + __shfl_xor_sync(0xffffffff, two, 2);
      if (warp_in == 0 && lane % 4 == 0) {
        own[tile * 8 + lane / 4] = sum;
      }
    } else if (warp_in == 0 && lane < 4) {
      own[tile * 8 + lane * 2] = totals[tile][0];
      own[tile * 8 + lane * 2 + 1] = totals[tile][1];
    }
  }
  __syncthreads();
  if (thread < P::block_out && (kGroupOut % P::block_out == 0 || target.first_out + thread < kGroupOut)) {
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < P::warps_k * P::warps_taps; ++i) {
      sum += shared[i * P::block_out + thread];
    }
    partial_bias[(target.slice * P::kernel_d + kd) * P::out_channels + target.group * kGroupOut + target.first_out +
                 thread] = sum;
  }
}
