// conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480; bias; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template overlap_gemm: a block makes 40x56 outputs of 1 channels; 81 taps; 109.0 KiB shared.
// Launch
//   sizes: batch 1, in_height 270, in_width 480; out_height 1080, out_width 1920
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 2073600 elements, written, 16-byte aligned
//     shape (N 1, H 1080, W 1920, Cout 1), contiguous
//   tensor x: 7257600 elements, read, 16-byte aligned
//     shape (N 1, H 270, W 480, Cin 56), contiguous
//   tensor weight: 4536 elements, read, 16-byte aligned
//     shape (Cin 56, Cout 1, KH 9, KW 9), contiguous
//   tensor bias: 1 elements, read, 2-byte aligned
//     shape (Cout 1), contiguous
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (56, 480, 270, 1), byte pitches (112, 53760, 14515200), box (64, 16, 12, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   kernel convtgen_overlap_gemm_forward_b704c582f63db782
//     arguments TensorMap x_map, const unsigned short* weight, const unsigned short* bias, unsigned short* y, int batch
//     grid 264; block 384; shared 111632
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 111632)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 111632)

namespace convtgen_overlap_gemm_forward_b704c582f63db782_source {

// ---- Constants ----

constexpr int kThreads = 384;
constexpr int kOutRows = 40;
constexpr int kBoxColumns = 64;
constexpr int kWeightSwizzle = 128;
constexpr int kInputSwizzle = 128;
constexpr int kInputStep = 32;  // of a k-step
constexpr int kColumnPitch = 196;
constexpr int kWeightThreads = 384;
constexpr int kWeightColumns = 81;
constexpr int kWeightVectors = 567;  // of 16 bytes

// ---- Shared memory and packed weights, in bytes ----

constexpr int kRowBytes = 128;
constexpr int kWeightBoxBytes = 8192;
constexpr int kWeightBytes = 16384;
constexpr int kCopiedBytes = 24576;
constexpr int kProductsOffset = 24576;
constexpr int kResidentOffset = 94208;
constexpr int kBarrierOffset = 110592;

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void wgmma_m64n88k16_f16_ss_mn_b(float (&d)[44], unsigned long long a, unsigned long long b,
                                                            int accumulate);

#endif

// Shared memory from its first stage on, and the stages' barriers.
struct Pipeline {
  unsigned char* shared;
  unsigned long long* full;
};

// ---- Elements ----

__device__ __forceinline__ unsigned int weight_place(unsigned int ci, unsigned int column) {
  const unsigned int place = column / kBoxColumns * kWeightBoxBytes + ci % 64 * kRowBytes + column % kBoxColumns * 2;
  return ci / 64 * kWeightBytes + (place ^ ((place >> 3) & 112));
}

// ---- Producer ----

// Issues the copies of a k-block to a stage: the tile's pixels and weights.
__device__ __forceinline__ void copy_stage(unsigned char* shared, const TensorMap& x_map, unsigned long long* full,
                                           int image, int row, int column) {
  unsigned char* to = shared;
  unsigned long long* barrier = &full[0];
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  tensor_load_4d(to, x_map, barrier, 0, column, row, image);
}

// Loads a thread's vectors from its first one on.
__device__ __forceinline__ void load_vectors(uint4 (&vectors)[4], const unsigned short* __restrict__ weight,
                                             unsigned int first) {
  #pragma unroll
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int at = first + i * kWeightThreads;
    if (at < kWeightVectors) {
      vectors[i] = load_constant_16(weight + at * 8);
    }
  }
}

__device__ __forceinline__ void put_vectors(unsigned char* to, const uint4 (&vectors)[4], unsigned int first) {
  #pragma unroll
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int at = first + i * kWeightThreads;
    const unsigned int words[4] = {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w};
    if (at < kWeightVectors) {
      #pragma unroll
      for (unsigned int v = 0; v < 8; ++v) {
        *reinterpret_cast<unsigned short*>(to +
                                           weight_place((at * 8 + v) / kWeightColumns, (at * 8 + v) % kWeightColumns)) =
            static_cast<unsigned short>(words[v / 2] >> (v % 2 * 16));
      }
    }
  }
}

