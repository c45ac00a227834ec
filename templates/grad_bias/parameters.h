// Static parameters of the template `grad_bias`. A plan names a value for each of them (its planner says how they are
// chosen).
#pragma once

struct Parameters {
  // The layer: what the sizes of grad_y follow from.
  static constexpr int kernel_d = 1;
  static constexpr int kernel_h = 4;
  static constexpr int kernel_w = 4;
  static constexpr int stride_d = 1;
  static constexpr int stride_h = 2;
  static constexpr int stride_w = 2;
  static constexpr int padding_d = 0;
  static constexpr int padding_h = 1;
  static constexpr int padding_w = 1;
  static constexpr int output_padding_d = 0;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_d = 1;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int out_channels = 3;
  static constexpr int y_channels = 3;          // of the tensor in which grad_y lies
  static constexpr bool channels_last = false;  // grad_y is NHWC

  // Planes, rows and columns of the input; -1: an argument of the kernels.
  static constexpr int depth = 1;
  static constexpr int height = 32;
  static constexpr int width = 32;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short), Sum what is added in.
  using Element = float;
  using Sum = float;
  static constexpr int element_kind = 0;  // ElementKind

  static constexpr int bias_slices = 16;  // parts of all positions whose sums stand in the workspace
};
