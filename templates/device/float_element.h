// Elements of f32x3 in memory: fp32.
// Needs `Parameters` with store (elements that are stored together).
#pragma once

#include "device/memory.h"
#include "device/static_parameters.h"

using Element = float;

__device__ inline float widen(Element value) {
  return value;
}
__device__ inline Element narrow(float value) {
  return value;
}

// The word of a value.
__device__ inline unsigned int word_of(const float* values) {
  return __float_as_uint(values[0]);
}

// Stores adjacent elements, aligned to all of them, at once: nobody reads them while the kernel runs.
__device__ inline void store_together(Element* to, const float (&values)[Parameters::store]) {
  if (Parameters::store == 4) {
    store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                   __float_as_uint(values[3])));
  } else if (Parameters::store == 2) {
    store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
  } else {
    *to = values[0];
  }
}

// Stores adjacent elements from shared memory as one vector.
__device__ inline void store_staged_vector(Element* to, const Element* from) {
  if constexpr (Parameters::store == 4) {
    store_global_16(to, *reinterpret_cast<const uint4*>(from));
  } else if constexpr (Parameters::store == 2) {
    store_global_8(to, *reinterpret_cast<const uint2*>(from));
  } else {
    *to = *from;
  }
}
