// Scales of the accumulators, and their promotion to fp32 totals in shared memory.
#pragma once

#include "device/split.h"
#include "device/warpgroup.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "layout.h"
#include "scales.h"

// Staged rows with taps, of a k-block, and how many of them are accumulated before a promotion: with at most kMostTerms
// products, except that P::promote_rows allows for k-blocks with more.
constexpr int kRows = kKSteps * used_before(kOffsetsH);
constexpr int kRowsTogether = P::promote_rows > 0 && kProducersSplit
                                  ? P::promote_rows
                                  : kRows*(kKBlockTerms < kMostTerms ? kMostTerms / kKBlockTerms : 1);
// Whether no products are in flight when a k-block begins, as where accumulators hold one k-block at most; whether all
// products of a k-block are done at its end.
constexpr bool kBeginsIdle =
    P::promote_rows == 0 && (!kHasTotals || kRowsTogether == kRows || kReleasesAtOnce || kHoldsPairs);
constexpr bool kEndsIdle = kProducersSplit && (kBeginsIdle || !P::prefetch);
// Accumulators are cleared before the first of their products, where a row may have taps of some phases only.
constexpr bool kClears = P::promote_rows > 0 && P::stride_h > 1 && kPhaseGroups == 1;

// What a thread's accumulators hold: {with rows: `rows` of taps (0: the next products begin them), }x's scale as
// `exponent`, in the lane's image{with promoted: ; whether some were `promoted` to totals}{with total: , of exponent
// `total` (without totals: the least so far)}.
//
// `total` is of the scale in the thread's own image.
struct ScaleState {
  int rows;
  int exponent;
  bool promoted;
  int total;
  float4* totals;
};

// Infinities have no low parts: where an accumulator of high parts isn't finite, it is the result.
//
// Tests a row and a column. What isn't finite in x makes all of its row so, and in the weights all of its column.
__device__ __forceinline__ void drop_low_of_infinite(Accumulators& acc) {
  bool finite = true;
#pragma unroll
  for (int set = 0; set < kPhaseSets; ++set) {
#pragma unroll
    for (int i = 0; i < kInstructionN / 4; ++i) {
      finite &= is_finite(acc[set][0][i / 2 * 4 + i % 2]);
    }
#pragma unroll
    for (int i = 1; i < 2 * kMTiles; ++i) {
      finite &= is_finite(acc[set][i / 2][i % 2 * 2]);
    }
  }
  if (!finite) {
#pragma unroll
    for (int i = 0; i < kPhaseSets * kSetAccumulators; ++i) {
      float& low = acc_at(acc, kPhaseSets * kSetAccumulators + i);
      low = is_finite(acc_at(acc, i)) ? low : 0;
    }
  }
}

// The i-th of a thread's totals; four lie together.
__device__ __forceinline__ float& total_at(float4* totals, int i) {
  return reinterpret_cast<float*>(totals + i / 4 * kConsumers)[i % 4];
}

constexpr int kHighAccumulators = kPhaseSets * kSetAccumulators;
// Adds accumulators of low parts, and totals if there are any, to those of high parts. Returns their scale's exponent.
__device__ __forceinline__ int combine(Accumulators& acc, ScaleState& state, int image) {
  int exponent = P::tile_n == 1 ? state.exponent : __shfl_sync(0xffffffffu, state.exponent, image);  // of its own image
  drop_low_of_infinite(acc);
  if (kHasTotals && state.promoted && exponent != state.total) {
    const int less = min(exponent, state.total);  // both get the smaller one's scale
#pragma unroll
    for (int i = 0; i < kAccumulatorSets * kSetAccumulators; ++i) {
      acc_at(acc, i) = scaled_by(acc_at(acc, i), less - exponent);
    }
#pragma unroll 16
    for (int i = 0; i < kHighAccumulators; ++i) {
      total_at(state.totals, i) = scaled_by(total_at(state.totals, i), less - state.total);
    }
    exponent = less;
  }
#pragma unroll
  for (int i = 0; i < kHighAccumulators; ++i) {
    acc_at(acc, i) = fmaf(acc_at(acc, kHighAccumulators + i), 1 / kLowScale, acc_at(acc, i));
  }
  if (kHasTotals && state.promoted) {
#pragma unroll
    for (int i = 0; i < kHighAccumulators; ++i) {
      acc_at(acc, i) += total_at(state.totals, i);
    }
  }
  return exponent;
}

