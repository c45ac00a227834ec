// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_pixels: a block makes 4x4 taps of 128 by 16 channels; 33 slices; 209.1 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 131072 elements, written, 2-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor grad_bias: 64 elements, written, 2-byte aligned
//     shape (Cout 64), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, H 16, W 16, Cin 128), contiguous
//   tensor grad_y: 8388608 elements, read, 16-byte aligned
//     shape (N 128, H 32, W 32, Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 17301504 bytes, sums of slices of the positions
//   region partial_bias: 65536 bytes, sums of slices of grad_y's positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (128, 16, 16, 128), byte pitches (256, 4096, 65536), box (64, 16, 8, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map grad_y_map of grad_y: f16, sizes (64, 32, 32, 128), byte pitches (128, 4096, 131072), box (16, 33, 17, 1), element strides (1, 2, 2, 1), swizzle 32, fill zero
//   kernel convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0
//     arguments TensorMap x_map, TensorMap grad_y_map, float* partial, int batch
//     grid 132; block 256; shared 214080
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 214080)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 214080)
//   kernel convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_channels
//     arguments const unsigned short* grad_y, float* partial_bias, int batch
//     grid 512; block 256; shared 8192
//   kernel convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 513; block 256; shared 0

namespace convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_source {

// ---- Constants ----

constexpr int kGroupOut = 64;
constexpr long long kWeights = 131072ll;
constexpr int kConsumers = 256;
constexpr int kTapPitch = 18;
constexpr int kColumnPitch = 292;
constexpr int kVectors = 256;  // of a column
constexpr int kVectorThreads = 256;
constexpr int kThreads = 256;
constexpr int kInBox = 64;
constexpr int kInSwizzle = 128;  // bytes of a position
constexpr int kOutSwizzle = 32;
constexpr int kWindowPitch = 17;
constexpr int kStoredColumns = 128;
constexpr int kBiasThreads = 256;
constexpr int kBiasChannels = 32;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBoxBytes = 16384;
constexpr int kPlaneBoxBytes = 4992;
constexpr int kInputBytes = 32768;
constexpr int kCopiedBytes = 52352;
constexpr int kStageBytes = 53248;
constexpr int kBarrierOffset = 212992;  // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);
__device__ __forceinline__ int warp_uniform(int value);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void wgmma_m64n128k16_f16_rs_mn_b(float (&d)[64], const unsigned int (&a)[4],
                                                             unsigned long long b, int accumulate);

#endif

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[64];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows, 15);
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 64; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 4; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 8);
  }
}

// Lane 0 arrives for its warp, all of whose lanes have read a stage, or filled it.
__device__ __forceinline__ void release_stage(unsigned long long* barrier, int lane) {
  __syncwarp();
  if (lane == 0) {
    mbarrier_arrive(barrier);
  }
}

// What a block makes.
struct Target {
  int slice;  // of the positions
  int first_out;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int out_tile = block % 4;
  Target target;
  target.slice = block / 4;
  target.first_out = out_tile * 16;
  return target;
}

__device__ __forceinline__ int place_of_rows(int rows, int lane) {
  const int tap = tap_of_rows(rows);
  const int kh = tap / 4;
  const int kw = tap % 4;
  const int plane = kh % 2 * 2 + kw % 2;
  const int pixel = kh / 2 * kWindowPitch + kw / 2 + lane % 8 + lane / 16 * 8;
  const int channel = lane / 8 % 2 * 8;
  return (plane + channel / 16) * kPlaneBoxBytes + pixel * kOutSwizzle + channel % 16 * 2;
}

// Where copies put what has this place without a swizzle: bits 4.. are exclusive-or'ed with bits 7...
__device__ __forceinline__ int swizzled(int place) {
  return place ^ ((place >> 3) & 16);
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int step, const int& place) {
  // Steps of a run, and parts, are whole patterns of the swizzle apart; rows of a run need not be.
  const int run = step * 544;
  matrix_load_x4_transposed(fragment, shared + swizzled(offset + place + (kInputBytes + run)));
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, kInputBoxBytes, 1024, kInSwizzle);
}

__device__ __forceinline__ int input_of_step(int step) {
  return step * 2048;
}

