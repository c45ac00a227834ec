// Where the weights of a group lie: (Cin, Cout / groups, KH, KW), or with channels last (Cin, KH, KW, Cout / groups).
// Needs `Parameters` with weight_channels_last, and above its line the type WeightIndex, which counts these weights.
#pragma once

#include "device/static_parameters.h"

// The offset of the weight of an input channel, an output channel of `outs`, and a tap of `taps`.
//
// Callers cast `ci` to the type: a call that converts its arguments is not inlined in emitted sources.
__device__ inline WeightIndex weight_offset(WeightIndex ci, int co, int tap, int outs, int taps) {
  return Parameters::weight_channels_last ? (ci * taps + tap) * outs + co : (ci * outs + co) * taps + tap;
}

// The same with `planes` depth taps: `tap` is one of `taps` of the depth tap kd.
__device__ inline WeightIndex depth_weight_offset(WeightIndex ci, int co, int kd, int tap, int outs, int planes,
                                                  int taps) {
  return Parameters::weight_channels_last ? ((ci * planes + kd) * taps + tap) * outs + co
                                          : ((ci * outs + co) * planes + kd) * taps + tap;
}

// Of the tap of kernel row kh and column kw, in 64 bits whatever WeightIndex is.
__device__ inline long long weight_offset_at(long long ci, int co, int kh, int kw, int outs, int kernel_h,
                                             int kernel_w) {
  return Parameters::weight_channels_last ? ((ci * kernel_h + kh) * kernel_w + kw) * outs + co
                                          : ((ci * outs + co) * kernel_h + kh) * kernel_w + kw;
}

// From an output channel's weight to the next one's, and from a tap's to the next one's.
__host__ __device__ constexpr int weight_channel_step(int taps) {
  return Parameters::weight_channels_last ? 1 : taps;
}
__host__ __device__ constexpr int weight_tap_step(int outs) {
  return Parameters::weight_channels_last ? outs : 1;
}
