// conv_transpose3d 64 -> 32; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; input ?x12x16x24; dtype f16; compute f16; layout nhwc; directions grad_input
// grad_input for sm_90a. Template tap_gemm: a block makes 128 inputs of 64 channels; 27 taps; 145.1 KiB shared.
// Launch
//   sizes: batch, in_depth 12, in_height 16, in_width 24; out_depth 24, out_height 32, out_width 48
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 294912 * batch elements, written, 16-byte aligned
//     shape (N batch, D 12, H 16, W 24, Cin 64), contiguous
//   tensor grad_y: 1179648 * batch elements, read, 16-byte aligned
//     shape (N batch, D 24, H 32, W 48, Cout 32), contiguous
//   tensor weight: 55296 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 32, KD 3, KH 3, KW 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 110592 bytes, a packed copy of the weights; kept for later calls
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map grad_y_map of grad_y: f16, sizes (32, 48, 32, 24, batch), byte pitches (64, 3072, 98304, 2359296), box (32, 7, 15, 9, 1), element strides (1, 2, 2, 2, 1), swizzle 64, fill zero
//   kernel convtgen_tap_gemm_grad_input_812d7f8ce0cae606_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 27; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_tap_gemm_grad_input_812d7f8ce0cae606
//     arguments TensorMap grad_y_map, const unsigned char* packed, unsigned short* grad_x, int batch
//     grid min(132, 36 * batch); block 288; shared 148608
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 148608)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 148608)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_tap_gemm_grad_input_812d7f8ce0cae606_source {

// ---- Constants ----

constexpr int kThreads = 288;
constexpr int kTaps = 27;
constexpr int kImagePositions = 32;
constexpr int kBoxPositions = 128;
constexpr int kFirstTaps = 18;
constexpr int kStoredChannels = 64;
constexpr int kSwizzle = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kBoxBytes = 10240;
constexpr int kInputBytes = 10240;
constexpr int kWeightBytes = 4096;
constexpr int kStageBytes = 18432;
constexpr int kBarrierOffset = 147456;
constexpr long long kPackedTileBytes = 110592ll;

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void grid_dependents_launch();
__device__ __forceinline__ void grid_dependency_wait();

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_5d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3, int c4);
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier);
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void wgmma_m64n64k16_f16_ss(float (&d)[32], unsigned long long a, unsigned long long b,
                                                       int accumulate);

#endif

// ---- Packing ----

// The input channel of the tile at column n of a product: eight of a thread's accumulators are adjacent channels.
__device__ __forceinline__ int channel_of_column(int n) {
  return n / 32 * 32 + n / 2 % 4 * 8 + n / 8 % 4 * 2 + n % 2;
}

// Packs a vector of output channels: adjacent threads read adjacent weights.
__device__ __forceinline__ void pack(const unsigned short* __restrict__ weight, unsigned char* __restrict__ packed,
                                     int index) {
  const int tap = index % kTaps;
  const int all_vectors = index / kTaps % 4;
  const int n = index / 108 % 64;
  const int n_tile = index / 6912;
  const int ci = n_tile * 64 + channel_of_column(n);
  const int co = all_vectors * 8;
  unsigned int words[4];
  #pragma unroll
  for (int word = 0; word < 4; ++word) {
    const long long low = (static_cast<long long>(ci) * 32 + (co + 2 * word)) * kTaps + tap;
    words[word] = static_cast<unsigned int>(weight[low]) | (static_cast<unsigned int>(weight[low + 27]) << 16);
  }
  const int vector = all_vectors ^ (n / 2 % 4);  // its place in the row's swizzle
  *reinterpret_cast<uint4*>(packed + n_tile * kPackedTileBytes + tap * kWeightBytes + n * kSwizzle + vector * 16) =
      make_uint4(words[0], words[1], words[2], words[3]);
}

// Packs the weights by N tile, tap and k-block: rows of output channels, one for each input channel of the tile.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_tap_gemm_grad_input_812d7f8ce0cae606_pack(const unsigned short* __restrict__ weight,
                                                       unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
}

// ---- Tiles and stages ----

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 8; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 8);
  }
}

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 7 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// The first position of a box.
struct Place {
  int image;
  int row;
  int column;
};

__device__ __forceinline__ Place place_of(int box) {
  return {box / 12, box / 6 % 2 * 8, box % 6 * 4};
}

