// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; compute f16; layout nhwc; directions grad_input
// grad_input for sm_90a. Template thin_grad_input: a block makes 4x32 inputs of 64 channels; 16 taps; 12.0 KiB shared.
// Launch
//   sizes: batch 128, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 8388608 elements, written, 16-byte aligned
//     shape (N 128, H 32, W 32, Cin 64), contiguous
//   tensor grad_y: 1572864 elements, read, 16-byte aligned
//     shape (N 128, H 64, W 64, Cout 3), contiguous
//   tensor weight: 3072 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   kernel convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e
//     arguments const unsigned short* grad_y, const unsigned short* weight, unsigned short* grad_x
//     grid 1024; block 256; shared 12288

namespace convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e_source {

// ---- Constants ----

constexpr int kGroupIn = 64;
constexpr int kThreads = 256;  // the last ones may have nothing to do
constexpr int kRunRead = 32;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

#endif

// ---- Elements ----

// Two 16-bit elements in a word.
__device__ __forceinline__ unsigned int word_of(float low, float high) {
  return static_cast<unsigned int>(float_to_half(low)) | (static_cast<unsigned int>(float_to_half(high)) << 16);
}

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(unsigned short* to, const float* values) {
  store_global_16(to,
                  make_uint4(word_of(values[0], values[1]), word_of(values[2], values[3]),
                             word_of(values[4], values[5]), word_of(values[6], values[7])));
}

// The place of a thread in its block.
struct Worker {
  int slot;
  int row;
  int column;  // the first one
};

__device__ __forceinline__ Worker worker_of(int thread) {
  Worker worker;
  worker.slot = thread % 8;
  worker.column = thread / 8 % 8 * 4;
  worker.row = thread / 64;
  return worker;
}

// Element k of a vector.
__device__ __forceinline__ float element_of(const unsigned int (&words)[4], int k) {
  return half_to_float(static_cast<unsigned short>(words[k / 2] >> (k % 2 * 16)));
}

// Reads a window: zeros where the row ends. `row` is its first element, `first` the window's, which lies before the row
// where it is negative, and `end` is one past the row's last; 0 for a row that is not there.
__device__ __forceinline__ void load_window(float (&window)[40], const unsigned short* __restrict__ row, int first,
                                            int end) {
  #pragma unroll
  for (int v = 0; v < 5; ++v) {
    const int at = first + v * 8;
    const bool is_inside = at >= 0 && at < end;
    const uint4 elements = load_constant_16(row + (is_inside ? at : 0));
    const unsigned int words[4] = {is_inside ? elements.x : 0, is_inside ? elements.y : 0, is_inside ? elements.z : 0,
                                   is_inside ? elements.w : 0};
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      window[v * 8 + k] = element_of(words, k);
    }
  }
}

// ---- Weights ----

// Where a weight of a thread's slot lies.
__device__ __forceinline__ int weight_place(int slot, int out, int kh, int in_run) {
  return ((out * 4 + kh) * 8 + in_run / 4) * 32 + slot * 4 + in_run % 4;
}

// Where a weight of a thread's slot lies.
__device__ __forceinline__ int weight_place_2(int slot, int out, int kh) {
  return (out * 4 + kh) * 256 + slot * 4;
}

// Copies the weights of a block's slots to shared memory; zeros where the channels end.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const unsigned short* __restrict__ weight) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 3072; i += kThreads) {
    const int tap = i % 16;
    const int out = i / 16 % 3;
    const int channel = i / 48 % 8;
    const int slot = i / 384;
    const int group = slot / 8;
    const int in = slot % 8 * 8 + channel;
    const float value = half_to_float(weight[((static_cast<long long>(group) * kGroupIn + in) * 3 + out) * 16 + tap]);
    weights[weight_place(slot, out, tap / 4, tap % 4 * 8 + channel)] = value;
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[8][4];

// Some taps of a kernel row with one output channel of the window: each element times a weight for each channel.
// `weights` are those of the first tap.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float (&window)[40], int out,
                                             const float* __restrict__ weights) {
  float values[32];
  #pragma unroll
  for (int i = 0; i < kRunRead; i += 4) {
    const float* from = weights + i * 8;
    const float4 vector = *reinterpret_cast<const float4*>(from);
    values[i] = vector.x;
    values[i + 1] = vector.y;
    values[i + 2] = vector.z;
    values[i + 3] = vector.w;
  }
  #pragma unroll
  for (int kw = 0; kw < 4; ++kw) {
    #pragma unroll
    for (int column = 0; column < 4; ++column) {
      const float value = window[5 + (column * 2 + kw) * 3 + out];
      #pragma unroll
      for (int channel = 0; channel < 8; ++channel) {
        acc[channel][column] = fma(value, values[kw * 8 + channel], acc[channel][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Stores what a thread made. `grad_x` is the first channel of its slot at its first position.
__device__ __forceinline__ void store(const Accumulators& acc, unsigned short* __restrict__ grad_x) {
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    float values[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = acc[i][column];
    }
    store_16(grad_x + column * 64, values);
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e(const unsigned short* __restrict__ grad_y,
                                                         const unsigned short* __restrict__ weight,
                                                         unsigned short* __restrict__ grad_x) {
  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const int block = blockIdx.x;
  const int tile_y = block % 8;
  const int image = block / 8;

  // The thread's place in the block.
  const Worker worker = worker_of(threadIdx.x);
  const int slot = worker.slot;
  const int first_in = slot % 8 * 8;
  const int iy = tile_y * 4 + worker.row;
  const int ix = worker.column;
  const bool works = iy < 32 && ix < 32;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 3;
  const unsigned short* y_group = grad_y + image_channel * 4096;
  const int first_column = (ix * 2 - 1) * 3 - 5;

  float* weights = static_cast<float*>(shared_memory());
  Accumulators acc = {};
  stage_weights(weights, weight);
  __syncthreads();  // the weights are staged
  if (works) {
    #pragma unroll 2
    for (int kh = 0; kh < 4; ++kh) {
      const int oy = iy * 2 + (kh - 1);
      const bool is_there = oy >= 0 && oy < 64;
      const unsigned short* row = y_group + (is_there ? oy * 192 : 0);
      float window[40];
      load_window(window, row, first_column, is_there ? 192 : 0);
      #pragma unroll
      for (int of_pixel = 0; of_pixel < 3; ++of_pixel) {
        multiply_add(acc, window, of_pixel, weights + weight_place_2(worker.slot, of_pixel, kh));
      }
    }
  }
  if (works) {
    const int position = iy * 32 + ix;
    unsigned short* x_image = grad_x + static_cast<long long>(image) * 65536;
    store(acc, x_image + (position * 64 + first_in));
  }
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

}  // namespace convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e_source
using convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e_source::convtgen_thin_grad_input_grad_input_9ecc8d5a1f41490e;
