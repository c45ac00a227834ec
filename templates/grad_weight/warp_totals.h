// fp32 totals in memory of the accumulators of products of warps, for gradients of weights.
// Needs: acc_at(), kAccumulators, kThreads, PartAccumulators
#pragma once

#include "device/template.h"

// Adds the accumulators to the thread's totals in memory, and zeroes them. The first time, it sets the totals.
__device__ __forceinline__ void promote(PartAccumulators& acc, float* totals, bool is_first) {
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    float* total = totals + i * kThreads;
    *total = is_first ? acc_at(acc, i) : *total + acc_at(acc, i);
    acc_at(acc, i) = 0;
  }
}

// The accumulators with the thread's totals.
__device__ __forceinline__ void add_totals(PartAccumulators& acc, const float* totals) {
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(acc, i) += totals[i * kThreads];
  }
}
