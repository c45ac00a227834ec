// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32; layout nchw
// forward for sm_90a. Template direct: a block makes 8x64 outputs of 32 channels; 21 taps; 21.8 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 134217728 elements, written, 4-byte aligned
//   tensor x: 134217728 elements, read, 4-byte aligned
//   tensor weight: 21504 elements, read, 4-byte aligned
//   kernel convtgen_direct_forward_ce632102f225a281
//     arguments const float* x, const float* weight, float* y
//     grid 8192; block 256; shared 22272

namespace convtgen_direct_forward_ce632102f225a281_source {

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

#endif

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTaps = 21;
constexpr int kGroupIn = 32;
constexpr int kGroupOut = 32;
constexpr int kTileColumns = 64;
constexpr int kTileChannels = 32;
constexpr int kStagedColumns = 70;
constexpr int kPitch = 72;

// ---- Staging ----

struct Stage {
  float rows[4][10][72];
  float weights[4][21][32];
};

// Copies a k-block of input channels, with the halo, to shared memory: zeros where the image or the group ends.
// `x` is the first channel of the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const float* __restrict__ x, int first_channel, int first_row,
                                           int first_column) {
  // more would spill
  #pragma unroll 3
  for (int i = threadIdx.x; i < 2800; i += kThreads) {
    // Adjacent threads read adjacent memory.
    const int channel = i / 700;
    const int row = i / kStagedColumns % 10;
    const int column = i % kStagedColumns;
    const int ci = first_channel + channel;
    const int iy = first_row + row;
    const int ix = first_column + column;
    float value = 0;
    if (iy >= 0 && iy < 512 && ix >= 0 && ix < 1024) {
      value = x[(ci * 512 + iy) * 1024 + ix];
    }
    stage.rows[channel][row][column] = value;
  }
}

// Copies the weights of a k-block of input channels to shared memory, output channels innermost; zeros where the group
// ends. `weight` is the first input channel of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const float* __restrict__ weight, int first_channel) {
  // more would spill
  #pragma unroll 3
  for (int i = threadIdx.x; i < 2688; i += kThreads) {
    const int tap = i % kTaps;
    const int channel = i / kTaps % kTileChannels;
    const int k_block_channel = i / 672;
    const int ci = first_channel + k_block_channel;
    const float value = weight[(ci * kGroupOut + channel) * kTaps + tap];
    stage.weights[k_block_channel][tap][channel] = value;
  }
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[8][2][4];

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        acc[channel][row][column] = fma(x[row * kPitch + column], weights[channel], acc[channel][row][column]);
      }
    }
  }
}

// ---- Epilogue ----

// The epilogue of one thread and phase: adds the bias, applies the fuse chain, stores. `y` is the image, co the first
// channel, (oy, ox) the output of the first position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ y, int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        const int out_row = oy + row;
        const int out_column = ox + column;
        const float biased = acc[channel][row][column];
        y[((co + channel) * 512 + out_row) * 1024 + out_column] = biased;
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_ce632102f225a281(const float* __restrict__ x, const float* __restrict__ weight,
                                             float* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int tile_x = block % 16;
  const int tile_y = block / 16 % 64;
  const int image = block / 1024;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 16 * 4;
  const int row = thread / 16 % 4 * 2;
  const int channel = thread / 64 * 8;
  const int m_y = tile_y * 8 + row;
  const int m_x = tile_x * kTileColumns + column;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const float* x_group = x + image_channel * 524288;
  float* y_image = y + static_cast<long long>(image) * 16777216;

  Accumulators acc[1] = {};
  Stage& stage = *static_cast<Stage*>(shared_memory());
  for (int first_in = 0; first_in < kGroupIn; first_in += 4) {
    __syncthreads();  // all threads have read the k-block before
    stage_rows(stage, x_group, first_in, tile_y * 8 - 1, tile_x * kTileColumns - 3);
    stage_weights(stage, weight, first_in);
    __syncthreads();  // the k-block is staged
    #pragma unroll 1
    for (int c = 0; c < 4; ++c) {
      // Kernel row 0: output rows of phase 0, input offset 1.
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 6], &stage.weights[c][0][channel]);  // tap (0, 0)
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 5], &stage.weights[c][1][channel]);  // tap (0, 1)
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 4], &stage.weights[c][2][channel]);  // tap (0, 2)
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 3], &stage.weights[c][3][channel]);  // tap (0, 3)
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 2], &stage.weights[c][4][channel]);  // tap (0, 4)
      multiply_add(acc[0], &stage.rows[c][row + 2][column + 1], &stage.weights[c][5][channel]);  // tap (0, 5)
      multiply_add(acc[0], &stage.rows[c][row + 2][column], &stage.weights[c][6][channel]);      // tap (0, 6)
      // Kernel row 1: output rows of phase 0, input offset 0.
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 6], &stage.weights[c][7][channel]);   // tap (1, 0)
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 5], &stage.weights[c][8][channel]);   // tap (1, 1)
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 4], &stage.weights[c][9][channel]);   // tap (1, 2)
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 3], &stage.weights[c][10][channel]);  // tap (1, 3)
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 2], &stage.weights[c][11][channel]);  // tap (1, 4)
      multiply_add(acc[0], &stage.rows[c][row + 1][column + 1], &stage.weights[c][12][channel]);  // tap (1, 5)
      multiply_add(acc[0], &stage.rows[c][row + 1][column], &stage.weights[c][13][channel]);      // tap (1, 6)
      // Kernel row 2: output rows of phase 0, input offset -1.
      multiply_add(acc[0], &stage.rows[c][row][column + 6], &stage.weights[c][14][channel]);  // tap (2, 0)
      multiply_add(acc[0], &stage.rows[c][row][column + 5], &stage.weights[c][15][channel]);  // tap (2, 1)
      multiply_add(acc[0], &stage.rows[c][row][column + 4], &stage.weights[c][16][channel]);  // tap (2, 2)
      multiply_add(acc[0], &stage.rows[c][row][column + 3], &stage.weights[c][17][channel]);  // tap (2, 3)
      multiply_add(acc[0], &stage.rows[c][row][column + 2], &stage.weights[c][18][channel]);  // tap (2, 4)
      multiply_add(acc[0], &stage.rows[c][row][column + 1], &stage.weights[c][19][channel]);  // tap (2, 5)
      multiply_add(acc[0], &stage.rows[c][row][column], &stage.weights[c][20][channel]);      // tap (2, 6)
    }
  }

  store(acc[0], y_image, channel, m_y, m_x);
}

}  // namespace convtgen_direct_forward_ce632102f225a281_source
using convtgen_direct_forward_ce632102f225a281_source::convtgen_direct_forward_ce632102f225a281;
