// conv_transpose2d 256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template patch_gemm: a block makes the outputs of 64 pixels at a time, of 64 channels; 4 taps; 193.2 KiB shared.
// Launch
//   sizes: batch 100, in_height 14, in_width 14; out_height 28, out_width 28
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 20070400 elements, written, 16-byte aligned
//     shape (N 100, H 28, W 28, Cout 256), contiguous
//   tensor x: 5017600 elements, read, 16-byte aligned
//     shape (N 100, H 14, W 14, Cin 256), contiguous
//   tensor weight: 262144 elements, read, 16-byte aligned
//     shape (Cin 256, Cout 256, KH 2, KW 2), contiguous
//   tensor bias: 256 elements, read, 2-byte aligned
//     shape (Cout 256), contiguous
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (256, 19600), byte pitches (512), box (64, 64), element strides (1, 1), swizzle 128, fill zero
//   tensor map weight_map of weight: f16, sizes (1024, 256), byte pitches (2048), box (64, 64), element strides (1, 1), swizzle 128, fill zero
//   kernel convtgen_patch_gemm_forward_a2ae076acc924de7
//     arguments TensorMap x_map, TensorMap weight_map, const unsigned short* bias, unsigned short* y, int batch
//     grid 132; block 384; shared 197840
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 197840)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 197840)

namespace convtgen_patch_gemm_forward_a2ae076acc924de7_source {

// ---- Constants ----

constexpr int kThreads = 384;
constexpr int kTilePixels = 64;
constexpr int kBoxColumns = 64;
constexpr int kPieceChannels = 32;
constexpr int kMatrices = 64;  // of a k-block, each four

// ---- Shared memory and packed weights, in bytes ----

constexpr int kRowBytes = 128;  // and the width of their swizzle
constexpr int kWeightBoxBytes = 8192;
constexpr int kWeightBytes = 32768;
constexpr int kPixelBytes = 128;  // and the width of their swizzle
constexpr int kStageBytes = 8192;
constexpr int kStagesOffset = 131072;
constexpr int kBarrierOffset = 196608;

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

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1);
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ bool elect_one();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void setmaxnreg_decrease_40();
__device__ __forceinline__ void setmaxnreg_increase_232();
__device__ __forceinline__ void wgmma_m64n256k16_f16_ss_mn_b(float (&d)[128], unsigned long long a,
                                                             unsigned long long b, int accumulate);

#endif

// ---- Stages ----

// Shared memory from its first stage on, and the stages' barriers.
struct Pipeline {
  unsigned char* shared;
  unsigned long long* full;
  unsigned long long* empty;
};

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 8; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 4);
  }
}

// Lane 0 arrives for its warp: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// The barriers of a k-block's weights, as they come and as they are arranged.
struct WeightBarriers {
  unsigned long long* landed;
  unsigned long long* arranged;
};

// ---- Producer ----

// Issues the copies of a k-block's weights, of the block's output channels.
__device__ __forceinline__ void copy_weights(unsigned char* shared, unsigned long long* landed,
                                             const TensorMap& weight_map, int first_out, int k_block) {
  unsigned char* to = shared + k_block * kWeightBytes;
  unsigned long long* barrier = &landed[k_block];
  mbarrier_arrive_expect(barrier, kWeightBytes);
  #pragma unroll
  for (int box = 0; box < 4; ++box) {
    tensor_load_2d(to + box * kWeightBoxBytes, weight_map, barrier, first_out * 4 + box * kBoxColumns, k_block * 64);
  }
}

