// Gradients of weights that were summed up by slices of the positions: a kernel that adds the slices, with those of the
// gradient of the bias (device/channel_sums.h).
// Needs, above its line, P, the types Element and Sum, narrow() and kWeights.
#pragma once

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    add_slices(const Sum* __restrict__ partial, const Sum* __restrict__ partial_bias,
               Element* __restrict__ grad_weight, Element* __restrict__ grad_bias) {
  constexpr long long kAdded = P::slices == 1 ? 0 : kWeights;
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (P::slices > 1 && i < kAdded) {
    Sum sum = 0;
#pragma unroll 8
    for (int slice = 0; slice < P::slices; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = narrow(sum);
  } else if (P::has_bias && i - kAdded < P::out_channels) {
    grad_bias[i - kAdded] = narrow(channel_sum(partial_bias, static_cast<int>(i - kAdded)));
  }
}
