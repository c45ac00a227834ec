// Elements of f32x3 in memory: fp32.
#pragma once

#include "device/memory.h"
#include "forward_gemm/problem.h"

using Element = float;

__device__ inline float widen(Element value) {
  return value;
}

// Stores adjacent elements, aligned to all of them, at once: nobody reads them while the kernel runs.
__device__ inline void store_together(Element* to, const float (&values)[P::store]) {
  if (P::store == 4) {
    store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                   __float_as_uint(values[3])));
  } else if (P::store == 2) {
    store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
  } else {
    *to = values[0];
  }
}
