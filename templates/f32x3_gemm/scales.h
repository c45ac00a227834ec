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
