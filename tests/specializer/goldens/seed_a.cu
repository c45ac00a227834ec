// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32; layout nchw
// forward for sm_90a. Template direct: a block makes 8x64 outputs of 32 channels; 21 taps; 43.5 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 134217728 elements, written, 4-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   tensor x: 134217728 elements, read, 4-byte aligned
//     shape (N 8, Cin 32, H 512, W 1024), contiguous
//   tensor weight: 21504 elements, read, 4-byte aligned
//     shape (Cin 32, Cout 32, KH 3, KW 7), contiguous
//   kernel convtgen_direct_forward_c7d28c26f6447171
//     arguments const float* x, const float* weight, float* y
//     grid 8192; block 256; shared 44544

namespace convtgen_direct_forward_c7d28c26f6447171_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTaps = 21;
constexpr int kGroupIn = 32;
constexpr int kGroupOut = 32;
constexpr int kTileColumns = 64;
constexpr int kTileChannels = 32;
constexpr int kStagedColumns = 70;
constexpr int kPitch = 72;
constexpr int kPlacesOfTurn = 768;
constexpr int kWeightPlaces = 2688;
constexpr int kWeightPlacesInTurns = 2304;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_wait_all();

#endif

// ---- Staging ----

// Copies an element to shared memory asynchronously, or zero; `from` may be read in both cases.
__device__ __forceinline__ void copy_element(float* to, const float* from, bool is_inside) {
  async_copy_4(to, from, is_inside ? 4 : 0);
}

// Puts an element to shared memory as what products are added in. Asynchronously, the block waits for it later.
__device__ __forceinline__ void stage_element(float* to, const float* from) {
  copy_element(to, from, true);
}

struct Stage {
  float rows[4][10][72];
  float weights[4][21][32];
};

// Copies a k-block of input channels, with the halo, to shared memory asynchronously. A thread finds a place of the
// image once for several channels.
__device__ __forceinline__ void copy_rows(Stage& stage, const float* __restrict__ x, int first_channel, int first_row,
                                          int first_column) {
  #pragma unroll 1
  for (int i = threadIdx.x; i < 1400; i += kThreads) {
    const int row = i / kStagedColumns % 10;
    const int column = i % kStagedColumns;
    const int iy = first_row + row;
    const int ix = first_column + column;
    const bool is_inside = iy >= 0 && iy < 512 && ix >= 0 && ix < 1024;
    const float* from = x + first_channel * 524288;
    from += is_inside ? iy * 1024 + ix : 0;
    #pragma unroll 8
    for (int channel = i / 700; channel < 4; channel += 2) {
      copy_element(&stage.rows[channel][row][column], from + channel * 524288, is_inside);
    }
  }
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const float* __restrict__ weight, int first_channel) {
  const int tap = i % kTaps;
  const int channel = i / kTaps % kTileChannels;
  const int k_block_channel = i / 672;
  const int ci = first_channel + k_block_channel;
  stage_element(&stage.weights[k_block_channel][tap][channel], weight + ((ci * kGroupOut + channel) * kTaps + tap));
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const float* __restrict__ weight, int first_channel) {
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
__device__ __forceinline__ void stage_k_block(Stage& stage, const float* __restrict__ x,
                                              const float* __restrict__ weight, int first_channel, int first_row,
                                              int first_column) {
  copy_rows(stage, x, first_channel, first_row, first_column);
  stage_weights(stage, weight, first_channel);
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[8][2][4];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const float* staged_input(const float (&rows)[10][72], int place, int row, int column) {
  return &rows[0][0] + place + row * kPitch + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        const float value = x[row * kPitch + column];
        acc[channel][row][column] = fma(value, weights[channel], acc[channel][row][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(float* to, const float* values) {
  store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                 __float_as_uint(values[3])));
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ y, int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        const int out_row = oy + row;
        const int out_column = ox + column;
        const float value = acc[channel][row][column];
        y[((co + channel) * 512 + out_row) * 1024 + out_column] = value;
      }
    }
  }
}

