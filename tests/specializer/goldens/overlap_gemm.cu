// conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template overlap_gemm: a block makes 16x12 outputs of 16 channels of 4 images; 16 taps; 225.1 KiB shared.
// Launch
//   sizes: batch 32, in_height 8, in_width 6; out_height 16, out_width 12
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 1572864 elements, written, 16-byte aligned
//     shape (N 32, H 16, W 12, Cout 256), contiguous
//   tensor x: 3145728 elements, read, 16-byte aligned
//     shape (N 32, H 8, W 6, Cin 2048), contiguous
//   tensor weight: 8388608 elements, read, 16-byte aligned
//     shape (Cin 2048, Cout 256, KH 4, KW 4), contiguous
//   tensor bias: 256 elements, read, 2-byte aligned
//     shape (Cout 256), contiguous
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (2048, 6, 8, 32), byte pitches (4096, 24576, 196608), box (64, 6, 8, 4), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map weight_map of weight: f16, sizes (4096, 2048), byte pitches (8192), box (64, 64), element strides (1, 1), swizzle 128, fill zero
//   kernel convtgen_overlap_gemm_forward_36218d07704022dd
//     arguments TensorMap x_map, TensorMap weight_map, const unsigned short* bias, unsigned short* y, int batch
//     grid 128; block 384; shared 230464
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 230464)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 230464)

namespace convtgen_overlap_gemm_forward_36218d07704022dd_source {

// ---- Constants ----

constexpr int kKBlocks = 32;
constexpr int kThreads = 384;
constexpr int kBoxColumns = 64;
constexpr int kWeightSwizzle = 128;
constexpr int kInputSwizzle = 128;
constexpr int kInputStep = 32;  // of a k-step
constexpr int kPixelPitch = 264;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kWeightBoxBytes = 8192;
constexpr int kInputBytes = 24576;
constexpr int kStageBytes = 57344;
constexpr int kCopiedBytes = 57344;
constexpr int kBarrierOffset = 229376;

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
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map);
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void wgmma_m64n256k16_f16_ss_mn_b(float (&d)[128], unsigned long long a,
                                                             unsigned long long b, int accumulate);

#endif

// Shared memory from its first stage on, and the stages' barriers.
struct Pipeline {
  unsigned char* shared;
  unsigned long long* full;
  unsigned long long* empty;
};

// ---- Producer ----

// Issues the copies of a k-block to a stage: the tile's pixels and weights.
__device__ __forceinline__ void copy_stage(unsigned char* shared, const TensorMap& x_map, const TensorMap& weight_map,
                                           unsigned long long* full, int image, int row, int column, int channel,
                                           int k_block, int stage) {
  unsigned char* to = shared + stage * kStageBytes;
  unsigned long long* barrier = &full[stage];
  const int first = k_block * 64;  // input channel
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  tensor_load_4d(to, x_map, barrier, first, column, row, image);
  #pragma unroll
  for (int box = 0; box < 4; ++box) {
    tensor_load_2d(to + kInputBytes + box * kWeightBoxBytes, weight_map, barrier, channel * 16 + box * kBoxColumns,
                   first);
  }
}

// ---- Products ----

using Accumulators = float[1][128];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    wgmma_pin(acc[0][i]);
  }
}

// Issues the products of a stage of a warpgroup, and waits for those of the stage before if it is copied to again.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* input,
                                               const unsigned char* weights, int warpgroup, int accumulate) {
  const unsigned char* rows = input + warpgroup * 8192;
  const unsigned long long a = wgmma_descriptor(rows, 0, 1024, kInputSwizzle);
  const unsigned long long b = wgmma_descriptor(weights, kWeightBoxBytes, 1024, kWeightSwizzle);
  wgmma_fence();
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    wgmma_m64n256k16_f16_ss_mn_b(acc[0], wgmma_descriptor_move(a, k_step * kInputStep),
                                 wgmma_descriptor_move(b, k_step * 2048), k_step > 0 ? 1 : accumulate);
  }
  wgmma_commit();
  wgmma_wait(1);
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

