// Weights of products that make outputs, or with weights_exchanged gradients of inputs: these are a transposed convolution
// of stride 1 with the weights' channels exchanged and their taps mirrored.
// Needs what device/weight_order.h needs, and weights_exchanged.
#pragma once

#include "device/weight_order.h"

// The offset of the weight of a channel that is multiplied, a channel that is made, and a tap of `taps`. A group has
// `ins` and `outs` of these channels.
__device__ inline WeightIndex product_weight_offset(WeightIndex ci, int co, int tap, int ins, int outs, int taps) {
  return Parameters::weights_exchanged
             ? weight_offset(static_cast<WeightIndex>(co), static_cast<int>(ci), taps - 1 - tap, ins, taps)
             : weight_offset(ci, co, tap, outs, taps);
}

// From a weight to the next one of the channels that are multiplied, of those that are made, and of the taps; and where
// the first tap's is.
__host__ __device__ constexpr long long multiplied_channel_step(int outs, int taps) {
  return Parameters::weights_exchanged ? weight_channel_step(taps) : outs * taps;
}
__host__ __device__ constexpr long long made_channel_step(int ins, int taps) {
  return Parameters::weights_exchanged ? static_cast<long long>(ins) * taps : weight_channel_step(taps);
}
__host__ __device__ constexpr int product_tap_step(int ins, int outs) {
  return Parameters::weights_exchanged ? -weight_tap_step(ins) : weight_tap_step(outs);
}
__host__ __device__ constexpr int first_tap_offset(int ins, int taps) {
  return Parameters::weights_exchanged ? (taps - 1) * weight_tap_step(ins) : 0;
}
