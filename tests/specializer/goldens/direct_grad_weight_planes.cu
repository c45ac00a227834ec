// conv_transpose3d 16 -> 8; kernel 3x2x2; stride 2x2x2; padding 1x0x0; input ?x8x16x16; bias; dtype f32; compute f32; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template direct_grad_weight: a block makes 2x2 taps of 16 by 8 channels from 4x16 positions at a time; 264 slices; 44.1 KiB shared.
// Launch
//   sizes: batch, in_depth 8, in_height 16, in_width 16; out_depth 15, out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 1536 elements, written, 4-byte aligned
//     shape (Cin 16, Cout 8, KD 3, KH 2, KW 2), contiguous
//   tensor grad_bias: 8 elements, written, 4-byte aligned
//     shape (Cout 8), contiguous
//   tensor x: 32768 * batch elements, read, 4-byte aligned
//     shape (N batch, Cin 16, D 8, H 16, W 16), contiguous
//   tensor grad_y: 122880 * batch elements, read, 4-byte aligned
//     shape (N batch, Cout 8, D 15, H 32, W 32), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 1622016 bytes, sums of slices of the positions
//   region partial_bias: 2112 bytes, sums of slices of grad_y's positions
//   kernel convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840
//     arguments const float* x, const float* grad_y, float* partial, int batch
//     grid 792; block 128; shared 45152
//   kernel convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_channels
//     arguments const float* grad_y, float* partial_bias, int batch
//     grid 528; block 256; shared 1024
//   kernel convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_add
//     arguments const float* partial, const float* partial_bias, float* grad_weight, float* grad_bias
//     grid 7; block 256; shared 0

namespace convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr long long kWeights = 1536ll;
constexpr int kSums = 64;
constexpr int kTilePixels = 64;
constexpr int kStagedColumns = 32;
constexpr int kStagedPixels = 256;
constexpr int kWindowPitch = 257;
constexpr int kBiasThreads = 256;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);

#endif

// ---- Staging ----

struct Shared {
  float x[16][65];
  float grad_y[8][257];
  float totals[64][128];
};

// Copies a tile of positions of some input channels to shared memory: zeros where the image or the group ends.
// `x` is the first channel of the group in this image.
__device__ __forceinline__ void stage_input(Shared& shared, const float* __restrict__ x, int first_row) {
  #pragma unroll 2
  for (int i = threadIdx.x; i < 1024; i += kThreads) {
    // Adjacent threads read adjacent memory.
    const int channel = i / kTilePixels;
    const int pixel = i % kTilePixels;
    const int iy = first_row + pixel / 16;
    const int ix = pixel % 16;
    float value = 0;
    if (iy < 16 && ix < 16) {
      value = x[(channel * 128 + iy) * 16 + ix];
    }
    shared.x[channel][pixel] = value;
  }
}

// The same for the window that the tile's taps reach, of some output channels. `grad_y` is the first channel of the
// group in this image.
__device__ __forceinline__ void stage_window(Shared& shared, const float* __restrict__ grad_y, int first_row) {
  #pragma unroll 2
  for (int i = threadIdx.x; i < 2048; i += kThreads) {
    const int channel = i / kStagedPixels;
    const int pixel = i % kStagedPixels;
    const int oy = first_row + pixel / kStagedColumns;
    const int ox = pixel % kStagedColumns;
    float value = 0;
    if (oy < 32 && ox < 32) {
      value = grad_y[(channel * 480 + oy) * 32 + ox];
    }
    shared.grad_y[channel][pixel] = value;
  }
}

// ---- Products ----

// One thread's accumulators, of each tap.
using Accumulators = float[4][16];

// One tap at one position: an element of x for each input channel times one of grad_y for each output channel.
__device__ __forceinline__ void multiply_add(float (&acc)[16], const float (&x)[4], const float* grad_y) {
  #pragma unroll
  for (int out = 0; out < 4; ++out) {
    const float value = grad_y[out * kWindowPitch];
    #pragma unroll
    for (int in = 0; in < 4; ++in) {
      acc[in * 4 + out] = fma(x[in], value, acc[in * 4 + out]);
    }
  }
}

