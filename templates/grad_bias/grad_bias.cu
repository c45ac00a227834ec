// Gradient of the bias alone: the sums of grad_y over all images and positions.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS

// ---- Elements ----
#include "device/scalar.h"

// ---- Kernels ----
#include "device/channel_sums.h"

// A thread a channel: adds its slices in their order.
extern "C" __global__ void __launch_bounds__(128)
    grad_bias(const Parameters::Sum* __restrict__ partial_bias, Parameters::Element* __restrict__ grad_bias) {
  const int channel = blockIdx.x * 128 + threadIdx.x;
  if (channel < Parameters::out_channels) {
    grad_bias[channel] = narrow(channel_sum(partial_bias, channel));
  }
}
