// Elements of gradients of weights, stored as vectors.
// Needs: narrow(), pair()
#pragma once

#include "device/memory.h"
#include "grad_weight/vectors.h"

// Stores the elements of adjacent sums, aligned to all of them, in one piece.
__device__ __forceinline__ void store_vector(Element* to, const float (&sums)[kStoreVector]) {
  if constexpr (P::type == kWgmmaTf32) {
    store_floats(reinterpret_cast<float*>(to), sums);
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
