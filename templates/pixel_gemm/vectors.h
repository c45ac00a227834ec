// Vectors of sums, for gradients of weights: those of slices are stored as they are.
#pragma once

#include "pixel_gemm/problem.h"

// Stores adjacent sums, aligned to all of them, in one piece. Another kernel reads them soon: the caches keep them.
__device__ __forceinline__ void store_sums_together(float* to, const float (&sums)[kVector]) {
  if constexpr (kVector == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(sums[0], sums[1], sums[2], sums[3]);
  } else if constexpr (kVector == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(sums[0], sums[1]);
  } else {
    *to = sums[0];
  }
}
