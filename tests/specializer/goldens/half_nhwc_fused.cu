// conv_transpose2d 32 -> 30; kernel 4x4; stride 2x2; padding 1x1; input ?x16x16; bias; fuse relu, clamp(-1, 6), gelu; dtype f16; compute f16; layout nhwc
// forward for sm_80. Template direct: a block makes 16x32 outputs of 30 channels; 16 taps; 22.2 KiB shared.
// Launch
//   sizes: batch, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 30720 * batch elements, written, 2-byte aligned
//     shape (N batch, H 32, W 32, Cout 30), contiguous
//   tensor x: 8192 * batch elements, read, 2-byte aligned
//     shape (N batch, H 16, W 16, Cin 32), contiguous
//   tensor weight: 15360 elements, read, 2-byte aligned
//     shape (Cin 32, Cout 30, KH 4, KW 4), contiguous
//   tensor bias: 30 elements, read, 2-byte aligned
//     shape (Cout 30), contiguous
//   kernel convtgen_direct_forward_4a440ee50e242668
//     arguments const unsigned short* x, const unsigned short* weight, const unsigned short* bias, unsigned short* y
//     grid 2 * batch; block 256; shared 22784

namespace convtgen_direct_forward_4a440ee50e242668_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kGroupIn = 32;
constexpr int kGroupOut = 30;
constexpr int kTileChannels = 32;
constexpr int kStagedColumns = 18;
constexpr int kPitch = 20;
constexpr int kPlacesOfTurn = 768;
constexpr int kRowPlaces = 1440;
constexpr int kRowPlacesInTurns = 768;
constexpr int kWeightPlaces = 4096;
constexpr int kWeightPlacesInTurns = 3840;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

#endif

// ---- Staging ----

// Puts an element to shared memory as what products are added in, or zero. Asynchronously, the block waits for it
// later.
__device__ __forceinline__ void stage_element(float* to, const unsigned short* from, bool is_inside) {
  *to = is_inside ? half_to_float(*from) : 0.0f;
}

struct Stage {
  float rows[8][10][20];
  float weights[8][16][32];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const unsigned short* __restrict__ x,
                                            int first_channel, int first_row) {
  // Adjacent threads read adjacent memory.
  const int channel = i % 8;
  const int row = i / 144;
  const int column = i / 8 % kStagedColumns;
  const int ci = first_channel + channel;
  const int iy = first_row + row;
  const int ix = column - 1;
  const bool is_inside = iy >= 0 && iy < 16 && ix >= 0 && ix < 16;  // else zero
  const unsigned short* from = x + ((iy * 16 + ix) * 32 + ci);
  stage_element(&stage.rows[channel][row][column], from, is_inside);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const unsigned short* __restrict__ weight,
                                             int first_channel) {
  const int tap = i % 16;
  const int channel = i / 16 % kTileChannels;
  const int k_block_channel = i / 512;
  const int ci = first_channel + k_block_channel;
  const bool is_there = channel < kGroupOut;  // else zero
  stage_element(&stage.weights[k_block_channel][tap][channel], weight + ((ci * kGroupOut + channel) * 16 + tap),
                is_there);
}

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const unsigned short* __restrict__ image, int first_channel,
                                           int first_row) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_pixel(stage, first + i, image, first_channel, first_row);
    }
  }
  #pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_channel, first_row);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const unsigned short* __restrict__ weight,
                                              int first_channel) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kWeightPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_weight(stage, first + i, weight, first_channel);
    }
  }
  #pragma unroll 1
  for (int i = kWeightPlacesInTurns + threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight, first_channel);
  }
}

// Copies a k-block of input channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const unsigned short* __restrict__ x,
                                              const unsigned short* __restrict__ weight, int first_channel,
                                              int first_row) {
  stage_rows(stage, x, first_channel, first_row);
  stage_weights(stage, weight, first_channel);
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[8][1][2];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const float* staged_input(const float (&rows)[10][20], int place, int row, int column) {
  return &rows[0][0] + place + row * kPitch + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int column = 0; column < 2; ++column) {
      const float value = x[column];
      acc[channel][0][column] = fma(value, weights[channel], acc[channel][0][column]);
    }
  }
}

// ---- Epilogue ----

