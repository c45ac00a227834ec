// conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x540x480; bias; dtype f32; compute tf32; layout nchw
// forward for sm_90a. Template mma_phases: a block makes 28x400 outputs of 1 channels; 81 taps; 210.0 KiB shared.
// Launch
//   sizes: batch 1, in_height 540, in_width 480; out_height 2160, out_width 1920
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 4147200 elements, written, 16-byte aligned
//     shape (N 1, Cout 1, H 2160, W 1920), contiguous
//   tensor x: 14515200 elements, read, 16-byte aligned
//     shape (N 1, Cin 56, H 540, W 480), contiguous
//   tensor weight: 4536 elements, read, 4-byte aligned
//     shape (Cin 56, Cout 1, KH 9, KW 9), contiguous
//   tensor bias: 1 elements, read, 4-byte aligned
//     shape (Cout 1), contiguous
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: tf32, sizes (480, 540, 56, 1), byte pitches (1920, 1036800, 58060800), box (104, 9, 8, 1), element strides (1, 1, 1, 1), swizzle 0, fill zero
//   kernel convtgen_mma_phases_forward_5993bd8465ce33c0
//     arguments TensorMap x_map, const float* x, const float* weight, const float* bias, float* y, int batch
//     grid 132; block 416; shared 214992
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 214992)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 214992)

namespace convtgen_mma_phases_forward_5993bd8465ce33c0_source {

// ---- Constants ----

constexpr int kTaps = 81;
constexpr int kThreads = 416;  // the last warp copies
constexpr int kTileColumns = 100;
constexpr int kStagedPixels = 936;
constexpr int kChunk = 32;
constexpr int kWarpPositions = 64;
constexpr int kFragmentWords = 128;
constexpr int kLine = 128;
constexpr int kLinePitch = 164;
constexpr int kExchanged = 656;  // words of a warp
constexpr int kColumns = 81;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kCopiedBytes = 29952;
constexpr int kStageBytes = 30208;
constexpr int kWeightOffset = 151040;
constexpr int kExchangeOffset = 183296;
constexpr int kBarrierOffset = 214784;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map);
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ unsigned int float_to_tf32(float value);

#endif

// Shared memory from its first stage on, and the stages' barriers.
struct Pipeline {
  unsigned char* shared;
  unsigned long long* full;
  unsigned long long* empty;
};

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 5; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 12);
  }
}

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// ---- Weights ----

// Where a weight's column lies among the words of its step of K: the shift, the row of the products.
__device__ __forceinline__ int column_place(int column) {
  const int tap = column % kTaps;
  const int co = column / kTaps;
  const int kh = tap / 9;
  const int kw = tap % 9;
  const int shift = (2 - kh / 4) * 3 + (2 - kw / 4);
  const int row = (co * 4 + kh % 4) * 4 + kw % 4;
  return (shift + row / 16) * kFragmentWords + row % 8 * 16 + row / 8 % 2;
}

// The word of an input channel's weights before those of its columns.
__device__ __forceinline__ int channel_place(int ci) {
  const int k = ci % 8;
  return ci / 8 * 1152 + k % 4 * 4 + k / 4 * 2;
}

// Puts all weights to shared memory, with zeros where a phase has no tap of a shift. By the warps that multiply.
__device__ __forceinline__ void stage_weights(unsigned int* to, const float* __restrict__ weight, int warp, int lane) {
  for (int i = threadIdx.x; i < 2016; i += 384) {
    *reinterpret_cast<uint4*>(to + i * 4) = make_uint4(0, 0, 0, 0);
  }
  int places[3];
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    places[i] = column_place(lane + i * 32);
  }
  named_barrier_sync(1, 384);
  #pragma unroll 4
  for (int ci = warp; ci < 56; ci += 12) {
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (lane + i * 32 < kColumns) {
        const float value = weight[static_cast<long long>(ci) * kColumns + (lane + i * 32)];
        unsigned int* word = to + (channel_place(ci) + places[i]);
        *word = operand(__float_as_uint(value));
      }
    }
  }
}

__device__ __forceinline__ void load_weights(unsigned int (&a)[4], const unsigned int* from) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  a[0] = words.x;
  a[1] = words.y;
  a[2] = words.z;
  a[3] = words.w;
}

// ---- Input ----

// Vectors of the channels that a lane has in a product: two of f32, four of 16 bits.
struct Rows {
  unsigned int words[2][8];
};