// Releases a stage to the producers of all blocks that write to it, after the warp's wait for its products.
__device__ __forceinline__ void release_to_cluster(unsigned long long* empty, int lane) {
  if (lane < 1) {
    mbarrier_arrive(empty);
  }
}

// ---- Producer ----

// Copies the block's part of a tap's weights, to all blocks of the cluster.
__device__ __forceinline__ void copy_weights(unsigned char* to, const unsigned char* from, unsigned long long* full) {
  bulk_load(to, from, kWeightBytes, full);
}

// Copies all stages of a tile, by one warp: each lane brings a box, the first one also the block's part of the weights.
// Bytes may arrive before they are expected: the stage is not full before the first lane's arrival.
__device__ __forceinline__ void copy_tile(unsigned char* shared, const TensorMap& grad_y_map,
                                          const unsigned char* weights, unsigned long long* full,
                                          unsigned long long* empty, const Place& place, int lane, int& stage,
                                          unsigned int& parity) {
  const int plane = place.image % 3 * 8 - 1;
  const int row = place.row * 2 - 1;
  const int column = place.column * 2 - 1;
  // taps (0 to 2, 0 to 2)
  #pragma unroll 1
  for (int tap = 0; tap < kFirstTaps; ++tap) {
    const int tap_plane = plane + tap / 9;
    const int tap_row = row + tap / 3 % 3;
    const int tap_column = column + tap % 3;
    unsigned char* to = shared + stage * kStageBytes;
    mbarrier_wait(&empty[stage], parity);
    if (lane == 0) {
      const int taps = tap < 9 ? 2 : 1;
      mbarrier_arrive_expect(&full[stage], kInputBytes + taps * kWeightBytes);
      #pragma unroll 1
      for (int i = 0; i < taps; ++i) {
        copy_weights(to + kInputBytes + i * kWeightBytes, weights + (tap + i * 18) * kWeightBytes, &full[stage]);
      }
    }
    if (lane < 1) {
      tensor_load_5d(to + lane * kBoxBytes, grad_y_map, &full[stage], 0, tap_column, tap_row, tap_plane,
                     place.image / 3);
    }
    next_stage(stage, parity);
  }
}

// ---- Products ----

using Accumulators = float[1][32];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    wgmma_pin(acc[0][i]);
  }
}

// The same of a stage that so many taps of the depth share: each begins at another plane.
__device__ __forceinline__ void multiply_shared_stage(Accumulators& acc, const unsigned char* stage, int warpgroup,
                                                      int accumulate) {
  const unsigned long long a = wgmma_descriptor(stage + (warpgroup == 0 ? 0 : 64) * kSwizzle, 0, 512, kSwizzle);
  const unsigned long long b = wgmma_descriptor(stage + kInputBytes, 0, 512, kSwizzle);
  wgmma_fence();
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    #pragma unroll
    for (int k_step = 0; k_step < 2; ++k_step) {
      wgmma_m64n64k16_f16_ss(acc[0], wgmma_descriptor_move(a, tap * 2048 + k_step * 32),
                             wgmma_descriptor_move(b, tap * kWeightBytes + k_step * 32),
                             tap + k_step > 0 ? 1 : accumulate);
    }
  }
  wgmma_commit();
  wgmma_wait(1);
}

// The same of a stage that so many taps of the depth share: each begins at another plane.
__device__ __forceinline__ void multiply_shared_stage_2(Accumulators& acc, const unsigned char* stage, int warpgroup,
                                                        int accumulate) {
  const unsigned long long a = wgmma_descriptor(stage + (warpgroup == 0 ? 0 : 64) * kSwizzle, 0, 512, kSwizzle);
  const unsigned long long b = wgmma_descriptor(stage + kInputBytes, 0, 512, kSwizzle);
  wgmma_fence();
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    wgmma_m64n64k16_f16_ss(acc[0], wgmma_descriptor_move(a, k_step * 32), wgmma_descriptor_move(b, k_step * 32),
                           k_step > 0 ? 1 : accumulate);
  }
  wgmma_commit();
  wgmma_wait(1);
}

// Makes the products of the stages of a tile, each of so many taps of the depth.
__device__ __forceinline__ void multiply_shared_stages(Accumulators& acc, const unsigned char* shared,
                                                       unsigned long long* full, unsigned long long* empty,
                                                       int warpgroup, int lane, int& stage, unsigned int& parity) {
  #pragma unroll 1
  for (int k = 0; k < 9; ++k) {
    mbarrier_wait(&full[stage], parity);
    multiply_shared_stage(acc, shared + stage * kStageBytes, warpgroup, k > 0 ? 1 : 0);
    if (k > 0) {
      release_to_cluster(&empty[stage == 0 ? 7 : stage - 1], lane);
    }
    next_stage(stage, parity);
  }
}

