// Static parameters of the template `phase_gemm`, with the values that it has when compiled as it stands: the last
// layer of FSRCNN in f16. A plan names a value for each of them (its planner says how they are chosen).
#pragma once

struct Parameters {
  // The layer.
  static constexpr int kernel_h = 9;
  static constexpr int kernel_w = 9;
  static constexpr int stride_h = 4;
  static constexpr int stride_w = 4;
  static constexpr int padding_h = 4;
  static constexpr int padding_w = 4;
  static constexpr int output_padding_h = 3;
  static constexpr int output_padding_w = 3;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 56;
  static constexpr int out_channels = 1;
  static constexpr int x_channels = 56;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 1;
  static constexpr bool has_bias = true;
  static constexpr bool channels_last = true;          // x and y are NHWC: no other is taken
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 270;
  static constexpr int width = 480;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 4;  // elements of a row of outputs that are stored together

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // The tile: adjacent positions of a row, of some images, which 64 * warpgroups * thread_tiles rows of products make;
  // and so many rows of them.
  static constexpr int tile_n = 1;
  static constexpr int tile_w = 128;
  static constexpr int rows = 9;
  static constexpr int warpgroups = 2;
  static constexpr int thread_tiles = 1;

  // The pipeline.
  static constexpr int block_k = 64;  // input channels of a stage: 64, 32 or 16
  static constexpr int stages = 4;
  static constexpr int blocks_per_sm = 1;
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
