// conv_transpose3d 16 -> 8; kernel 3x2x2; stride 2x2x2; padding 1x0x0; dtype bf16; compute bf16; layout nhwc; directions grad_input
// grad_input for sm_90a. Template direct_grad_input: a block makes 16x64 inputs of 16 channels; 12 taps; 16.2 KiB shared.
// Launch
//   sizes: batch, in_depth, in_height, in_width; out_depth = 2 * in_depth - 1, out_height = 2 * in_height, out_width = 2 * in_width
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 16 * batch * in_depth * in_height * in_width elements, written, 2-byte aligned
//     shape (N batch, D in_depth, H in_height, W in_width, Cin 16), contiguous
//   tensor grad_y: 8 * batch * out_depth * out_height * out_width elements, read, 2-byte aligned
//     shape (N batch, D out_depth, H out_height, W out_width, Cout 8), contiguous
//   tensor weight: 1536 elements, read, 2-byte aligned
//     shape (Cin 16, Cout 8, KD 3, KH 2, KW 2), contiguous
//   kernel convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16
//     arguments const unsigned short* grad_y, const unsigned short* weight, unsigned short* grad_x, int in_depth,
//       int in_height, int in_width
//     grid ceil(in_height / 16) * ceil(in_width / 64) * in_depth * batch; block 256; shared 16640
//     at most in_height 1073741806, in_width 1073741758, in_depth 1073741822

namespace convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTileColumns = 64;
constexpr int kStagedColumns = 128;
constexpr int kPlacesOfTurn = 768;
constexpr int kRowPlaces = 4096;
constexpr int kRowPlacesInTurns = 3840;
constexpr int kWeightPlaces = 64;

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
  float rows[1][32][128];
  float weights[1][4][16];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const unsigned short* __restrict__ grad_y,
                                            int first_channel, int first_row, int first_column, int out_h, int out_w) {
  // Adjacent threads read adjacent memory.
  const int row = i / 128;
  const int column = i % kStagedColumns;
  const int oy = first_row + row;
  const int ox = first_column + column;
  const bool is_inside = oy < out_h && ox < out_w;  // else zero
  const unsigned short* from = grad_y + ((static_cast<long long>(oy) * out_w + ox) * 8 + first_channel);
  stage_element(&stage.rows[0][row][column], from, is_inside);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const unsigned short* __restrict__ weight,
                                             int first_channel, int kd) {
  const int tap = i % 4;
  const int channel = i / 4;
  stage_element(&stage.weights[0][tap][channel],
                weight + (((static_cast<long long>(channel) * 8 + first_channel) * 3 + kd) * 4 + tap), true);
}

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const unsigned short* __restrict__ image, int first_channel,
                                           int first_row, int first_column, int height, int width) {
  #pragma unroll 1
  for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
    #pragma unroll
    for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
      stage_pixel(stage, first + i, image, first_channel, first_row, first_column, height, width);
    }
  }
  #pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_channel, first_row, first_column, height, width);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const unsigned short* __restrict__ weight,
                                              int first_channel, int kd) {
  #pragma unroll 1
  for (int i = threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight, first_channel, kd);
  }
}

// Copies a k-block of output channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const unsigned short* __restrict__ grad_y,
                                              const unsigned short* __restrict__ weight, int first_channel, int kd,
                                              int first_row, int first_column, int out_h, int out_w) {
  stage_rows(stage, grad_y, first_channel, first_row, first_column, out_h, out_w);
  stage_weights(stage, weight, first_channel, kd);
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[8][2][4];

// One tap: every stride-th element of a staged rectangle times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* grad_y, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        acc[channel][row][column] = fma(grad_y[row * 256 + column * 2], weights[channel], acc[channel][row][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Stores what a thread made. `grad_x` is the image, ci the first channel, (iy, ix) the first position.
__device__ __forceinline__ void store(const Accumulators& acc, unsigned short* __restrict__ grad_x, int ci, int iy,
                                      int ix, int in_h, int in_w) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
      #pragma unroll
      for (int column = 0; column < 4; ++column) {
        const int in_row = iy + row;
        const int in_column = ix + column;
        if (in_row < in_h && in_column < in_w) {
          const unsigned short value = float_to_bfloat16(acc[channel][row][column]);
          grad_x[(static_cast<long long>(in_row) * in_w + in_column) * 16 + ci + channel] = value;
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16(const unsigned short* __restrict__ grad_y,
                                                           const unsigned short* __restrict__ weight,
                                                           unsigned short* __restrict__ grad_x, int depth, int height,
                                                           int width) {
  const int out_d = (depth - 1) * 2 + 1;
  const int out_h = (height - 1) * 2 + 2;
  const int out_w = (width - 1) * 2 + 2;
  const int tiles_y = (height + 15) / 16;
  const int tiles_x = (width + 63) / kTileColumns;

  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int tile_x = block % tiles_x;
  const int tile_y = block / tiles_x % tiles_y;
  const int image = block / tiles_x / tiles_y / depth;
  const int iz = block / tiles_x / tiles_y % depth;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % 16 * 4;
  const int row = thread / 16 % 8 * 2;
  const int channel = thread / 128 * 8;
  const int iy = tile_y * 16 + row;
  const int ix = tile_x * kTileColumns + column;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(height) * width * depth;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;
  const long long image_channel = static_cast<long long>(image) * 8;
  const unsigned short* y_group = grad_y + image_channel * out_pixels;
  unsigned short* x_image =
      grad_x + static_cast<long long>(image) * 16 * in_pixels + static_cast<long long>(iz) * height * width * 16;

  Accumulators acc = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * 32;
  const int first_column = tile_x * 128;
  for (int kd = 0; kd < 3; ++kd) {
    const int oz = iz * 2 + (kd - 1);
    if (oz >= 0 && oz < out_d) {
      const unsigned short* y_plane = y_group + static_cast<long long>(oz) * out_h * out_w * 8;
      for (int first_out = 0; first_out < 8; ++first_out) {
        Stage& stage = stages[0];
        __syncthreads();  // all threads have read the k-block before
        stage_k_block(stage, y_plane, weight, first_out, kd, first_row, first_column, out_h, out_w);
        __syncthreads();  // the k-block is staged
        multiply_add(acc, &stage.rows[0][row * 2][column * 2], &stage.weights[0][0][channel]);          // tap (0, 0)
        multiply_add(acc, &stage.rows[0][row * 2][column * 2 + 1], &stage.weights[0][1][channel]);      // tap (0, 1)
        multiply_add(acc, &stage.rows[0][row * 2 + 1][column * 2], &stage.weights[0][2][channel]);      // tap (1, 0)
        multiply_add(acc, &stage.rows[0][row * 2 + 1][column * 2 + 1], &stage.weights[0][3][channel]);  // tap (1, 1)
      }
    }
  }
  store(acc, x_image, channel, iy, ix, height, width);
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

}  // namespace convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16_source
using convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16_source::convtgen_direct_grad_input_grad_input_c3e7b961b9f9ed16;
