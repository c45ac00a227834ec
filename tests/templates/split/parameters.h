// Static parameters of the template `split`.
#pragma once

struct Parameters {
  // The layer.
  static constexpr int kernel_h = 3;
  static constexpr int kernel_w = 3;
  static constexpr int stride_h = 2;
  static constexpr int stride_w = 2;
  static constexpr int padding_h = 1;
  static constexpr int padding_w = 1;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 8;
  static constexpr int out_channels = 3;
  static constexpr bool has_bias = true;
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)
  static constexpr int height = -1;  // -1: an argument of the kernels
  static constexpr int width = -1;

  static constexpr int columns = 4;  // output channels in a row of packed weights: a multiple of 4
  static constexpr int slice = 4;    // input channels whose products a block sums; a divisor of in_channels
  static constexpr int threads = 64;  // of a block: adjacent output pixels
  static constexpr bool mapped = true;  // weights come by a tensor map, and launches overlap: from sm_90 on
};
