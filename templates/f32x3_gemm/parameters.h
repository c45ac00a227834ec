// Static parameters of the template `f32x3_gemm`, with the values that it has when compiled as it stands: DCGAN's
// fourth layer. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int x_channels = 128;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;         // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)
  static constexpr bool weights_exchanged = false;     // for gradients of the input: device/exchanged_weights.h
  // Of the input, from a position to the next one: the layer's stride in gradients of the input, whose stride is 1.
  static constexpr int input_stride_h = 1;
  static constexpr int input_stride_w = 1;

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 16;
  static constexpr int width = 16;

  using Sum = float;  // of the fuse chain

  // Steps of the fuse chain, and of the chain that x has as it is read; the arrays below hold their kinds and
  // arguments.
  static constexpr int fuse_count = 0;
  static constexpr int fuse_input_count = 0;

  // The block.
  static constexpr int tile_n = 1;  // images of a tile
  static constexpr int tile_h = 8;  // positions of a tile, of each image
  static constexpr int tile_w = 16;
  // Adjacent positions of a thread: 2, 4 or 8. tile_n * tile_h * tile_w is 64 times that.
  static constexpr int thread_positions = 2;
  static constexpr int block_n = 32;           // output channels, a multiple of 8
  static constexpr int adjacent_channels = 2;  // adjacent output channels of a thread
  static constexpr int store = 4;              // elements that are stored together: 1, 2 or 4
  static constexpr int phase_rows = 2;         // of the stride_h: all, or 1 where stride_h divides kernel_h

  // The pipeline.
  static constexpr int block_k = 16;  // input channels of a stage
  static constexpr int stages = 3;
  static constexpr int copy_bytes = 16;    // of one asynchronous copy: 4, 8 or 16
  static constexpr bool bulk = false;      // bulk copies of rows instead, with channels first
  static constexpr bool resident = false;  // all weights stay in shared memory; else a stage has those of its k-block

  // The consumers load the next fragments while products are in flight, which takes more registers.
  static constexpr bool prefetch = true;

  // Rows of taps that are accumulated before the accumulators are promoted to totals. 0: all of a k-block, or those of
  // several.
  static constexpr int promote_rows = 0;
};

// ActivationKind and arguments of each step of the fuse chain and, after these, of the input's.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
