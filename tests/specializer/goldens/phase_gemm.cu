// conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x540x480; bias; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template phase_gemm: a block makes 68x512 outputs of 1 channels; 81 taps; 155.1 KiB shared.
// Launch
//   sizes: batch 1, in_height 540, in_width 480; out_height 2160, out_width 1920
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 4147200 elements, written, 16-byte aligned
//     shape (N 1, H 2160, W 1920, Cout 1), contiguous
//   tensor x: 14515200 elements, read, 16-byte aligned
//     shape (N 1, H 540, W 480, Cin 56), contiguous
//   tensor weight: 4536 elements, read, 16-byte aligned
//     shape (Cin 56, Cout 1, KH 9, KW 9), contiguous
//   tensor bias: 1 elements, read, 2-byte aligned
//     shape (Cout 1), contiguous
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f16, sizes (56, 480, 540, 1), byte pitches (112, 53760, 29030400), box (64, 130, 1, 1), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   kernel convtgen_phase_gemm_forward_ebdf64d0e1165e4a
//     arguments TensorMap x_map, const unsigned short* x, const unsigned short* weight, const unsigned short* bias,
//       unsigned short* y, int batch
//     grid 128; block 288; shared 158848
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 158848)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 158848)

namespace convtgen_phase_gemm_forward_ebdf64d0e1165e4a_source {

// ---- Constants ----

constexpr int kTaps = 81;
constexpr int kConsumers = 256;
constexpr int kThreads = 288;  // the last warp copies
constexpr int kInstructionN = 48;
constexpr int kWeightThreads = 256;
constexpr int kWeightColumns = 81;
constexpr int kWeightVectors = 567;  // of 16 bytes

// ---- Shared memory and packed weights, in bytes ----

constexpr int kPixelBytes = 128;  // and the width of their swizzle
constexpr int kCopiedBytes = 16640;
constexpr int kStageBytes = 17408;
constexpr int kProductBytes = 1536;
constexpr int kWeightOffset = 139264;
constexpr int kBarrierOffset = 157696;

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
__device__ __forceinline__ unsigned short accumulator_to_half(float value);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void wgmma_m64n48k16_f16_ss(float (&d)[24], unsigned long long a, unsigned long long b,
                                                       int accumulate);

#endif

// ---- Elements ----

__device__ int column_of_output(int output) {
  const int slot = output / 16 * 4 + output % 4;
  return slot / 2 * 8 + output / 4 % 4 * 2 + slot % 2;
}

// Where a weight lies: of an input channel, and a column in the order of memory.
__device__ __forceinline__ unsigned int weight_place(unsigned int ci, unsigned int column) {
  const unsigned int tap = column % kTaps;
  const unsigned int co = column / kTaps;
  const unsigned int kh = tap / 9;
  const unsigned int kw = tap % 9;
  const unsigned int output = kh % 4 * 4 + kw % 4 + co;
  const unsigned int row = ci % 16 / 8 * kInstructionN + kh / 4 * 16 + column_of_output(static_cast<int>(output));
  const unsigned int product = (ci / 64 * 3 + kw / 4) * 4 + ci % 64 / 16;
  return product * kProductBytes + row * 16 + ci % 8 * 2;
}

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
    mbarrier_init(&empty[stage], 8);
  }
}

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 7 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Lane 0 arrives for its warp: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// ---- Tiles ----

// A tile: its first image, its first position, the row of positions after its last, and its first input row.
struct Tile {
  int image;
  int row;
  int column;
  int end;
  int first_input;
};

__device__ __forceinline__ Tile tile_at(int index) {
  Tile tile;
  tile.image = index / 128;
  tile.row = index / 4 % 32 * 17 + 1;
  tile.column = index % 4 * 128 + 1;
  tile.end = min(tile.row + 17, 541);
  tile.first_input = max(0, tile.row - 2);
  return tile;
}

// ---- Producer ----

// The last warp's first lane: issues the copies of all stages of the block's tiles.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& x_map, int tiles) {
  int stage = 0;
  unsigned int parity = 1;  // the first time waits end at once
  #pragma unroll 1
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at(index);
    #pragma unroll 1
    for (int row = tile.first_input; row < tile.end; ++row) {
      // those past the image's are zeros
      mbarrier_wait(&pipeline.empty[stage], parity);
      mbarrier_arrive_expect(&pipeline.full[stage], kCopiedBytes);
      tensor_load_4d(pipeline.shared + stage * kStageBytes, x_map, &pipeline.full[stage], 0, tile.column - 2, row,
                     tile.image);
      next_stage(stage, parity);
    }
  }
}

// ---- Weights ----

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
  for (int i = threadIdx.x; i < 1152; i += kWeightThreads) {
    *reinterpret_cast<uint4*>(to + i * 16) = make_uint4(0, 0, 0, 0);
  }
  named_barrier_sync(1, kWeightThreads);
  put_vectors(to, vectors, threadIdx.x);
  fence_proxy_async();
}

