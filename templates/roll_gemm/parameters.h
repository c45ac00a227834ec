// Static parameters of the template `roll_gemm`, with the values that it has when compiled as it stands: the 3x7
// kernel of KernelBench's layer 78 in tf32. A plan names a value for each of them (its planner says how they are
// chosen).
#pragma once

struct Parameters {
  // The layer.
  static constexpr int kernel_h = 3;
  static constexpr int kernel_w = 7;
  static constexpr int stride_h = 1;  // strides are 1, and rows are not dilated
  static constexpr int stride_w = 1;
  static constexpr int padding_h = 1;
  static constexpr int padding_w = 3;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_h = 1;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 32;
  static constexpr int out_channels = 32;
  static constexpr int x_channels = 32;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 32;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;         // x and y are NHWC; pixels fill whole 16 bytes
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)
  static constexpr bool weights_exchanged = false;     // for gradients of the input: device/exchanged_weights.h

  // Rows and columns of the input; -1: an argument of the kernel. In NCHW the columns are known, and fill whole 16
  // bytes; for a sequence they are known.
  static constexpr int height = 512;
  static constexpr int width = 1024;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = float;
  using Sum = float;
  static constexpr int type = 2;  // WgmmaType of the products

  // Steps of the fuse chain; the arrays below hold their kinds and arguments.
  static constexpr int fuse_count = 0;

  // The block: a strip of 64 * thread_positions adjacent positions, some of its rows, and output channels.
  static constexpr int thread_positions = 2;  // adjacent positions of a thread, 2 or 4
  static constexpr int rows = 256;            // of outputs
  static constexpr int block_n = 32;          // output channels of a block, a multiple of 8
  // Elements that are stored together. In NCHW without a staged epilogue: at most thread_positions.
  static constexpr int store = 2;
  static constexpr bool staged_epilogue = false;  // outputs go through shared memory, to be stored in longer vectors
  static constexpr bool flat = false;  // the rows of all images lie in one sequence of positions, which strips cut

  // The pipeline: input channels of a stage, which is of one row, and stages. With channels last it has all channels,
  // and `block_k` is the depth of their products.
  static constexpr int block_k = 32;
  static constexpr int stages = 4;
};

// ActivationKind and arguments of each step of the fuse chain.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
