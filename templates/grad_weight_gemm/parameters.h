// Static parameters of the template `grad_weight_gemm`, with the values that it has when compiled as it stands:
// DCGAN's fourth layer in f16 with channels last. A plan names a value for each of them (its planner says how they
// are chosen).
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

  // Rows and columns of the input; -1: an argument of the kernel.
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
  using Element = unsigned short;
  using Sum = float;
  using Word = unsigned int;       // what producers have in registers: bits as they are multiplied, or values to split
  static constexpr int type = 0;   // WgmmaType of the products; float values of f16 products are split in two parts
  static constexpr int store = 1;  // elements that are stored together
  static constexpr bool splits = false;  // float values of tf32 products are split in two parts

  // The weights of a block: of some output channels (a multiple of 16) and taps by some input channels (a multiple of
  // 8, at most 256). The warpgroups that multiply (2 or 3) share the rows of output channels and taps.
  static constexpr int taps_h = 4;
  static constexpr int taps_w = 4;
  static constexpr int block_out = 16;
  static constexpr int block_in = 128;
  static constexpr int consumer_groups = 2;

  // The positions of a stage: tile_rows rows of tile_columns positions, or `flat`: whole rows, one after the other,
  // with as many zeros between them as taps reach.
  static constexpr bool flat = false;
  static constexpr int tile_rows = 4;
  static constexpr int tile_columns = 16;

  // The pipeline: stages; threads that bring them (128 or 256).
  static constexpr int stages = 3;
  static constexpr int producers = 256;

  // Tensor copies bring rows of NCHW to shared memory as they lie, so many stages ahead of the producers, who make
  // units of channels of them. 0: producers load units to registers.
  static constexpr int row_stages = 0;

  // Slices of all positions; each has blocks of its own. After so many stages a block's accumulators are
  // promoted to fp32 totals in memory; 0: never. With split values they are promoted more often, to totals in shared
  // memory or registers.
  static constexpr int slices = 4;
  static constexpr int promote_stages = 0;
  static constexpr bool shared_totals = false;
  // Slices for the largest magnitude of each channel, by which values are split, and for the gradient of the bias.
  static constexpr int scan_slices = 1;
  static constexpr int bias_slices = 1;
};
