// conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; dtype f32; compute f32; layout nchw; directions grad_input
// grad_input for sm_75. Template thin_grad_input: a block makes 8x32 inputs of 1 channels; 256 taps; 1.0 KiB shared.
// Launch
//   sizes: batch 8, in_height 64, in_width 64; out_height 512, out_width 512
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor grad_x: 688128 elements, written, 16-byte aligned
//     shape (N 8, Cin 21, H 64, W 64), contiguous
//   tensor grad_y: 44040192 elements, read, 16-byte aligned
//     shape (N 8, Cout 21, H 512, W 512), contiguous
//   tensor weight: 5376 elements, read, 4-byte aligned
//     shape (Cin 21, Cout / groups 1, KH 16, KW 16), contiguous
//   kernel convtgen_thin_grad_input_grad_input_c041463ba078a474
//     arguments const float* grad_y, const float* weight, float* grad_x
//     grid 2688; block 256; shared 1024

namespace convtgen_thin_grad_input_grad_input_c041463ba078a474_source {

// ---- Constants ----

constexpr int kTaps = 256;
constexpr int kSlotTiles = 21;
constexpr int kTileColumns = 32;
constexpr int kThreads = 256;  // the last ones may have nothing to do

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);

#endif

// ---- Elements ----

// The place of a thread in its block.
struct Worker {
  int slot;
  int row;
  int column;  // the first one
};

__device__ __forceinline__ Worker worker_of(int thread) {
  Worker worker;
  worker.column = thread % 32;
  worker.row = thread / 32 % 8;
  worker.slot = thread / 256;
  return worker;
}

// Element k of a vector.
__device__ __forceinline__ float element_of(const unsigned int (&words)[4], int k) {
  return __uint_as_float(words[k]);
}

// Reads a window: zeros where the row ends. `row` is its first element, `first` the window's, which lies before the row
// where it is negative, and `end` is one past the row's last; 0 for a row that is not there.
__device__ __forceinline__ void load_window(float (&window)[16], const float* __restrict__ row, int first, int end) {
  #pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int at = first + v * 4;
    const bool is_inside = at >= 0 && at < end;
    const uint4 elements = load_constant_16(row + (is_inside ? at : 0));
    const unsigned int words[4] = {is_inside ? elements.x : 0, is_inside ? elements.y : 0, is_inside ? elements.z : 0,
                                   is_inside ? elements.w : 0};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      window[v * 4 + k] = element_of(words, k);
    }
  }
}

// ---- Weights ----

// Where a weight of a thread's slot lies.
__device__ __forceinline__ int weight_place(int slot, int kh, int in_run) {
  return (slot * 16 + kh) * 16 + in_run;
}

// Where a weight of a thread's slot lies.
__device__ __forceinline__ int weight_place_2(int slot, int kh) {
  return (slot * 16 + kh) * 16;
}

// Copies the weights of a block's slots to shared memory; zeros where the channels end.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const float* __restrict__ weight,
                                              int first_slot) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 256; i += kThreads) {
    const int tap = i % kTaps;
    const int slot = i / 256;
    const int group = first_slot + slot;
    const float value = weight[static_cast<long long>(group) * kTaps + tap];
    weights[weight_place(slot, tap / 16, tap % 16)] = value;
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[1][1];

// Some taps of a kernel row with one output channel of the window: each element times a weight for each channel.
// `weights` are those of the first tap.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float (&window)[16],
                                             const float* __restrict__ weights) {
  float values[16];
  #pragma unroll
  for (int i = 0; i < 16; i += 4) {
    const float* from = weights + i;
    const float4 vector = *reinterpret_cast<const float4*>(from);
    values[i] = vector.x;
    values[i + 1] = vector.y;
    values[i + 2] = vector.z;
    values[i + 3] = vector.w;
  }
  #pragma unroll
  for (int kw = 0; kw < 16; ++kw) {
    const float value = window[kw];
    acc[0][0] = fma(value, values[kw], acc[0][0]);
  }
}

// ---- Epilogue ----

// Stores adjacent elements.
__device__ __forceinline__ void store_elements(float* __restrict__ to, const float& values) {
  to[0] = values;
}

// Stores what a thread made. `grad_x` is the first channel of its slot at its first position.
__device__ __forceinline__ void store(const Accumulators& acc, float* __restrict__ grad_x) {
  float values = acc[0][0];
  store_elements(grad_x, values);
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_thin_grad_input_grad_input_c041463ba078a474(const float* __restrict__ grad_y,
                                                         const float* __restrict__ weight, float* __restrict__ grad_x) {
  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const int block = blockIdx.x;
  const int first_slot = block % kSlotTiles;
  const int tile = block / kSlotTiles;
  const int tile_x = tile % 2;
  const int tile_y = tile / 2 % 8;
  const int image = tile / 16;

  // The thread's place in the block.
  const Worker worker = worker_of(threadIdx.x);
  const int slot = first_slot + worker.slot;
  const int iy = tile_y * 8 + worker.row;
  const int ix = tile_x * kTileColumns + worker.column;
  const bool works = iy < 64 && ix < 64;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 21;
  const float* y_group = grad_y + (image_channel + slot) * 262144;
  const int first_column = ix * 8 - 4;

  float* weights = static_cast<float*>(shared_memory());
  Accumulators acc = {};
  stage_weights(weights, weight, first_slot);
  __syncthreads();  // the weights are staged
  if (works) {
    #pragma unroll 2
    for (int kh = 0; kh < 16; ++kh) {
      const int oy = iy * 8 + (kh - 4);
      const bool is_there = oy >= 0 && oy < 512;
      const float* row = y_group + (is_there ? oy * 512 : 0);
      float window[16];
      load_window(window, row, first_column, is_there ? 512 : 0);
      multiply_add(acc, window, weights + weight_place_2(worker.slot, kh));
    }
  }
  if (works) {
    const int position = iy * 64 + ix;
    float* x_image = grad_x + static_cast<long long>(image) * 86016;
    store(acc, x_image + (slot * 4096ll + position));
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

#endif

}  // namespace convtgen_thin_grad_input_grad_input_c041463ba078a474_source
using convtgen_thin_grad_input_grad_input_c041463ba078a474_source::convtgen_thin_grad_input_grad_input_c041463ba078a474;
