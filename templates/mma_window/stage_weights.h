// Copies of packed weights to shared memory.
// Needs: kThreads
#pragma once

#include "device/async_copy.h"
#include "device/template.h"

// Copies so many bytes of packed weights. Copies of a thread lie constant distances apart.
__device__ __forceinline__ void stage_weights(unsigned char* to, const unsigned char* from, const int bytes) {
  const unsigned int first = threadIdx.x * 16;
  unsigned char* own_to = to + first;
  const unsigned char* own_from = from + first;
#pragma unroll
  for (int i = 0; i < ceil_div(bytes, 16 * kThreads); ++i) {
    if ((i + 1) * kThreads * 16 <= bytes || static_cast<int>(first) + i * kThreads * 16 < bytes) {
      async_copy_16(own_to + i * (kThreads * 16), own_from + i * (kThreads * 16), 16);
    }
  }
}
