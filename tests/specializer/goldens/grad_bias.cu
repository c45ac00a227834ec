// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias; dtype f32; compute f32; layout nchw; directions grad_bias
// grad_bias for sm_90a. Template grad_bias: 17 slices of the positions, 32 blocks each.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_bias: 32 elements, written, 4-byte aligned
//     shape (Cout 32), contiguous
//   tensor grad_y: 134217728 elements, read, 4-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial_bias: 2176 bytes, sums of slices of grad_y's positions
//   kernel convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels
//     arguments const float* grad_y, float* partial_bias, int batch
//     grid 544; block 256; shared 1024
//   kernel convtgen_grad_bias_grad_bias_71b4f4960a2e8df1
//     arguments const float* partial_bias, float* grad_bias
//     grid 1; block 128; shared 0

namespace convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source {

// ---- Constants ----

constexpr int kBiasThreads = 256;
constexpr int kBiasTiles = 32;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);

#endif

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
  places.next = batch * 131072ll * slice / 17 + thread;
  places.end = batch * 131072ll * (slice + 1) / 17;
  places.image = places.next / 131072;
  places.place = places.next % 131072;
  places.in_image = 131072;
  return places;
}

__device__ __forceinline__ BiasPlaces places_of_slice_2(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 524288ll * slice / 17 + thread;
  places.end = batch * 524288ll * (slice + 1) / 17;
  places.image = places.next / 524288;
  places.place = places.next % 524288;
  places.in_image = 524288;
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
  return grad_y + ((places.image * 32 + channel) * (places.in_image * 4) + places.place * 4);
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const float* at_place_2(const float* __restrict__ grad_y, const BiasPlaces& places,
                                                   int channel) {
  return grad_y + ((places.image * 32 + channel) * places.in_image + places.place);
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
    convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels(const float* __restrict__ grad_y,
                                                           float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kBiasTiles;
  const int first_channel = blockIdx.x % kBiasTiles;
  const bool by_vectors = reinterpret_cast<unsigned long long>(grad_y) % 16 == 0;
  float totals[4] = {};
  if (by_vectors) {
    if (first_channel < 32) {
      sum_vectors(totals, grad_y, places_of_slice(slice, batch, thread), first_channel);
    }
  } else if (first_channel < 32) {
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
  if (thread < 1 && first_channel + thread < 32) {
    partial_bias[slice * 32 + first_channel + thread] = shared[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 17; ++slice) {
    sum += partial_bias[slice * 32 + channel];
  }
  return sum;
}

// A thread a channel: adds its slices in their order.
extern "C" __global__ void __launch_bounds__(128)
    convtgen_grad_bias_grad_bias_71b4f4960a2e8df1(const float* __restrict__ partial_bias,
                                                  float* __restrict__ grad_bias) {
  const int channel = blockIdx.x * 128 + threadIdx.x;
  if (channel < 32) {
    grad_bias[channel] = channel_sum(partial_bias, channel);
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

}  // namespace convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source
using convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source::convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels;
using convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source::convtgen_grad_bias_grad_bias_71b4f4960a2e8df1;
