// Part of the template `grad_weight_rows`: a value's two parts of tf32, whose products make those of fp32.
//
// The high part is the value with the 13 low bits cut off, the low part is what is left of it, whose 11 high bits
// products read. An infinity has infinite parts. No value but zero and the smallest denormals has a part that is zero,
// so that all of its products with an infinity are infinite, of one sign.
#pragma once

#include "device/template.h"

__device__ __forceinline__ unsigned int high_part(unsigned int word) {
  return word & 0xffffe000u;
}
__device__ __forceinline__ unsigned int low_part(unsigned int word) {
  const float rest = __uint_as_float(word | 1u) - __uint_as_float(high_part(word));
  return (word & 0x7fffffffu) == 0x7f800000u ? word : __float_as_uint(rest);
}
