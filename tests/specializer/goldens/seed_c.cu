// conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1x2; output_padding 1x2; groups 4; input 4x40x60; bias; dtype f32; compute f32; layout nchw
// forward for sm_75. Template direct: a block makes 8x96 outputs of 12 channels; 21 taps; 13.5 KiB shared.
// Launch
//   sizes: batch 4, in_height 40, in_width 60; out_height 80, out_width 182
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor y: 2795520 elements, written, 4-byte aligned
//     shape (N 4, Cout 48, H 80, W 182), contiguous
//   tensor x: 307200 elements, read, 4-byte aligned
//     shape (N 4, Cin 32, H 40, W 60), contiguous
//   tensor weight: 8064 elements, read, 4-byte aligned
//     shape (Cin 32, Cout / groups 12, KH 3, KW 7), contiguous
//   tensor bias: 48 elements, read, 4-byte aligned
//     shape (Cout 48), contiguous
//   kernel convtgen_direct_forward_ac1453e48e64c688
//     arguments const float* x, const float* weight, const float* bias, float* y
//     grid 320; block 192; shared 13824

namespace convtgen_direct_forward_ac1453e48e64c688_source {

// ---- Constants ----

constexpr int kThreads = 192;
constexpr int kTaps = 21;
constexpr int kTileColumns = 32;
constexpr int kStagedColumns = 34;
constexpr int kPitch = 36;
constexpr int kPlacesOfTurn = 576;
constexpr int kRowPlaces = 1360;
constexpr int kRowPlacesInTurns = 1152;
constexpr int kWeightPlaces = 2016;
constexpr int kWeightPlacesInTurns = 1728;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_8(void* to, uint2 value);

#endif

// ---- Staging ----

// Puts an element to shared memory as what products are added in, or zero. Asynchronously, the block waits for it
// later.
__device__ __forceinline__ void stage_element(float* to, const float* from, bool is_inside) {
  *to = is_inside ? *from : 0.0f;
}

struct Stage {
  float rows[8][5][36];
  float weights[8][21][12];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const float* __restrict__ x, int first_row,
                                            int first_column) {
  // Adjacent threads read adjacent memory.
  const int channel = i / 170;
  const int row = i / kStagedColumns % 5;
  const int column = i % kStagedColumns;
  const int iy = first_row + row;
  const int ix = first_column + column;
  const bool is_inside = iy < 40 && ix >= 0 && ix < 60;  // else zero
  const float* from = x + ((channel * 40 + iy) * 60 + ix);
  stage_element(&stage.rows[channel][row][column], from, is_inside);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const float* __restrict__ weight) {
  const int tap = i % kTaps;
  const int channel = i / kTaps % 12;
  const int k_block_channel = i / 252;
  stage_element(&stage.weights[k_block_channel][tap][channel],
                weight + ((k_block_channel * 12 + channel) * kTaps + tap), true);
}

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const float* __restrict__ image, int first_row,
                                           int first_column) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_pixel(stage, first + i, image, first_row, first_column);
    }
  }
  #pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_row, first_column);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const float* __restrict__ weight) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kWeightPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_weight(stage, first + i, weight);
    }
  }
  #pragma unroll 1
  for (int i = kWeightPlacesInTurns + threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight);
  }
}

// Copies a k-block of input channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const float* __restrict__ x,
                                              const float* __restrict__ weight, int first_row, int first_column) {
  stage_rows(stage, x, first_row, first_column);
  stage_weights(stage, weight);
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[4][1][2];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const float* staged_input(const float (&rows)[5][36], int place, int row, int column) {
  return &rows[0][0] + place + row * kPitch + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    #pragma unroll
    for (int column = 0; column < 2; ++column) {
      const float value = x[column];
      acc[channel][0][column] = fma(value, weights[channel], acc[channel][0][column]);
    }
  }
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// Writes as many adjacent elements as 8 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_8(float* to, const float* values) {
  store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ y, const float* __restrict__ bias,
                                      int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float bias_value = bias[co + channel];
    #pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int out_column = ox + column * 3;
      if (out_column < 182) {
        const float value = epilogue(acc[channel][0][column], bias_value);
        y[((co + channel) * 80 + oy) * 182 + out_column] = value;
      }
    }
  }
}

