// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; fuse relu; dtype f32; compute tf32; layout nchw
// forward for sm_90a. Template shift_gemm: a block makes 16x32 outputs of 64 channels; 16 taps; 161.0 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 8388608 elements, written, 16-byte aligned
//     shape (N 128, Cout 64, H 32, W 32), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, Cin 128, H 16, W 16), contiguous
//   tensor weight: 131072 elements, read, 4-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor bias: 64 elements, read, 4-byte aligned
//     shape (Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 524288 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_pack
//     arguments const float* weight, unsigned char* packed
//     grid 32; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_shift_gemm_forward_f6dd1cf6cbb1c170
//     arguments const float* x, const unsigned char* packed, const float* bias, float* y, int batch
//     grid 132; block 384; shared 164896
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 164896)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 164896)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_source {

// ---- Constants ----

constexpr int kConsumers = 256;   // threads: two warpgroups
constexpr int kInChannels = 128;  // of a pixel
constexpr int kInstructionN = 64;
constexpr int kProducers = 128;  // threads
constexpr int kThreads = 384;
constexpr int kStagedColumns = 24;
constexpr int kRowPitch = 24;
constexpr int kChannelPitch = 264;
constexpr int kKStepPitch = 2112;
constexpr int kCopies = 60;
constexpr int kSetAccumulators = 32;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 16896;         // the input of a stage
constexpr int kKBlockWeightBytes = 65536;  // a k-block's B operands
constexpr int kPackedTileBytes = 524288;   // of an N tile: all k-blocks
constexpr int kStageBytes = 82432;         // input; weights if not resident
constexpr int kBarrierOffset = 164864;     // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void grid_dependents_launch();
__device__ __forceinline__ void grid_dependency_wait();
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier);
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned int float_to_tf32(float value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_arrive(unsigned long long* barrier);
__device__ __forceinline__ void setmaxnreg_decrease_88();
__device__ __forceinline__ void setmaxnreg_increase_208();
__device__ __forceinline__ void wgmma_m64n64k8_tf32_rs(float (&d)[32], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate);

#endif

// ---- Elements ----

__device__ int floor_div(int a) {
  return a >= 0 ? a / 2 : -((1 - a) / 2);
}

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// ---- Packing ----

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 2 * 8 + i % 2;
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// The weight of an input and an output channel, zero outside of the layer.
__device__ __forceinline__ float weight_at(const float* __restrict__ weight, int ci, int co, int tap) {
  return weight[(static_cast<long long>(ci) * 64 + co) * 16 + tap];
}

// The row of 16 bytes that a column has in one half of a tap's operand.
__device__ __forceinline__ int operand_row(int tap, int k_step, int half, int n) {
  return (tap * 2 + k_step) * 128 + half * kInstructionN + n;
}

// Packs 4 rows of 16 bytes, of successive k-steps, so that their loads are in flight together. Adjacent
// threads read adjacent weights, of all phase rows.
__device__ __forceinline__ void pack(const float* __restrict__ weight, unsigned char* __restrict__ packed, int index) {
  const int place = index % 16;
  const int n = index / 16 % 64;
  const int half = index / 1024 % 2;
  const int first = index / 2048 % 4 * 4;
  const int channel_tile = index / 8192;
  if (channel_tile < 1) {
    const int co = channel_tile * 64 + channel_of_column(n);
    unsigned char* tile_weights = packed + static_cast<long long>(channel_tile) * kPackedTileBytes;
    #pragma unroll
    for (int k_step = first; k_step < first + 4; ++k_step) {
      const int ci = k_step * 8 + half * 4;
      unsigned int words[4];
      words[0] = operand(__float_as_uint(weight_at(weight, ci, co, place)));
      words[1] = operand(__float_as_uint(weight_at(weight, ci + 1, co, place)));
      words[2] = operand(__float_as_uint(weight_at(weight, ci + 2, co, place)));
      words[3] = operand(__float_as_uint(weight_at(weight, ci + 3, co, place)));
      unsigned char* block_weights = tile_weights + k_step / 2 * kKBlockWeightBytes;
      *reinterpret_cast<uint4*>(block_weights + operand_row(place, k_step % 2, half, n) * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// Packs the weights by N tile, k-block, tap and k-step: two columns of a B operand each.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
}

// ---- Tiles and stages ----

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 2; ++stage) {
    mbarrier_init(&full[stage], 129);
    mbarrier_init(&empty[stage], 8);
  }
}

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 1 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Lane 0 arrives for its warp if `is_done`: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// A tile's first image, and its first position there.
struct Tile {
  int image;
  int m_y;
};

__device__ __forceinline__ Tile tile_at(int index) {
  return {index / 2, index % 2 * 8};
}

// ---- Producer ----

// Issues the copies of a k-block with its halo: zeros where the image, the batch or the channels end.
__device__ __forceinline__ void stage_channels(float* to, const float* __restrict__ x, int first_channel, int first_row,
                                               int thread) {
  const int first = thread / kCopies;
  for (int place = thread % kCopies; place < kCopies && first < 2; place += kProducers) {
    const int column = place % 6 * 4;
    const int row = place / 6 % 10;
    const int image = place / 60;
    const int iy = first_row + row;
    const int ix = column - 4;
    const bool inside = iy >= 0 && iy < 16 && ix >= 0 && ix < 16;
    const int bytes = inside ? min(16 - ix, 4) * 4 : 0;
    const float* from = x + ((static_cast<long long>(image) * kInChannels + first_channel) * 16 + iy) * 16 + ix;
    float* staged = to + (image * 10 + row) * kStagedColumns + column;
    #pragma unroll 4
    for (int channel = first; channel < 16; channel += 2) {
      async_copy_16(staged + channel * kChannelPitch, inside ? from + static_cast<long long>(channel) * 256 : x,
                    inside ? bytes : 0);
    }
  }
}

// ---- Products ----

// The A operands of products.
using Fragments = unsigned int[5][4];

// Whether some tap reads the fragment of this loaded column.
__device__ bool is_operand(int column) {
  bool used = false;
  for (int kw = 0; kw < 4; ++kw) {
    used = used || column == -floor_div(kw - 1) + 2;
  }
  return used;
}

// Loads the fragments of a thread's positions of one staged row, for one k-step. `row` is its first position of its
// first channel.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const float* row, const Fragments& before,
                                               bool reads_before, unsigned int zero) {
  unsigned int words[2][6];  // for the halves of a product's K
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int i = 0; i < 6; i += 2) {
      const uint2 v = *reinterpret_cast<const uint2*>(row + half * 1056 + i);
      words[half][i] = operand(v.x);
      words[half][i + 1] = operand(v.y);
    }
  }
  #pragma unroll
  for (int i = 0; i < 6; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][i + j % 2];
      fragments[i][j] = word | (reads_before ? before[i][j] & zero : j % 2 == 1 ? zero : 0);
      if (is_operand(i)) {
        wgmma_pin_operand(fragments[i][j]);
      }
    }
  }
}

