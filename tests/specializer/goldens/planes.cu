// conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; input ?x8x16x16; bias; dtype f32; compute f32; layout nchw
// forward for sm_90a. Template direct: a block makes 32x32 outputs of 16 channels; 27 taps; 60.5 KiB shared.
// Launch
//   sizes: batch, in_depth 8, in_height 16, in_width 16; out_depth 16, out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 262144 * batch elements, written, 4-byte aligned
//     shape (N batch, Cout 16, D 16, H 32, W 32), contiguous
//   tensor x: 65536 * batch elements, read, 4-byte aligned
//     shape (N batch, Cin 32, D 8, H 16, W 16), contiguous
//   tensor weight: 13824 elements, read, 4-byte aligned
//     shape (Cin 32, Cout 16, KD 3, KH 3, KW 3), contiguous
//   tensor bias: 16 elements, read, 4-byte aligned
//     shape (Cout 16), contiguous
//   kernel convtgen_direct_forward_a276ddbf7d4f95d9
//     arguments const float* x, const float* weight, const float* bias, float* y
//     grid 16 * batch; block 256; shared 61952
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 61952)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 61952)

namespace convtgen_direct_forward_a276ddbf7d4f95d9_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kGroupIn = 32;
constexpr int kStagedRows = 17;
constexpr int kStagedColumns = 17;
constexpr int kPitch = 20;
constexpr int kPlacesOfTurn = 768;
constexpr int kWeightPlaces = 2304;
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
  float rows[16][17][20];
  float weights[16][9][16];
};

// Copies a k-block of input channels, with the halo, to shared memory asynchronously. A thread finds a place of the
// image once for several channels.
__device__ __forceinline__ void copy_rows(Stage& stage, const float* __restrict__ x, int first_channel) {
  #pragma unroll 1
  for (int i = threadIdx.x; i < 1156; i += kThreads) {
    const int row = i / kStagedColumns % kStagedRows;
    const int column = i % kStagedColumns;
    const bool is_inside = row < 16 && column < 16;
    const float* from = x + first_channel * 2048;
    from += is_inside ? row * 16 + column : 0;
    #pragma unroll 8
    for (int channel = i / 289; channel < 16; channel += 4) {
      copy_element(&stage.rows[channel][row][column], from + channel * 2048, is_inside);
    }
  }
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const float* __restrict__ weight, int first_channel,
                                             int kd) {
  const int tap = i % 9;
  const int channel = i / 9 % 16;
  const int k_block_channel = i / 144;
  const int ci = first_channel + k_block_channel;
  stage_element(&stage.weights[k_block_channel][tap][channel], weight + (((ci * 16 + channel) * 3 + kd) * 9 + tap));
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const float* __restrict__ weight, int first_channel,
                                              int kd) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kWeightPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_weight(stage, first + i, weight, first_channel, kd);
    }
  }
  #pragma unroll 1
  for (int i = kWeightPlacesInTurns + threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight, first_channel, kd);
  }
}

// Copies a k-block of input channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const float* __restrict__ x,
                                              const float* __restrict__ weight, int first_channel, int kd) {
  copy_rows(stage, x, first_channel);
  stage_weights(stage, weight, first_channel, kd);
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[4][2][2];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const float* staged_input(const float (&rows)[17][20], int place, int row, int column) {
  return &rows[0][0] + place + row * kPitch + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        const float value = x[row * kPitch + column];
        acc[channel][row][column] = fma(value, weights[channel], acc[channel][row][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(float* to, const float* values) {
  store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                 __float_as_uint(values[3])));
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ y, const float* __restrict__ bias,
                                      int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float bias_value = bias[co + channel];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int out_row = oy + row * 2;
        const int out_column = ox + column * 2;
        const float value = epilogue(acc[channel][row][column], bias_value);
        y[((co + channel) * 512 + out_row) * 32 + out_column] = value;
      }
    }
  }
}

