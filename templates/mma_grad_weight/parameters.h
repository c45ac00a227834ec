// Static parameters of the template `mma_grad_weight`, with the values that it has when compiled as it stands: DCGAN's
// fourth layer in f16 with channels last. A plan names a value for each of them (its planner says how they are
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
  static constexpr int in_channels = 128;
  static constexpr int out_channels = 64;
  static constexpr int groups = 1;
  static constexpr int x_channels = 128;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = true;          // x and grad_y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Rows and columns of the input; -1: an argument of the kernels.
  static constexpr int height = 16;
  static constexpr int width = 16;

  // The axis of depth: images are planes.
  static constexpr int kernel_d = 1;
  static constexpr int stride_d = 1;
  static constexpr int padding_d = 0;
  static constexpr int output_padding_d = 0;
  static constexpr int dilation_d = 1;
  static constexpr int depth = 1;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 1;  // elements that are stored together

  // The weights of a block: a rectangle of taps by some input channels (a multiple of 16 * warps_in) and output
  // channels (of 16 * warps_out; or 8 for each of these warps). Its warps share the channels, the columns of taps, and
  // the positions.
  static constexpr int taps_h = 4;
  static constexpr int taps_w = 4;
  static constexpr int block_in = 64;
  static constexpr int block_out = 32;
  static constexpr int warps_in = 2;
  static constexpr int warps_out = 1;
  static constexpr int warps_taps = 4;
  static constexpr int warps_k = 1;
  static constexpr int blocks_per_sm = 1;

  // The positions of a stage: tile_rows rows of tile_columns. A warp makes `strip` products one after the other: of
  // rows below one another, so that kernel rows share what they load; or along_row, of every strip-th position of a row
  // (an odd number), so that kernel columns do.
  static constexpr int tile_rows = 8;
  static constexpr int tile_columns = 16;
  static constexpr int strip = 4;
  static constexpr bool along_row = false;

  // The pipeline: stages, and bytes of one asynchronous copy (4, 8 or 16; of NCHW at the most), or 0: positions come
  // through registers, so that units of channels of NCHW are put together, and there are two stages. Where channels
  // allow copies of x or of grad_y alone the other one comes through registers.
  static constexpr int stages = 3;
  static constexpr int copy_bytes = 16;
  static constexpr bool copies_in = true;
  static constexpr bool copies_out = true;
  // Through registers: whether units of channels of x and of grad_y are loaded as they lie; of NCHW, how many adjacent
  // positions of a row a thread loads in a turn (1 or 2); and words on their way (float where values are split).
  static constexpr bool wide_in = false;
  static constexpr bool wide_out = false;
  static constexpr int span = 1;
  using Word = unsigned int;

  // Slices of all positions; each has blocks of its own. After so many stages a block's accumulators are
  // promoted to fp32 totals; 0: never.
  static constexpr int slices = 4;
  static constexpr int promote_stages = 0;
  // Of values that are split the parts of all positions whose largest magnitudes are found; and the slices of the
  // gradient of the bias.
  static constexpr int scan_slices = 1;
  static constexpr int bias_slices = 1;
  // Whether blocks add up their fragments of grad_y, for that gradient: of each slice and tap along the depth.
  static constexpr bool sums_bias = false;
};