// Puts all weights, which follow one another in memory, to where products look for them, and zeros to what lies
// between. Each of kWeightThreads threads takes part. The weights are there after a barrier of these.
__device__ __forceinline__ void load_weights(unsigned char* to, const unsigned short* __restrict__ weight) {
  uint4 vectors[4] = {};
  load_vectors(vectors, weight, threadIdx.x);
  // while these come
  for (int i = threadIdx.x; i < 1024; i += kWeightThreads) {
    *reinterpret_cast<uint4*>(to + i * 16) = make_uint4(0, 0, 0, 0);
  }
  named_barrier_sync(1, kWeightThreads);
  put_vectors(to, vectors, threadIdx.x);
  fence_proxy_async();
}

// ---- Products ----

using Accumulators = float[1][44];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 44; ++i) {
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
  // taps (0 to 8, 0 to 8)
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    wgmma_m64n88k16_f16_ss_mn_b(acc[0], wgmma_descriptor_move(a, k_step * kInputStep),
                                wgmma_descriptor_move(b, k_step * 2048), k_step > 0 ? 1 : accumulate);
  }
  wgmma_commit();
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// A tile: its first image, output channel, output row and column; and its first row and column of the input.
struct Tile {
  int image;
  int out_row;
  int out_column;
  int row;
  int column;
};

// Writes a thread's products.
__device__ __forceinline__ void put_products(float* products, const float (&acc)[1][44], int warpgroup, int thread) {
  const int row = warpgroup * 64 + thread / 32 % 4 * 16 + thread % 32 / 4;
  float* to = products + (thread % 4 * 392 + row);
  #pragma unroll
  for (int i = 0; i < 44; i += 2) {
    const int pixel = i / 2 % 2 * 8;
    to[i / 4 * 1568 + pixel] = acc[0][i];
    to[(i / 4 * 8 + 1) * kColumnPitch + pixel] = acc[0][i + 1];
  }
}

// The places of an output's taps along an axis: their numbers are stride * t + phase.
struct Place {
  unsigned int at;  // the tile's input for t = 0; before it for others
  unsigned int phase;
};

// Of an output of the tile.
__device__ __forceinline__ Place row_place(unsigned int row) {
  const unsigned int padded = row + 8;
  return {padded / 4, padded % 4};
}

__device__ __forceinline__ Place column_place(unsigned int column) {
  const unsigned int padded = column + 8;
  return {padded / 4, padded % 4};
}

// Adds up the products of adjacent channels' taps in the order of the taps. What a tap lacks is read from the first
// product, and not added: so all loads are issued before the first is in.
__device__ __forceinline__ void add_taps(float& sums, const float* products, unsigned int image, const Place& row,
                                         const Place& column) {
  sums = 0;
  #pragma unroll
  for (unsigned int tap_h = 0; tap_h < 3; ++tap_h) {
    #pragma unroll
    for (unsigned int tap_w = 0; tap_w < 3; ++tap_w) {
      const bool exists = tap_h * 4 + row.phase < 9 && tap_w * 4 + column.phase < 9;
      const unsigned int pixel = (image * 12 + (row.at - tap_h)) * 16 + (column.at - tap_w);
      const unsigned int tap = (tap_h * 4 + row.phase) * 9 + tap_w * 4 + column.phase;
      const float* from = products + (exists ? tap * kColumnPitch + pixel : 0);
      const float v = from[0];
      sums += exists ? v : 0;
    }
  }
}

// The same where a vector has elements of several pixels; a tile has all channels.
__device__ __forceinline__ void store_rows(unsigned short* __restrict__ y, const float* products,
                                           const unsigned short* __restrict__ bias, const Tile& tile) {
  for (unsigned int i = threadIdx.x; i < 560; i += kThreads) {
    const unsigned int image = i / 560;
    const unsigned int row = i / 14 % kOutRows;
    const unsigned int first = i % 14 * 4;  // element of the tile's row
    const int out_image = tile.image + static_cast<int>(image);
    const int out_row = tile.out_row + static_cast<int>(row);
    const int out_column = tile.out_column + static_cast<int>(first);
    if (out_row < 1080 && out_column < 1920) {
      const Place row_at = row_place(row);
      float values[4];
      #pragma unroll
      for (unsigned int v = 0; v < 4; ++v) {
        float sum;
        add_taps(sum, products, image, row_at, column_place(first + v));
        values[v] = epilogue(sum, half_to_float(bias[0]));
      }
      store_global_8(y + ((static_cast<long long>(out_image) * 1080 + out_row) * 1920 + tile.out_column) +
                     static_cast<int>(first),
                     make_uint2(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3])));
    }
  }
}