// A thread's positions of the staged tile, with all taps of a group. The channels are the thread's first ones.
__device__ __forceinline__ void add_products(Accumulators& acc, const Shared& shared, int first_pixel, int in_channel,
                                             int out_channel) {
  #pragma unroll 1
  for (int pixel = first_pixel; pixel < kTilePixels; pixel += 16) {
    float x[4];
    #pragma unroll
    for (int in = 0; in < 4; ++in) {
      x[in] = shared.x[in_channel + in][pixel];
    }
    const float* window = &shared.grad_y[out_channel][pixel / 16 * 64 + pixel % 16 * 2];
    multiply_add(acc[0], x, window);       // tap (0, 0)
    multiply_add(acc[1], x, window + 1);   // tap (0, 1)
    multiply_add(acc[2], x, window + 32);  // tap (1, 0)
    multiply_add(acc[3], x, window + 33);  // tap (1, 1)
  }
}

// ---- Epilogue ----

// Adds the sums of the threads that share pairs of channels, in their order, and stores them.
__device__ __forceinline__ void store(const Shared& shared, float* __restrict__ partial, int slice, int kd) {
  for (int i = threadIdx.x; i < 512; i += kThreads) {
    const int sum_index = i / 8;
    const int thread = i % 8;
    const int tap = sum_index / 16;
    const int kh = tap / 2;
    const int kw = tap % 2;
    const int ci = thread / 2 * 4 + sum_index / 4 % 4;
    const int co = thread % 2 * 4 + sum_index % 4;
    if (kh < 2 && kw < 2) {
      float sum = 0;
      #pragma unroll 4
      for (int other = thread; other < kThreads; other += 8) {
        sum += shared.totals[sum_index][other];
      }
      const long long weight = ((static_cast<long long>(ci) * 8 + co) * 6 + (kd * 2 + kh)) * 2 + kw;
      partial[slice * kWeights + weight] = sum;
    }
  }
}

// ---- Kernels ----

// Adds the elements of a vector.
__device__ __forceinline__ void add_vector(float (&sums)[4], const uint4& vector) {
  const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[i] += __uint_as_float(words[i]);
  }
}

// A thread's way over the places of one slice. A place is a position, or a vector of adjacent ones of NCHW. Images of
// NCHW are not adjacent: the image of a place and the place there, and how both move on. Threads share the channels of
// a place, which are so many lanes.
struct BiasPlaces {
  long long next;
  long long end;
  long long image;
  long long place;
  long long in_image;
};

__device__ __forceinline__ BiasPlaces places_of_slice(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 3840ll * slice / 66 + thread;
  places.end = batch * 3840ll * (slice + 1) / 66;
  places.image = places.next / 3840;
  places.place = places.next % 3840;
  places.in_image = 3840;
  return places;
}

__device__ __forceinline__ BiasPlaces places_of_slice_2(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 15360ll * slice / 66 + thread;
  places.end = batch * 15360ll * (slice + 1) / 66;
  places.image = places.next / 15360;
  places.place = places.next % 15360;
  places.in_image = 15360;
  return places;
}

