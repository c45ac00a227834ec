// Static parameters of the template `two_columns`.
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
  static constexpr int in_channels = 4;
  static constexpr int out_channels = 3;
  static constexpr bool has_bias = true;
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)
  static constexpr int height = -1;                    // -1: an argument of the kernel
  static constexpr int width = -1;

  static constexpr int threads = 64;  // of a block: two adjacent outputs of a row each
};
