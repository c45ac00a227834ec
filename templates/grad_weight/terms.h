// How often accumulators of values that are split are promoted to fp32 totals, for gradients of weights.
#pragma once

#include "device/split.h"

// Tensor cores truncate each sum. A model that truncates two bits below the last place gives, for 16 products in one
// accumulator, at most 1.5e-6 of a sum of terms of one sign and 3.4e-7 of one of random signs (docs/kernel-notes.md).
// So the accumulators of high parts are promoted to fp32 totals after at most 16 k-steps. Those of products with a low
// part are 2^-11 of these or less: 32 promotions are 1024 such products, which lose at most 1024 * 2^-23 of them and so
// 2^-24 of a sum.
constexpr int kMostTerms = 16;
constexpr int kPromoteLow = 32;  // promotions of high parts after which low parts are promoted

// A total with an accumulator of low parts. Infinities have none: a total that isn't finite is the result.
__device__ __forceinline__ float with_low(float total, float low) {
  return is_finite(total) ? fmaf(low, 1 / kLowScale, total) : total;
}
