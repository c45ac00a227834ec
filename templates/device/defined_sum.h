// The sum of an output by its definition, for products of zeros that stand for taps that an output lacks: a zero times
// an infinity is NaN, which such an output must not see.
// Needs `Parameters` with the layer, and above its line the type WeightIndex, which counts the weights.
#pragma once

#include "device/element.h"
#include "device/positions.h"
#include "device/weight_order.h"

// Of an output channel, a row and a column of outputs that count their padding, and an image.
__device__ __forceinline__ float defined_sum(int channel, int padded_row, int padded_column, int image,
                                             const Parameters::Element* __restrict__ x,
                                             const Parameters::Element* __restrict__ weight, const int in_h,
                                             const int in_w) {
  float sum = 0;
#pragma unroll 1
  for (int kh = padded_row % Parameters::stride_h; kh < Parameters::kernel_h && kh <= padded_row;
       kh += Parameters::stride_h) {
    const int in_row = (padded_row - kh) / Parameters::stride_h;
#pragma unroll 1
    for (int kw = padded_column % Parameters::stride_w; kw < Parameters::kernel_w && kw <= padded_column;
         kw += Parameters::stride_w) {
      const int in_column = (padded_column - kw) / Parameters::stride_w;
      if (in_row < in_h && in_column < in_w) {
#pragma unroll 1
        for (int ci = 0; ci < Parameters::in_channels; ++ci) {
          const long long from =
              Parameters::channels_last
                  ? ((static_cast<long long>(image) * in_h + in_row) * in_w + in_column) * Parameters::x_channels + ci
                  : ((static_cast<long long>(image) * Parameters::x_channels + ci) * in_h + in_row) * in_w + in_column;
          const long long of_tap = weight_offset(static_cast<WeightIndex>(ci), channel, kh * Parameters::kernel_w + kw,
                                                 Parameters::out_channels, kTaps);
          sum = fmaf(widen(x[from]), widen(weight[of_tap]), sum);
        }
      }
    }
  }
  return sum;
}
