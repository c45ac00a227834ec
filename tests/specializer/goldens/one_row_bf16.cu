// conv_transpose1d 5 -> 7; kernel 9; stride 3; fuse mish; dtype bf16; compute bf16; layout nchw
// forward for sm_100. Template direct: a block makes 1x1536 outputs of 7 channels; 9 taps; 11.7 KiB shared.
// Launch
//   sizes: batch, in_width; out_width = 3 * in_width + 6
//   compile: nvcc -gencode arch=compute_100,code=sm_100
//   tensor y: 7 * batch * out_width elements, written, 2-byte aligned
//     shape (N batch, Cout 7, W out_width), contiguous
//   tensor x: 5 * batch * in_width elements, read, 2-byte aligned
//     shape (N batch, Cin 5, W in_width), contiguous
//   tensor weight: 315 elements, read, 2-byte aligned
//     shape (Cin 5, Cout 7, KW 9), contiguous
//   kernel convtgen_direct_forward_7cc11b84abcc8a17
//     arguments const unsigned short* x, const unsigned short* weight, unsigned short* y, int in_width
//     grid ceil(out_width / 1536) * batch; block 256; shared 12000
//     at most out_width 2147482111, in_width 715827371

namespace convtgen_direct_forward_7cc11b84abcc8a17_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTileColumns = 512;
constexpr int kStagedColumns = 514;
constexpr int kPlacesOfTurn = 768;
constexpr int kRowPlaces = 2570;
constexpr int kRowPlacesInTurns = 2304;
constexpr int kWeightPlaces = 315;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ float bfloat16_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_bfloat16(float value);

#endif

// ---- Staging ----

// Puts an element to shared memory as what products are added in, or zero. Asynchronously, the block waits for it
// later.
__device__ __forceinline__ void stage_element(float* to, const unsigned short* from, bool is_inside) {
  *to = is_inside ? bfloat16_to_float(*from) : 0.0f;
}

struct Stage {
  float rows[5][1][516];
  float weights[5][12][7];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const unsigned short* __restrict__ x, int first_column,
                                            int in_w) {
  // Adjacent threads read adjacent memory.
  const int channel = i / 514;
  const int column = i % kStagedColumns;
  const int ix = first_column + column;
  const bool is_inside = ix >= 0 && ix < in_w;  // else zero
  const unsigned short* from = x + (static_cast<long long>(channel) * in_w + ix);
  stage_element(&stage.rows[channel][0][column], from, is_inside);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const unsigned short* __restrict__ weight) {
  const int tap = i % 9;
  const int channel = i / 9 % 7;
  const int k_block_channel = i / 63;
  stage_element(&stage.weights[k_block_channel][tap][channel],
                weight + ((static_cast<long long>(k_block_channel) * 7 + channel) * 9 + tap), true);
}

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const unsigned short* __restrict__ image, int first_column,
                                           int width) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_pixel(stage, first + i, image, first_column, width);
    }
  }
  #pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_column, width);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const unsigned short* __restrict__ weight) {
  #pragma unroll 1
  for (int i = threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight);
  }
}

// Copies a k-block of input channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const unsigned short* __restrict__ x,
                                              const unsigned short* __restrict__ weight, int first_column, int in_w) {
  stage_rows(stage, x, first_column, in_w);
  stage_weights(stage, weight);
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = float[7][1][2];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const float* staged_input(const float (&rows)[1][516], int place, int column) {
  return &rows[0][0] + place + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 7; ++channel) {
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
  // mish: tanh(log(1 + n)) = n (n + 2) / (n (n + 2) + 2) with n = exp(value). The quotient is 1 from 20 on, in fp64
  // too, and a larger n would overflow.
  const float n = exp(value < 20 ? value : 20);
  const float product = n * (n + 2);
  value = value * (product / (product + 2));
  return value;
}

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, unsigned short* __restrict__ y, int ox, int out_w) {
  #pragma unroll
  for (int channel = 0; channel < 7; ++channel) {
    #pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int out_column = ox + column * 3;
      if (out_column < out_w) {
        const float value = activate(acc[channel][0][column]);
        y[static_cast<long long>(channel) * out_w + out_column] = float_to_bfloat16(value);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_forward_7cc11b84abcc8a17(const unsigned short* __restrict__ x,
                                             const unsigned short* __restrict__ weight, unsigned short* __restrict__ y,
                                             int width) {
  const int out_w = (width - 1) * 3 + 9;
  const int tiles_x = (out_w + 1535) / 1536;

  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int tile_x = block % tiles_x;
  const int image = block / tiles_x;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 256 * 2;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(width);
  const long long out_pixels = static_cast<long long>(out_w);
  const long long image_channel = static_cast<long long>(image) * 5;
  const unsigned short* x_group = x + image_channel * in_pixels;
  unsigned short* y_image = y + static_cast<long long>(image) * 7 * out_pixels;

  Accumulators acc[3] = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_column = tile_x * kTileColumns - 2;
  Stage& stage = stages[0];
  __syncthreads();  // all threads have read the k-block before
  stage_k_block(stage, x_group, weight, first_column, width);
  __syncthreads();  // the k-block is staged
  #pragma unroll 1
  for (int c = 0; c < 5; ++c) {
    // Kernel row 0: output rows of phase 0, input offset 0.
    multiply_add(acc[0], staged_input(stage.rows[c], column, 2), &stage.weights[c][0][0]);  // tap (0, 0)
    multiply_add(acc[1], staged_input(stage.rows[c], column, 2), &stage.weights[c][1][0]);  // tap (0, 1)
    multiply_add(acc[2], staged_input(stage.rows[c], column, 2), &stage.weights[c][2][0]);  // tap (0, 2)
    multiply_add(acc[0], staged_input(stage.rows[c], column, 1), &stage.weights[c][3][0]);  // tap (0, 3)
    multiply_add(acc[1], staged_input(stage.rows[c], column, 1), &stage.weights[c][4][0]);  // tap (0, 4)
    multiply_add(acc[2], staged_input(stage.rows[c], column, 1), &stage.weights[c][5][0]);  // tap (0, 5)
    multiply_add(acc[0], staged_input(stage.rows[c], column, 0), &stage.weights[c][6][0]);  // tap (0, 6)
    multiply_add(acc[1], staged_input(stage.rows[c], column, 0), &stage.weights[c][7][0]);  // tap (0, 7)
    multiply_add(acc[2], staged_input(stage.rows[c], column, 0), &stage.weights[c][8][0]);  // tap (0, 8)
  }

  // After the loop, so that no register keeps them through it.
  const int m_x = tile_x * kTileColumns + column;
  store(acc[0], y_image, m_x * 3, out_w);
  store(acc[1], y_image, m_x * 3 + 1, out_w);
  store(acc[2], y_image, m_x * 3 + 2, out_w);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

__device__ __forceinline__ float bfloat16_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned int>(bits) << 16);
}

// In integers, since sm_75 has no instruction for it; every NaN becomes 0x7fff, as the instruction's does.
__device__ __forceinline__ unsigned short float_to_bfloat16(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif

}  // namespace convtgen_direct_forward_7cc11b84abcc8a17_source
using convtgen_direct_forward_7cc11b84abcc8a17_source::convtgen_direct_forward_7cc11b84abcc8a17;
