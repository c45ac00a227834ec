// The accumulators of a thread: of products of high parts, of products with low parts, and their fp32 totals, all in
// units of scales.
#pragma once

#include "device/split.h"
#include "layout.h"
#include "mma_window/accumulators.h"

// What the accumulators hold: products since the last addition to the totals, of high parts and of low ones (at the
// most, of a phase); the exponent of x's scale; the totals' exponent, which is not larger; the factor from the
// accumulators to the totals.
struct Held {
  int terms;
  int low_terms;
  int exponent;
  int total;
  float factor;
};

// A k-block's exponent is at most so far above the totals', so that a float is the factor between them.
constexpr int kMostRaise = 126;

// Adds the products of high parts to the totals.
__device__ __forceinline__ void add_high(Accumulators& totals, Accumulators& high, float factor) {
#pragma unroll
  for (int tile = 0; tile < P::warp_tiles; ++tile) {
#pragma unroll
    for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
      for (int i = 0; i < kWarpChannels / 2; ++i) {
        float& value = high[tile][phase][i / 4][i % 4];
        totals[tile][phase][i / 4][i % 4] = fmaf(value, factor, totals[tile][phase][i / 4][i % 4]);
        value = 0;
      }
    }
  }
}

// Whether a thread's totals are finite: a row and a column of each phase.
//
// What isn't finite in x makes all of its row so, and in the weights all of its column.
__device__ __forceinline__ bool are_finite(const Accumulators& totals) {
  bool finite = true;
#pragma unroll
  for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
    for (int i = 0; i < kWarpChannels / 4; ++i) {
      finite &= is_finite(totals[0][phase][i / 2][i % 2]);
    }
#pragma unroll
    for (int row = 1; row < 2 * P::warp_tiles; ++row) {
      finite &= is_finite(totals[row / 2][phase][0][row % 2 * 2]);
    }
  }
  return finite;
}

// Adds all products to the totals. Infinities have no low parts: where a total isn't finite, it is the result.
__device__ __forceinline__ void add_all(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held) {
  add_high(totals, high, held.factor);
  const bool finite = are_finite(totals);
#pragma unroll
  for (int tile = 0; tile < P::warp_tiles; ++tile) {
#pragma unroll
    for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
      for (int i = 0; i < kWarpChannels / 2; ++i) {
        float& total = totals[tile][phase][i / 4][i % 4];
        if (finite || is_finite(total)) {
          total = fmaf(low[tile][phase][i / 4][i % 4], held.factor * (1 / kLowScale), total);
        }
        low[tile][phase][i / 4][i % 4] = 0;
      }
    }
  }
  held.terms = 0;
  held.low_terms = 0;
}

// Begins a k-block whose scale has this exponent.
__device__ __forceinline__ void begin_k_block(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                              int exponent) {
  if (held.exponent != exponent || held.low_terms > kMostLowTerms) {
    add_all(totals, high, low, held);
    if (exponent < held.total) {
#pragma unroll
      for (int tile = 0; tile < P::warp_tiles; ++tile) {
#pragma unroll
        for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
          for (int i = 0; i < kWarpChannels / 2; ++i) {
            float& total = totals[tile][phase][i / 4][i % 4];
            total = scaled_by(total, exponent - held.total);
          }
        }
      }
      held.total = exponent;
    }
    held.exponent = exponent;
    held.factor = power_of_two(held.total - exponent);
  }
}

// Makes a tile's results of its totals. `scales` undo those of the weights, in two factors for each of a warp's
// columns; they begin at the thread's first one.
__device__ __forceinline__ void unscale(Accumulators& totals, const float2* scales, int total) {
  const float2 own = factors_of(-total);
#pragma unroll
  for (int eight = 0; eight < kWarpChannels / 8; ++eight) {
    const float4 two = *reinterpret_cast<const float4*>(scales + eight * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
#pragma unroll
    for (int tile = 0; tile < P::warp_tiles; ++tile) {
#pragma unroll
      for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& value = totals[tile][phase][eight][i];
          value = value * factors[i % 2][0] * factors[i % 2][1];
        }
      }
    }
  }
}