// Stores the outputs of one thread and row phase, all of whose column phases it has, adjacent ones as vectors. No
// vector has outputs of two rows. `y` is the image, co the first channel, (oy, ox) the first output of the first
// position. Images are aligned to vectors where the whole tensor is.
__device__ __forceinline__ void store_runs(const Accumulators (&acc)[3], float* __restrict__ y,
                                           const float* __restrict__ bias, int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float bias_value = bias[co + channel];
    float values[6];
    #pragma unroll
    for (int i = 0; i < 6; ++i) {
      values[i] = epilogue(acc[i % 3][channel][0][i / 3], bias_value);
    }
    float* to = y + (((co + channel) * 80 + oy) * 182 + ox);
    #pragma unroll
    for (int i = 0; i < 6; i += 2) {
      if (ox + i < 182) {
        store_8(to + i, values + i);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_ac1453e48e64c688(const float* __restrict__ x, const float* __restrict__ weight,
                                             const float* __restrict__ bias, float* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int channel_tile = block % 4;
  const unsigned int tile = block / 4;
  const int tile_x = tile % 2;
  const int tile_y = tile / 2 % 10;
  const int image = tile / 20;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 16 * 2;
  const int row = thread / 16 % 4;
  const int channel = thread / 64 * 4;
  const int place = row * kPitch + column;  // in what is staged

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const float* x_group = x + (image_channel + channel_tile * 8) * 2400;
  const float* weight_group = weight + static_cast<long long>(channel_tile) * 2016;
  float* y_image = y + static_cast<long long>(image) * 698880;

  Accumulators acc[2][3] = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * 4;
  const int first_column = tile_x * kTileColumns - 1;
  Stage& stage = stages[0];
  __syncthreads();  // all threads have read the k-block before
  stage_k_block(stage, x_group, weight_group, first_row, first_column);
  __syncthreads();  // the k-block is staged
  #pragma unroll 1
  for (int c = 0; c < 8; ++c) {
    // Kernel row 0: output rows of phase 1, input offset 1.
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 2), &stage.weights[c][0][channel]);  // tap (0, 0)
    multiply_add(acc[1][2], staged_input(stage.rows[c], place, 1, 2), &stage.weights[c][1][channel]);  // tap (0, 1)
    multiply_add(acc[1][0], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][2][channel]);  // tap (0, 2)
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][3][channel]);  // tap (0, 3)
    multiply_add(acc[1][2], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][4][channel]);  // tap (0, 4)
    multiply_add(acc[1][0], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][5][channel]);  // tap (0, 5)
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][6][channel]);  // tap (0, 6)
    // Kernel row 1: output rows of phase 0, input offset 0.
    multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][7][channel]);   // tap (1, 0)
    multiply_add(acc[0][2], staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][8][channel]);   // tap (1, 1)
    multiply_add(acc[0][0], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][9][channel]);   // tap (1, 2)
    multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][10][channel]);  // tap (1, 3)
    multiply_add(acc[0][2], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][11][channel]);  // tap (1, 4)
    multiply_add(acc[0][0], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][12][channel]);  // tap (1, 5)
    multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][13][channel]);  // tap (1, 6)
    // Kernel row 2: output rows of phase 1, input offset 0.
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][14][channel]);  // tap (2, 0)
    multiply_add(acc[1][2], staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][15][channel]);  // tap (2, 1)
    multiply_add(acc[1][0], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][16][channel]);  // tap (2, 2)
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][17][channel]);  // tap (2, 3)
    multiply_add(acc[1][2], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][18][channel]);  // tap (2, 4)
    multiply_add(acc[1][0], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][19][channel]);  // tap (2, 5)
    multiply_add(acc[1][1], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][20][channel]);  // tap (2, 6)
  }

  // After the loop, so that no register keeps them through it.
  const int co = channel_tile * 12 + channel;
  const int m_y = tile_y * 4 + row;
  const int m_x = tile_x * kTileColumns + column;
  if (reinterpret_cast<unsigned long long>(y) % 8 == 0) {
    store_runs(acc[0], y_image, bias, co, m_y * 2, m_x * 3);
  } else {
    store(acc[0][0], y_image, bias, co, m_y * 2, m_x * 3);
    store(acc[0][1], y_image, bias, co, m_y * 2, m_x * 3 + 1);
    store(acc[0][2], y_image, bias, co, m_y * 2, m_x * 3 + 2);
  }
  if (reinterpret_cast<unsigned long long>(y) % 8 == 0) {
    store_runs(acc[1], y_image, bias, co, m_y * 2 + 1, m_x * 3);
  } else {
    store(acc[1][0], y_image, bias, co, m_y * 2 + 1, m_x * 3);
    store(acc[1][1], y_image, bias, co, m_y * 2 + 1, m_x * 3 + 1);
    store(acc[1][2], y_image, bias, co, m_y * 2 + 1, m_x * 3 + 2);
  }
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Writes 8 bytes (aligned to 8) to global memory in one instruction.
__device__ __forceinline__ void store_global_8(void* to, uint2 value) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y) : "memory");
}

#endif

}  // namespace convtgen_direct_forward_ac1453e48e64c688_source
using convtgen_direct_forward_ac1453e48e64c688_source::convtgen_direct_forward_ac1453e48e64c688;
