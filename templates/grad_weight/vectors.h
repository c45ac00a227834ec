// Vectors of fp32, for gradients of weights.
#pragma once

#include "grad_weight/problem.h"

// Stores adjacent floats, aligned to all of them, in one piece.
__device__ __forceinline__ void store_floats(float* to, const float (&values)[kStoreVector]) {
  if constexpr (kStoreVector == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  } else if constexpr (kStoreVector == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
  } else {
    *to = values[0];
  }
}
