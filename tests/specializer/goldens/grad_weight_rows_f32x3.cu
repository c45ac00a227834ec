// conv_transpose2d 128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; bias; dtype f32; compute f32x3; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_rows: a block makes 2x2 taps of 128 by 32 channels; 66 slices; 201.1 KiB shared.
// Launch
//   sizes: batch 8, in_height 256, in_width 256; out_height 512, out_width 512
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 32768 elements, written, 4-byte aligned
//     shape (Cin 128, Cout 64, KH 2, KW 2), contiguous
//   tensor grad_bias: 64 elements, written, 4-byte aligned
//     shape (Cout 64), contiguous
//   tensor x: 67108864 elements, read, 16-byte aligned
//     shape (N 8, Cin 128, H 256, W 256), contiguous
//   tensor grad_y: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cout 64, H 512, W 512), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 8650752 bytes, sums of slices of the positions
//   region partial_bias: 16896 bytes, sums of slices of grad_y's positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f32, sizes (256, 128, 256, 8), byte pitches (262144, 1024, 33554432), box (32, 128, 1, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map grad_y_map of grad_y: f32, sizes (512, 64, 512, 8), byte pitches (1048576, 2048, 67108864), box (72, 32, 2, 1), element strides (1, 1, 1, 1), swizzle 0, fill zero
//   kernel convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301
//     arguments TensorMap x_map, TensorMap grad_y_map, float* partial, float* partial_bias, int batch
//     grid 132; block 384; shared 205920
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 205920)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 205920)
//   kernel convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_add
//     arguments const float* partial, const float* partial_bias, float* grad_weight, float* grad_bias
//     grid 129; block 256; shared 0

namespace convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_source {

// ---- Constants ----

constexpr int kGroupOut = 64;
constexpr long long kWeights = 32768ll;
constexpr int kConsumers = 256;
constexpr int kTapPitch = 40;
constexpr int kColumnPitch = 164;
constexpr int kVectors = 128;  // of a column
constexpr int kVectorThreads = 128;
constexpr int kThreads = 384;
constexpr int kStoredColumns = 128;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kOperandBytes = 16384;  // a row's part
constexpr int kBoxesBytes = 16384;
constexpr int kInputPartBytes = 16384;
constexpr int kInputBytes = 32768;
constexpr int kPitchBytes = 288;  // of a channel's row
constexpr int kRowBytes = 9216;   // of all channels' row
constexpr int kStageBytes = 51200;
constexpr int kBarrierOffset = 204800;     // mbarriers
constexpr int kRawBarrierOffset = 204864;  // of boxes that are to be split

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ void wgmma_keep_operand(const unsigned int (&operand)[4], unsigned int zero);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void wgmma_m64n128k8_tf32_rs(float (&d)[64], const unsigned int (&a)[4],
                                                        unsigned long long b, int accumulate);

#endif

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[64];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / 4, 1) * 2;
}

__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % 4 * 8;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 4; ++stage) {
    mbarrier_init(&full[stage], 4);
    mbarrier_init(&empty[stage], 8);
  }
}

// Lane 0 arrives for its warp: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
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
  const int out_tile = block % 2;
  Target target;
  target.slice = block / 2;
  target.first_out = out_tile * 32;
  return target;
}

using RowSums = float[1][1];

// Adds a fragment's rows. Its words come as they are in memory, and leave as products take them.
__device__ __forceinline__ void add_fragment(float (&sums)[1], unsigned int (&fragment)[4]) {
  const float first = __uint_as_float(fragment[0]) + __uint_as_float(fragment[2]);
  const float second = __uint_as_float(fragment[1]) + __uint_as_float(fragment[3]);
  sums[0] += first + second;
  // The assembler put the additions off, and spilled the words of later fragments.
  const unsigned int sum = __float_as_uint(sums[0]);
  const unsigned int other_sum = __float_as_uint(sums[0]);
  const unsigned int made[4] = {sum, other_sum, sum, other_sum};
  wgmma_keep_operand(made, gridDim.x >> 31);
}

