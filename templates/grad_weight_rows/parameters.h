// Static parameters of the template `grad_weight_rows`, with the values that it has when compiled as it stands:
// DCGAN's fourth layer in tf32. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int in_channels = 128;
  static constexpr int out_channels = 64;
  static constexpr int groups = 1;
  static constexpr int x_channels = 128;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;         // x and grad_y are NCHW
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Rows (-1: an argument of the kernel) and columns of the input.
  static constexpr int height = 16;
  static constexpr int width = 16;

  // Images are planes: the template takes two axes. The sums of grad_y (device/channel_sums.h) have these.
  static constexpr int kernel_d = 1;
  static constexpr int stride_d = 1;
  static constexpr int padding_d = 0;
  static constexpr int output_padding_d = 0;
  static constexpr int dilation_d = 1;
  static constexpr int depth = 1;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = float;
  using Sum = float;
  static constexpr int type = 2;   // WgmmaType of the products
  static constexpr int store = 1;  // elements that are stored together
  // Values of fp32 are split in two parts of tf32 each, for results as accurate as fp32.
  static constexpr bool splits = false;

  // The weights of a block: of some output channels (a multiple of 16) and taps by some input channels (a multiple of
  // 8). The warpgroups that multiply (2 or 3) share the rows of output channels and taps. With rows_in_columns, for
  // stride_h and dilation_h of 1, kernel rows are in the columns of a product (at most 256), with input channels.
  static constexpr int taps_h = 4;
  static constexpr int taps_w = 4;
  static constexpr int block_out = 16;
  static constexpr int block_in = 128;
  static constexpr bool rows_in_columns = false;
  static constexpr int consumer_groups = 2;

  // The positions of a stage: tile_rows rows (of the output with rows_in_columns) of tile_columns positions. Boxes of
  // `swizzle` bytes of a row (32, 64 or 128) bring x.
  static constexpr int tile_rows = 4;
  static constexpr int tile_columns = 16;
  static constexpr int swizzle = 64;

  // The pipeline: stages; whether tensor copies bring x, and the window of grad_y; the threads that issue them (32), or
  // bring the others through registers, or split x (128).
  static constexpr int stages = 3;
  static constexpr bool input_copies = true;
  static constexpr bool window_copies = true;
  static constexpr int producers = 32;

  // Slices of all positions; each has blocks of its own. After so many stages a block's accumulators are
  // promoted to fp32 totals; 0: never.
  static constexpr int slices = 4;
  static constexpr int promote_stages = 0;
  // The same for the gradient of the bias.
  static constexpr int bias_slices = 1;
};