// Makes the products of the stages of a tile, each of so many taps of the depth.
__device__ __forceinline__ void multiply_shared_stages_2(Accumulators& acc, const unsigned char* shared,
                                                         unsigned long long* full, unsigned long long* empty,
                                                         int warpgroup, int lane, int& stage, unsigned int& parity) {
  #pragma unroll 1
  for (int k = 9; k < 18; ++k) {
    mbarrier_wait(&full[stage], parity);
    multiply_shared_stage_2(acc, shared + stage * kStageBytes, warpgroup, 1);
    release_to_cluster(&empty[stage == 0 ? 7 : stage - 1], lane);
    next_stage(stage, parity);
  }
}

// ---- Epilogue ----

// Stores a thread's accumulators: of each position eight adjacent channels of 32.
__device__ __forceinline__ void store_tile(const Accumulators& acc, unsigned short* __restrict__ grad_x, int first_box,
                                           int warp, int lane, int batch) {
  const int channel = lane % 4 * 8;
  // Pinned, so that no place is found before the products and kept in registers that they need.
  unsigned int first = warp * 16 + lane / 4;
  wgmma_pin_operand(first);
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int m = half * 8 + static_cast<int>(first);
    const Place place = place_of(first_box + m / kBoxPositions);
    const int image = place.image / 3;
    const int plane = place.image % 3 * 4 + m % kBoxPositions / kImagePositions;
    const int row = place.row + m / 4 % 8;
    const int column = place.column + m % 4;
    if (image < batch && row < 16 && column < 24) {
      unsigned short* to =
          grad_x + (((static_cast<long long>(image) * 12 + plane) * 16 + row) * 24 + column) * 64 + channel;
      #pragma unroll
      for (int i = 0; i < kStoredChannels; i += 32) {
        float values[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
          values[v] = acc[0][i / 2 + v / 2 * 4 + half * 2 + v % 2];
        }
        store_global_16(to + i,
                        make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                   floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_tap_gemm_grad_input_812d7f8ce0cae606(__grid_constant__ const TensorMap grad_y_map,
                                                  const unsigned char* packed, unsigned short* __restrict__ grad_x,
                                                  int batch) {
  const int all_boxes = batch * 36;
  // A cluster makes tiles of the same input channels, of positions that follow one another. Those that have the same
  // positions are made together.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 8;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  int stage = 0;
  if (warp >= 8) {
    grid_dependency_wait();  // the weights are packed
    unsigned int parity = 1;
    for (int tile = first_tile; tile < all_boxes; tile += next_tile) {
      const Place place = place_of(tile + lane);
      copy_tile(shared, grad_y_map, packed, full, empty, place, lane, stage, parity);
    }
  } else {
    unsigned int parity = 0;
    Accumulators acc = {};
    for (int tile = first_tile; tile < all_boxes; tile += next_tile) {
      pin(acc);
      multiply_shared_stages(acc, shared, full, empty, warp / 4, lane, stage, parity);
      multiply_shared_stages_2(acc, shared, full, empty, warp / 4, lane, stage, parity);
      wgmma_wait(0);
      pin(acc);
      release_to_cluster(&empty[stage == 0 ? 7 : stage - 1], lane);
      store_tile(acc, grad_x, tile, warp, lane, batch);
    }
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

// Lets the launch after this one begin, as soon as all blocks have said so or ended.
__device__ __forceinline__ void grid_dependents_launch() {
  asm volatile("griddepcontrol.launch_dependents;");
}

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
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

// Copies `bytes` (a multiple of 16) from global to shared memory, both aligned to 16; reports to an mbarrier.
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
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

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// d (64x64, f32) = a (64x16) * b (16x64), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B K-major.
__device__ __forceinline__ void wgmma_m64n64k16_f16_ss(float (&d)[32], unsigned long long a, unsigned long long b,
                                                       int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_tap_gemm_grad_input_812d7f8ce0cae606_source
using convtgen_tap_gemm_grad_input_812d7f8ce0cae606_source::convtgen_tap_gemm_grad_input_812d7f8ce0cae606_pack;
using convtgen_tap_gemm_grad_input_812d7f8ce0cae606_source::convtgen_tap_gemm_grad_input_812d7f8ce0cae606;