// The channel of a lane's row, in a step of K.
__device__ __forceinline__ int channel_of(int lane, int i) {
  return lane % 4 + i * 4;
}

// Loads the vectors of a chunk. `from` is the lane's own place: channel_of(lane, 0) and its first position.
__device__ __forceinline__ void load_rows(Rows& rows, const float* from) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + channel_of(0, i) * kStagedPixels + v * 4);
      rows.words[i][v * 4] = words.x;
      rows.words[i][v * 4 + 1] = words.y;
      rows.words[i][v * 4 + 2] = words.z;
      rows.words[i][v * 4 + 3] = words.w;
    }
  }
}

// The B fragment of the positions that lie `at` after the lanes' first ones.
__device__ __forceinline__ void fragment_of(unsigned int (&b)[2], const Rows& rows, int at) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    b[i] = rows.words[i][at];
  }
}

// Puts zeros after what copies bring to the stages, which products without outputs read.
__device__ __forceinline__ void zero_tails(unsigned char* shared) {
  for (int i = threadIdx.x; i < 55; i += 416) {
    *reinterpret_cast<uint4*>(shared + i / 11 * kStageBytes + 29952 + i % 11 * 16) = make_uint4(0, 0, 0, 0);
  }
}

// ---- Tiles ----

// A tile: its image, and its first position.
struct Tile {
  int image;
  int row;
  int column;
};

__device__ __forceinline__ Tile tile_at(int index) {
  return {index / 390, index / 5 % 78 * 7 + 1, index % 5 * kTileColumns - 2};
}

// ---- Products ----

using Accumulators = float[2][1][4][4];

// Bits that exist when all products are done, so all that was loaded for them. An arrival alone does not wait for
// loads, and a copy would overtake them.
__device__ __forceinline__ unsigned int bits_of_all(const Accumulators& acc) {
  unsigned int bits = 0;
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    bits |= __float_as_uint(acc[i / 4][0][i % 4][0]);
  }
  return bits;
}

// The products of a stage. `stage` is the lane's own place in it, `weights` its own of the k-block.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const float* stage, const unsigned int* weights) {
  // taps (0 to 8, 0 to 8)
  #pragma unroll
  for (int shift_h = 0; shift_h < 3; ++shift_h) {
    Rows rows[2];
    #pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      load_rows(rows[chunk], stage + shift_h * 104 + chunk * kChunk);
    }
    #pragma unroll
    for (int shift_w = 0; shift_w < 3; ++shift_w) {
      const int fragment = shift_h * 3 + shift_w;
      unsigned int a[4];
      load_weights(a, weights + fragment * kFragmentWords);
      #pragma unroll
      for (int chunk = 0; chunk < 2; ++chunk) {
        #pragma unroll
        for (int tile = 0; tile < 4; ++tile) {
          unsigned int b[2];
          fragment_of(b, rows[chunk], tile + shift_w);
          mma_k8_tf32(acc[chunk][0][tile], a, b);
        }
      }
    }
  }
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// Of an output channel, a row and a column of outputs that count their padding, and an image.
__device__ __forceinline__ float defined_sum(int padded_row, int padded_column, int image, const float* __restrict__ x,
                                             const float* __restrict__ weight) {
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
          const long long from = ((static_cast<long long>(image) * 56 + ci) * 540 + in_row) * 480 + in_column;
          const long long of_tap = static_cast<long long>(ci) * kTaps + (kh * 9 + kw);
          sum = fmaf(x[from], weight[of_tap], sum);
        }
      }
    }
  }
  return sum;
}