// ---- Products ----

// One thread's A fragments of what is issued at once.
using Fragments = unsigned int[2][4];

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[2], const unsigned char* shared, int offset,
                                               const int (&places)[2]) {
  const unsigned long long input = input_descriptor(shared + offset);
  Fragments fragments[2];
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int step = 0; step < 8; ++step) {
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      load_fragment(fragments[step % 2][tile], shared, offset, step, places[tile]);
      #pragma unroll
      for (int word = 0; word < 4; ++word) {
        wgmma_pin_operand(fragments[step % 2][tile][word]);
      }
    }
    wgmma_fence();
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      wgmma_m64n128k16_f16_rs_mn_b(acc[tile], fragments[step % 2][tile],
                                   wgmma_descriptor_move(input, input_of_step(step)), 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % 16 * kTapPitch + row / 16;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target, float* __restrict__ partial,
                                              int thread) {
  const int place = thread / kVectorThreads;
  for (int vector = thread % kVectorThreads; vector < kVectors; vector += kVectorThreads) {
    const int tap = vector % 16;
    const int channel = vector / 16;
    const int kw = tap % 4;
    const int co = target.first_out + channel;
    #pragma unroll 2
    for (int column = place; column < 128; ++column) {
      const int kh = tap / 4;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(column) * kGroupOut + co) * 4 + kh) * 4 + kw;
      const long long at = target.slice * kWeights + weight;
      partial[at] = sums;
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators (&acc)[2], float* columns, const Target& target,
                                            float* __restrict__ partial, int warpgroup, int thread) {
  const int lane = thread % 32;
  named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const int rows = (tile * 2 + warpgroup) * 4 + thread / 32 % 4;
    if (rows < 16) {
      float* to = columns + lane % 4 * 584 + tap_of_rows(rows) * kTapPitch + lane / 4;
      #pragma unroll
      for (int column = 0; column < kStoredColumns; column += 8) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[tile][column / 2 + i];
        }
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, partial, thread);
}

// ---- Consumers ----

// Multiplies what the stage of this number brought, and releases it.
__device__ __forceinline__ void consume_stage(Accumulators (&acc)[2], const int (&places)[2],
                                              const unsigned char* shared, unsigned long long* full,
                                              unsigned long long* empty, int consumed, int lane) {
  const int stage = consumed % 4;
  mbarrier_wait(&full[stage], consumed / 4 % 2);
  pin(acc);
  multiply_stage(acc, shared, stage * kStageBytes, places);
  pin(acc);
  release_stage(&empty[stage], lane);
}

// ---- Producer ----

// What a block reads.
struct Source {
  int out;  // of grad_y
  long long first_tile;
};

// Issues the copies of a tile of the slice: the boxes of x, and those of each plane of grad_y.
__device__ __forceinline__ void copy_tile(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, const Source& source, int issued) {
  // Tiles of one column of tiles follow one another.
  const long long tile = source.first_tile + issued;
  const int image = static_cast<int>(tile / 2);
  const int row = static_cast<int>(tile % 2) * 8;
  unsigned char* stage = shared + issued % 4 * kStageBytes;
  unsigned long long* barrier = &full[issued % 4];
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  #pragma unroll
  for (int box = 0; box < 2; ++box) {
    tensor_load_4d(stage + box * kInputBoxBytes, x_map, barrier, box * kInBox, 0, row, image);
  }
  #pragma unroll
  for (int box = 0; box < 4; ++box) {
    const int of_part = box;
    tensor_load_4d(stage + (32768 + of_part * kPlaneBoxBytes), grad_y_map, barrier, source.out, of_part % 2 - 1,
                   row * 2 - 1 + of_part / 2, image);
  }
}

// The first stages' copies, by one thread.
__device__ __forceinline__ void copy_first(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Source& source, int count) {
  for (int issued = 0; issued < min(count, 4); ++issued) {
    copy_tile(shared, x_map, grad_y_map, full, source, issued);
  }
}

