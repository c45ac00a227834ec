// A unit of channels at a position, split: for gradients of weights.
#pragma once

#include "device/split.h"
#include "pixel_gemm/problem.h"

constexpr int kWords = kPack;  // of a unit

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split(unsigned char* to, const int low_offset, const float (&words)[kWords],
                                            const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[kWords] = {words[0] * first.x,  words[1] * first.y,  words[2] * first.z,  words[3] * first.w,
                                words[4] * second.x, words[5] * second.y, words[6] * second.z, words[7] * second.w};
  unsigned int high[4];
  unsigned int low[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + low_offset) = make_uint4(low[0], low[1], low[2], low[3]);
}
