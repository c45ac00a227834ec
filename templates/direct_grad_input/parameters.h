// Static parameters of the template `direct_grad_input`, with the values that it has when compiled as it stands:
// DCGAN's last layer. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int in_channels = 64;
  static constexpr int out_channels = 3;
  static constexpr int groups = 1;
  static constexpr int x_channels = 64;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 3;
  static constexpr bool channels_last = false;         // grad_x and grad_y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout / groups)

  // Planes, rows and columns of the input; -1: an argument of the kernel. The grid gives the batch.
  static constexpr int depth = 1;
  static constexpr int height = 32;
  static constexpr int width = 32;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short), Sum what products are added in.
  using Element = float;
  using Sum = float;
  using Offset = long long;               // counts elements inside one image: int where every offset fits
  static constexpr int element_kind = 0;  // ElementKind

  // The block: threads along columns, rows and input channels, and what each thread makes: a rectangle of positions
  // for some channels.
  static constexpr int threads_x = 16;
  static constexpr int threads_y = 8;
  static constexpr int threads_z = 1;
  static constexpr int columns_per_thread = 2;
  static constexpr int rows_per_thread = 2;
  static constexpr int channels_per_thread = 8;
  static constexpr int blocks_per_sm = 2;  // that registers must leave room for
  static constexpr int block_k = 3;        // output channels that are staged at a time
  static constexpr bool staged = true;     // false: a window too large for shared memory is read where it lies
  // Staged by asynchronous copies during the products of the k-block before: elements as wide as what is added.
  static constexpr bool asynchronous = true;
};
