// Part of the template `shift_gemm`, which uses what stands above its line there: the scale that a stage of f32x3 asks
// for.
#pragma once

constexpr int kProducerWarps = kProducers / 32;
constexpr bool kByImages = P::tile_n >= kProducerWarps;  // each producer warp has images of its own

// The largest magnitude of what producer warps found in an image's part of a stage: each has looked for it in its own.
__device__ __forceinline__ float largest_of(const float4& four) {
  return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
}
__device__ inline float largest_found(const unsigned char* found, int image) {
  return kByImages             ? reinterpret_cast<const float*>(found)[image]
         : kProducerWarps == 4 ? largest_of(reinterpret_cast<const float4*>(found)[image])
                               : fmaxf(largest_of(reinterpret_cast<const float4*>(found)[image * 2]),
                                       largest_of(reinterpret_cast<const float4*>(found)[image * 2 + 1]));
}

// The exponent of x's scale: `kept`, if not `begins` and that brings `largest` to 2^13 and within f16, or that is 0.
//
// What f16 rounds up to the next power of two counts as that.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 0x1000) / (1 << 23));
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}