// One thread's copies for the stage that some stages before this one were consumed from: other warps may be slower.
__device__ __forceinline__ void copy_next(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, unsigned long long* empty, const Source& source,
                                          int count, int consumed) {
  const int next = consumed + 2;
  if (consumed >= 2 && next < count) {
    mbarrier_wait(&empty[next % 4], (next / 4 - 1) % 2);
    copy_tile(shared, x_map, grad_y_map, full, source, next);
  }
}

// All tiles, and those of a slice.
struct Tiles {
  long long all;
};

__device__ __forceinline__ Tiles tiles_of(int batch) {
  const long long image_tiles = static_cast<long long>(batch);
  return {image_tiles * 2};
}

__device__ __forceinline__ Source source_of(const Target& target, long long first_tile) {
  return {target.first_out, first_tile};
}

// ---- Kernels ----

// Adds the elements of a vector.
__device__ __forceinline__ void add_vector(float (&sums)[8], const uint4& vector) {
  const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums[i] += half_to_float(static_cast<unsigned short>((words[i / 2] >> (i % 2 * 16)) & 0xffff));
  }
}

// A thread's way over the places of one slice. A place is a position, or a vector of adjacent ones of NCHW. Images of
// NCHW are not adjacent: the image of a place and the place there, and how both move on. Threads share the channels of
// a place, which are so many lanes.
struct BiasPlaces {
  long long next;
  long long end;
  long long place;
  int step;
};

__device__ __forceinline__ BiasPlaces places_of_slice(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 1024ll * slice / 256 + thread / 4;
  places.end = batch * 1024ll * (slice + 1) / 256;
  places.place = places.next;
  places.step = 64;
  return places;
}

__device__ __forceinline__ BiasPlaces places_of_slice_2(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 1024ll * slice / 256 + thread / 32;
  places.end = batch * 1024ll * (slice + 1) / 256;
  places.place = places.next;
  places.step = 8;
  return places;
}

__device__ __forceinline__ void next_place(BiasPlaces& places, long long step_places) {
  places.next += places.step;
  places.place += step_places;
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const unsigned short* at_place(const unsigned short* __restrict__ grad_y,
                                                          const BiasPlaces& places, int channel) {
  return grad_y + (places.place * 64 + channel);
}

// A thread's sums of one slice: of a channel, or of vectors.
__device__ __forceinline__ float sum_elements(const unsigned short* __restrict__ grad_y, BiasPlaces places,
                                              int channel) {
  const long long step_places = static_cast<long long>(places.step);
  float total = 0;
  while (places.next < places.end) {
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (places.next < places.end) {
        sum += half_to_float(*at_place(grad_y, places, channel));
      }
      next_place(places, step_places);
    }
    total += sum;
  }
  return total;
}