// A tile: its first image, output channel, output row and column; and its first row and column of the input.
struct Tile {
  int image;
  int channel;
};

// Writes a thread's products.
__device__ __forceinline__ void put_products(float* products, const float (&acc)[1][128], int warpgroup, int thread) {
  const int row = warpgroup * 64 + thread / 32 % 4 * 16 + thread % 32 / 4;
  float* to = products + (row * kPixelPitch + thread % 4 * 2);
  #pragma unroll
  for (int i = 0; i < 128; i += 2) {
    const int pixel = i / 2 % 2 * 8;
    const int column = i / 4 * 8 + i / 64 * 2;  // groups of eight channels are whole eights of columns
    *reinterpret_cast<float2*>(to + pixel * kPixelPitch + column) = make_float2(acc[0][i], acc[0][i + 1]);
  }
}

// The places of an output's taps along an axis: their numbers are stride * t + phase.
struct Place {
  unsigned int at;  // the tile's input for t = 0; before it for others
  unsigned int phase;
};

// Of an output of the tile.
__device__ __forceinline__ Place row_place(unsigned int row) {
  const unsigned int padded = row + 1;
  return {padded / 2, padded % 2};
}

__device__ __forceinline__ Place column_place(unsigned int column) {
  const unsigned int padded = column + 1;
  return {padded / 2, padded % 2};
}

// Adds up the products of adjacent channels' taps, `channel` and those after it, in the order of the taps. What a tap
// lacks is read from the first product, and not added: so all loads are issued before the first is in.
__device__ __forceinline__ void add_taps(float (&sums)[8], const float* products, unsigned int image, const Place& row,
                                         const Place& column, unsigned int channel) {
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums[i] = 0;
  }
  #pragma unroll
  for (unsigned int tap_h = 0; tap_h < 2; ++tap_h) {
    #pragma unroll
    for (unsigned int tap_w = 0; tap_w < 2; ++tap_w) {
      const bool exists = row.at - tap_h < 8 && column.at - tap_w < 6;
      const unsigned int pixel = (image * 8 + (row.at - tap_h)) * 6 + (column.at - tap_w);
      const unsigned int tap = (tap_h * 2 + row.phase) * 4 + tap_w * 2 + column.phase;
      const float* from = products + (exists ? pixel * kPixelPitch + (channel * 16 + tap + channel / 8 * 2) : 0);
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float v = from[i * 16];
        sums[i] += exists ? v : 0;
      }
    }
  }
}

