// Static parameters of the template `f32x3_mma`, with the values that it has when compiled as it stands: DCGAN's
// fourth layer. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int groups = 1;
  static constexpr int input_stride_d = 1;  // of a gradient of the input, whose stride is 1
  static constexpr int input_stride_h = 1;
  static constexpr int input_stride_w = 1;
  static constexpr int in_channels = 128;
  static constexpr int out_channels = 64;
  static constexpr int x_channels = 128;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;         // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout / groups)
  static constexpr bool weights_exchanged = false;     // for gradients of the input: device/exchanged_weights.h

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 16;
  static constexpr int width = 16;

  using Sum = float;  // of the fuse chain

  // Steps of the fuse chain, and of the chain that x has as it is read; the arrays below hold their kinds and
  // arguments.
  static constexpr int fuse_count = 0;
  static constexpr int fuse_input_count = 0;

  // The block: its tile of positions, tile_h x tile_w, and the width of the parts of 64 that they are counted by, 8x8
  // or 1x64.
  static constexpr int tile_h = 8;
  static constexpr int tile_w = 8;
  static constexpr int part_w = 8;             // 8 or 64
  static constexpr int block_n = 32;           // output channels, a multiple of 8 * warps_n
  static constexpr int adjacent_channels = 2;  // adjacent output channels that a thread makes
  static constexpr int store = 2;              // elements that are stored together: 1, 2 or 4
  static constexpr int phase_rows = 2;         // of the stride_h: all, or a part

  // Its warps: warps_m of them share the positions, each has 16 * warp_tiles; warps_n share the channels.
  static constexpr int warps_m = 4;
  static constexpr int warps_n = 2;
  static constexpr int warp_tiles = 1;
  static constexpr int blocks_per_sm = 1;

  // The pipeline: input channels of a stage; with channels last, channels that are loaded together, 1 or 4.
  static constexpr int block_k = 16;
  static constexpr int vector = 1;
  // Whether the weights of all channels lie in shared memory for the block's life or come with each stage.
  static constexpr bool resident = false;
  // Products that follow one another in an accumulator, at the most.
  static constexpr int most_terms = 8;
};

// ActivationKind and arguments of each step of the fuse chain and, after these, of the input's.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
