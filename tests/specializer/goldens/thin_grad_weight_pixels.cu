// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_90a. Template thin_grad_weight: a block makes 1x4 taps of 64 by 3 channels from 8x32 positions at a time; 66 slices; 17.0 KiB shared.
// Launch
//   sizes: batch 128, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 3072 elements, written, 2-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   tensor grad_bias: 3 elements, written, 2-byte aligned
//     shape (Cout 3), contiguous
//   tensor x: 8388608 elements, read, 16-byte aligned
//     shape (N 128, H 32, W 32, Cin 64), contiguous
//   tensor grad_y: 1572864 elements, read, 16-byte aligned
//     shape (N 128, H 64, W 64, Cout 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 811008 bytes, sums of slices of the positions
//   region partial_bias: 3072 bytes, sums of slices of grad_y's positions
//   kernel convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, int batch
//     grid 264; block 256; shared 17408
//   kernel convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_channels
//     arguments const unsigned short* grad_y, float* partial_bias, int batch
//     grid 256; block 256; shared 1024
//   kernel convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 13; block 256; shared 0

namespace convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_source {

// ---- Constants ----

constexpr int kGroupIn = 64;
constexpr int kTileColumns = 32;
constexpr int kThreads = 256;  // the last ones may have nothing to do
constexpr long long kWeights = 3072ll;
constexpr int kRowSums = 96;
constexpr int kSums = 96;
constexpr int kLanes = 32;  // threads of a slot
constexpr int kPassWeights = 128;
constexpr int kBiasThreads = 256;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

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
  worker.slot = thread % 8;
  worker.column = thread / 8 % 4 * 8;
  worker.row = thread / 32;
  return worker;
}

// Element k of a vector.
__device__ __forceinline__ float element_of(const unsigned int (&words)[4], int k) {
  return half_to_float(static_cast<unsigned short>(words[k / 2] >> (k % 2 * 16)));
}