// Issues all copies of a block, by one thread: of its tiles' pixels, and with those of the first tile the weights.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, unsigned long long* landed, const TensorMap& x_map,
                                           const TensorMap& weight_map, int first_tile, int next_tile, int tiles,
                                           int first_out) {
  unsigned int number = 0;  // of the block's k-blocks
  #pragma unroll 1
  for (int tile = first_tile; tile < tiles; tile += next_tile) {
    #pragma unroll 1
    for (int k_block = 0; k_block < 4; ++k_block) {
      const unsigned int stage = number % 8;
      unsigned long long* barrier = &pipeline.full[stage];
      mbarrier_wait(&pipeline.empty[stage], (number / 8 % 2) ^ 1);
      mbarrier_arrive_expect(barrier, kStageBytes);
      tensor_load_2d(pipeline.shared + kStagesOffset + stage * kStageBytes, x_map, barrier, k_block * 64,
                     tile * kTilePixels);
      if (tile == first_tile) {
        copy_weights(pipeline.shared, landed, weight_map, first_out, k_block);
      }
      ++number;
    }
  }
}

// ---- Weights ----

// The first of a piece's channels that a thread has, the `quarter`-th of four. In the second piece adjacent threads
// change their places, so that what they read together lies in different banks.
__device__ __forceinline__ int channel_of(int piece, int quarter) {
  return piece * kPieceChannels + (quarter ^ piece) * 8;
}

// Where a thread has a channel, the `channel`-th of its own, of a tap and piece: the group of eight columns, and which
// of its two there. Taps that are written together go to different banks.
__device__ __forceinline__ int group_of(int tap, int piece, int channel) {
  return (tap * 64 + piece * kPieceChannels) / 8 + (channel / 4 * 2 + (channel ^ tap) % 2);
}

// Where a column of a row is, in bytes.
__device__ __forceinline__ unsigned int weight_place(unsigned int row, unsigned int column) {
  const unsigned int moved = row * kRowBytes / 128 % 8;
  return column / kBoxColumns * kWeightBoxBytes + row * kRowBytes + ((column % kBoxColumns * 2) ^ (moved * 16));
}

// The first column, as they come, of a thread's vector.
__device__ __forceinline__ int vector_column(int quarter, int vector) {
  const int first = channel_of(vector / 4, quarter);
  return (first + vector % 4 * 2) * 4;
}

// The group of columns that gets this element of an even vector and of the next one.
__device__ __forceinline__ int vector_group(int vector, int element) {
  return group_of(element % 4, vector / 4, vector % 4 * 2 + element / 4);
}

// Four matrices, of a warp.
using Matrices = unsigned int[4];

__device__ __forceinline__ void read_matrices(Matrices& words, const unsigned char* weights, int number) {
  const int lane = threadIdx.x % 32;
  matrix_load_x4_transposed(words, weights + weight_place(number, vector_column(lane / 8, lane % 8)));
}

__device__ __forceinline__ void write_matrices(unsigned char* weights, const Matrices& words, int number) {
  const int vector = threadIdx.x % 4 * 2;
  *reinterpret_cast<uint4*>(weights +
                            weight_place(number + vector / 8 * 8, vector_group(vector % 8, threadIdx.x % 32 / 4) * 8)) =
      make_uint4(words[0], words[1], words[2], words[3]);
}

// Arranges a k-block's rows, by a warpgroup.
__device__ __forceinline__ void arrange_matrices(unsigned char* weights) {
  const int warp = threadIdx.x % 128 / 32;
  #pragma unroll
  for (int first = 0; first < kMatrices; first += 16) {
    Matrices words[4];
    #pragma unroll
    for (int held = 0; held < 4; ++held) {
      read_matrices(words[held], weights, first + held * 4 + warp);
    }
    __syncwarp();
    #pragma unroll
    for (int held = 0; held < 4; ++held) {
      write_matrices(weights, words[held], first + held * 4 + warp);
    }
  }
}

// Arranges a k-block's weights, by a warpgroup, for its products and those of others.
__device__ __forceinline__ void arrange_weights(unsigned char* weights) {
  arrange_matrices(weights);
  fence_proxy_async();
}

