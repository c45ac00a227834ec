// Static parameters of the template `overlap_gemm`, with the values that it has when compiled as it stands: the first
// deconvolution of SimpleBaseline in f16. A plan names a value for each of them (its planner says how they are
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
  static constexpr int in_channels = 2048;
  static constexpr int out_channels = 256;
  static constexpr int x_channels = 2048;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 256;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = true;          // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 8;
  static constexpr int width = 6;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 8;  // elements that are stored together

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // A tile: input pixels of images, rows and columns, at most 64 * warpgroups * thread_tiles, by output channels, whose
  // taps are at most 256 columns. A tile that is as large as the image has all of it; else it has a halo.
  static constexpr int tile_n = 4;
  static constexpr int tile_h = 8;
  static constexpr int tile_w = 6;
  static constexpr int warpgroups = 3;
  static constexpr int thread_tiles = 1;  // of 64 pixels, of a warpgroup
  static constexpr int block_c = 16;

  // The pipeline.
  static constexpr int block_k = 64;  // input channels of a stage: 64, 32 or 16
  static constexpr int stages = 4;
  static constexpr bool copied_weights = true;  // by tensor copies; else through registers, once
  static constexpr int blocks_per_sm = 1;       // that registers must leave room for
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