// By sets of fused phases and by instruction tiles of 64 positions.
using Accumulators = float[4][1][32];

// The i-th of them.
__device__ __forceinline__ float& acc_at(Accumulators& acc, int i) {
  return acc[i / kSetAccumulators][0][i % 32];
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    wgmma_pin(acc_at(acc, i));
  }
}

// A tap's products, for all M tiles. They begin their accumulators where `accumulate` is 0.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, int set, const Fragments& fragments, int first,
                                             unsigned long long weights, int accumulate) {
  wgmma_m64n64k8_tf32_rs(acc[set][0], fragments[first], weights, accumulate);
}

// All products of one k-block, from the thread's first position in the staged input on. In a tile's first k-block
// `later` is 0. The stage before, at `previous`, is released as soon as its products are done.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, Fragments (&fragments)[3], const float* rows,
                                                 unsigned long long weights, int later, unsigned long long* previous,
                                                 unsigned int zero) {
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    const float* step_rows = rows + k_step * kKStepPitch;
    const unsigned long long step_weights = weights + k_step * 128;
    const int begun = k_step > 0 ? 1 : later;
    load_fragments(fragments[0], step_rows + 2, fragments[2], false, zero);
    wgmma_fence();
    multiply_tap(acc, 1, fragments[0], 3, step_weights + 3072, begun);  // tap (3, 0)
    multiply_tap(acc, 0, fragments[0], 2, step_weights + 3328, begun);  // tap (3, 1)
    multiply_tap(acc, 1, fragments[0], 2, step_weights + 3584, 1);      // tap (3, 2)
    multiply_tap(acc, 0, fragments[0], 1, step_weights + 3840, 1);      // tap (3, 3)
    wgmma_commit();
    wgmma_wait(1);  // the fragments before may be overwritten
    if (k_step == 0) {
      warp_arrive(previous, later == 1);
    }
    load_fragments(fragments[1], step_rows + 26, fragments[2], k_step == 0, zero);
    wgmma_fence();
    multiply_tap(acc, 1, fragments[1], 3, step_weights + 1024, 1);      // tap (1, 0)
    multiply_tap(acc, 0, fragments[1], 2, step_weights + 1280, 1);      // tap (1, 1)
    multiply_tap(acc, 1, fragments[1], 2, step_weights + 1536, 1);      // tap (1, 2)
    multiply_tap(acc, 0, fragments[1], 1, step_weights + 1792, 1);      // tap (1, 3)
    multiply_tap(acc, 3, fragments[1], 3, step_weights + 2048, begun);  // tap (2, 0)
    multiply_tap(acc, 2, fragments[1], 2, step_weights + 2304, begun);  // tap (2, 1)
    multiply_tap(acc, 3, fragments[1], 2, step_weights + 2560, 1);      // tap (2, 2)
    multiply_tap(acc, 2, fragments[1], 1, step_weights + 2816, 1);      // tap (2, 3)
    wgmma_commit();
    wgmma_wait(1);  // the fragments before may be overwritten
    load_fragments(fragments[2], step_rows + 50, fragments[2], false, zero);
    wgmma_fence();
    multiply_tap(acc, 3, fragments[2], 3, step_weights, 1);        // tap (0, 0)
    multiply_tap(acc, 2, fragments[2], 2, step_weights + 256, 1);  // tap (0, 1)
    multiply_tap(acc, 3, fragments[2], 2, step_weights + 512, 1);  // tap (0, 2)
    multiply_tap(acc, 2, fragments[2], 1, step_weights + 768, 1);  // tap (0, 3)
    wgmma_commit();
    wgmma_wait(1);  // the fragments before may be overwritten
  }
}