__device__ __forceinline__ void sum_vectors(float (&totals)[8], const unsigned short* __restrict__ grad_y,
                                            BiasPlaces places, int channel) {
  const long long step_places = static_cast<long long>(places.step);
  while (places.next < places.end) {
    uint4 vectors[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      vectors[i] = make_uint4(0, 0, 0, 0);
      if (places.next < places.end) {
        vectors[i] = load_constant_16(at_place(grad_y, places, channel));
      }
      next_place(places, step_places);
    }
    float sums[8] = {};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      add_vector(sums, vectors[i]);
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      totals[i] += sums[i];
    }
  }
}

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_channels(const unsigned short* __restrict__ grad_y,
                                                                      float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / 2;
  const int first_channel = blockIdx.x % 2 * kBiasChannels;
  const bool by_vectors = reinterpret_cast<unsigned long long>(grad_y) % 16 == 0;
  float totals[8] = {};
  if (by_vectors) {
    const int channel = first_channel + thread % 4 * 8;
    if (channel < 64) {
      sum_vectors(totals, grad_y, places_of_slice(slice, batch, thread), channel);
    }
  } else {
    const int channel = first_channel + thread % kBiasChannels;
    if (channel < 64) {
      totals[0] = sum_elements(grad_y, places_of_slice_2(slice, batch, thread), channel);
    }
  }
  // The threads of a channel add their totals in a tree.
  float* shared = static_cast<float*>(shared_memory());
  const int kept = by_vectors ? 8 : 1;  // of a thread
  #pragma unroll
  for (int i = 1; i < 8; ++i) {
    if (kept > 1) {
      shared[thread * kept + i] = totals[i];
    } else {
      totals[0] += totals[i];
    }
  }
  shared[thread * kept] = totals[0];
  #pragma unroll 1
  for (int half = kBiasThreads * kept / 2; half >= kBiasChannels; half /= 2) {
    __syncthreads();
    for (int i = thread; i < half; i += kBiasThreads) {
      shared[i] += shared[i + half];
    }
  }
  if (thread < kBiasChannels && first_channel + thread < 64) {
    partial_bias[slice * 64 + first_channel + thread] = shared[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 256; ++slice) {
    sum += partial_bias[slice * 64 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_add(const float* __restrict__ partial,
                                                                 const float* __restrict__ partial_bias,
                                                                 unsigned short* __restrict__ grad_weight,
                                                                 unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 131072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 33; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = accumulator_to_half(sum);
  } else if (i - 131072 < 64) {
    grad_bias[i - 131072] = accumulator_to_half(channel_sum(partial_bias, static_cast<int>(i - 131072)));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0(__grid_constant__ const TensorMap x_map,
                                                             __grid_constant__ const TensorMap grad_y_map,
                                                             float* __restrict__ partial, int batch) {
  const int block = blockIdx.x;
  const Target target = target_of(block);
  const Tiles tiles = tiles_of(batch);
  const long long first_tile = tiles.all * target.slice / 33;
  const int count = static_cast<int>(tiles.all * (target.slice + 1) / 33 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 4;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const Source source = source_of(target, first_tile);
  if (threadIdx.x == 0) {
    copy_first(shared, x_map, grad_y_map, full, source, count);
  }

  const int thread = threadIdx.x;
  const int warpgroup = warp_uniform(thread / 128);
  int places[2];
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const int rows = (tile * 2 + warpgroup) * 4 + thread / 32 % 4;
    places[tile] = place_of_rows(rows, thread % 32);
  }
  Accumulators acc[2] = {};
  for (int consumed = 0; consumed < count; ++consumed) {
    if (thread == 0) {
      copy_next(shared, x_map, grad_y_map, full, empty, source, count, consumed);
    }
    __syncwarp();
    consume_stage(acc, places, shared, full, empty, consumed, thread % 32);
  }
  store_block(acc, reinterpret_cast<float*>(shared), target, partial, warpgroup, thread);
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

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
}

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once. What this thread wrote before is visible to threads that wait for the phase (release, in the block).
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Adds `bytes` to what the current phase expects of asynchronous copies, then arrives once.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes) : "memory");
}

// Returns when the phase of this parity is complete, and sees what those who arrived wrote before.
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity) {
  for (unsigned int complete = 0; complete == 0;) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
}

// Waits at barrier `id` until `threads` threads of the block have come to it; what they wrote before is visible after.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Rounds an accumulator of asynchronous products to f16. Adding -0 keeps the conversion after the wait for them.
__device__ __forceinline__ unsigned short accumulator_to_half(float value) {
  unsigned short bits;
  asm("{\n\t.reg .f32 same;\n\tadd.rn.f32 same, %1, 0f80000000;\n\tcvt.rn.f16.f32 %0, same;\n\t}"
      : "=h"(bits)
      : "f"(value));
  return bits;
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// Loads the box at these coordinates of a 4-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// Orders earlier accesses of registers (accumulators, A) before the products that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group: all products of this warpgroup since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 or 1) newest groups are still in flight.
__device__ __forceinline__ void wgmma_wait(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
}

// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
__device__ __forceinline__ void wgmma_pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}

// The same for a word of an A operand, before wgmma_fence(): what makes it is not put off until the product.
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word) {
  asm volatile("" : "+r"(word)::"memory");
}

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// d (64x128, f32) = a (64x16) * b (16x128), added to d where `accumulate` is not 0: f16, A in registers, B N-major.
__device__ __forceinline__ void wgmma_m64n128k16_f16_rs_mn_b(float (&d)[64], const unsigned int (&a)[4],
                                                             unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_source
using convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_source::convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_channels;
using convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_source::convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_add;
using convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0_source::convtgen_grad_weight_pixels_grad_weight_a9f7a91a1de70bb0;
