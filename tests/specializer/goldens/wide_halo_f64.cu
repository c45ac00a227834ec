// conv_transpose2d 5 -> 7; kernel 3x3; stride 5x5; dilation 400x400; input 2x9x11; fuse scale(0.5); dtype f64; compute f64; layout nchw
// forward for sm_120. Template direct: a block makes 10x80 outputs of 4 channels; 9 taps; nothing shared.
// Launch
//   sizes: batch 2, in_height 9, in_width 11; out_height 841, out_width 851
//   compile: nvcc -gencode arch=compute_120,code=sm_120
//   tensor y: 10019674 elements, written, 8-byte aligned
//     shape (N 2, Cout 7, H 841, W 851), contiguous
//   tensor x: 990 elements, read, 8-byte aligned
//     shape (N 2, Cin 5, H 9, W 11), contiguous
//   tensor weight: 315 elements, read, 8-byte aligned
//     shape (Cin 5, Cout 7, KH 3, KW 3), contiguous
//   kernel convtgen_direct_forward_ec3e58298c65475d
//     arguments const double* x, const double* weight, double* y
//     grid 3740; block 32; shared 0

namespace convtgen_direct_forward_ec3e58298c65475d_source {

// ---- Constants ----

constexpr int kThreads = 32;

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = double[4][1][1];

// One tap of one input channel whose rows are not staged: every read is checked against the image.
// `x` is the channel's first element, (iy, ix) the input of the thread's first position.
__device__ __forceinline__ void multiply_add_unstaged(Accumulators& acc, const double* __restrict__ x, int iy, int ix,
                                                      const double* __restrict__ weights, int channels) {
  if (iy >= 0 && iy < 9 && ix >= 0 && ix < 11) {
    const double value = x[iy * 11 + ix];
    #pragma unroll
    for (int channel = 0; channel < 4; ++channel) {
      if (channel < channels) {
        acc[channel][0][0] = fma(value, weights[channel * 9], acc[channel][0][0]);
      }
    }
  }
}

// ---- Epilogue ----

// Every step of the chain in its order.
__device__ __forceinline__ double activate(double value) {
  value = value * 0.5;
  return value;
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, double* __restrict__ y, int co, int channels, int oy,
                                      int ox) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    if (channel < channels) {
      if (oy < 841 && ox < 851) {
        const double value = activate(acc[channel][0][0]);
        y[((co + channel) * 841 + oy) * 851 + ox] = value;
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 16)
    convtgen_direct_forward_ec3e58298c65475d(const double* __restrict__ x, const double* __restrict__ weight,
                                             double* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int channel_tile = block % 2;
  const unsigned int tile = block / 2;
  const int tile_x = tile % 11;
  const int tile_y = tile / 11 % 85;
  const int image = tile / 935;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 16;
  const int row = thread / 16 % 2;
  const int first_out = channel_tile * 4;
  const int channels = 7 - first_out;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 5;
  const double* x_group = x + image_channel * 99;
  double* y_image = y + static_cast<long long>(image) * 5009837;

  Accumulators acc[5][5] = {};
  for (int first_in = 0; first_in < 5; ++first_in) {
    // Kernel row 0: output rows of phase 0, input offset 0.
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row, tile_x * 16 + column,
                          weight + (first_in * 7 + first_out) * 9, channels);  // tap (0, 0)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row, tile_x * 16 + column - 80,
                          weight + ((first_in * 7 + first_out) * 9 + 1), channels);  // tap (0, 1)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row, tile_x * 16 + column - 160,
                          weight + ((first_in * 7 + first_out) * 9 + 2), channels);  // tap (0, 2)
    // Kernel row 1: output rows of phase 0, input offset -80.
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 80, tile_x * 16 + column,
                          weight + ((first_in * 7 + first_out) * 9 + 3), channels);  // tap (1, 0)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 80, tile_x * 16 + column - 80,
                          weight + ((first_in * 7 + first_out) * 9 + 4), channels);  // tap (1, 1)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 80, tile_x * 16 + column - 160,
                          weight + ((first_in * 7 + first_out) * 9 + 5), channels);  // tap (1, 2)
    // Kernel row 2: output rows of phase 0, input offset -160.
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 160, tile_x * 16 + column,
                          weight + ((first_in * 7 + first_out) * 9 + 6), channels);  // tap (2, 0)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 160, tile_x * 16 + column - 80,
                          weight + ((first_in * 7 + first_out) * 9 + 7), channels);  // tap (2, 1)
    multiply_add_unstaged(acc[0][0], x_group + first_in * 99ll, tile_y * 2 + row - 160, tile_x * 16 + column - 160,
                          weight + ((first_in * 7 + first_out) * 9 + 8), channels);  // tap (2, 2)
  }

  // After the loop, so that no register keeps them through it.
  const int m_y = tile_y * 2 + row;
  const int m_x = tile_x * 16 + column;
  store(acc[0][0], y_image, first_out, channels, m_y * 5, m_x * 5);
  store(acc[0][1], y_image, first_out, channels, m_y * 5, m_x * 5 + 1);
  store(acc[0][2], y_image, first_out, channels, m_y * 5, m_x * 5 + 2);
  store(acc[0][3], y_image, first_out, channels, m_y * 5, m_x * 5 + 3);
  store(acc[0][4], y_image, first_out, channels, m_y * 5, m_x * 5 + 4);
  store(acc[1][0], y_image, first_out, channels, m_y * 5 + 1, m_x * 5);
  store(acc[1][1], y_image, first_out, channels, m_y * 5 + 1, m_x * 5 + 1);
  store(acc[1][2], y_image, first_out, channels, m_y * 5 + 1, m_x * 5 + 2);
  store(acc[1][3], y_image, first_out, channels, m_y * 5 + 1, m_x * 5 + 3);
  store(acc[1][4], y_image, first_out, channels, m_y * 5 + 1, m_x * 5 + 4);
  store(acc[2][0], y_image, first_out, channels, m_y * 5 + 2, m_x * 5);
  store(acc[2][1], y_image, first_out, channels, m_y * 5 + 2, m_x * 5 + 1);
  store(acc[2][2], y_image, first_out, channels, m_y * 5 + 2, m_x * 5 + 2);
  store(acc[2][3], y_image, first_out, channels, m_y * 5 + 2, m_x * 5 + 3);
  store(acc[2][4], y_image, first_out, channels, m_y * 5 + 2, m_x * 5 + 4);
  store(acc[3][0], y_image, first_out, channels, m_y * 5 + 3, m_x * 5);
  store(acc[3][1], y_image, first_out, channels, m_y * 5 + 3, m_x * 5 + 1);
  store(acc[3][2], y_image, first_out, channels, m_y * 5 + 3, m_x * 5 + 2);
  store(acc[3][3], y_image, first_out, channels, m_y * 5 + 3, m_x * 5 + 3);
  store(acc[3][4], y_image, first_out, channels, m_y * 5 + 3, m_x * 5 + 4);
  store(acc[4][0], y_image, first_out, channels, m_y * 5 + 4, m_x * 5);
  store(acc[4][1], y_image, first_out, channels, m_y * 5 + 4, m_x * 5 + 1);
  store(acc[4][2], y_image, first_out, channels, m_y * 5 + 4, m_x * 5 + 2);
  store(acc[4][3], y_image, first_out, channels, m_y * 5 + 4, m_x * 5 + 3);
  store(acc[4][4], y_image, first_out, channels, m_y * 5 + 4, m_x * 5 + 4);
}

}  // namespace convtgen_direct_forward_ec3e58298c65475d_source
using convtgen_direct_forward_ec3e58298c65475d_source::convtgen_direct_forward_ec3e58298c65475d;
