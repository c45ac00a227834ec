// Static parameters of the template `shift_gemm`, with the values that it has when compiled as it stands: DCGAN's
// fourth layer in tf32. A plan names a value for each of them (generator/planner/shift_gemm.cpp says how they are
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
  static constexpr int groups = 1;
  static constexpr int in_channels = 128;  // of a group
  static constexpr int out_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;  // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 16;
  static constexpr int width = 16;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = float;
  using Sum = float;
  static constexpr int type = 2;        // WgmmaType of Element, and of the products
  static constexpr bool split = false;  // f32x3: fp32 in memory, products of f16

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // The block: positions of a tile, adjacent ones that a thread makes, output channels, phase rows.
  static constexpr int tile_n = 1;  // images
  static constexpr int tile_h = 8;
  static constexpr int tile_w = 16;
  static constexpr int run = 2;            // 2, 4 or 8; tile_n * tile_h * tile_w is 64 * run, 32 * run in turn
  static constexpr int columns = 64;       // output channels of a block, a multiple of 8
  static constexpr int channel_run = 1;    // adjacent output channels that a thread makes
  static constexpr int store = 4;          // elements that are stored together, 1 to 16 bytes of them
  static constexpr int phase_rows = 2;     // of the stride_h: all, or 1 where the kernel is a multiple of the stride
  static constexpr bool exchange = false;  // a warp's outputs go through shared memory, to be stored side by side

  // The pipeline: input channels of a stage, stages, bytes of one copy (4, 8 or 16), whether rows, or pixels with
  // channels last, are brought by bulk copies instead, and whether the weights of all channels lie in shared memory for
  // the block's life or come with each stage.
  static constexpr int chunk = 16;
  static constexpr int stages = 3;
  static constexpr int copy_bytes = 16;
  static constexpr bool bulk = false;
  static constexpr bool resident = false;

  // Blocks of a cluster, 1 to 8, which share the input channels of a tile among them.
  static constexpr int cluster = 1;

  // Whether a consumer gets operands ready while products of others are under way, which takes more registers.
  static constexpr bool ahead = true;

  // Whether each warpgroup of consumers makes tiles of its own, half as large, in turn: what one stores is hidden by
  // the products of the other.
  static constexpr bool in_turn = false;

  // f32x3: how many rows of taps are summed up before sums are added to totals; 0: a chunk's all, or those of some.
  static constexpr int add_rows = 0;
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
