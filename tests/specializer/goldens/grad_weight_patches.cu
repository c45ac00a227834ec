// conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 32x128x128; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_patches: a block makes 2x2 taps of 64 by 32 channels; 132 slices; 195.1 KiB shared.
// Launch
//   sizes: batch 32, in_height 128, in_width 128; out_height 256, out_width 256
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 8192 elements, written, 2-byte aligned
//     shape (Cin 64, Cout 32, KH 2, KW 2), contiguous
//   tensor grad_bias: 32 elements, written, 2-byte aligned
//     shape (Cout 32), contiguous
//   tensor x: 33554432 elements, read, 16-byte aligned
//     shape (N 32, H 128, W 128, Cin 64), contiguous
//   tensor grad_y: 67108864 elements, read, 16-byte aligned
//     shape (N 32, H 256, W 256, Cout 32), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 4325376 bytes, sums of slices of the positions
//   region partial_bias: 16896 bytes, sums of slices of grad_y's positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (64, 128, 4096, 1), byte pitches (128, 16384, 2097152), box (64, 8, 16, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map grad_y_map of grad_y: f16, sizes (64, 128, 2, 4096, 1), byte pitches (128, 16384, 32768, 4194304), box (64, 8, 1, 16, 1), element strides (1, 1, 1, 1, 1), swizzle 128, fill zero
//   kernel convtgen_grad_weight_patches_grad_weight_0638512d879a28c9
//     arguments TensorMap x_map, TensorMap grad_y_map, float* partial, float* partial_bias, int batch
//     grid 132; block 384; shared 199744
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 199744)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 199744)
//   kernel convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 514; block 256; shared 1024
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_source {

// ---- Constants ----

constexpr int kGroupOut = 32;
constexpr int kConsumers = 256;
constexpr int kRows = 128;
constexpr int kTapPitch = 40;
constexpr int kColumnPitch = 164;
constexpr int kVectors = 128;  // of a column
constexpr int kVectorThreads = 128;
constexpr int kThreads = 384;
constexpr int kAdjacentRows = 64;  // of products
constexpr int kRowBox = 64;
constexpr int kInSwizzle = 128;
constexpr int kRowSwizzle = 128;
constexpr int kPositions = 128;
constexpr int kStoredColumns = 64;
constexpr int kAddThreads = 256;
constexpr long long kAdded = 8192ll;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBoxBytes = 16384;
constexpr int kRowBoxBytes = 16384;
constexpr int kProductBytes = 16384;  // of 64 rows
constexpr int kInputBytes = 16384;
constexpr int kCopiedBytes = 49152;
constexpr int kStageBytes = 49152;
constexpr int kSumOffset = 196608;
constexpr int kBarrierOffset = 198656;

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
__device__ __forceinline__ void grid_dependency_wait();

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void tensor_load_5d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3, int c4);
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ bool elect_one();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);
__device__ __forceinline__ void wgmma_m64n64k16_f16_ss_mn_ab(float (&d)[32], unsigned long long a,
                                                             unsigned long long b, int accumulate);

#endif

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[32];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / 2, 3);
}

__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % 2 * 16;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 4; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 10);
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
  int slice;     // of the positions
  int first_kh;  // of its taps
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  Target target;
  target.slice = block;
  target.first_kh = 0;
  return target;
}

// ---- Producer ----

// The rows and planes of x whose positions are multiplied, and how many tiles they have.
struct Tiles {
  int rows;
  long long all;
};

__device__ __forceinline__ Tiles tiles_of(int batch) {
  const int rows = (batch * 128 + 15) / 16;
  return {rows, static_cast<long long>(rows) * 16};
}

// A tile's first position. Those of a row of tiles follow one another, so that what is adjacent is read together.
struct Place {
  int column;
  int row;
};

__device__ __forceinline__ Place place_of(long long tile, const Tiles& tiles) {
  return {static_cast<int>(tile % 16) * 8, static_cast<int>(tile / 16 % tiles.rows) * 16};
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Place& place) {
  place.column += 8;
  if (place.column >= 128) {
    place.column = 0;
    place.row += 16;
  }
}

