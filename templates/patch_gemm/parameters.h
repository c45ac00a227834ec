// Static parameters of the template `patch_gemm`, with the values that it has when compiled as it stands: the mask
// head of Mask R-CNN in f16. A plan names a value for each of them (its planner says how they are chosen).
#pragma once

struct Parameters {
  // The layer. Its kernel is as large as its strides, and it has no padding.
  static constexpr int kernel_d = 1;
  static constexpr int kernel_h = 2;
  static constexpr int kernel_w = 2;
  static constexpr int stride_d = 1;
  static constexpr int stride_h = 2;
  static constexpr int stride_w = 2;
  static constexpr int padding_d = 0;
  static constexpr int padding_h = 0;
  static constexpr int padding_w = 0;
  static constexpr int output_padding_d = 0;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_d = 1;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 256;
  static constexpr int out_channels = 256;
  static constexpr int x_channels = 256;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 256;
  static constexpr bool has_bias = true;
  static constexpr bool channels_last = true;          // x and y are NHWC: no other is taken
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout)

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 14;
  static constexpr int width = 14;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 8;  // elements that are stored together: 4 where block_c is 16, else 8

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // A block's output channels, whose taps are at most 256 columns: 16, 32 or 64.
  static constexpr int block_c = 64;

  // The pipeline.
  static constexpr int block_k = 64;  // input channels of a stage: 64, 32 or 16
  static constexpr int stages = 4;
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
