// A value's two parts of tf32, whose products make those of fp32.
//
// The high part is the value with the 13 low bits cut off, the low part is what is left of it, whose 11 high bits
// products read. An infinity has infinite parts. A low part of zero would make NaN of an infinity, so it has 2^-32 of
// the value besides; that is below what accumulators keep of the high parts' product, and zero below 2^-104.
#pragma once

#include "device/template.h"

__device__ __forceinline__ unsigned int high_part(unsigned int word) {
  return word & 0xffffe000u;
}
// What is left of a value without its high part.
__device__ __forceinline__ unsigned int rest_of(unsigned int word, unsigned int high) {
  const float value = __uint_as_float(word);
  const float rest = fmaf(value, 2.3283064365386963e-10f, value - __uint_as_float(high));
  return (word & 0x7fffffffu) == 0x7f800000u ? word : __float_as_uint(rest);
}
__device__ __forceinline__ unsigned int low_part(unsigned int word) {
  return rest_of(word, high_part(word));
}

// The nearest high part, with which the product of low parts, which is left out, is at most 2^-22 of the whole one: for
// sums of few terms. A value that would round to infinity has its high bits.
__device__ __forceinline__ unsigned int nearest_part(unsigned int word) {
  const unsigned int rounded = word + 0x1000u;
  return high_part((rounded & 0x7f800000u) == 0x7f800000u ? word : rounded);
}