// Reads a window: zeros where the row ends. `row` is its first element, `first` the window's, which lies before the row
// where it is negative, and `end` is one past the row's last; 0 for a row that is not there.
__device__ __forceinline__ void load_window(float (&window)[64], const unsigned short* __restrict__ row, int first,
                                            int end) {
  #pragma unroll
  for (int v = 0; v < 8; ++v) {
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

// ---- Products ----

// One thread's x: its channels at its columns.
using Inputs = float[8][8];

// Reads x: zeros where the row or the group ends, for which the first element is read. `x` is the slot's first channel
// at the thread's first column; what is inside are so many channels and columns.
__device__ __forceinline__ void load_inputs(Inputs& inputs, const unsigned short* __restrict__ x) {
  #pragma unroll
  for (int other = 0; other < 8; ++other) {
    const int place = other * 64;
    const uint4 elements = load_constant_16(x + place);
    const unsigned int words[4] = {elements.x, elements.y, elements.z, elements.w};
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      inputs[k][other] = element_of(words, k);
    }
  }
}

// Some taps of a kernel row: each element of the window times x of each channel.
__device__ __forceinline__ void multiply_add(float (&acc)[96], const Inputs& inputs, const float (&window)[64]) {
  #pragma unroll
  for (int column = 0; column < 8; ++column) {
    #pragma unroll
    for (int kw = 0; kw < 4; ++kw) {
      #pragma unroll
      for (int out = 0; out < 3; ++out) {
        const float value = window[5 + (column * 2 + kw) * 3 + out];
        #pragma unroll
        for (int channel = 0; channel < 8; ++channel) {
          const int i = (kw * 3 + out) * 8 + channel;
          acc[i] = fma(inputs[channel][column], value, acc[i]);
        }
      }
    }
  }
}

// ---- Epilogue ----

// Which weights a block makes: its first slot, and the first taps and output channel.
struct Made {
  int slice;
  int first_kh;
};

// Adds some sums of the threads of each slot, in a fixed order, and stores them. `totals` are those of the threads,
// from the sum of index `first` on.
__device__ __forceinline__ void store_sums(const float* __restrict__ totals, float* __restrict__ parts, int first,
                                           const Made& made, float* __restrict__ partial) {
  for (int i = threadIdx.x; i < 256; i += kThreads) {
    // Adjacent threads read adjacent sums.
    const int slot = i % 8;
    const int part = i / 8 % 2;
    const int index = i / 16;
    float sum = 0;
    #pragma unroll 4
    for (int lane = part; lane < kLanes; lane += 2) {
      sum += totals[index * kThreads + (lane * 8 + slot)];
    }
    parts[(index * 8 + slot) * 2 + part] = sum;
  }
  __syncthreads();  // all parts are there
  for (int i = threadIdx.x; i < kPassWeights; i += kThreads) {
    const int slot = i % 8;
    const int index = first + i / 8;
    const int channel = slot % 8 * 8 + index % 8;
    const int out = index / 8 % 3;
    const int kw = index / 24 % 4;
    const int kh = made.first_kh + index / kRowSums;
    float sum = 0;
    #pragma unroll 8
    for (int part = 0; part < 2; ++part) {
      sum += parts[i * 2 + part];
    }
    const long long weight = (((static_cast<long long>(slot / 8) * kGroupIn + channel) * 3 + out) * 4 + kh) * 4 + kw;
    partial[made.slice * kWeights + weight] = sum;
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
    convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_channels(const unsigned short* __restrict__ grad_y,
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
    convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_add(const float* __restrict__ partial,
                                                               const float* __restrict__ partial_bias,
                                                               unsigned short* __restrict__ grad_weight,
                                                               unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 3072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 66; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = float_to_half(sum);
  } else if (i - 3072 < 3) {
    grad_bias[i - 3072] = float_to_half(channel_sum(partial_bias, static_cast<int>(i - 3072)));
  }
}

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3(const unsigned short* __restrict__ x,
                                                           const unsigned short* __restrict__ grad_y,
                                                           float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 4;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  Made made;
  made.slice = block / 4;
  made.first_kh = block % 4;

  // The thread's place in the block.
  const int thread = threadIdx.x;
  const Worker worker = worker_of(thread);
  const int slot = worker.slot;
  const int first_in = slot % 8 * 8;

  // Bases are 64-bit; every offset from them fits its type.
  const unsigned short* x_slot = x + first_in;

  // The tile, and how it moves on.
  const long long begin = tiles * made.slice / 66;
  const long long end = tiles * (made.slice + 1) / 66;
  int tile_x = 0;
  int tile_y = static_cast<int>(begin % 4);
  long long image = begin / 4;

  float acc[96] = {};
  #pragma unroll 1
  for (long long tile = begin; tile < end; ++tile) {
    const int iy = tile_y * 8 + worker.row;
    const int ix = tile_x * kTileColumns + worker.column;
    if (iy < 32 && ix < 32) {
      Inputs inputs;
      load_inputs(inputs, x_slot + image * 65536 + (iy * 32 + ix) * 64);
      const unsigned short* y_plane = grad_y + image * 12288;
      const int first_column = (ix * 2 - 1) * 3 - 5;
      const int oy = iy * 2 + (made.first_kh - 1);
      const bool is_there = oy >= 0 && oy < 64;
      float window[64];
      load_window(window, y_plane + (is_there ? oy * 192 : 0), first_column, is_there ? 192 : 0);
      multiply_add(acc, inputs, window);
    }
    if (++tile_x == 1) {
      tile_x = 0;
      if (++tile_y == 4) {
        tile_y = 0;
        ++image;
      }
    }
  }

  float* totals = static_cast<float*>(shared_memory());
  #pragma unroll
  for (int first = 0; first < kSums; first += 16) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      totals[i * kThreads + thread] = acc[first + i];
    }
    __syncthreads();  // all threads' sums are there
    store_sums(totals, totals + 4096, first, made, partial);
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

}  // namespace convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_source
using convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_source::convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_channels;
using convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_source::convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_add;
using convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3_source::convtgen_thin_grad_weight_grad_weight_59a41a3bc8d220b3;
