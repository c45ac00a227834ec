// Static parameters of the template `mma_pixels`, with the values that it has when compiled as it stands: the third
// layer of a pose network in f16 with channels last. A plan names a value for each of them (its planner says how they
// are chosen).
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
  static constexpr int in_channels = 256;
  static constexpr int out_channels = 256;
  static constexpr int x_channels = 256;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 256;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = true;          // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout / groups)
  static constexpr bool weights_exchanged = false;     // for gradients of the input: device/exchanged_weights.h

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 32;
  static constexpr int width = 24;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;  // WgmmaType of the products

  // Steps of the fuse chain, and of the chain that x has as it is read; the arrays below hold their kinds and
  // arguments.
  static constexpr int fuse_count = 0;
  static constexpr int fuse_input_count = 0;

  // The block: positions of a phase, which follow one another over rows and images, and output channels.
  static constexpr int block_m = 128;
  static constexpr int block_n = 128;
  static constexpr int adjacent_channels = 8;  // adjacent output channels that a thread makes
  static constexpr int store = 8;              // elements that are stored together, 1 to 16 bytes of them

  // Its warps: warps_m of them share the positions, warps_n the channels.
  static constexpr int warps_m = 2;
  static constexpr int warps_n = 2;
  static constexpr int blocks_per_sm = 2;

  // The pipeline: input channels of a stage, 64 or 128 bytes of them, and stages.
  static constexpr int block_k = 32;
  static constexpr int stages = 4;

  // Input: 0: pixels with channels last, as x has them or is arranged before. Else planes of nchw as they lie: of each
  // channel and position of a stage so many words of 4 bytes, adjacent taps of a kernel row, by copies of so many
  // bytes.
  static constexpr int plane_words = 0;
  static constexpr int copy_bytes = 16;

  // Phases of a row that are columns of one product, each channel's adjacent: 1, or in nchw all of stride_w,
  // so that a thread stores adjacent outputs together.
  static constexpr int column_phases = 1;

  // The last tiles, where all would leave most of a chip idle: of so many, of all phases, each is made by several
  // blocks, which have equal parts of its taps and input channels. Another kernel adds the parts. 1: no parts.
  static constexpr int parts = 1;
  static constexpr int parted_tiles = 0;
};

// ActivationKind and arguments of each step of the fuse chain and, after these, of the input's.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