// Arranges the block's weights as they come, by a warpgroup.
__device__ __forceinline__ void arrange_all_weights(unsigned char* shared, const WeightBarriers& barriers) {
  #pragma unroll 1
  for (int k_block = 0; k_block < 4; ++k_block) {
    mbarrier_wait(&barriers.landed[k_block], 0);
    arrange_weights(shared + k_block * kWeightBytes);
    warp_arrive(&barriers.arranged[k_block]);
  }
}

// ---- Epilogue ----

// Every step of the chain in its order.
__device__ __forceinline__ float activate(float value) {
  value = value < 0 ? 0 : value;  // relu
  return value;
}

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = acc + bias;
  return activate(value);
}

using Accumulators = float[128];
// A thread's biases, of its channels of each piece. Its accumulators have the same channels in all tiles.
using Biases = float[16];

// Loads them from the bias of all channels; the block's channels begin at first_out.
__device__ __forceinline__ void load_biases(Biases& biases, const unsigned short* __restrict__ bias, int first_out,
                                            int quarter) {
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int channel = first_out + channel_of(i / 8, quarter) + i % 8;
    biases[i] = half_to_float(bias[channel]);
  }
}

// Stores the outputs of a tap of a pixel, `half` of the thread's two. `to` points to the block's first channel.
__device__ __forceinline__ void store_tap(unsigned short* to, const Accumulators& acc, const Biases& biases, int half,
                                          int tap, int quarter) {
  #pragma unroll
  for (int piece = 0; piece < 2; ++piece) {
    const int channel = piece * kPieceChannels + (quarter ^ piece) * 8;
    float outputs[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float sum =
          acc[((tap * 64 + piece * kPieceChannels) / 8 + (i / 4 * 2 + (i ^ tap) % 2)) * 4 + half * 2 + i / 2 % 2];
      outputs[i] = epilogue(sum, biases[piece * 8 + i]);
    }
    store_global_16(to + channel,
                    make_uint4(floats_to_half2(outputs[0], outputs[1]), floats_to_half2(outputs[2], outputs[3]),
                               floats_to_half2(outputs[4], outputs[5]), floats_to_half2(outputs[6], outputs[7])));
  }
}

// Stores a tile's outputs. `first` is its first pixel, of `pixels` in all.
__device__ __forceinline__ void store_outputs(unsigned short* __restrict__ y, const Accumulators& acc,
                                              const Biases& biases, int first, int pixels, int first_out) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int place = first + (threadIdx.x % 128 / 32 * 16 + half * 8 + threadIdx.x % 32 / 4);
    if (place < pixels) {
      const int row = place / 14;  // of all images
      const int column = place - row * 14;
      unsigned short* to = y + ((static_cast<long long>(row) * 56 + column * 2) * 256 + first_out);
      #pragma unroll
      for (int tap = 0; tap < 4; ++tap) {
        store_tap(to + (static_cast<long long>(tap / 2) * 28 + tap % 2) * 256, acc, biases, half, tap, threadIdx.x % 4);
      }
    }
  }
}

// ---- Products ----

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Issues the products of a k-block.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* pixels,
                                                 const unsigned char* weights, int accumulate) {
  const unsigned long long a = wgmma_descriptor(pixels, 0, 1024, kPixelBytes);
  const unsigned long long b = wgmma_descriptor(weights, kWeightBoxBytes, 1024, kRowBytes);
  wgmma_fence();
  // taps (0 to 1, 0 to 1)
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    wgmma_m64n256k16_f16_ss_mn_b(acc, wgmma_descriptor_move(a, k_step * 32), wgmma_descriptor_move(b, k_step * 2048),
                                 k_step > 0 ? 1 : accumulate);
  }
  wgmma_commit();
}