// Every step of the chain in its order.
__device__ __forceinline__ float activate(float value) {
  value = value < 0 ? 0 : value;  // relu
  // The upper limit wins where the limits cross; NaN passes through.
  value = value < -1.0f ? -1.0f : value;
  value = value > 6.0f ? 6.0f : value;
  value = value * 0.5f * (1 + erf(value * 0.70710677f));  // gelu
  return value;
}

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = acc + bias;
  return activate(value);
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, unsigned short* __restrict__ y,
                                      const unsigned short* __restrict__ bias, int co, int channels, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    if (channel < channels) {
      const float bias_value = half_to_float(bias[co + channel]);
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int out_column = ox + column * 2;
        const float value = epilogue(acc[channel][0][column], bias_value);
        y[(oy * 32 + out_column) * 30 + co + channel] = float_to_half(value);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_4a440ee50e242668(const unsigned short* __restrict__ x,
                                             const unsigned short* __restrict__ weight,
                                             const unsigned short* __restrict__ bias, unsigned short* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int tile_y = block % 2;
  const int image = block / 2;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 8 * 2;
  const int row = thread / 8 % 8;
  const int channel = thread / 64 * 8;
  const int place = row * kPitch + column;  // in what is staged
  const int channels = kGroupOut - channel;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const unsigned short* x_group = x + image_channel * 256;
  unsigned short* y_image = y + static_cast<long long>(image) * 30720;

  Accumulators acc[2][2] = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * 8 - 1;
  for (int first_in = 0; first_in < kGroupIn; first_in += 8) {
    Stage& stage = stages[0];
    __syncthreads();  // all threads have read the k-block before
    stage_k_block(stage, x_group, weight, first_in, first_row);
    __syncthreads();  // the k-block is staged
    #pragma unroll 1
    for (int c = 0; c < 8; ++c) {
      // Kernel row 0: output rows of phase 1, input offset 1.
      multiply_add(acc[1][1], staged_input(stage.rows[c], place, 2, 2), &stage.weights[c][0][channel]);  // tap (0, 0)
      multiply_add(acc[1][0], staged_input(stage.rows[c], place, 2, 1), &stage.weights[c][1][channel]);  // tap (0, 1)
      multiply_add(acc[1][1], staged_input(stage.rows[c], place, 2, 1), &stage.weights[c][2][channel]);  // tap (0, 2)
      multiply_add(acc[1][0], staged_input(stage.rows[c], place, 2, 0), &stage.weights[c][3][channel]);  // tap (0, 3)
      // Kernel row 1: output rows of phase 0, input offset 0.
      multiply_add(acc[0][1], staged_input(stage.rows[c], place, 1, 2), &stage.weights[c][4][channel]);  // tap (1, 0)
      multiply_add(acc[0][0], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][5][channel]);  // tap (1, 1)
      multiply_add(acc[0][1], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][6][channel]);  // tap (1, 2)
      multiply_add(acc[0][0], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][7][channel]);  // tap (1, 3)
      // Kernel row 2: output rows of phase 1, input offset 0.
      multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 2), &stage.weights[c][8][channel]);   // tap (2, 0)
      multiply_add(acc[1][0], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][9][channel]);   // tap (2, 1)
      multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][10][channel]);  // tap (2, 2)
      multiply_add(acc[1][0], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][11][channel]);  // tap (2, 3)
      // Kernel row 3: output rows of phase 0, input offset -1.
      multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][12][channel]);  // tap (3, 0)
      multiply_add(acc[0][0], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][13][channel]);  // tap (3, 1)
      multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][14][channel]);  // tap (3, 2)
      multiply_add(acc[0][0], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][15][channel]);  // tap (3, 3)
    }
  }

  // After the loop, so that no register keeps them through it.
  const int m_y = tile_y * 8 + row;
  store(acc[0][0], y_image, bias, channel, channels, m_y * 2, column * 2);
  store(acc[0][1], y_image, bias, channel, channels, m_y * 2, column * 2 + 1);
  store(acc[1][0], y_image, bias, channel, channels, m_y * 2 + 1, column * 2);
  store(acc[1][1], y_image, bias, channel, channels, m_y * 2 + 1, column * 2 + 1);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ __forceinline__ unsigned short float_to_half(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#endif

}  // namespace convtgen_direct_forward_4a440ee50e242668_source
using convtgen_direct_forward_4a440ee50e242668_source::convtgen_direct_forward_4a440ee50e242668;
