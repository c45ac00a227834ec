// Part of the template `shift_gemm`, which uses what stands above its line there: the scale that a stage of f32x3 asks
// for.
#pragma once

constexpr int kProducerWarps = kProducers / 32;
constexpr bool kByImages = P::tile_n >= kProducerWarps;  // each producer warp has images of its own

// The largest magnitude in a stage's part of an image, of what the producer warps found.
__device__ __forceinline__ float largest_found(const float* found, int image) {
  if (kProducerWarps == 4 && !kByImages) {
    const float4 four = *reinterpret_cast<const float4*>(found + image * kProducerWarps);
    return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
  }
  float largest = kByImages ? found[image] : 0;
  if (!kByImages) {
#pragma unroll
    for (int warp = 0; warp < kProducerWarps; warp += 4) {
      const float4 four = *reinterpret_cast<const float4*>(found + image * kProducerWarps + warp);
      largest = fmaxf(largest, fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)));
    }
  }
  return largest;
}

// x keeps the scale that it had, if that brings the largest magnitude to at least 2^13 and not beyond what f16 has, or
// there is none; unless it `begins`. What f16 rounds up to the next power of two counts as that.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 0x1000) / (1 << 23));
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}