// Stores the sums of a block's channels, through shared memory.
__device__ __forceinline__ void store_row_sums(const RowSums& row_sums, float* sums, const Target& target, int part,
                                               float* __restrict__ partial_bias, int warpgroup, int thread) {
  named_barrier_sync(1, kConsumers);  // the stages have been read
  const int rows = warpgroup * 4 + thread / 32 % 4;
  // A row's positions are shared by four lanes.
  float sum = row_sums[0][0];
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  if (thread % 4 == 0 && rows < 8) {
    const int channel = channel_of_rows(rows) + thread % 32 / 4;
    sums[tap_of_rows(rows) / 2 * 32 + channel] = sum;
  }
  named_barrier_sync(1, kConsumers);
  if (thread < 32) {
    float sum_2 = 0;
    #pragma unroll
    for (int tap = 0; tap < 2; ++tap) {
      sum_2 += sums[tap * 32 + thread];
    }
    partial_bias[part * 64 + target.first_out + thread] = sum_2;
  }
}

// ---- Products ----

// A thread's own place in the window, for 16 rows of a tap: bytes of the element, or of the word of two, that its first
// fragment word begins with.
struct Place {
  int first;
};

__device__ __forceinline__ Place place_of_rows(int rows, int lane) {
  const int tap = tap_of_rows(rows);
  const int channel = channel_of_rows(rows) + lane / 4;
  const int element = tap % 2;
  const int bytes = tap / 2 * kRowBytes + channel * kPitchBytes;
  Place place;
  place.first = bytes + (lane % 4 * 2 + element) * 4;
  return place;
}

// Words of both taps of a pair: an element of each, or two positions of each.
__device__ __forceinline__ uint2 pair_words(const unsigned char* from) {
  return *reinterpret_cast<const uint2*>(from);
}

// Loads an A fragment: 16 rows of the warp by the positions of a step. Half of these are 4 elements, or words, on.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int step, const Place& place) {
  const int row = step / 4 * 18432;
  const int pixel = step % 4 * 64;
  const unsigned char* from = shared + offset + kInputBytes + place.first + (row + pixel);
  const uint2 first = pair_words(from);
  const uint2 second = pair_words(from + 32);
  fragment[0] = first.x;
  fragment[1] = first.y;
  fragment[2] = second.x;
  fragment[3] = second.y;
  return;
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 0, 1024, 128);
}

__device__ __forceinline__ int input_of_step(int step) {
  const int pixel = step % 4 * 8;
  return step / 4 * kOperandBytes + pixel * 4;
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % 4 * kTapPitch + row / 4;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target, float* __restrict__ partial,
                                              int thread) {
  const int place = thread / kVectorThreads;
  for (int vector = thread % kVectorThreads; vector < kVectors; vector += kVectorThreads) {
    const int tap = vector % 4;
    const int channel = vector / 4;
    const int kw = tap % 2;
    const int co = target.first_out + channel;
    #pragma unroll 2
    for (int column = place; column < 128; column += 2) {
      const int kh = tap / 2;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(column) * kGroupOut + co) * 2 + kh) * 2 + kw;
      const long long at = target.slice * kWeights + weight;
      partial[at] = sums;
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators& acc, float* columns, const Target& target,
                                            float* __restrict__ partial, int warpgroup, int thread) {
  const int lane = thread % 32;
  named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
  const int rows = warpgroup * 4 + thread / 32 % 4;
  if (rows < 8) {
    float* to = columns + lane % 4 * 328 + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
    #pragma unroll
    for (int column = 0; column < kStoredColumns; column += 8) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[(column + i % 2) * kColumnPitch + i / 2 * 40] = acc[column / 2 + i];
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, partial, thread);
}

// ---- Consumers ----

__device__ __forceinline__ unsigned int high_part(unsigned int word) {
  return word & 0xffffe000u;
}

// What is left of a value without its high part.
__device__ __forceinline__ unsigned int rest_of(unsigned int word, unsigned int high) {
  const float value = __uint_as_float(word);
  const float rest = fmaf(value, 2.3283064e-10f, value - __uint_as_float(high));
  return (word & 0x7fffffff) == 0x7f800000 ? word : __float_as_uint(rest);
}

__device__ __forceinline__ unsigned int low_part(unsigned int word) {
  return rest_of(word, high_part(word));
}

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using SplitFragments = unsigned int[2][4];

