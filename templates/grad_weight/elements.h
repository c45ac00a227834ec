// Elements of gradients of weights, stored as vectors.
// Needs: kIsFloat, narrow(), pair()
#pragma once

#include "device/memory.h"
#include "grad_weight/problem.h"

// Stores the elements of adjacent sums, aligned to all of them, in one piece.
__device__ __forceinline__ void store_vector(Element* to, const float (&sums)[kStoreVector]) {
  if constexpr (kIsFloat && kStoreVector == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(sums[0], sums[1], sums[2], sums[3]);
  } else if constexpr (kIsFloat && kStoreVector == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(sums[0], sums[1]);
  } else if constexpr (kStoreVector == 8) {
    store_global_16(
        to, make_uint4(pair(sums[0], sums[1]), pair(sums[2], sums[3]), pair(sums[4], sums[5]), pair(sums[6], sums[7])));
  } else if constexpr (kStoreVector == 4) {
    store_global_8(to, make_uint2(pair(sums[0], sums[1]), pair(sums[2], sums[3])));
  } else if constexpr (kStoreVector == 2) {
    store_global_4(to, pair(sums[0], sums[1]));
  } else {
    *to = narrow(sums[0]);
  }
}
