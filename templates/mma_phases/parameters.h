// Static parameters of the template `mma_phases`, with the values that it has when compiled as it stands: the last
// layer of FSRCNN x4 in tf32. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr bool channels_last = false;         // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 270;
  static constexpr int width = 480;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = float;
  using Sum = float;
  static constexpr int type = 2;   // WgmmaType of the products
  static constexpr int store = 1;  // elements that are stored together

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // A tile: rows of positions, and columns of the input that are staged for them, halo included.
  static constexpr int tile_h = 8;
  static constexpr int staged_columns = 68;
  static constexpr int warps = 9;        // that multiply
  static constexpr int warp_chunks = 2;  // of positions, of a warp

  // The pipeline.
  static constexpr int block_k = 8;  // input channels of a stage
  static constexpr int stages = 4;
  static constexpr int blocks_per_sm = 1;  // that registers must leave room for
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
