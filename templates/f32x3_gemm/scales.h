// The scale of a stage's input, which follows the maximum that the producers found there.
#pragma once

#include "layout.h"

constexpr int kProducerWarps = kProducers / 32;
constexpr bool kByImages = P::tile_n >= kProducerWarps;  // each producer warp has images of its own

// The maximum of an image in a stage. Each producer warp has scanned its own part for it.
__device__ __forceinline__ float largest_of(const float4& four) {
  return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
}
__device__ inline float stage_maximum(const unsigned char* maxima, int image) {
  return kByImages             ? reinterpret_cast<const float*>(maxima)[image]
         : kProducerWarps == 4 ? largest_of(reinterpret_cast<const float4*>(maxima)[image])
                               : fmaxf(largest_of(reinterpret_cast<const float4*>(maxima)[image * 2]),
                                       largest_of(reinterpret_cast<const float4*>(maxima)[image * 2 + 1]));
}

// The exponent of x's scale: `kept`, if not `begins` and it brings `largest` to 2^13 and within f16, or that is 0.
//
// What f16 rounds up to the next power of two counts as that.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 0x1000) / (1 << 23));
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}
