// Whether a total is a number that parts may be added to.
#pragma once

#include "device/template.h"

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.402823466e38f;
}