// Promotes the accumulators to totals, once no products are in flight. The next products begin the accumulators.
__device__ __forceinline__ void promote(Accumulators& acc, ScaleState& state, int image) {
  if (!kEndsIdle) {
    wgmma_wait(0);
  }
  pin(acc);
  state.total = combine(acc, state, image);
#pragma unroll
  for (int i = 0; i < kHighAccumulators; ++i) {
    total_at(state.totals, i) = acc_at(acc, i);
  }
  state.rows = 0;
  state.promoted = true;
}

constexpr int kThreadPairs = ceil_div(kAdjacentChannels, 2);  // of adjacent channels that a thread has
// Makes a tile's results of its accumulators. `scales` undo those of the weights, in two factors each.
//
// `scales` begin at the thread's first column, `biases` at its first channel.
__device__ __forceinline__ void unscale(Accumulators& acc, ScaleState& state, const float2* scales, const float* biases,
                                        int image) {
  const float2 own = factors_of(-combine(acc, state, image));
#pragma unroll
  for (int eight = 0; eight < P::block_n / 8; ++eight) {
    const float4 two = *reinterpret_cast<const float4*>(scales + eight * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
    const float* bias =
        biases + (kAdjacentChannels == 1 ? eight * 8
                                         : eight / kThreadPairs * (4 * kAdjacentChannels) + eight % kThreadPairs * 2);
#pragma unroll
    for (int i = 0; i < 4 * kPhases * kMTiles; ++i) {
      float& value = acc_at(acc, i / 4 * (P::block_n / 2) + eight * 4 + i % 4);
      value = P::has_bias && !kAddsBias
                  ? fmaf(value * factors[i % 2][0], factors[i % 2][1], bias[kAdjacentChannels == 1 ? i % 2 * 4 : i % 2])
                  : value * factors[i % 2][0] * factors[i % 2][1];
    }
  }
  state.rows = 0;
  state.promoted = false;
}

// Rescales the accumulators to the next stage's exponent, once no products are in flight. It is at most kMostRaise
// above the least that they have had in the tile, so that they stay finite.
constexpr int kMostRaise = 80;
__device__ __forceinline__ void rescale(Accumulators& acc, ScaleState& state, int wanted, int image) {
  const int exponent = min(wanted, state.total + kMostRaise);
  const int difference = exponent - state.exponent;
  wgmma_wait(0);
  pin(acc);
  const int own = P::tile_n == 1 ? difference : __shfl_sync(0xffffffffu, difference, image);
#pragma unroll
  for (int i = 0; i < kAccumulatorSets * kSetAccumulators; ++i) {
    acc_at(acc, i) = scaled_by(acc_at(acc, i), own);
  }
  state.exponent = exponent;
  state.total = min(state.total, exponent);
}

// Before a stage's products: promotes accumulators that have terms enough, or where an image of x has another scale.
//
// Without totals, accumulators are rescaled.
__device__ __forceinline__ void choose_scale(Accumulators& acc, ScaleState& state, const unsigned char* stage,
                                             int image) {
  const int own = threadIdx.x % P::tile_n;  // image of the lane
  const int exponent = kConsumersSplit
                           ? next_exponent(stage_maximum(stage + kMaximaOffset, own), state.exponent, state.rows == 0)
                           : reinterpret_cast<const int*>(stage + kExponentsOffset)[own];
  if (kKBlocks > 1 || kHasTotals) {
    const bool fits = (!kHasTotals || state.rows < kRowsTogether) && exponent == state.exponent;
    if (__ballot_sync(0xffffffffu, state.rows > 0 && !fits ? 1 : 0) != 0) {
      if (kHasTotals) {
        promote(acc, state, image);
      } else {
        rescale(acc, state, exponent, image);
      }
    }
  }
  if (kHasTotals || state.rows == 0) {
    state.exponent = exponent;
    if (!kHasTotals) {
      state.total = exponent;
    }
  }
}

__device__ __forceinline__ void clear(Accumulators& acc) {
#pragma unroll
  for (int i = 0; i < kAccumulatorSets * kSetAccumulators; ++i) {
    acc_at(acc, i) = 0;
  }
}