// Stores a warp's outputs of a tile.
__device__ __forceinline__ void store_tile(const Accumulators& acc, float* exchange, const float* __restrict__ x,
                                           const float* __restrict__ weight, const float* __restrict__ bias,
                                           float* __restrict__ y, const Tile& tile, int first, int lane) {
  #pragma unroll
  for (int chunk = 0; chunk < 2; ++chunk) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = i * 8 + lane / 4;  // of the products
      float* line = exchange + row / 4 * kLinePitch;
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int element = (lane % 4 * 8 + j) * 4 + row % 4;
        line[element + element / 32 * 8] = acc[chunk][0][j % 4][i * 2 + j / 4];
      }
    }
    __syncwarp();  // all lanes have written
    #pragma unroll 2
    for (int element = lane; element < kLine; element += 32) {
      const int position = first + chunk * kChunk + element / 4;
      const int tile_row = position / 104;
      const int tile_column = position % 104;
      const int out_row = (tile.row + tile_row) * 4 - 4;
      const int out_column = (tile.column + tile_column) * 4 - 4 + element % 4;
      if (tile_row < 7 && tile_column < kTileColumns && out_column >= 0 && out_column < 1920) {
        float* to = y + ((static_cast<long long>(tile.image) * 2160 + out_row) * 1920 + out_column);
        const float* from = exchange + (element + element / 32 * 8);
        float sums[4];
        float finite = 0;  // else NaN
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[i] = from[i * kLinePitch];
          finite = fmaf(sums[i], 0, finite);
        }
        if (finite != 0) {
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            sums[i] = defined_sum(out_row + i + 4, out_column + 4, tile.image, x, weight);
          }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = i;
          if (out_row + row >= 0 && out_row + row < 2160) {
            to[static_cast<long long>(row) * 1920] = epilogue(sums[i], bias[0]);
          }
        }
      }
    }
    __syncwarp();  // all lanes have read what is written next
  }
}

// ---- Kernel ----

// The last warp's first lane: issues the copies of all stages of the block's tiles.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& x_map, int tiles) {
  tensor_prefetch(x_map);
  int issued = 0;
  #pragma unroll 1
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at(index);
    #pragma unroll 1
    for (int k_block = 0; k_block < 7; ++k_block) {
      const int stage = issued % 5;
      mbarrier_wait(&pipeline.empty[stage], (issued / 5 + 1) % 2);  // the first time at once
      mbarrier_arrive_expect(&pipeline.full[stage], kCopiedBytes);
      const int row = tile.row - 2;
      const int column = tile.column - 2;
      tensor_load_4d(pipeline.shared + stage * kStageBytes, x_map, &pipeline.full[stage], column, row, k_block * 8,
                     tile.image);
      ++issued;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_phases_forward_5993bd8465ce33c0(__grid_constant__ const TensorMap x_map, const float* __restrict__ x,
                                                 const float* __restrict__ weight, const float* __restrict__ bias,
                                                 float* __restrict__ y, int batch) {
  const int tiles = batch * 390;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 128);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + 5;
  unsigned int* weights = reinterpret_cast<unsigned int*>(pipeline.shared + kWeightOffset);
  if (threadIdx.x == 0) {
    init_stages(pipeline.full, pipeline.empty);
    fence_mbarrier_init();
  }
  zero_tails(pipeline.shared);
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  if (warp == 12) {
    if (lane == 0) {
      copy_tiles(pipeline, x_map, tiles);
    }
  } else {
    stage_weights(weights, weight, warp, lane);
    named_barrier_sync(1, 384);

    const int first = warp * kWarpPositions;
    const int lane_place = channel_of(lane, 0) * kStagedPixels + first + lane / 4 * 4;
    float* exchange = reinterpret_cast<float*>(pipeline.shared + kExchangeOffset) + warp * kExchanged;
    const unsigned int zero = gridDim.x >> 31;  // which the compiler does not know
    int consumed = 0;
    #pragma unroll 1
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      Accumulators acc = {};
      #pragma unroll 1
      for (int k_block = 0; k_block < 7; ++k_block) {
        const int stage = consumed % 5;
        mbarrier_wait(&pipeline.full[stage], consumed / 5 % 2);
        multiply_stage(acc, reinterpret_cast<const float*>(pipeline.shared + stage * kStageBytes) + lane_place,
                       weights + k_block * 1152 + lane * 4);
        __syncwarp();  // all lanes have read the stage
        if (lane == 0) {
          mbarrier_arrive(&pipeline.empty[stage] + (bits_of_all(acc) & zero));
        }
        ++consumed;
      }
      store_tile(acc, exchange, x, weight, bias, y, tile_at(index), first, lane);
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

// K = 8, tf32.
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
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

// A float as products of tf32 read it, which ignore the 13 low bits. Rounds to nearest even. sm_90 and later;
// on others ties are rounded away from zero.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  unsigned int bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

#endif

}  // namespace convtgen_mma_phases_forward_5993bd8465ce33c0_source
using convtgen_mma_phases_forward_5993bd8465ce33c0_source::convtgen_mma_phases_forward_5993bd8465ce33c0;
