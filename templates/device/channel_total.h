// What the slices of a channel's sums add up to.
// Needs `Parameters` with out_channels and bias_slices.
#pragma once

#include "device/static_parameters.h"

// A channel's sum over all slices.
__device__ __forceinline__ Parameters::Sum channel_sum(const Parameters::Sum* __restrict__ partial_bias, int channel) {
  Parameters::Sum sum = 0;
#pragma unroll 8
  for (int slice = 0; slice < Parameters::bias_slices; ++slice) {
    sum += partial_bias[slice * Parameters::out_channels + channel];
  }
  return sum;
}
