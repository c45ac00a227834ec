// Static parameters of the template `mma_columns`, with the values that it has when compiled as it stands: the
// upsampled flow of an optical flow network. A plan names a value for each of them (its planner says how they are
// chosen).
#pragma once

struct Parameters {
  // The layer.
  static constexpr int kernel_h = 4;
  static constexpr int kernel_w = 4;
  static constexpr int stride_h = 2;
  static constexpr int stride_w = 2;
  static constexpr int padding_h = 1;
  static constexpr int padding_w = 1;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 661;
  static constexpr int out_channels = 2;
  static constexpr int x_channels = 661;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 2;
  static constexpr bool has_bias = true;
  static constexpr bool channels_last = false;         // x and y are NCHW
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 96;
  static constexpr int width = 112;

  using Sum = float;  // of the fuse chain

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // The block: warps of 32 pixels each, and columns, a multiple of 8.
  static constexpr int warps = 4;
  static constexpr int block_n = 32;
  static constexpr int blocks_per_sm = 2;

  // The pipeline: input channels of a stage, stages, and the bytes of an asynchronous copy of pixels: 4 or 16.
  static constexpr int block_k = 32;
  static constexpr int stages = 4;
  static constexpr int copy_bytes = 16;
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
