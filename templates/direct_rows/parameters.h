// Static parameters of the template `direct_rows`, with the values that it has when compiled as it stands:
// KernelBench's transposed convolution with strides 2x3, groups and dilation. A plan names a value for each of them
// (its planner says how they are chosen).
#pragma once

struct Parameters {
  // The layer.
  static constexpr int kernel_h = 3;
  static constexpr int kernel_w = 5;
  static constexpr int stride_h = 2;
  static constexpr int stride_w = 3;
  static constexpr int padding_h = 1;
  static constexpr int padding_w = 2;
  static constexpr int output_padding_h = 0;
  static constexpr int output_padding_w = 0;
  static constexpr int dilation_h = 2;
  static constexpr int dilation_w = 1;
  static constexpr int in_channels = 32;
  static constexpr int out_channels = 64;
  static constexpr int groups = 4;
  static constexpr int x_channels = 32;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 64;
  static constexpr bool has_bias = false;
  static constexpr bool channels_last = false;         // x and y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Rows and columns of the input; -1: an argument of the kernel. The grid gives the batch.
  static constexpr int height = 128;
  static constexpr int width = 256;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short), Sum what products are added in.
  using Element = float;
  using Sum = float;
  using Offset = int;                     // counts elements inside one image: int where every offset fits
  static constexpr int element_kind = 0;  // ElementKind

  // Steps of the fuse chain, and of the chain that x has as it is read; the arrays below hold their kinds and
  // arguments.
  static constexpr int fuse_count = 0;
  static constexpr int fuse_input_count = 0;

  // The block: warps along columns, channels and rows; a warp's lanes along channels and columns (lanes beyond
  // the product are idle); and what each thread makes: adjacent channels of one group, and columns that are lanes_x
  // apart, in every column phase.
  static constexpr int warps_x = 2;
  static constexpr int warps_c = 1;
  static constexpr int warps_y = 4;
  static constexpr int lanes_c = 1;
  static constexpr int lanes_x = 32;
  static constexpr int channels_per_thread = 8;
  static constexpr int columns_per_thread = 4;
  static constexpr int tile_rows = 8;         // positions; a multiple of warps_y
  static constexpr int blocks_per_sm = 2;     // that registers must leave room for
  static constexpr bool asynchronous = true;  // staged by asynchronous copies: elements as wide as what is added
  // Elements that a thread stores as one vector from its registers, channels last; 0: outputs go through shared memory.
  static constexpr int vector = 0;
};

// ActivationKind and arguments of each step of the fuse chain and, after these, of the input's.
__constant__ constexpr int fuse_kind[] = {0};
__constant__ constexpr double fuse_a[] = {0};
__constant__ constexpr double fuse_b[] = {0};