// Stores the outputs of one thread and row phase, all of whose column phases it has, adjacent ones as vectors. No
// vector has outputs of two rows. `y` is the image, co the first channel, (oy, ox) the first output of the first
// position. Images are aligned to vectors where the whole tensor is.
__device__ __forceinline__ void store_runs(const Accumulators& acc, float* __restrict__ y, int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int out_row = oy + row;
      float values[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = acc[channel][row][i];
      }
      float* to = y + (((co + channel) * 512 + out_row) * 1024 + ox);
      store_16(to, values);
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_c7d28c26f6447171(const float* __restrict__ x, const float* __restrict__ weight,
                                             float* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int tile_x = block % 16;
  const int tile_y = block / 16 % 64;
  const int image = block / 1024;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 16 * 4;
  const int row = thread / 16 % 4 * 2;
  const int channel = thread / 64 * 8;
  const int place = row * kPitch + column;  // in what is staged

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const float* x_group = x + image_channel * 524288;
  float* y_image = y + static_cast<long long>(image) * 16777216;

  Accumulators acc = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * 8 - 1;
  const int first_column = tile_x * kTileColumns - 3;
  stage_k_block(stages[0], x_group, weight, 0, first_row, first_column);
  for (int first_in = 0; first_in < kGroupIn; first_in += 4) {
    Stage& stage = stages[first_in / 4 % 2];
    async_copy_wait_all();
    __syncthreads();  // the k-block is staged, and all threads have read the one before
    if (first_in + 4 < kGroupIn) {
      stage_k_block(stages[(first_in / 4 + 1) % 2], x_group, weight, first_in + 4, first_row, first_column);
    }
    #pragma unroll 1
    for (int c = 0; c < 4; ++c) {
      // Kernel row 0: output rows of phase 0, input offset 1.
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 6), &stage.weights[c][0][channel]);  // tap (0, 0)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 5), &stage.weights[c][1][channel]);  // tap (0, 1)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 4), &stage.weights[c][2][channel]);  // tap (0, 2)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 3), &stage.weights[c][3][channel]);  // tap (0, 3)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 2), &stage.weights[c][4][channel]);  // tap (0, 4)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 1), &stage.weights[c][5][channel]);  // tap (0, 5)
      multiply_add(acc, staged_input(stage.rows[c], place, 2, 0), &stage.weights[c][6][channel]);  // tap (0, 6)
      // Kernel row 1: output rows of phase 0, input offset 0.
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 6), &stage.weights[c][7][channel]);   // tap (1, 0)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 5), &stage.weights[c][8][channel]);   // tap (1, 1)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 4), &stage.weights[c][9][channel]);   // tap (1, 2)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 3), &stage.weights[c][10][channel]);  // tap (1, 3)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 2), &stage.weights[c][11][channel]);  // tap (1, 4)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][12][channel]);  // tap (1, 5)
      multiply_add(acc, staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][13][channel]);  // tap (1, 6)
      // Kernel row 2: output rows of phase 0, input offset -1.
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 6), &stage.weights[c][14][channel]);  // tap (2, 0)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 5), &stage.weights[c][15][channel]);  // tap (2, 1)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 4), &stage.weights[c][16][channel]);  // tap (2, 2)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 3), &stage.weights[c][17][channel]);  // tap (2, 3)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 2), &stage.weights[c][18][channel]);  // tap (2, 4)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][19][channel]);  // tap (2, 5)
      multiply_add(acc, staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][20][channel]);  // tap (2, 6)
    }
  }

  // After the loop, so that no register keeps them through it.
  const int m_y = tile_y * 8 + row;
  const int m_x = tile_x * kTileColumns + column;
  if (reinterpret_cast<unsigned long long>(y) % 16 == 0) {
    store_runs(acc, y_image, channel, m_y, m_x);
  } else {
    store(acc, y_image, channel, m_y, m_x);
  }
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

}  // namespace convtgen_direct_forward_c7d28c26f6447171_source
using convtgen_direct_forward_c7d28c26f6447171_source::convtgen_direct_forward_c7d28c26f6447171;
