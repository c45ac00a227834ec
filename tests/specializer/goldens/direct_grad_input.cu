// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f32; compute f32; layout nchw; directions grad_input
// grad_input for sm_80. Template direct_grad_input: a block makes 16x16 inputs of 32 channels; 16 taps; 54.2 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_x: 4194304 elements, written, 4-byte aligned
//     shape (N 128, Cin 128, H 16, W 16), contiguous
//   tensor grad_y: 8388608 elements, read, 4-byte aligned
//     shape (N 128, Cout 64, H 32, W 32), contiguous
//   tensor weight: 131072 elements, read, 4-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   kernel convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22
//     arguments const float* grad_y, const float* weight, float* grad_x
//     grid 512; block 256; shared 55552
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 55552)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 55552)

namespace convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kGroupOut = 64;
constexpr int kTileChannels = 32;
constexpr int kStagedRows = 34;
constexpr int kStagedColumns = 34;
constexpr int kPlacesOfTurn = 2048;
constexpr int kRowPlaces = 4624;
constexpr int kRowPlacesInTurns = 4096;
constexpr int kWeightPlaces = 2048;
constexpr int kWeightPlacesInTurns = 2048;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_wait_all();

#endif

// ---- Staging ----

// Copies an element to shared memory asynchronously, or zero; `from` may be read in both cases.
__device__ __forceinline__ void copy_element(float* to, const float* from, bool is_inside) {
  async_copy_4(to, from, is_inside ? 4 : 0);
}

// Puts an element to shared memory as what products are added in, or zero. Asynchronously, the block waits for it
// later. `legal` is any address of the elements that may be read.
__device__ __forceinline__ void stage_element(float* to, const float* from, bool is_inside, const float* legal) {
  copy_element(to, is_inside ? from : legal, is_inside);
}

struct Stage {
  float rows[4][34][36];
  float weights[4][16][32];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const float* __restrict__ grad_y, int first_channel) {
  // Adjacent threads read adjacent memory.
  const int channel = i / 1156;
  const int row = i / kStagedColumns % kStagedRows;
  const int column = i % kStagedColumns;
  const int co = first_channel + channel;
  const int oy = row - 1;
  const int ox = column - 1;
  const bool is_inside = oy >= 0 && oy < 32 && ox >= 0 && ox < 32;  // else zero
  const float* from = grad_y + ((co * 32 + oy) * 32 + ox);
  stage_element(&stage.rows[channel][row][column], from, is_inside, grad_y);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const float* __restrict__ weight, int first_channel,
                                             int first_in) {
  const int tap = i % 16;
  const int k_channel = i / 16 % 4;
  const int channel = i / 64;
  const int co = first_channel + k_channel;
  const int ci = first_in + channel;
  stage_element(&stage.weights[k_channel][tap][channel], weight + ((ci * kGroupOut + co) * 16 + tap), true, weight);
}

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const float* __restrict__ image, int first_channel) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_pixel(stage, first + i, image, first_channel);
    }
  }
  #pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_channel);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const float* __restrict__ weight, int first_channel,
                                              int first_of_tile) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kWeightPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_weight(stage, first + i, weight, first_channel, first_of_tile);
    }
  }
  #pragma unroll 1
  for (int i = kWeightPlacesInTurns + threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight, first_channel, first_of_tile);
  }
}

