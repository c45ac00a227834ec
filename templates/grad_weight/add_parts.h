// Gradients of weights that were summed up by many slices of the positions: a kernel that adds the slices, with those
// of the gradient of the bias.
//
// Few weights have many slices: some threads add a part of a sum's slices each, so that a thread does not wait for
// memory as many times. With kAddWaits the launch may begin before the one before it has ended.
// Needs: kAddWaits, narrow()
#pragma once

#include "device/grid.h"
#include "device/memory.h"
#include "device/template.h"
#include "grad_weight/planes.h"

constexpr int kAddThreads = 256;
constexpr int kMostAdded = 16;  // slices that a thread adds, where there are at most 256
constexpr int kMostSlices = P::slices > P::bias_slices ? P::slices : P::bias_slices;
constexpr int kAddParts = kMostSlices > 8 * kMostAdded   ? 16
                          : kMostSlices > 4 * kMostAdded ? 8
                          : kMostSlices > 2 * kMostAdded ? 4
                          : kMostSlices > kMostAdded     ? 2
                                                         : 1;
constexpr int kAddedSums = kAddThreads / kAddParts;  // of a block
constexpr int kAddSharedBytes = kAddParts == 1 ? 0 : kAddThreads * 4;
constexpr long long kAdded = P::slices == 1 ? 0 : kWeights;

// Adds a part of a sum's slices, in their order. {with pitch: Those of a slice are `pitch` apart.}
__device__ __forceinline__ float add_part(const float* __restrict__ sums, const long long pitch, const int slices,
                                          int part) {
  const int last = slices * (part + 1) / kAddParts;
  float sum = 0;
#pragma unroll 8
  for (int slice = slices * part / kAddParts; slice < last; ++slice) {
    sum += sums[slice * pitch];
  }
  return sum;
}

// Adds the slices: of a weight, then of a channel of the bias.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    add_slices(const float* __restrict__ partial, const float* __restrict__ partial_bias,
               Element* __restrict__ grad_weight, Element* __restrict__ grad_bias) {
  const int part = kAddParts == 1 ? 0 : threadIdx.x / kAddedSums;
  const long long i = static_cast<long long>(blockIdx.x) * kAddedSums + threadIdx.x % kAddedSums;
  const bool is_weight = P::slices > 1 && i < kAdded;
  const bool is_channel = P::has_bias && !is_weight && i - kAdded < P::out_channels;
  if constexpr (kAddWaits) {
    grid_dependency_wait();
  }
  float sum = 0;
  if (is_weight) {
    sum = add_part(partial + i, kWeights, P::slices, part);
  } else if (is_channel) {
    sum = add_part(partial_bias + (i - kAdded), P::out_channels, P::bias_slices, part);
  }
  if (kAddParts > 1) {
    float* sums = static_cast<float*>(shared_memory());
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int each = 0; each < kAddParts; ++each) {
      sum += sums[each * kAddedSums + threadIdx.x % kAddedSums];
    }
  }
  if (part == 0) {
    if (is_weight) {
      grad_weight[i] = narrow(sum);
    } else if (is_channel) {
      grad_bias[i - kAdded] = narrow(sum);
    }
  }
}