// ---- Products ----

using Accumulators = float[1][24];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 24; ++i) {
    wgmma_pin(acc[0][i]);
  }
}

// Issues the products of a stage. `pixels` are those of the warpgroup's first position.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* pixels,
                                               const unsigned char* weights) {
  const unsigned long long a = wgmma_descriptor(pixels, 0, 1024, kPixelBytes);
  const unsigned long long b = wgmma_descriptor(weights, 768, 128, 0);
  wgmma_fence();
  // taps (0 to 8, 0 to 8)
  #pragma unroll
  for (int shift = 0; shift < 3; ++shift) {
    #pragma unroll
    for (int k_step = 0; k_step < 4; ++k_step) {
      wgmma_m64n48k16_f16_ss(acc[0], wgmma_descriptor_move(a, (2 - shift) * kPixelBytes + k_step * 32),
                             wgmma_descriptor_move(b, (shift * 4 + k_step) * kProductBytes), 1);
    }
  }
  wgmma_commit();
}

// The sums of a row of positions, of a thread's two of each tile.
using RowSums = float[2][4];

// Takes the first row of positions, and moves the accumulators of the others up by one; those of the last row become
// zero. It adds zeros, since the compiler moves copies of accumulators up among the products, and then waits for these.
__device__ __forceinline__ void roll(RowSums& sums, Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums[i / 2 % 2][i / 4 * 2 + i % 2] = acc[0][i] + 0.0f;
  }
  #pragma unroll
  for (int i = 0; i < 24; ++i) {
    acc[0][i] = i + 8 < 24 ? acc[0][i + 8] + 0.0f : 0;
  }
}

// Issues the products of an input row, and releases all stages but the last, whose barrier it returns.
__device__ __forceinline__ unsigned long long* multiply_row(Accumulators& acc, const Pipeline& pipeline, int& stage,
                                                            unsigned int& parity, int warpgroup) {
  unsigned long long* last = pipeline.empty;
  pin(acc);
  mbarrier_wait(&pipeline.full[stage], parity);
  multiply_stage(acc, pipeline.shared + stage * kStageBytes + warpgroup * 8192, pipeline.shared + kWeightOffset);
  last = &pipeline.empty[stage];
  next_stage(stage, parity);
  return last;
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// Of an output channel, a row and a column of outputs that count their padding, and an image.
__device__ __forceinline__ float defined_sum(int padded_row, int padded_column, int image,
                                             const unsigned short* __restrict__ x,
                                             const unsigned short* __restrict__ weight) {
  float sum = 0;
  #pragma unroll 1
  for (int kh = padded_row % 4; kh < 9 && kh <= padded_row; kh += 4) {
    const int in_row = (padded_row - kh) / 4;
    #pragma unroll 1
    for (int kw = padded_column % 4; kw < 9 && kw <= padded_column; kw += 4) {
      const int in_column = (padded_column - kw) / 4;
      if (in_row < 540 && in_column < 480) {
        #pragma unroll 1
        for (int ci = 0; ci < 56; ++ci) {
          const long long from = ((static_cast<long long>(image) * 540 + in_row) * 480 + in_column) * 56 + ci;
          const long long of_tap = static_cast<long long>(ci) * kTaps + (kh * 9 + kw);
          sum = fmaf(half_to_float(x[from]), half_to_float(weight[of_tap]), sum);
        }
      }
    }
  }
  return sum;
}

// A thread's biases, of each of its outputs of a position.
using Biases = float[4];

__device__ __forceinline__ void load_biases(Biases& biases, const unsigned short* __restrict__ bias) {
  #pragma unroll
  for (int slot = 0; slot < 4; ++slot) {
    biases[slot] = half_to_float(bias[0]);
  }
}

// Where a vector of outputs lies: in an image, a row, and an element of this; and whether it exists.
struct Vector {
  int image;
  int row;
  int element;
  bool exists;
};

// The vector of a slot of a thread's position i of a tile's row. `own` is its first position.
__device__ __forceinline__ Vector vector_of(const Tile& tile, int position_row, int own, int i, int quarter) {
  const int place = own + (i / 2 * 128 + i % 2 * 8);
  const int output = quarter * 4;
  Vector vector;
  vector.image = tile.image;
  vector.row = position_row * 4 - 4 + output / 4;
  vector.element = (tile.column + place) * 4 - 4 + output % 4;
  vector.exists = vector.row >= 0 && vector.row < 2160 && vector.element >= 0 && vector.element < 1920;
  return vector;
}

__device__ __forceinline__ unsigned short* address_of(unsigned short* __restrict__ y, const Vector& vector) {
  return y + ((static_cast<long long>(vector.image) * 2160 + vector.row) * 1920 + vector.element);
}

// 0 where all sums of a vector are finite, else NaN.
__device__ __forceinline__ float check_finite(const RowSums& sums, int i) {
  float finite = 0;
  #pragma unroll
  for (int v = 0; v < 4; ++v) {
    finite = fmaf(sums[i][v], 0, finite);
  }
  return finite;
}

// Stores a thread's outputs of a row of positions. Returns 0 where all sums are finite, else NaN.
__device__ __forceinline__ float store_row(const RowSums& sums, const Biases& biases, unsigned short* __restrict__ y,
                                           const Tile& tile, int position_row, int own, int quarter) {
  float finite = 0;
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Vector vector = vector_of(tile, position_row, own, i, quarter);
    if (vector.exists) {
      float values[4];
      #pragma unroll
      for (int v = 0; v < 4; ++v) {
        values[v] = epilogue(sums[i][v], biases[v]);
      }
      store_global_8(address_of(y, vector),
                     make_uint2(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3])));
      finite += check_finite(sums, i);
    }
  }
  return finite;
}