// Loads the fragments of a step, and makes their parts.
__device__ __forceinline__ void load_parts(SplitFragments& fragments, RowSums& row_sums, const unsigned char* shared,
                                           int offset, int step, const Place& places) {
  load_fragment(fragments[0], shared, offset, step, places);
  add_fragment(row_sums[0], fragments[0]);
  #pragma unroll
  for (int word = 0; word < 4; ++word) {
    fragments[1][word] = low_part(fragments[0][word]);
    fragments[0][word] = high_part(fragments[0][word]);
    wgmma_pin_operand(fragments[0][word]);
    wgmma_pin_operand(fragments[1][word]);
  }
}

// Adds the accumulators of so many tiles to the totals. Their products are done.
__device__ __forceinline__ void promote_products(Accumulators& totals, Accumulators& acc) {
  pin(acc);
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    totals[i] += acc[i];
  }
  pin(acc);
}

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window. The first product of some steps begins its accumulators anew.
__device__ __forceinline__ void multiply_split(Accumulators& totals, Accumulators& acc, RowSums& row_sums,
                                               const unsigned char* shared, int offset, const Place& places) {
  const unsigned long long input = input_descriptor(shared + offset);
  SplitFragments fragments[2];
  // taps (0 to 1, 0 to 1)
  #pragma unroll
  for (int step = 0; step < 4; ++step) {
    load_parts(fragments[step % 2], row_sums, shared, offset, step, places);
    if (step > 0 && step == 0) {
      wgmma_wait(0);
      promote_products(totals, acc);
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, input_of_step(step));
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputPartBytes + input_of_step(step));
    wgmma_m64n128k8_tf32_rs(acc, fragments[step % 2][1], high_input, step == 0 ? 0 : 1);
    wgmma_m64n128k8_tf32_rs(acc, fragments[step % 2][0], low_input, 1);
    wgmma_m64n128k8_tf32_rs(acc, fragments[step % 2][0], high_input, 1);
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// Multiplies what the stage of this number brought, releases it, and promotes the accumulators. Promotes the totals to
// those in memory where that is due: a total that takes too many promotions loses as much as accumulators would.
__device__ __forceinline__ void consume_split(Accumulators& totals, Accumulators& acc, RowSums& row_sums,
                                              const Place& places, const unsigned char* shared,
                                              unsigned long long* full, unsigned long long* empty, int consumed,
                                              int lane) {
  const int stage = consumed % 4;
  mbarrier_wait(&full[stage], consumed / 4 % 2);
  pin(acc);
  multiply_split(totals, acc, row_sums, shared, stage * kStageBytes, places);
  release_stage(&empty[stage], lane);
  promote_products(totals, acc);
}

// ---- Producer ----

// What a block reads. Positions are of x.
struct Source {
  int out;  // of grad_y
};

// A stage's first position.
struct Tile {
  int image;
  int row;
  int column;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index) {
  Tile tile;
  tile.image = static_cast<int>(index / 2048);
  tile.row = static_cast<int>(index % 256);
  tile.column = static_cast<int>(index / 256 % 8) * 32;
  return tile;
}

// ---- By tensor copies ----

// Issues the copies of a stage: a box for each part of the rows of x, and one of grad_y. Those of x complete `raw`.
__device__ __forceinline__ void copy_stage(unsigned char* stage, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, unsigned long long* raw, const Source& source,
                                           const Tile& tile) {
  mbarrier_arrive_expect(full, 18432);
  mbarrier_arrive_expect(raw, kBoxesBytes);
  tensor_load_4d(stage, x_map, raw, tile.column, 0, tile.row, tile.image);
  tensor_load_4d(stage + kInputBytes, grad_y_map, full, tile.column * 2, source.out, tile.row * 2, tile.image);
}

// ---- Through registers ----

// Splits the boxes of a stage, by one of the splitters.
__device__ __forceinline__ void split_boxes(unsigned char* input, int splitter) {
  #pragma unroll 4
  for (int at = splitter * 16; at < kBoxesBytes; at += 1536) {
    uint4* high = reinterpret_cast<uint4*>(input + at);
    uint4* low = reinterpret_cast<uint4*>(input + at + kInputPartBytes);
    const uint4 values = *high;
    *high = make_uint4(high_part(values.x), high_part(values.y), high_part(values.z), high_part(values.w));
    *low = make_uint4(low_part(values.x), low_part(values.y), low_part(values.z), low_part(values.w));
  }
}

// All stages of a block's slice: `count` tiles from `first_tile` on, by one of the producers.
__device__ __forceinline__ void bring_boxes(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                            const TensorMap& x_map, const TensorMap& grad_y_map, const Source& source,
                                            long long first_tile, int count, int thread) {
  unsigned long long* raw = reinterpret_cast<unsigned long long*>(shared + kRawBarrierOffset);
  if (thread == 0) {
    for (int issued = 0; issued < count; ++issued) {
      const int stage = issued % 4;
      if (issued >= 4) {
        mbarrier_wait(&empty[stage], (issued / 4 - 1) % 2);
      }
      copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], &raw[stage], source,
                 tile_at(first_tile + issued));
    }
  } else if (thread >= 32) {
    for (int brought = 0; brought < count; ++brought) {
      const int stage = brought % 4;
      mbarrier_wait(&raw[stage], brought / 4 % 2);
      split_boxes(shared + stage * kStageBytes, thread - 32);
      fence_proxy_async();
      warp_arrive(&full[stage]);
    }
  }
}