// The products of a tile, whose first k-block is of this number among the block's. The k-block before is read when only
// one group of products is in flight: its stage is released.
__device__ __forceinline__ void multiply_tile(Accumulators& acc, const Pipeline& pipeline, unsigned long long* arranged,
                                              unsigned int number) {
  pin(acc);
  #pragma unroll 1
  for (int k_block = 0; k_block < 4; ++k_block) {
    const unsigned int stage = number % 8;
    mbarrier_wait(&pipeline.full[stage], number / 8 % 2);
    mbarrier_wait(&arranged[k_block], 0);
    multiply_k_block(acc, pipeline.shared + kStagesOffset + stage * kStageBytes,
                     pipeline.shared + k_block * kWeightBytes, k_block > 0 ? 1 : 0);
    if (k_block > 0) {
      wgmma_wait(1);
      warp_arrive(&pipeline.empty[(number - 1) % 8]);
    }
    ++number;
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_patch_gemm_forward_a2ae076acc924de7(__grid_constant__ const TensorMap x_map,
                                                 __grid_constant__ const TensorMap weight_map,
                                                 const unsigned short* __restrict__ bias,
                                                 unsigned short* __restrict__ y, int batch) {
  const int pixels = batch * 196;  // of all images
  const int tiles = (pixels - 1) / kTilePixels + 1;
  // The block's output channels. Blocks that read the same pixels run together.
  const int first_out = blockIdx.x % 4 * 64;
  const int first_tile = blockIdx.x / 4;
  const int next_tile = gridDim.x / 4;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + 8;
  unsigned long long* landed = pipeline.empty + 8;
  const WeightBarriers of_weights = {landed, landed + 4};
  unsigned long long* turn = landed + 8;  // of a warpgroup, to multiply
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    tensor_prefetch(weight_map);
    init_stages(pipeline.full, pipeline.empty);
    for (int k_block = 0; k_block < 4; ++k_block) {
      mbarrier_init(&of_weights.landed[k_block], 1);
      mbarrier_init(&of_weights.arranged[k_block], 4);
    }
    for (int warpgroup = 0; warpgroup < 2; ++warpgroup) {
      mbarrier_init(&turn[warpgroup], 4);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_40();
    if (warp == 8 && elect_one()) {
      copy_tiles(pipeline, landed, x_map, weight_map, first_tile, next_tile, tiles, first_out);
    }
  } else {
    setmaxnreg_increase_232();
    const int warpgroup = warp / 4;
    Biases biases;
    load_biases(biases, bias, first_out, threadIdx.x % 4);
    if (warpgroup == 1) {
      // whose turn comes later
      arrange_all_weights(pipeline.shared, of_weights);
    }
    unsigned int number = warpgroup;  // of the block's tiles
    #pragma unroll 1
    for (int tile = first_tile + warpgroup * next_tile; tile < tiles; tile += 2 * next_tile) {
      // The first tile's waits end at once: a new barrier's phase before is complete.
      mbarrier_wait(&turn[warpgroup], (number - 1) / 2 % 2);
      Accumulators acc = {};
      multiply_tile(acc, pipeline, of_weights.arranged, number * 4);
      warp_arrive(&turn[1 - warpgroup]);
      wgmma_wait(0);
      pin(acc);
      warp_arrive(&pipeline.empty[(number * 4 + 3) % 8]);
      store_outputs(y, acc, biases, tile * kTilePixels, pixels, first_out);
      number += 2;
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

// Loads the box at these coordinates of a 2-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1)
      : "memory");
}

// Fetches the map itself ahead of its first use. A hint: no effect that could be seen.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Orders this thread's accesses to shared memory before those of TMA and wgmma after the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// Gives back the registers of each thread of this warpgroup beyond 40. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_40() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}

// Waits until each thread of this warpgroup can have 232 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_232() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

// d (64x256, f32) = a (64x16) * b (16x256), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B N-major.
__device__ __forceinline__ void wgmma_m64n256k16_f16_ss_mn_b(float (&d)[128], unsigned long long a,
                                                             unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_patch_gemm_forward_a2ae076acc924de7_source
using convtgen_patch_gemm_forward_a2ae076acc924de7_source::convtgen_patch_gemm_forward_a2ae076acc924de7;
