// Static parameters of the template `mma_taps_grad_weight`, with the values that it has when compiled as it stands:
// DCGAN's last layer in f16 with channels last. A plan names a value for each of them (its planner says how they are
// chosen).
#pragma once

struct Parameters {
  // The layer.
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
  static constexpr int in_channels = 64;
  static constexpr int out_channels = 3;
  static constexpr int groups = 1;
  static constexpr int x_channels = 64;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 3;
  static constexpr bool has_bias = true;
  static constexpr bool channels_last = true;          // x and grad_y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Planes, rows and columns of the input; -1: an argument of the kernels.
  static constexpr int depth = 1;
  static constexpr int height = 32;
  static constexpr int width = 32;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  using Offset = int;              // counts elements inside one image: long long where one may not fit an int
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 1;  // elements that are stored together
  // fp32 values are split in two parts of tf32, whose products make those of fp32.
  static constexpr bool splits = false;

  // The weights of a block: a rectangle of taps by some output channels, which are the columns of its products, by some
  // input channels (a multiple of 16 * warps_in), which are their rows. Its warps share the rows, the columns, and the
  // positions.
  static constexpr int taps_h = 4;
  static constexpr int taps_w = 4;
  static constexpr int block_in = 64;
  static constexpr int block_out = 3;
  static constexpr int warps_in = 1;
  static constexpr int warps_columns = 1;
  static constexpr int warps_k = 8;
  static constexpr int blocks_per_sm = 2;

  // The positions of a stage: tile_rows rows of tile_columns. Columns are whole products, or parts of one.
  static constexpr int tile_rows = 4;
  static constexpr int tile_columns = 32;
  static constexpr int stages = 4;

  // Slices of all positions; each has blocks of its own. After so many stages a block's accumulators are promoted to
  // fp32 totals in memory; 0: never.
  static constexpr int slices = 264;
  static constexpr int promote_stages = 0;
  static constexpr int bias_slices = 256;  // of grad_y, for the gradient of the bias
  // Whether blocks add up the window of grad_y, for that gradient: a sum of each slice.
  static constexpr bool sums_bias = false;
  // Whether the kernel that adds the slices may be launched before the one before it has ended, for which it waits.
  static constexpr bool add_waits = false;
};
