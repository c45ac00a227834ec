// Static parameters of the template `grad_weight_patches`, with the values that it has when compiled as it stands:
// SAM's mask decoder in f16 with channels last. A plan names a value for each of them (its planner says how they are
// chosen).
#pragma once

struct Parameters {
  // The layer. Its kernel is as large as its strides.
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
  static constexpr int in_channels = 64;
  static constexpr int out_channels = 32;
  static constexpr int groups = 1;
  static constexpr int x_channels = 64;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 32;
  static constexpr bool has_bias = true;
  static constexpr bool channels_last = true;
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout)

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 128;
  static constexpr int width = 128;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 1;  // elements that are stored together

  // The weights of a block: of some output channels (a multiple of 16) and taps by some input channels (a multiple of
  // 16, at most 256). The warpgroups that multiply share the rows of output channels and taps.
  static constexpr int taps_h = 2;
  static constexpr int taps_w = 2;
  static constexpr int block_out = 32;
  static constexpr int block_in = 64;
  static constexpr int consumer_groups = 2;

  // The positions of a stage: tile_rows rows of tile_columns, and zeros after them up to a multiple of 16. `flat`:
  // rows are those of all images, else of one plane.
  static constexpr bool flat = true;
  static constexpr int tile_rows = 1;
  static constexpr int tile_columns = 128;

  static constexpr int stages = 4;

  // Slices of all positions; each has blocks of its own. After so many stages a block's accumulators are
  // promoted to fp32 totals in memory; 0: never.
  static constexpr int slices = 132;
  static constexpr int promote_stages = 0;
  static constexpr int bias_slices = 132;  // for the gradient of the bias: of each slice those of blocks that share it
};
