// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input ?x32x32; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_75. Template direct_grad_weight: a block makes 4x4 taps of 64 by 3 channels from 4x16 positions at a time; 144 slices; 53.6 KiB shared.
// Launch
//   sizes: batch, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor grad_weight: 3072 elements, written, 2-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   tensor grad_bias: 3 elements, written, 2-byte aligned
//     shape (Cout 3), contiguous
//   tensor x: 65536 * batch elements, read, 2-byte aligned
//     shape (N batch, H 32, W 32, Cin 64), contiguous
//   tensor grad_y: 12288 * batch elements, read, 2-byte aligned
//     shape (N batch, H 64, W 64, Cout 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 1769472 bytes, sums of slices of the positions
//   region partial_bias: 3072 bytes, sums of slices of grad_y's positions
//   kernel convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, int batch
//     grid 144; block 128; shared 54864
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 54864)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 54864)
//   kernel convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_channels
//     arguments const unsigned short* grad_y, float* partial_bias, int batch
//     grid 256; block 256; shared 1024
//   kernel convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 13; block 256; shared 0

namespace convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr long long kWeights = 3072ll;
constexpr int kTileIn = 64;
constexpr int kSums = 64;
constexpr int kPairThreads = 64;
constexpr int kTilePixels = 64;
constexpr int kStagedColumns = 34;
constexpr int kWindowPitch = 341;
constexpr int kBiasThreads = 256;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

#endif

// ---- Staging ----

struct Shared {
  float x[64][65];
  float grad_y[4][341];
  float totals[64][128];
};

// Copies a tile of positions of some input channels to shared memory: zeros where the image or the group ends.
// `x` is the first channel of the group in this image.
__device__ __forceinline__ void stage_input(Shared& shared, const unsigned short* __restrict__ x, int first_row,
                                            int first_column) {
  #pragma unroll 2
  for (int i = threadIdx.x; i < 4096; i += kThreads) {
    // Adjacent threads read adjacent memory.
    const int channel = i % kTileIn;
    const int pixel = i / kTileIn;
    const int iy = first_row + pixel / 16;
    const int ix = first_column + pixel % 16;
    float value = 0;
    if (iy < 32 && ix < 32) {
      value = half_to_float(x[(iy * 32 + ix) * 64 + channel]);
    }
    shared.x[channel][pixel] = value;
  }
}

// The same for the window that the tile's taps reach, of some output channels. `grad_y` is the first channel of the
// group in this image.
__device__ __forceinline__ void stage_window(Shared& shared, const unsigned short* __restrict__ grad_y, int first_row,
                                             int first_column) {
  #pragma unroll 2
  for (int i = threadIdx.x; i < 1360; i += kThreads) {
    const int channel = i % 4;
    const int pixel = i / 4;
    const int oy = first_row + pixel / kStagedColumns;
    const int ox = first_column + pixel % kStagedColumns;
    float value = 0;
    if (channel < 3 && oy >= 0 && oy < 64 && ox >= 0 && ox < 64) {
      value = half_to_float(grad_y[(oy * 64 + ox) * 3 + channel]);
    }
    shared.grad_y[channel][pixel] = value;
  }
}

// ---- Products ----

// One thread's accumulators, of each tap.
using Accumulators = float[16][4];

// One tap at one position: an element of x for each input channel times one of grad_y for each output channel.
__device__ __forceinline__ void multiply_add(float (&acc)[4], const float (&x)[2], const float* grad_y) {
  #pragma unroll
  for (int out = 0; out < 2; ++out) {
    const float value = grad_y[out * kWindowPitch];
    #pragma unroll
    for (int in = 0; in < 2; ++in) {
      acc[in * 2 + out] = fma(x[in], value, acc[in * 2 + out]);
    }
  }
}

// A thread's positions of the staged tile, with all taps of a group. The channels are the thread's first ones.
__device__ __forceinline__ void add_products(Accumulators& acc, const Shared& shared, int first_pixel, int in_channel,
                                             int out_channel) {
  #pragma unroll 1
  for (int pixel = first_pixel; pixel < kTilePixels; pixel += 2) {
    float x[2];
    #pragma unroll
    for (int in = 0; in < 2; ++in) {
      x[in] = shared.x[in_channel + in][pixel];
    }
    const float* window = &shared.grad_y[out_channel][pixel / 16 * 68 + pixel % 16 * 2];
    multiply_add(acc[0], x, window);         // tap (0, 0)
    multiply_add(acc[1], x, window + 1);     // tap (0, 1)
    multiply_add(acc[2], x, window + 2);     // tap (0, 2)
    multiply_add(acc[3], x, window + 3);     // tap (0, 3)
    multiply_add(acc[4], x, window + 34);    // tap (1, 0)
    multiply_add(acc[5], x, window + 35);    // tap (1, 1)
    multiply_add(acc[6], x, window + 36);    // tap (1, 2)
    multiply_add(acc[7], x, window + 37);    // tap (1, 3)
    multiply_add(acc[8], x, window + 68);    // tap (2, 0)
    multiply_add(acc[9], x, window + 69);    // tap (2, 1)
    multiply_add(acc[10], x, window + 70);   // tap (2, 2)
    multiply_add(acc[11], x, window + 71);   // tap (2, 3)
    multiply_add(acc[12], x, window + 102);  // tap (3, 0)
    multiply_add(acc[13], x, window + 103);  // tap (3, 1)
    multiply_add(acc[14], x, window + 104);  // tap (3, 2)
    multiply_add(acc[15], x, window + 105);  // tap (3, 3)
  }
}