// Issues the copies of a stage.
__device__ __forceinline__ void copy_stage(unsigned char* stage, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Target& target, const Place& place) {
  mbarrier_arrive_expect(full, kCopiedBytes);
  tensor_load_4d(stage, x_map, full, 0, place.column, place.row, 0);
  #pragma unroll
  for (int box = 0; box < 2; ++box) {
    const int row = box * kRowBox;  // of the products
    const int tap = row / kAdjacentRows;
    tensor_load_5d(stage + (kInputBytes + box * kRowBoxBytes), grad_y_map, full, row % kAdjacentRows, place.column,
                   target.first_kh + tap, place.row, 0);
  }
}

// ---- Products ----

// Issues the products of a stage, of a warpgroup that has so many tiles of 64 rows.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* stage, int warpgroup) {
  const unsigned long long rows =
      wgmma_descriptor(stage + (kInputBytes + warpgroup * kProductBytes), kRowBoxBytes, 1024, kRowSwizzle);
  const unsigned long long columns = wgmma_descriptor(stage, kInputBoxBytes, 1024, kInSwizzle);
  wgmma_fence();
  // taps (0 to 1, 0 to 1)
  #pragma unroll
  for (int step = 0; step < 8; ++step) {
    wgmma_m64n64k16_f16_ss_mn_ab(acc, wgmma_descriptor_move(rows, step * 2048),
                                 wgmma_descriptor_move(columns, step * 2048), 1);
  }
  wgmma_commit();
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
    #pragma unroll 2
    for (int column = place; column < 64; column += 2) {
      const int kh = target.first_kh + tap / 2;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(column) * kGroupOut + channel) * 2 + kh) * 2 + kw;
      const long long at = target.slice * 8192ll + weight;
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
        to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[column / 2 + i];
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, partial, thread);
}

// ---- Consumers ----

// Multiplies so many stages. Without promotions a stage is released when the products of the next one are issued.
__device__ __forceinline__ void consume_stages(Accumulators& acc, const unsigned char* shared, unsigned long long* full,
                                               unsigned long long* empty, int count, int warpgroup, int lane) {
  pin(acc);
  for (int consumed = 0; consumed < count; ++consumed) {
    const int stage = consumed % 4;
    mbarrier_wait(&full[stage], consumed / 4 % 2);
    multiply_stage(acc, shared + stage * kStageBytes, warpgroup);
    wgmma_wait(1);
    if (consumed > 0) {
      release_stage(&empty[(consumed - 1) % 4], lane);
    }
  }
  wgmma_wait(0);
  pin(acc);
}

// ---- Kernels ----

// Adds a stage's rows to the thread's: `vector` is its own of a position, `first` its first position.
__device__ __forceinline__ void sum_stage(float (&totals)[8], const unsigned char* window, int vector, int first) {
  const int row = vector * 8;
  const int place = row % kRowBox * 2;
  float sums[8] = {};
  #pragma unroll 4
  for (int position = first; position < kPositions; position += 4) {
    const int at = position * kRowSwizzle + place;
    const uint4 loaded =
        *reinterpret_cast<const uint4*>(window + row / kRowBox * kRowBoxBytes + (at ^ ((at >> 3) & 112)));
    const unsigned int words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      sums[i] += half_to_float(static_cast<unsigned short>((words[i / 2] >> (i % 2 * 16)) & 0xffff));
    }
  }
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    totals[i] += sums[i];
  }
}

