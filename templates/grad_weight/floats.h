// Elements in memory of gradients of weights whose values are split: fp32.
#pragma once

#include "grad_weight/vectors.h"

__device__ __forceinline__ float widen(Element value) {
  return value;
}
__device__ __forceinline__ Element narrow(float value) {
  return value;
}
__device__ __forceinline__ void store_vector(Element* to, const float (&sums)[kStoreVector]) {
  store_floats(to, sums);
}