// ---- Epilogue ----

// Adds the sums of the threads that share pairs of channels, in their order, and stores them.
__device__ __forceinline__ void store(const Shared& shared, float* __restrict__ partial, int slice) {
  for (int i = threadIdx.x; i < 4096; i += kThreads) {
    const int sum_index = i / kPairThreads;
    const int thread = i % kPairThreads;
    const int tap = sum_index / 4;
    const int kh = tap / 4;
    const int kw = tap % 4;
    const int ci = thread / 2 * 2 + sum_index / 2 % 2;
    const int co = thread % 2 * 2 + sum_index % 2;
    if (kh < 4 && kw < 4 && co < 3) {
      float sum = 0;
      #pragma unroll 4
      for (int other = thread; other < kThreads; other += kPairThreads) {
        sum += shared.totals[sum_index][other];
      }
      const long long weight = ((static_cast<long long>(ci) * 3 + co) * 4 + kh) * 4 + kw;
      partial[slice * kWeights + weight] = sum;
    }
  }
}

// ---- Kernels ----

// A thread's way over the places of one slice. A place is a position, or a vector of adjacent ones of NCHW. Images of
// NCHW are not adjacent: the image of a place and the place there, and how both move on. Threads share the channels of
// a place, which are so many lanes.
struct BiasPlaces {
  long long next;
  long long end;
  long long place;
};

__device__ __forceinline__ BiasPlaces places_of_slice(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 4096ll * slice / 256 + thread / 4;
  places.end = batch * 4096ll * (slice + 1) / 256;
  places.place = places.next;
  return places;
}

__device__ __forceinline__ void next_place(BiasPlaces& places) {
  places.next += 64;
  places.place += 64ll;
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const unsigned short* at_place(const unsigned short* __restrict__ grad_y,
                                                          const BiasPlaces& places, int channel) {
  return grad_y + (places.place * 3 + channel);
}

// A thread's sums of one slice: of a channel, or of vectors.
__device__ __forceinline__ float sum_elements(const unsigned short* __restrict__ grad_y, BiasPlaces places,
                                              int channel) {
  float total = 0;
  while (places.next < places.end) {
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (places.next < places.end) {
        sum += half_to_float(*at_place(grad_y, places, channel));
      }
      next_place(places);
    }
    total += sum;
  }
  return total;
}

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_channels(const unsigned short* __restrict__ grad_y,
                                                                      float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x;
  float totals = 0;
  const int channel = thread % 4;
  if (channel < 3) {
    totals = sum_elements(grad_y, places_of_slice(slice, batch, thread), channel);
  }
  // The threads of a channel add their totals in a tree.
  float* shared = static_cast<float*>(shared_memory());
  shared[thread] = totals;
  #pragma unroll 1
  for (int half = 128; half >= 4; half /= 2) {
    __syncthreads();
    for (int i = thread; i < half; i += kBiasThreads) {
      shared[i] += shared[i + half];
    }
  }
  if (thread < 4 && thread < 3) {
    partial_bias[slice * 3 + thread] = shared[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 256; ++slice) {
    sum += partial_bias[slice * 3 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_add(const float* __restrict__ partial,
                                                                 const float* __restrict__ partial_bias,
                                                                 unsigned short* __restrict__ grad_weight,
                                                                 unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 3072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 144; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = float_to_half(sum);
  } else if (i - 3072 < 3) {
    grad_bias[i - 3072] = float_to_half(channel_sum(partial_bias, static_cast<int>(i - 3072)));
  }
}

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc(const unsigned short* __restrict__ x,
                                                             const unsigned short* __restrict__ grad_y,
                                                             float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 16;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;

  // The thread's place in the block: its first position, and the first of its channels.
  const int thread = threadIdx.x;
  const int first_pixel = thread / kPairThreads;
  const int in_channel = thread / 2 % 32 * 2;
  const int out_channel = thread % 2 * 2;

  Shared& shared = *static_cast<Shared*>(shared_memory());
  #pragma unroll 1
  for (int i = 0; i < kSums; ++i) {
    shared.totals[i][thread] = 0;
  }
  const long long end = tiles * (block + 1) / 144;
  #pragma unroll 1
  for (long long tile = tiles * block / 144; tile < end; ++tile) {
    const int tile_x = static_cast<int>(tile % 2);
    const int tile_y = static_cast<int>(tile / 2 % 8);
    const long long image = tile / 16;
    const unsigned short* x_group = x + image * 65536;
    const unsigned short* y_group = grad_y + image * 12288;
    __syncthreads();  // all threads have read the tile before
    stage_input(shared, x_group, tile_y * 4, tile_x * 16);
    stage_window(shared, y_group, tile_y * 8 - 1, tile_x * 32 - 1);
    __syncthreads();  // the tile is staged
    Accumulators acc = {};
    add_products(acc, shared, first_pixel, in_channel, out_channel);
    // A sum over all tiles has as many terms as the batch has positions: few at a time keep it accurate.
    #pragma unroll
    for (int i = 0; i < kSums; ++i) {
      shared.totals[i][thread] += acc[i / 4][i % 4];
    }
  }
  __syncthreads();
  store(shared, partial, block);
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

}  // namespace convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_source
using convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_source::convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_channels;
using convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_source::convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_add;
using convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc_source::convtgen_direct_grad_weight_grad_weight_ae5a6db0ad9683cc;
