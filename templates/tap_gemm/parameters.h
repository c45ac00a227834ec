// Static parameters of the template `tap_gemm`, with the values that it has when compiled as it stands: DCGAN's third
// layer in f16. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int in_channels = 256;
  static constexpr int out_channels = 128;
  static constexpr int groups = 1;
  static constexpr int x_channels = 256;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 128;
  static constexpr bool channels_last = true;          // grad_x and grad_y are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KD, KH, KW, Cout)

  // Planes, rows and columns of the input; -1: an argument of the kernel.
  static constexpr int depth = 1;
  static constexpr int height = 8;
  static constexpr int width = 8;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  static constexpr int type = 0;   // WgmmaType of the products
  static constexpr int store = 8;  // elements that are stored together

  // A tile: positions (128 or 256) by input channels (a multiple of 32, at most 256).
  static constexpr int block_m = 128;
  static constexpr int block_n = 256;

  // A tile's positions are boxes, each brought by one tensor copy: positions of images, rows and columns, a
  // multiple of 8 in all. At most 32 boxes. Of volumes a box has one image, and box_n planes.
  static constexpr int box_n = 2;
  static constexpr int box_h = 8;
  static constexpr int box_w = 8;

  // The pipeline.
  static constexpr int block_k = 64;  // output channels of a stage: 64 or 32
  static constexpr int stages = 4;

  // Blocks of a cluster (1, 2, 4 or 8). They have the same input channels, and share the copies of their weights; or,
  // sliced, a tile: each makes the products of some stages. That is for tiles that are fewer than SMs.
  static constexpr int cluster = 2;
  static constexpr bool sliced = false;
};
