// Forward transposed convolution by its definition: a thread gathers the terms of two outputs of a row.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/template.h"

using P = Parameters;
using WeightIndex = long long;

#include "device/weight_order.h"

constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kColumns = 2 * P::threads;  // outputs of a block

extern "C" __global__ void __launch_bounds__(P::threads)
    two_columns(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                float* __restrict__ y, int height, int width) {
  const int in_h = P::height >= 0 ? P::height : height;
  const int in_w = P::width >= 0 ? P::width : width;
  const int out_h =
      (in_h - 1) * P::stride_h + (P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h);
  const int out_w =
      (in_w - 1) * P::stride_w + (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);
  const int tiles = (out_w + (kColumns - 1)) / kColumns;  // of a row

  const int block = blockIdx.x;
  const int channel = block % P::out_channels;
  const int first = block / P::out_channels % tiles * kColumns + static_cast<int>(threadIdx.x) * 2;
  const int row = block / P::out_channels / tiles % out_h;
  const long long image = block / P::out_channels / tiles / out_h;
  const float* x_image = x + image * P::in_channels * in_h * in_w;
#pragma unroll 1
  for (int column = first; column < min(first + 2, out_w); ++column) {
    float sum = 0;
    if (P::has_bias) {
      sum = bias[channel];
    }
    CONVTGEN_UNROLL
    for (int kh = 0; kh < P::kernel_h; ++kh) {
      CONVTGEN_UNROLL
      for (int kw = 0; kw < P::kernel_w; ++kw) {
        // Tap ({kh}, {kw}).
        const int from_h = row + (P::padding_h - P::dilation_h * kh);
        const int from_w = column + (P::padding_w - P::dilation_w * kw);
        if (from_h >= 0 && from_h % P::stride_h == 0 && from_h / P::stride_h < in_h && from_w >= 0 &&
            from_w % P::stride_w == 0 && from_w / P::stride_w < in_w) {
#pragma unroll 1
          for (int c = 0; c < P::in_channels; ++c) {
            sum += x_image[(static_cast<long long>(c) * in_h + from_h / P::stride_h) * in_w + from_w / P::stride_w] *
                   weight[weight_offset(static_cast<WeightIndex>(c), channel, kh * P::kernel_w + kw, P::out_channels,
                                        kTaps)];
          }
        }
      }
    }
    y[((image * P::out_channels + channel) * out_h + row) * out_w + column] = sum;
  }
}
