// Static parameters of the template `halo_gemm`, with the values that it has when compiled as it stands: DCGAN's
// fourth layer in f16 with channels last. A plan names a value for each of them (its planner says how they are
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
  static constexpr int dilation_h = 1;  // 1 on an axis with a stride, or in volumes on all axes the stride
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 128;
  static constexpr int out_channels = 64;
  static constexpr int x_channels = 128;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = true;          // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout / groups)
  static constexpr bool weights_exchanged = false;     // for gradients of the input: device/exchanged_weights.h

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 16;
  static constexpr int width = 16;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Sum = float;
  static constexpr int type = 0;  // WgmmaType of the products

  // Steps of the fuse chain, and of the chain that x has as it is read; the arrays below hold their kinds and
  // arguments.
  static constexpr int fuse_count = 0;
  static constexpr int fuse_input_count = 0;

  // The block: its tile of positions, tile_h x tile_w, or `flat`: as many adjacent ones of all images' positions in a
  // row, or of a volume's plane; how many along the depth; the width of the parts that products take, 8x8 or 1x64; what
  // it makes of them.
  static constexpr bool flat = false;
  static constexpr int tile_d = 1;
  static constexpr int tile_h = 16;  // flat: 1
  static constexpr int tile_w = 16;
  static constexpr int part_w = 8;             // 8 or 64; flat: 64
  static constexpr int block_n = 32;           // output channels, a multiple of 8
  static constexpr int adjacent_channels = 8;  // adjacent output channels that a thread makes
  static constexpr int store = 8;              // elements that are stored together, 1 to 16 bytes of them
  static constexpr int phase_rows = 2;         // of the stride_h: all, or a part
  static constexpr bool fused_phases = true;   // all phases of a tap are columns of one product

  // The pipeline: input channels of a stage, stages, and of how many the producers have copies in flight while they
  // wait for older ones; their threads (128 or 256). Bytes of one asynchronous copy (4, 8 or 16), or 0: input comes
  // through registers, so that NCHW becomes what products read, and tf32 is rounded; then `vector` elements are loaded
  // together: adjacent pixels of a channel (4 bytes at most), or with channels last channels of a pixel (one or a
  // unit).
  static constexpr int block_k = 32;
  static constexpr int stages = 3;
  static constexpr int prefetch_stages = 1;
  static constexpr int producers = 128;
  static constexpr int copy_bytes = 16;
  static constexpr int vector = 1;
  // Whether the weights of all channels lie in shared memory for the block's life or come with each stage. Whether the
  // consumer warpgroups compute tiles of their own (ping-pong), or both compute each tile.
  static constexpr bool resident = false;
  static constexpr bool ping_pong = false;
};

// ActivationKind and arguments of each step of the fuse chain and, after these, of the input's.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