// All stages of a block, by the warps for that.
__device__ __forceinline__ void sum_rows(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                         float* __restrict__ partial_bias, int count, int part, int thread) {
  const int vector = thread % 16;
  const int first = thread / 16;
  float totals[8] = {};
  for (int consumed = 0; consumed < count; ++consumed) {
    const int stage = consumed % 4;
    mbarrier_wait(&full[stage], consumed / 4 % 2);
    sum_stage(totals, shared + (stage * kStageBytes + kInputBytes), vector, first);
    release_stage(&empty[stage], thread % 32);
  }
  named_barrier_sync(2, 320);
  float* sums = reinterpret_cast<float*>(shared + kSumOffset);
  if (first < 4) {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      sums[first * kRows + vector * 8 + i] = totals[i];
    }
  }
  named_barrier_sync(3, 64);
  for (int channel = thread; channel < 32; channel += 64) {
    float sum = 0;
    for (int tap = 0; tap < 4; ++tap) {
      for (int lane = 0; lane < 4; ++lane) {
        sum += sums[lane * kRows + tap * 32 + channel];
      }
    }
    partial_bias[part * 32 + channel] = sum;
  }
}

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part(const float* __restrict__ sums, int part) {
  const int last = 132 * (part + 1) / 16;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 132 * part / 16; slice < last; ++slice) {
    sum += sums[slice * 8192ll];
  }
  return sum;
}

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part_2(const float* __restrict__ sums, int part) {
  const int last = 132 * (part + 1) / 16;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 132 * part / 16; slice < last; ++slice) {
    sum += sums[slice * 32ll];
  }
  return sum;
}

// Adds the slices: of a weight, then of a channel of the bias.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_add(const float* __restrict__ partial,
                                                                  const float* __restrict__ partial_bias,
                                                                  unsigned short* __restrict__ grad_weight,
                                                                  unsigned short* __restrict__ grad_bias) {
  const int part = threadIdx.x / 16;
  const long long i = static_cast<long long>(blockIdx.x) * 16 + threadIdx.x % 16;
  const bool is_weight = i < kAdded;
  const bool is_channel = !is_weight && i - kAdded < 32;
  grid_dependency_wait();
  float sum = 0;
  if (is_weight) {
    sum = add_part(partial + i, part);
  } else if (is_channel) {
    sum = add_part_2(partial_bias + (i - kAdded), part);
  }
  float* sums = static_cast<float*>(shared_memory());
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  #pragma unroll
  for (int each = 0; each < 16; ++each) {
    sum += sums[each * 16 + threadIdx.x % 16];
  }
  if (part == 0) {
    if (is_weight) {
      grad_weight[i] = accumulator_to_half(sum);
    } else if (is_channel) {
      grad_bias[i - kAdded] = accumulator_to_half(sum);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_patches_grad_weight_0638512d879a28c9(__grid_constant__ const TensorMap x_map,
                                                              __grid_constant__ const TensorMap grad_y_map,
                                                              float* __restrict__ partial,
                                                              float* __restrict__ partial_bias, int batch) {
  const int block = blockIdx.x;
  Target target = target_of(block);
  const Tiles tiles = tiles_of(batch);
  const long long first_tile = tiles.all * target.slice / 132;
  const int count = static_cast<int>(tiles.all * (target.slice + 1) / 132 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 4;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  if (warp >= 8) {
    if (warp == 8 && elect_one()) {
      Place place = place_of(first_tile, tiles);
      for (int issued = 0; issued < count; ++issued) {
        const int stage = issued % 4;
        mbarrier_wait(&empty[stage], (issued / 4 % 2) ^ 1);
        copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], target, place);
        move_on(place);
      }
    }
    if (warp >= 10) {
      const int part = target.slice;
      sum_rows(shared, full, empty, partial_bias, count, part, threadIdx.x - 320);
    }
  } else {
    const int warpgroup = warp / 4;
    Accumulators acc = {};
    consume_stages(acc, shared, full, empty, count, warpgroup, lane);
    named_barrier_sync(2, 320);
    target.first_kh += 0;  // the weights' rows of all planes of taps
    store_block(acc, reinterpret_cast<float*>(shared), target, partial, warpgroup, threadIdx.x);
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

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
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

// Loads the box at these coordinates of a 5-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_5d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
      "%7}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// True in exactly one lane of the warp, always the same one. Collective. sm_90 and later.
__device__ __forceinline__ bool elect_one() {
  unsigned int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
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

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
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

// d (64x64, f32) = a (64x16) * b (16x64), added to d where `accumulate` is not 0: f16, A M-major in shared memory, B N-major.
__device__ __forceinline__ void wgmma_m64n64k16_f16_ss_mn_ab(float (&d)[32], unsigned long long a,
                                                             unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_source
using convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_source::convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_add;
using convtgen_grad_weight_patches_grad_weight_0638512d879a28c9_source::convtgen_grad_weight_patches_grad_weight_0638512d879a28c9;