// ---- Kernel ----

// Tiles that have adjacent numbers have the same pixels.
__device__ __forceinline__ Tile tile_at(int index) {
  const int place_w = index % 35;
  const int place_h = index / 35 % 27;
  Tile tile;
  tile.image = index / 945;
  tile.out_row = (place_h * 10 + 1) * 4 - 4;
  tile.out_column = (place_w * 14 + 1) * 4 - 4;
  tile.row = place_h * 10 - 1;
  tile.column = place_w * 14 - 1;
  return tile;
}

// Issues the first copies of a tile, by one thread.
__device__ __forceinline__ void begin_tile(const Pipeline& pipeline, const TensorMap& x_map, const Tile& tile) {
  copy_stage(pipeline.shared, x_map, pipeline.full, tile.image, tile.row, tile.column);
}

// The products of a tile whose first copies are issued: the block's tile of this number.
__device__ __forceinline__ void multiply_tile(Accumulators& acc, const Pipeline& pipeline, int number) {
  unsigned char* shared = pipeline.shared;
  const int thread = threadIdx.x;
  const int warpgroup = warp_uniform(thread / 128);
  pin(acc);
  __syncwarp();
  mbarrier_wait(&pipeline.full[0], number % 2);
  multiply_stage(acc, shared, shared + kResidentOffset, warpgroup, 0);
  wgmma_wait(0);
  pin(acc);
}

// Makes the outputs of a tile of its products.
__device__ __forceinline__ void store_tile(const Accumulators& acc, unsigned char* shared, const Tile& tile,
                                           const unsigned short* __restrict__ bias, unsigned short* __restrict__ y) {
  const int thread = threadIdx.x;
  float* products = reinterpret_cast<float*>(shared + kProductsOffset);
  put_products(products, acc, warp_uniform(thread / 128), thread);
  __syncthreads();
  store_rows(y, products, bias, tile);
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_overlap_gemm_forward_b704c582f63db782(__grid_constant__ const TensorMap x_map,
                                                   const unsigned short* __restrict__ weight,
                                                   const unsigned short* __restrict__ bias,
                                                   unsigned short* __restrict__ y, int batch) {
  const int tiles = batch * 945;  // of all pixels

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    mbarrier_init(&pipeline.full[0], 1);
    fence_mbarrier_init();
    const unsigned int index = blockIdx.x;
    begin_tile(pipeline, x_map, tile_at(static_cast<int>(index)));
  }
  load_weights(pipeline.shared + kResidentOffset, weight);
  __syncthreads();

  int number = 0;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at(index);
    Accumulators acc = {};
    multiply_tile(acc, pipeline, number);
    __syncthreads();  // all warpgroups have read the stages, and the products of the tile before
    const unsigned int next = index + gridDim.x;
    if (threadIdx.x == 0 && next < static_cast<unsigned int>(tiles)) {
      begin_tile(pipeline, x_map, tile_at(static_cast<int>(next)));
    }
    store_tile(acc, pipeline.shared, tile, bias, y);
    ++number;
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

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Writes 8 bytes (aligned to 8) to global memory in one instruction.
__device__ __forceinline__ void store_global_8(void* to, uint2 value) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y) : "memory");
}

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// d (64x88, f32) = a (64x16) * b (16x88), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B N-major.
__device__ __forceinline__ void wgmma_m64n88k16_f16_ss_mn_b(float (&d)[44], unsigned long long a, unsigned long long b,
                                                            int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %46, 0; wgmma.mma_async.sync.aligned.m64n88k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43}, "
      "%44, %45, p, 1, 1, 0, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_overlap_gemm_forward_b704c582f63db782_source
using convtgen_overlap_gemm_forward_b704c582f63db782_source::convtgen_overlap_gemm_forward_b704c582f63db782;