// Copies a k-block of output channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const float* __restrict__ grad_y,
                                              const float* __restrict__ weight, int first_channel, int first_in) {
  stage_rows(stage, grad_y, first_channel);
  stage_weights(stage, weight, first_channel, first_in);
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[8][2][2];

// One tap: every stride-th element of a staged rectangle times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* grad_y, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        acc[channel][row][column] = fma(grad_y[row * 72 + column * 2], weights[channel], acc[channel][row][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Stores what a thread made. `grad_x` is the image, ci the first channel, (iy, ix) the first position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ grad_x, int ci, int iy, int ix) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int in_row = iy + row;
        const int in_column = ix + column;
        const float value = acc[channel][row][column];
        grad_x[((ci + channel) * 16 + in_row) * 16 + in_column] = value;
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22(const float* __restrict__ grad_y,
                                                           const float* __restrict__ weight,
                                                           float* __restrict__ grad_x) {
  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int channel_tile = block % 4;
  const unsigned int tile = block / 4;
  const int image = tile;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 8 * 2;
  const int row = thread / 8 % 8 * 2;
  const int channel = thread / 64 * 8;
  const int first_in = channel_tile * kTileChannels;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 64;
  const float* y_group = grad_y + image_channel * 1024;
  float* x_image = grad_x + static_cast<long long>(image) * 32768;

  Accumulators acc = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  stage_k_block(stages[0], y_group, weight, 0, first_in);
  for (int first_out = 0; first_out < kGroupOut; first_out += 4) {
    Stage& stage = stages[first_out / 4 % 2];
    async_copy_wait_all();
    __syncthreads();  // the k-block is staged, and all threads have read the one before
    if (first_out + 4 < kGroupOut) {
      stage_k_block(stages[(first_out / 4 + 1) % 2], y_group, weight, first_out + 4, first_in);
    }
    #pragma unroll 1
    for (int c = 0; c < 4; ++c) {
      multiply_add(acc, &stage.rows[c][row * 2][column * 2], &stage.weights[c][0][channel]);           // tap (0, 0)
      multiply_add(acc, &stage.rows[c][row * 2][column * 2 + 1], &stage.weights[c][1][channel]);       // tap (0, 1)
      multiply_add(acc, &stage.rows[c][row * 2][column * 2 + 2], &stage.weights[c][2][channel]);       // tap (0, 2)
      multiply_add(acc, &stage.rows[c][row * 2][column * 2 + 3], &stage.weights[c][3][channel]);       // tap (0, 3)
      multiply_add(acc, &stage.rows[c][row * 2 + 1][column * 2], &stage.weights[c][4][channel]);       // tap (1, 0)
      multiply_add(acc, &stage.rows[c][row * 2 + 1][column * 2 + 1], &stage.weights[c][5][channel]);   // tap (1, 1)
      multiply_add(acc, &stage.rows[c][row * 2 + 1][column * 2 + 2], &stage.weights[c][6][channel]);   // tap (1, 2)
      multiply_add(acc, &stage.rows[c][row * 2 + 1][column * 2 + 3], &stage.weights[c][7][channel]);   // tap (1, 3)
      multiply_add(acc, &stage.rows[c][row * 2 + 2][column * 2], &stage.weights[c][8][channel]);       // tap (2, 0)
      multiply_add(acc, &stage.rows[c][row * 2 + 2][column * 2 + 1], &stage.weights[c][9][channel]);   // tap (2, 1)
      multiply_add(acc, &stage.rows[c][row * 2 + 2][column * 2 + 2], &stage.weights[c][10][channel]);  // tap (2, 2)
      multiply_add(acc, &stage.rows[c][row * 2 + 2][column * 2 + 3], &stage.weights[c][11][channel]);  // tap (2, 3)
      multiply_add(acc, &stage.rows[c][row * 2 + 3][column * 2], &stage.weights[c][12][channel]);      // tap (3, 0)
      multiply_add(acc, &stage.rows[c][row * 2 + 3][column * 2 + 1], &stage.weights[c][13][channel]);  // tap (3, 1)
      multiply_add(acc, &stage.rows[c][row * 2 + 3][column * 2 + 2], &stage.weights[c][14][channel]);  // tap (3, 2)
      multiply_add(acc, &stage.rows[c][row * 2 + 3][column * 2 + 3], &stage.weights[c][15][channel]);  // tap (3, 3)
    }
  }
  store(acc, x_image, first_in + channel, row, column);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
__device__ __forceinline__ unsigned int shared_address(const void* to) {
  return __cvta_generic_to_shared(to);
}

// Copies `bytes` (0 to 4) from global to shared memory and writes zeros for the rest of 4.
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Waits for all copies of this thread, in groups or not.
__device__ __forceinline__ void async_copy_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif

}  // namespace convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22_source
using convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22_source::convtgen_direct_grad_input_grad_input_fb60c78bd5d1cc22;