// ---- Epilogue ----

// Every step of the chain in its order.
__device__ __forceinline__ float activate(float value) {
  value = value < 0 ? 0 : value;  // relu
  return value;
}

// The biases of a thread's channels. They are loaded before a tile's first store: later loads would wait for it.
using BiasRegisters = float[16];

__device__ __forceinline__ void load_bias(BiasRegisters& registers, const float* __restrict__ bias, int co) {
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int channel = own_channel(co, i);
    registers[i] = bias[channel];
  }
}

// A value as memory holds it, after the bias and the fuse chain where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = acc + bias;
  return activate(value);
}

// Stores a thread's outputs: its positions in all phases, for its channels, from position (m_y, m_x), channel `co` on.
__device__ __forceinline__ void store_tile(const Accumulators& acc, float* __restrict__ y, const BiasRegisters& bias,
                                           int co, int m_y, int m_x) {
  #pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int oy = m_y * 2 + row;
    if (oy < 32) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int channel = own_channel(co, i);
        float* to = y + (static_cast<long long>(channel) * 32 + oy) * 32;
        const int ox = m_x * 2;
        if (ox < 32) {
          float values[4];
          #pragma unroll
          for (int v = 0; v < 4; ++v) {
            values[v] = epilogue(acc[row * 2 + v % 2][0][i / 2 * 4 + v / 2 * 2 + i % 2], bias[i]);
          }
          store_global_16(to + ox, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                              __float_as_uint(values[2]), __float_as_uint(values[3])));
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_shift_gemm_forward_f6dd1cf6cbb1c170(const float* __restrict__ x, const unsigned char* packed,
                                                 const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const int tiles = batch * 2;
  // The block's output channels and phase rows. Blocks that read the same input run together.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 2;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_88();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
    }
    int stage = 0;
    unsigned int parity = 1;
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      const float* image = x + tile.image * 32768ll;
      const int first_row = tile.m_y - 1;
      for (int k_block = 0; k_block < 8; ++k_block) {
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = shared + stage * kStageBytes;
        if (thread == 0) {
          mbarrier_arrive_expect(&full[stage], kKBlockWeightBytes);
          bulk_load(to + kInputBytes, packed + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
        }
        stage_channels(reinterpret_cast<float*>(to), image, k_block * 16, first_row, thread);
        async_copy_arrive(&full[stage]);
        next_stage(stage, parity);
      }
    }
  } else {
    setmaxnreg_increase_208();
    // The thread's place in the tile: its first position, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int place_in_tile = warp * 8 + lane / 4;
    const int image = place_in_tile / 64;
    const int row = place_in_tile / 8 % 8;
    const int column = place_in_tile % 8 * 2;
    const int position = (image * 10 + row) * kRowPitch + column;
    const int own = quarter * kChannelPitch + position;
    const int co = quarter * 2;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // which the compiler doesn't know to be 0
    Accumulators acc = {};
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(acc);
      Fragments fragments[3] = {};
      for (int k_block = 0; k_block < 8; ++k_block) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = shared + stage * kStageBytes;
        const unsigned char* weights = from + kInputBytes;
        multiply_k_block(acc, fragments, reinterpret_cast<const float*>(from) + own,
                         wgmma_descriptor(weights, 1024, 128, 0), k_block > 0 ? 1 : 0,
                         &empty[stage == 0 ? 1 : stage - 1], zero);
        next_stage(stage, parity);
      }
      BiasRegisters bias_registers;
      load_bias(bias_registers, bias, co);
      wgmma_wait(0);
      pin(acc);
      warp_arrive(&empty[stage == 0 ? 1 : stage - 1], true);
      const Tile tile = tile_at(index);
      store_tile(acc, y + (tile.image + image) * 65536ll, bias_registers, co, tile.m_y + row, column);
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

// A float as products of tf32 read it, which ignore the 13 low bits. Rounds to nearest even. sm_90 and later;
// on others ties are rounded away from zero.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  unsigned int bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Arrives at an mbarrier once all copies that this thread has asked for so far are in shared memory; does not wait.
__device__ __forceinline__ void async_copy_arrive(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Gives back the registers of each thread of this warpgroup beyond 88. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_88() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
}

// Waits until each thread of this warpgroup can have 208 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_208() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
}

// d (64x64, f32) = a (64x8) * b (8x64), added to d where `accumulate` is not 0: tf32, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n64k8_tf32_rs(float (&d)[32], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_source
using convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_source::convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_pack;
using convtgen_shift_gemm_forward_f6dd1cf6cbb1c170_source::convtgen_shift_gemm_forward_f6dd1cf6cbb1c170;