// Stores the tile's outputs: a thread some channels of one pixel after the other.
__device__ __forceinline__ void store_pixels(unsigned short* __restrict__ y, const float* products,
                                             const unsigned short* __restrict__ bias, const Tile& tile, int batch) {
  const unsigned int thread = threadIdx.x;
  const unsigned int channel = thread % 2 * 8;
  const int out_channel = tile.channel + static_cast<int>(channel);
  float biases[8];
  #pragma unroll
  for (int v = 0; v < 8; ++v) {
    biases[v] = half_to_float(bias[out_channel + v]);
  }
  #pragma unroll 2
  for (unsigned int i = thread / 2; i < 768; i += 192) {
    const unsigned int image = i / 192;
    const unsigned int row = i / 12 % 16;
    const unsigned int column = i % 12;
    const int out_image = tile.image + static_cast<int>(image);
    const int out_row = static_cast<int>(row);
    const int out_column = static_cast<int>(column);
    if (out_image < batch) {
      float values[8];
      add_taps(values, products, image, row_place(row), column_place(column), channel);
      #pragma unroll
      for (int v = 0; v < 8; ++v) {
        values[v] = epilogue(values[v], biases[v]);
      }
      store_global_16(y + ((static_cast<long long>(out_image) * 16 + out_row) * 12 + out_column) * 256 + out_channel,
                      make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                 floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
    }
  }
}

// ---- Kernel ----

// Images of a call, rows and columns of its inputs and outputs, and tiles of an image.
struct CallSizes {
  int batch;
};

// Tiles that have adjacent numbers have the same pixels.
__device__ __forceinline__ Tile tile_at(int index) {
  const int place = index / 16;
  Tile tile;
  tile.image = place * 4;
  tile.channel = index % 16 * 16;
  return tile;
}

// Issues the first copies of a tile, by one thread.
__device__ __forceinline__ void begin_tile(const Pipeline& pipeline, const TensorMap& x_map,
                                           const TensorMap& weight_map, const Tile& tile) {
  for (int k_block = 0; k_block < 4; ++k_block) {
    copy_stage(pipeline.shared, x_map, weight_map, pipeline.full, tile.image, 0, 0, tile.channel, k_block, k_block);
  }
}

// The products of a tile whose first copies are issued: the block's tile of this number.
__device__ __forceinline__ void multiply_tile(Accumulators& acc, const Pipeline& pipeline, const TensorMap& x_map,
                                              const TensorMap& weight_map, const Tile& tile) {
  unsigned char* shared = pipeline.shared;
  const int thread = threadIdx.x;
  const int warpgroup = warp_uniform(thread / 128);
  pin(acc);
  #pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    // A stage is copied again some stages after this warp has read it: other warps may be slower.
    const int next = k_block + 2;
    if (thread == 0 && k_block >= 2 && next < kKBlocks) {
      mbarrier_wait(&pipeline.empty[next % 4], (next / 4 - 1) % 2);
      copy_stage(shared, x_map, weight_map, pipeline.full, tile.image, 0, 0, tile.channel, next, next % 4);
    }
    __syncwarp();
    const int of_stage = k_block % 4;
    mbarrier_wait(&pipeline.full[of_stage], k_block / 4 % 2);
    const unsigned char* stage = shared + of_stage * kStageBytes;
    multiply_stage(acc, stage, stage + kInputBytes, warpgroup, k_block > 0 ? 1 : 0);
    if (k_block > 0 && thread % 32 == 0) {
      mbarrier_arrive(&pipeline.empty[(k_block - 1) % 4]);
    }
  }
  wgmma_wait(0);
  pin(acc);
}

// Makes the outputs of a tile of its products.
__device__ __forceinline__ void store_tile(const Accumulators& acc, unsigned char* shared, const Tile& tile,
                                           const unsigned short* __restrict__ bias, unsigned short* __restrict__ y,
                                           const CallSizes& sizes) {
  const int thread = threadIdx.x;
  float* products = reinterpret_cast<float*>(shared);
  put_products(products, acc, warp_uniform(thread / 128), thread);
  __syncthreads();
  store_pixels(y, products, bias, tile, sizes.batch);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_overlap_gemm_forward_36218d07704022dd(__grid_constant__ const TensorMap x_map,
                                                   __grid_constant__ const TensorMap weight_map,
                                                   const unsigned short* __restrict__ bias,
                                                   unsigned short* __restrict__ y, int batch) {
  CallSizes sizes;
  sizes.batch = batch;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + 4;
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    tensor_prefetch(weight_map);
    for (int stage = 0; stage < 4; ++stage) {
      mbarrier_init(&pipeline.full[stage], 1);
      mbarrier_init(&pipeline.empty[stage], 12);
    }
    fence_mbarrier_init();
    const unsigned int index = blockIdx.x;
    begin_tile(pipeline, x_map, weight_map, tile_at(static_cast<int>(index)));
  }
  __syncthreads();

  const Tile tile = tile_at(blockIdx.x);
  Accumulators acc = {};
  multiply_tile(acc, pipeline, x_map, weight_map, tile);
  __syncthreads();  // all warpgroups have read the stages
  store_tile(acc, pipeline.shared, tile, bias, y, sizes);
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

// Loads the box at these coordinates of a 4-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// Fetches the map itself ahead of its first use. A hint: no effect that could be seen.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
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

}  // namespace convtgen_overlap_gemm_forward_36218d07704022dd_source
using convtgen_overlap_gemm_forward_36218d07704022dd_source::convtgen_overlap_gemm_forward_36218d07704022dd;