// ---- Kernels ----

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 66; ++slice) {
    sum += partial_bias[slice * 64 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_add(const float* __restrict__ partial,
                                                               const float* __restrict__ partial_bias,
                                                               float* __restrict__ grad_weight,
                                                               float* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 32768) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 66; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = sum;
  } else if (i - 32768 < 64) {
    grad_bias[i - 32768] = channel_sum(partial_bias, static_cast<int>(i - 32768));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301(__grid_constant__ const TensorMap x_map,
                                                           __grid_constant__ const TensorMap grad_y_map,
                                                           float* __restrict__ partial,
                                                           float* __restrict__ partial_bias, int batch) {
  const long long tiles = static_cast<long long>(batch) * 2048;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 66;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 66 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 4;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    unsigned long long* raw = reinterpret_cast<unsigned long long*>(shared + kRawBarrierOffset);
    for (int stage = 0; stage < 4; ++stage) {
      mbarrier_init(&raw[stage], 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= 2) {
    const int thread = threadIdx.x - kConsumers;
    const Source source = {target.first_out};
    bring_boxes(shared, full, empty, x_map, grad_y_map, source, first_tile, count, thread);
  } else {
    const int thread = threadIdx.x;
    Place places;
    const int rows = warpgroup * 4 + thread / 32 % 4;
    places = place_of_rows(rows, thread % 32);
    Accumulators acc = {};
    Accumulators sums = {};  // of products of split values
    RowSums row_sums = {};
    for (int consumed = 0; consumed < count; ++consumed) {
      consume_split(sums, acc, row_sums, places, shared, full, empty, consumed, thread % 32);
    }
    store_row_sums(row_sums, reinterpret_cast<float*>(shared), target, target.slice, partial_bias, warpgroup, thread);
    store_block(sums, reinterpret_cast<float*>(shared), target, partial, warpgroup, thread);
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

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
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

// Loads the box at these coordinates of a 4-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// Orders this thread's accesses to shared memory before those of TMA and wgmma after the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
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

// Keeps the registers of an A operand for products in flight, up to here: after the wait for them. `zero` is 0.
__device__ __forceinline__ void wgmma_keep_operand(const unsigned int (&operand)[4], unsigned int zero) {
  asm volatile(
      "{\n\t.reg .pred kept;\n\t.reg .b32 nowhere;\n\tmov.b32 nowhere, 0;\n\tsetp.ne.u32 kept, %4, 0;\n\t"
      "@kept st.shared.v4.b32 [nowhere], {%0, %1, %2, %3};\n\t}" ::"r"(operand[0]),
      "r"(operand[1]), "r"(operand[2]), "r"(operand[3]), "r"(zero)
      : "memory");
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

// d (64x128, f32) = a (64x8) * b (8x128), added to d where `accumulate` is not 0: tf32, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n128k8_tf32_rs(float (&d)[64], const unsigned int (&a)[4],
                                                        unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1; }"
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

}  // namespace convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_source
using convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_source::convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_add;
using convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301_source::convtgen_grad_weight_rows_grad_weight_7aba1999e4efa301;