// Stores the outputs of one thread and row phase, all of whose column phases it has, adjacent ones as vectors. No
// vector has outputs of two rows. `y` is the image, co the first channel, (oy, ox) the first output of the first
// position. Images are aligned to vectors where the whole tensor is.
__device__ __forceinline__ void store_runs(const Accumulators (&acc)[2], float* __restrict__ y,
                                           const float* __restrict__ bias, int co, int oy, int ox) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float bias_value = bias[co + channel];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int out_row = oy + row * 2;
      float values[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = epilogue(acc[i % 2][channel][row][i / 2], bias_value);
      }
      float* to = y + (((co + channel) * 512 + out_row) * 32 + ox);
      store_16(to, values);
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_a276ddbf7d4f95d9(const float* __restrict__ x, const float* __restrict__ weight,
                                             const float* __restrict__ bias, float* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int image = block / 16;
  const int oz = block % 16;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 8 * 2;
  const int row = thread / 8 % 8 * 2;
  const int channel = thread / 64 * 4;
  const int place = row * kPitch + column;  // in what is staged

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const float* x_group = x + image_channel * 2048;
  float* y_image = y + static_cast<long long>(image) * 262144 + static_cast<long long>(oz) * 1024;

  Accumulators acc[2][2] = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  for (int kd = 0; kd < 3; ++kd) {
    const int reach = oz + (1 - kd);
    const int iz = reach / 2;  // the plane that the depth tap reads, if there is one
    if (reach >= 0 && reach % 2 == 0 && iz < 8) {
      const float* x_plane = x_group + static_cast<long long>(iz) * 256;
      __syncthreads();  // all threads have read the depth tap before
      stage_k_block(stages[0], x_plane, weight, 0, kd);
      for (int first_in = 0; first_in < kGroupIn; first_in += 16) {
        Stage& stage = stages[first_in / 16 % 2];
        async_copy_wait_all();
        __syncthreads();  // the k-block is staged, and all threads have read the one before
        if (first_in + 16 < kGroupIn) {
          stage_k_block(stages[(first_in / 16 + 1) % 2], x_plane, weight, first_in + 16, kd);
        }
        #pragma unroll 1
        for (int c = 0; c < 16; ++c) {
          // Kernel row 0: output rows of phase 1, input offset 1.
          // tap (0, 0)
          multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 1), &stage.weights[c][0][channel]);
          // tap (0, 1)
          multiply_add(acc[1][0], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][1][channel]);
          // tap (0, 2)
          multiply_add(acc[1][1], staged_input(stage.rows[c], place, 1, 0), &stage.weights[c][2][channel]);
          // Kernel row 1: output rows of phase 0, input offset 0.
          // tap (1, 0)
          multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][3][channel]);
          // tap (1, 1)
          multiply_add(acc[0][0], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][4][channel]);
          // tap (1, 2)
          multiply_add(acc[0][1], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][5][channel]);
          // Kernel row 2: output rows of phase 1, input offset 0.
          // tap (2, 0)
          multiply_add(acc[1][1], staged_input(stage.rows[c], place, 0, 1), &stage.weights[c][6][channel]);
          // tap (2, 1)
          multiply_add(acc[1][0], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][7][channel]);
          // tap (2, 2)
          multiply_add(acc[1][1], staged_input(stage.rows[c], place, 0, 0), &stage.weights[c][8][channel]);
        }
      }
    }
  }

  // After the loop, so that no register keeps them through it.
  if (reinterpret_cast<unsigned long long>(y) % 16 == 0) {
    store_runs(acc[0], y_image, bias, channel, row * 2, column * 2);
  } else {
    store(acc[0][0], y_image, bias, channel, row * 2, column * 2);
    store(acc[0][1], y_image, bias, channel, row * 2, column * 2 + 1);
  }
  if (reinterpret_cast<unsigned long long>(y) % 16 == 0) {
    store_runs(acc[1], y_image, bias, channel, row * 2 + 1, column * 2);
  } else {
    store(acc[1][0], y_image, bias, channel, row * 2 + 1, column * 2);
    store(acc[1][1], y_image, bias, channel, row * 2 + 1, column * 2 + 1);
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

}  // namespace convtgen_direct_forward_a276ddbf7d4f95d9_source
using convtgen_direct_forward_a276ddbf7d4f95d9_source::convtgen_direct_forward_a276ddbf7d4f95d9;
