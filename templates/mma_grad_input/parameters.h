// Static parameters of the template `mma_grad_input`, with the values that it has when compiled as it stands: DCGAN's
// last layer in f16. A plan names a value for each of them (its planner says how they are chosen).
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
  static constexpr int in_channels = 64;
  static constexpr int out_channels = 3;
  static constexpr int groups = 1;
  static constexpr int x_channels = 64;  // of the tensor in which x lies, x's among them
  static constexpr int y_channels = 3;
  static constexpr bool channels_last = true;          // grad_y and grad_x are NHWC
  static constexpr bool weight_channels_last = false;  // weights are (Cin, KH, KW, Cout / groups)

  // Rows and columns of the input; -1: an argument of the kernel.
  static constexpr int height = 32;
  static constexpr int width = 32;

  // Types. Element is what memory holds (f16 and bf16 as bits in an unsigned short).
  using Element = unsigned short;
  using Offset = int;             // counts elements inside one image: int where every offset fits
  static constexpr int type = 0;  // WgmmaType of the products
  // fp32 values are split in two parts of tf32, whose products make those of fp32.
  static constexpr bool splits = false;

  // The block: its warps, and its tile of input positions and channels. A warp makes m_tiles times 16 positions of
  // n_tiles times 8 channels at a time.
  static constexpr int warps = 8;
  static constexpr int tile_h = 8;  // powers of two
  static constexpr int tile_w = 32;
  static constexpr int m_tiles = 2;
  static constexpr int n_tiles = 8;
  static constexpr int block_n = 64;       // channels of one group
  static constexpr int copy_bytes = 16;    // of grad_y, that are copied at once
  static constexpr int store = 8;          // adjacent elements of grad_x that are stored at once
  static constexpr int blocks_per_sm = 2;  // that registers must leave room for
};