__device__ __forceinline__ void next_place(BiasPlaces& places, long long step_images, long long step_places) {
  places.next += 256;
  places.place += step_places;
  places.image += step_images;
  if (places.place >= places.in_image) {
    places.place -= places.in_image;
    ++places.image;
  }
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const float* at_place(const float* __restrict__ grad_y, const BiasPlaces& places,
                                                 int channel) {
  return grad_y + ((places.image * 8 + channel) * (places.in_image * 4) + places.place * 4);
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const float* at_place_2(const float* __restrict__ grad_y, const BiasPlaces& places,
                                                   int channel) {
  return grad_y + ((places.image * 8 + channel) * places.in_image + places.place);
}

// A thread's sums of one slice: of a channel, or of vectors.
__device__ __forceinline__ float sum_elements(const float* __restrict__ grad_y, BiasPlaces places, int channel) {
  const long long step_images = 256 / places.in_image;
  const long long step_places = 256 % places.in_image;
  float total = 0;
  while (places.next < places.end) {
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (places.next < places.end) {
        sum += *at_place_2(grad_y, places, channel);
      }
      next_place(places, step_images, step_places);
    }
    total += sum;
  }
  return total;
}

__device__ __forceinline__ void sum_vectors(float (&totals)[4], const float* __restrict__ grad_y, BiasPlaces places,
                                            int channel) {
  const long long step_images = 256 / places.in_image;
  const long long step_places = 256 % places.in_image;
  while (places.next < places.end) {
    uint4 vectors[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      vectors[i] = make_uint4(0, 0, 0, 0);
      if (places.next < places.end) {
        vectors[i] = load_constant_16(at_place(grad_y, places, channel));
      }
      next_place(places, step_images, step_places);
    }
    float sums[4] = {};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      add_vector(sums, vectors[i]);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      totals[i] += sums[i];
    }
  }
}

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_channels(const float* __restrict__ grad_y,
                                                                      float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / 8;
  const int first_channel = blockIdx.x % 8;
  const bool by_vectors = reinterpret_cast<unsigned long long>(grad_y) % 16 == 0;
  float totals[4] = {};
  if (by_vectors) {
    if (first_channel < 8) {
      sum_vectors(totals, grad_y, places_of_slice(slice, batch, thread), first_channel);
    }
  } else if (first_channel < 8) {
    totals[0] = sum_elements(grad_y, places_of_slice_2(slice, batch, thread), first_channel);
  }
  // The threads of a channel add their totals in a tree.
  float* shared = static_cast<float*>(shared_memory());
  #pragma unroll
  for (int i = 1; i < 4; ++i) {
    totals[0] += totals[i];
  }
  shared[thread] = totals[0];
  #pragma unroll 1
  for (int half = 128; half >= 1; half /= 2) {
    __syncthreads();
    for (int i = thread; i < half; i += kBiasThreads) {
      shared[i] += shared[i + half];
    }
  }
  if (thread < 1 && first_channel + thread < 8) {
    partial_bias[slice * 8 + first_channel + thread] = shared[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 66; ++slice) {
    sum += partial_bias[slice * 8 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_add(const float* __restrict__ partial,
                                                                 const float* __restrict__ partial_bias,
                                                                 float* __restrict__ grad_weight,
                                                                 float* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 1536) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 264; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = sum;
  } else if (i - 1536 < 8) {
    grad_bias[i - 1536] = channel_sum(partial_bias, static_cast<int>(i - 1536));
  }
}

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840(const float* __restrict__ x,
                                                             const float* __restrict__ grad_y,
                                                             float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 32;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  const int slice = block / 3;
  const int kd = block % 3;

  // The thread's place in the block: its first position, and the first of its channels.
  const int thread = threadIdx.x;
  const int first_pixel = thread / 8;
  const int in_channel = thread / 2 % 4 * 4;
  const int out_channel = thread % 2 * 4;

  Shared& shared = *static_cast<Shared*>(shared_memory());
  #pragma unroll 1
  for (int i = 0; i < kSums; ++i) {
    shared.totals[i][thread] = 0;
  }
  const long long end = tiles * (slice + 1) / 264;
  #pragma unroll 1
  for (long long tile = tiles * slice / 264; tile < end; ++tile) {
    const int tile_y = static_cast<int>(tile % 4);
    const long long image = tile / 32;
    const int iz = static_cast<int>(tile / 4 % 8);
    const int oz = iz * 2 + (kd - 1);
    if (oz >= 0 && oz < 15) {
      const float* x_group = x + image * 32768 + static_cast<long long>(iz) * 256;
      const float* y_group = grad_y + image * 122880 + static_cast<long long>(oz) * 1024;
      __syncthreads();  // all threads have read the tile before
      stage_input(shared, x_group, tile_y * 4);
      stage_window(shared, y_group, tile_y * 8);
      __syncthreads();  // the tile is staged
      Accumulators acc = {};
      add_products(acc, shared, first_pixel, in_channel, out_channel);
      // A sum over all tiles has as many terms as the batch has positions: few at a time keep it accurate.
      #pragma unroll
      for (int i = 0; i < kSums; ++i) {
        shared.totals[i][thread] += acc[i / 16][i % 16];
      }
    }
  }
  __syncthreads();
  store(shared, partial, slice, kd);
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

}  // namespace convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_source
using convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_source::convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_channels;
using convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_source::convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_add;
using convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840_source::convtgen_direct_grad_weight_grad_weight_49dd3d46a8bc9840;
