// fp32 values as two f16 each, whose products on tensor cores make those of fp32: with a scale that is a power of two,
// x * scale = high + low / kLowScale. Where scale brings the largest magnitude of some values to at least 2^14, those
// down to 2^-28 of it keep 22 bits; below, what is lost is at most 2^-50 of it. The scale is 2^exponent.
#pragma once

#include "device/convert.h"
#include "device/template.h"
#include "device/warp.h"

// Low parts are kept larger, so that they are normal numbers wherever the high parts are.
constexpr float kLowScale = 2048;

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) {
  return fmaxf(a, fabsf(fmaf(b, 0, b)));
}

// The largest of a warp's values, none of them negative or NaN: their bits are in the same order. Collective.
__device__ __forceinline__ float largest_of_warp(float value) {
  return __uint_as_float(__reduce_max_sync(0xffffffffu, __float_as_uint(value)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) {
  return min(126, 141 - __float_as_int(most) / (1 << 23));
}

// The exponent of x's scale: `kept`, if not `begins` and it brings `largest` to 2^13 and within f16, or that is 0.
//
// What f16 rounds up to the next power of two counts as that.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 0x1000) / (1 << 23));
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}

// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) * (1 << 23));
}

// Two factors that make 2^e, which may be no float.
__device__ __forceinline__ float2 factors_of(int e) {
  return {power_of_two(e / 2), power_of_two(e - e / 2)};
}
__device__ __forceinline__ float scaled_by(float x, int e) {
  return x * factors_of(e).x * factors_of(e).y;
}

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair {
  unsigned int high;
  unsigned int low;
};
__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffffu)), -kLowScale, a * kLowScale),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -kLowScale, b * kLowScale));
}
// {with nonzero: With `nonzero` no value but zero has a high part of zero: its product with an infinity is then one.}
__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale, bool nonzero) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  if (nonzero) {
    high |= a != 0 && (high & 0x7fffu) == 0 ? 1u : 0u;
    high |= b != 0 && (high & 0x7fff0000u) == 0 ? 0x10000u : 0u;
  }
  return {high, low_parts(a * scale, b * scale, high)};
}

#include "device/finite.h"
