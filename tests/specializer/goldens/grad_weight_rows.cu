// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute tf32; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_rows: a block makes 3x7 taps of 32 by 32 channels; 132 slices; 169.0 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 21504 elements, written, 4-byte aligned
//     shape (Cin 32, Cout 32, KH 3, KW 7), contiguous
//   tensor x: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cin 32, H 512, W 1024), contiguous
//   tensor grad_y: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 11354112 bytes, sums of slices of the positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: tf32, sizes (1024, 32, 512, 8), byte pitches (2097152, 4096, 67108864), box (32, 32, 10, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map grad_y_map of grad_y: tf32, sizes (1024, 32, 512, 8), byte pitches (2097152, 4096, 67108864), box (44, 32, 8, 1), element strides (1, 1, 1, 1), swizzle 0, fill zero
//   kernel convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee
//     arguments TensorMap x_map, TensorMap grad_y_map, float* partial, int batch
//     grid 132; block 288; shared 173088
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 173088)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 173088)
//   kernel convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_add
//     arguments const float* partial, float* grad_weight
//     grid 84; block 256; shared 0

namespace convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_source {

// ---- Constants ----

constexpr int kGroupOut = 32;
constexpr long long kWeights = 21504ll;
constexpr int kConsumers = 256;
constexpr int kTapPitch = 37;
constexpr int kColumnPitch = 260;
constexpr int kVectors = 224;  // of a column
constexpr int kVectorThreads = 224;
constexpr int kThreads = 288;
constexpr int kKSteps = 32;
constexpr int kStoredColumns = 96;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kOperandBytes = 4096;  // a row's part
constexpr int kInputBytes = 40960;
constexpr int kPitchBytes = 176;  // of a channel's row
constexpr int kRowBytes = 5632;   // of all channels' row
constexpr int kStageBytes = 86016;
constexpr int kBarrierOffset = 172032;  // mbarriers

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
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void wgmma_m64n96k8_tf32_rs(float (&d)[48], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate);

#endif

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[48];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / 2, 6);
}

__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % 2 * 16;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 48; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 2; ++stage) {
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
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  Target target;
  target.slice = block;
  return target;
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
  const int element = 1 + tap % 7;
  const int bytes = tap / 7 * kRowBytes + channel * kPitchBytes;
  Place place;
  place.first = bytes + (lane % 4 + element) * 4;
  return place;
}

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// Loads an A fragment: 16 rows of the warp by the positions of a step. Half of these are 4 elements, or words, on.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int step, const Place& place) {
  const int row = step / 4 * kRowBytes;
  const int pixel = step % 4 * 32;
  const unsigned char* from = shared + offset + kInputBytes + place.first + (row + pixel);
  fragment[0] = shared_word(from);
  fragment[1] = shared_word(from + 1408);
  fragment[2] = shared_word(from + 16);
  fragment[3] = shared_word(from + 1424);
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 0, 1024, 128);
}

__device__ __forceinline__ int input_of_step(int step) {
  const int pixel = step % 4 * 8;
  return step / 4 * kOperandBytes + pixel * 4;
}

// One thread's A fragments of what is issued at once.
using Fragments = unsigned int[2][4];

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[2], const unsigned char* shared, int offset,
                                               const Place (&places)[2]) {
  const unsigned long long input = input_descriptor(shared + offset);
  Fragments fragments[2];
  // taps (0 to 2, 0 to 6)
  #pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
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
      wgmma_m64n96k8_tf32_rs(acc[tile], fragments[step % 2][tile], wgmma_descriptor_move(input, input_of_step(step)),
                             1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % 7 * kTapPitch + row / 7;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target, float* __restrict__ partial,
                                              int thread) {
  const int place = thread / kVectorThreads;
  const int end = place < 1 ? 96 : 0;
  for (int vector = thread % kVectorThreads; vector < kVectors; vector += kVectorThreads) {
    const int tap = vector % 7;
    const int channel = vector / 7;
    #pragma unroll 2
    for (int column = place; column < end; ++column) {
      const int kh = 2 - column / 32;
      const int ci = column % 32;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(ci) * kGroupOut + channel) * 3 + kh) * 7 + tap;
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
    if (rows < 14) {
      float* to = columns + lane % 4 * 520 + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
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
__device__ __forceinline__ void consume_stage(Accumulators (&acc)[2], const Place (&places)[2],
                                              const unsigned char* shared, unsigned long long* full,
                                              unsigned long long* empty, int consumed, int lane) {
  const int stage = consumed % 2;
  mbarrier_wait(&full[stage], consumed / 2 % 2);
  pin(acc);
  multiply_stage(acc, shared, stage * kStageBytes, places);
  pin(acc);
  release_stage(&empty[stage], lane);
}

// ---- Producer ----

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
  tile.row = static_cast<int>(index % 64) * 8;
  tile.column = static_cast<int>(index / 64 % 32) * 32;
  return tile;
}

// ---- By tensor copies ----

// Issues the copies of a stage: a box for each part of the rows of x, and one of grad_y.
__device__ __forceinline__ void copy_stage(unsigned char* stage, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Tile& tile) {
  mbarrier_arrive_expect(full, 86016);
  tensor_load_4d(stage, x_map, full, tile.column, 0, tile.row - 1, tile.image);
  tensor_load_4d(stage + kInputBytes, grad_y_map, full, tile.column - 4, 0, tile.row, tile.image);
}

// ---- Kernels ----

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_add(const float* __restrict__ partial,
                                                               float* __restrict__ grad_weight) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 21504) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 132; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee(__grid_constant__ const TensorMap x_map,
                                                           __grid_constant__ const TensorMap grad_y_map,
                                                           float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 2048;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 132;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 132 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 2;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= 2) {
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      for (int issued = 0; issued < count; ++issued) {
        const int stage = issued % 2;
        if (issued >= 2) {
          mbarrier_wait(&empty[stage], (issued / 2 - 1) % 2);
        }
        Tile tile = tile_at(first_tile + issued);
        if (thread == 0) {
          copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], tile);
        }
      }
    }
  } else {
    const int thread = threadIdx.x;
    Place places[2];
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const int rows = (tile * 2 + warpgroup) * 4 + thread / 32 % 4;
      places[tile] = place_of_rows(rows, thread % 32);
    }
    Accumulators acc[2] = {};
    for (int consumed = 0; consumed < count; ++consumed) {
      consume_stage(acc, places, shared, full, empty, consumed, thread % 32);
    }
    store_block(acc, reinterpret_cast<float*>(shared), target, partial, warpgroup, thread);
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

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}

// d (64x96, f32) = a (64x8) * b (8x96), added to d where `accumulate` is not 0: tf32, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n96k8_tf32_rs(float (&d)[48], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %53, 0; wgmma.mma_async.sync.aligned.m64n96k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, p, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_source
using convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_source::convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_add;
using convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee_source::convtgen_grad_weight_rows_grad_weight_a9bdc48e081e62ee;