// Makes those outputs again that are not finite.
__device__ __forceinline__ void make_again(const RowSums& sums, const unsigned short* __restrict__ x,
                                           const unsigned short* __restrict__ weight,
                                           const unsigned short* __restrict__ bias, unsigned short* __restrict__ y,
                                           const Tile& tile, int position_row, int own, int quarter) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Vector vector = vector_of(tile, position_row, own, i, quarter);
    if (vector.exists && check_finite(sums, i) != 0) {
      unsigned short* to = address_of(y, vector);
      #pragma unroll 1
      for (int v = 0; v < 4; ++v) {
        const float sum = defined_sum(vector.row + 4, vector.element + v + 4, vector.image, x, weight);
        to[v] = accumulator_to_half(epilogue(sum, half_to_float(bias[0])));
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_phase_gemm_forward_ebdf64d0e1165e4a(__grid_constant__ const TensorMap x_map,
                                                 const unsigned short* __restrict__ x,
                                                 const unsigned short* __restrict__ weight,
                                                 const unsigned short* __restrict__ bias,
                                                 unsigned short* __restrict__ y, int batch) {
  const int tiles = batch * 128;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + 8;
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    init_stages(pipeline.full, pipeline.empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp == 8) {
    if (elect_one()) {
      copy_tiles(pipeline, x_map, tiles);
    }
  } else {
    const int quarter = threadIdx.x % 4;
    const int own = warp / 4 * 64 + warp % 4 * 16 + threadIdx.x % 32 / 4;  // position of the tile
    Biases biases;
    load_biases(biases, bias);  // which come while weights do
    load_weights(pipeline.shared + kWeightOffset, weight);
    named_barrier_sync(1, kConsumers);

    int stage = 0;
    unsigned int parity = 0;
    #pragma unroll 1
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      const Tile tile = tile_at(index);
      Accumulators acc = {};
      RowSums sums = {};
      // Outputs of a row are stored during the products of the next one.
      #pragma unroll 1
      for (int row = tile.first_input; row < tile.end; ++row) {
        unsigned long long* last = multiply_row(acc, pipeline, stage, parity, warp / 4);
        float finite = 0;
        if (row > tile.row) {
          finite = store_row(sums, biases, y, tile, row - 1, own, quarter);
        }
        wgmma_wait(0);
        pin(acc);
        warp_arrive(last);
        if (finite != 0) {
          make_again(sums, x, weight, bias, y, tile, row - 1, own, quarter);
        }
        roll(sums, acc);
      }
      if (store_row(sums, biases, y, tile, tile.end - 1, own, quarter) != 0) {
        make_again(sums, x, weight, bias, y, tile, tile.end - 1, own, quarter);
      }
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

// Rounds an accumulator of asynchronous products to f16. Adding -0 keeps the conversion after the wait for them.
__device__ __forceinline__ unsigned short accumulator_to_half(float value) {
  unsigned short bits;
  asm("{\n\t.reg .f32 same;\n\tadd.rn.f32 same, %1, 0f80000000;\n\tcvt.rn.f16.f32 %0, same;\n\t}"
      : "=h"(bits)
      : "f"(value));
  return bits;
}

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// d (64x48, f32) = a (64x16) * b (16x48), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B K-major.
__device__ __forceinline__ void wgmma_m64n48k16_f16_ss(float (&d)[24], unsigned long long a, unsigned long long b,
                                                       int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %26, 0; wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23}, "
      "%24, %25, p, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_phase_gemm_forward_ebdf64d0e1165e4a_source
using convtgen_phase_gemm_forward_ebdf64d0e1165e4a_source::convtgen_phase_gemm_forward_ebdf64d0e1165e4a;
