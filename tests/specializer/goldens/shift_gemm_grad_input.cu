// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f32; compute tf32; layout nchw; directions grad_input
// grad_input for sm_90a. Template shift_gemm: a block makes 8x16 outputs of 128 channels; 16 taps; 210.1 KiB shared.
// In the code x is grad_y and y is grad_x; channels are exchanged and taps mirrored: tap (0, 0) is the last one.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 4194304 elements, written, 16-byte aligned
//     shape (N 128, Cin 128, H 16, W 16), contiguous
//   tensor grad_y: 8388608 elements, read, 16-byte aligned
//     shape (N 128, Cout 64, H 32, W 32), contiguous
//   tensor weight: 131072 elements, read, 4-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 524288 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_shift_gemm_grad_input_c3bf306a40c089cb_pack
//     arguments const float* weight, unsigned char* packed
//     grid 32; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_shift_gemm_grad_input_c3bf306a40c089cb
//     arguments const float* grad_y, const unsigned char* packed, float* grad_x, int batch
//     grid 132; block 384; shared 215104
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 215104)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 215104)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_shift_gemm_grad_input_c3bf306a40c089cb_source {

// ---- Constants ----

constexpr int kConsumers = 256;  // threads: two warpgroups
constexpr int kInstructionN = 128;
constexpr int kThreads = 384;
constexpr int kThreadChannels = 32;
constexpr int kRowPitch = 40;
constexpr int kChannelPitch = 328;
constexpr int kKStepPitch = 2624;
constexpr int kSetAccumulators = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 20992;         // the input of a stage
constexpr int kKBlockWeightBytes = 32768;  // a k-block's B operands
constexpr int kPackedTileBytes = 524288;   // of an N tile: all k-blocks
constexpr int kStageBytes = 53760;         // input; weights if not resident
constexpr int kBarrierOffset = 215040;     // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void grid_dependents_launch();
__device__ __forceinline__ void grid_dependency_wait();
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ bool elect_one();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned int float_to_tf32(float value);
__device__ __forceinline__ void setmaxnreg_decrease_88();
__device__ __forceinline__ void setmaxnreg_increase_208();
__device__ __forceinline__ void wgmma_m64n128k8_tf32_rs(float (&d)[64], const unsigned int (&a)[4],
                                                        unsigned long long b, int accumulate);

#endif

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// ---- Packing ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// The weight of an input and an output channel, zero outside of the layer.
__device__ __forceinline__ float weight_at(const float* __restrict__ weight, int ci, int co, int tap) {
  return weight[(static_cast<long long>(co) * 64 + ci) * 16 + (15 - tap)];
}

// The row of 16 bytes that a column has in one half of a tap's operand.
__device__ __forceinline__ int operand_row(int tap, int k_step, int half, int n) {
  return (tap * 2 + k_step) * 256 + half * kInstructionN + n;
}

// Packs 4 rows of 16 bytes, of successive k-steps, so that their loads are in flight together. Adjacent
// threads read adjacent weights, of all phase rows.
__device__ __forceinline__ void pack(const float* __restrict__ weight, unsigned char* __restrict__ packed, int index) {
  const int place = index % 16;
  const int n = index / 16 % 128;
  const int half = index / 2048 % 2;
  const int first = index / 4096 % 2 * 4;
  const int channel_tile = index / 8192;
  if (channel_tile < 1) {
    const int kh = place / 4;
    const int tap = place % 4;
    const int co = channel_tile * 128 + channel_of_column(n);
    unsigned char* tile_weights = packed + static_cast<long long>(channel_tile) * kPackedTileBytes;
    #pragma unroll
    for (int k_step = first; k_step < first + 4; ++k_step) {
      const int ci = k_step * 8 + half * 4;
      unsigned int words[4];
      words[0] = operand(__float_as_uint(weight_at(weight, ci, co, place)));
      words[1] = operand(__float_as_uint(weight_at(weight, ci + 1, co, place)));
      words[2] = operand(__float_as_uint(weight_at(weight, ci + 2, co, place)));
      words[3] = operand(__float_as_uint(weight_at(weight, ci + 3, co, place)));
      unsigned char* block_weights = tile_weights + (k_step / 2 * 4 + kh) * kKBlockWeightBytes;
      *reinterpret_cast<uint4*>(block_weights + operand_row(tap, k_step % 2, half, n) * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// Packs the weights by N tile, k-block, tap and k-step: two columns of a B operand each.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_shift_gemm_grad_input_c3bf306a40c089cb_pack(const float* __restrict__ weight,
                                                         unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
}

// ---- Tiles and stages ----

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 4; ++stage) {
    mbarrier_init(&full[stage], 5);
    mbarrier_init(&empty[stage], 8);
  }
}

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 3 ? 0 : stage + 1;
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

// What a producer copies in its first channel: `from` in the next k-block, `to` this offset in a stage, `bytes`
// (0: no part of the row is in the image), of `rows` where a warp has several.
struct Copy {
  const float* from;
  int to;
  int bytes;
  int rows;
};

// Finds the copies of a tile of the producer, or the warp, of this number.
__device__ __forceinline__ Copy find_copy(const float* __restrict__ x, int first_image, int first_channel,
                                          int first_row, int producer) {
  const int channel = producer / 8;
  const int row = producer % 8;
  const int above = max(0, 7 - first_row - row * 2) / 8;  // rows of a warp
  const int iy = first_row + row * 2 + 8 * above;
  // The staged columns of the image, and their vectors, relative to the first one, which is at `start` in channel 0.
  const int begin = max(-4, 0) + 4;
  const int end = min(36, 32) + 4;
  const long long start = static_cast<long long>(first_image) * 65536 + static_cast<long long>(iy) * 32 - 4;
  const bool is_copied = iy >= 0 && iy < 32 && begin < end;
  const int rows = is_copied ? (min(first_row + 16, 32) - iy + 7) / 8 : 0;
  return {x + (start + begin + (first_channel + channel) * 1024ll),
          channel * kChannelPitch + (row + 4 * above) * kRowPitch + begin, is_copied ? (end - begin) * 4 : 0, rows};
}

// Issues a producer's copy of a row in the channel of a round.
__device__ __forceinline__ void copy_row(float* to, const Copy& copy, int row, int round, unsigned long long* full) {
  bulk_load(to + copy.to + (row * 160 + round * kChannelPitch), copy.from + (row * 256ll + round * 1024ll), copy.bytes,
            full);
}

// Issues a producer's copies of a k-block.
__device__ __forceinline__ void copy_rows(float* to, const Copy& copy, unsigned long long* full) {
  mbarrier_arrive_expect(full, 16 * copy.rows * copy.bytes);
  #pragma unroll 1
  for (int row = 0; row < copy.rows; ++row) {
    #pragma unroll 16
    for (int round = 0; round < 16; ++round) {
      copy_row(to, copy, row, round, full);
    }
  }
}

// Writes zeros to the rows and columns of a stage outside the image, and to channels beyond the layer's.
__device__ __forceinline__ void zero_pad(float* to, int first_row, int thread) {
  for (int i = thread; i < 128; i += 128) {
    const int iy = first_row + i % 8 * 2;
    const bool is_copied = iy >= 0 && iy < 32;
    float* staged = to + i / 8 * kChannelPitch + i % 8 * kRowPitch;
    for (int column = 0; column < kRowPitch; column += 4) {
      const int ix = column - 4;
      if (!is_copied || ix < 0 || ix >= 32) {
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  fence_proxy_async();  // orders these writes before the next bulk copies to these places
  __syncwarp();         // one lane arrives for all
}

// ---- Products ----

// The A operands of products.
using Fragments = unsigned int[4][4];

// Whether some fragment of a part of the taps has words of this column; and of one of those that are loaded together
// from it on.
__device__ bool is_read(int column) {
  bool read = false;
  for (int i = 0; i < 4; ++i) {
    const int first = -(i % 4 - 2) + 4 + i / 4 * 4;
    read = read || (column == first || column == first + 2);
  }
  return read;
}

__device__ bool is_loaded(int column) {
  bool loaded = false;
  for (int i = 0; i < 4; ++i) {
    loaded = loaded || is_read(column + i);
  }
  return loaded;
}

// Loads the fragments of a thread's positions of one staged row, for one k-step. `row` is its first position of its
// first channel.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const float* row, const Fragments& before,
                                               bool reads_before, unsigned int zero) {
  unsigned int words[2][12];  // for the halves of a product's K
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int i = 0; i < 12; i += 4) {
      if (is_loaded(i)) {
        const uint4 v = *reinterpret_cast<const uint4*>(row + half * 1312 + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
        words[half][i + 2] = operand(v.z);
        words[half][i + 3] = operand(v.w);
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 12; ++i) {
    if (is_read(i)) {
      wgmma_pin_operand(words[0][i]);
      wgmma_pin_operand(words[1][i]);
    }
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][-(i - 2) + 4 + j % 2 * 2];
      fragments[i][j] = word | (reads_before ? before[i][j] & zero : j % 2 == 1 ? zero : 0);
      wgmma_pin_operand(fragments[i][j]);
    }
  }
}

// By sets of fused phases and by instruction tiles of 64 positions.
using Accumulators = float[1][1][64];

// The i-th of them.
__device__ __forceinline__ float& acc_at(Accumulators& acc, int i) {
  return acc[i / kSetAccumulators][0][i % 64];
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    wgmma_pin(acc_at(acc, i));
  }
}

// A tap's products, for all M tiles. They begin their accumulators where `accumulate` is 0.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, const Fragments& fragments, int first,
                                             unsigned long long weights, int accumulate) {
  wgmma_m64n128k8_tf32_rs(acc[0][0], fragments[first], weights, accumulate);
}

// All products of one k-block, from the thread's first position in the staged input on. In a tile's first k-block
// `later` is 0. The stage before, at `previous`, is released as soon as its products are done.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, Fragments (&fragments)[2], const float* rows,
                                                 unsigned long long weights, int later, unsigned long long* previous,
                                                 unsigned int zero) {
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    const float* step_rows = rows + k_step * kKStepPitch;
    const unsigned long long step_weights = weights + k_step * 256;
    const int begun = k_step > 0 ? 1 : later;
    load_fragments(fragments[k_step], step_rows, fragments[1], k_step == 1, zero);
    wgmma_fence();
    multiply_tap(acc, fragments[k_step], 0, step_weights, begun);     // tap (0 + r, 0)
    multiply_tap(acc, fragments[k_step], 1, step_weights + 512, 1);   // tap (0 + r, 1)
    multiply_tap(acc, fragments[k_step], 2, step_weights + 1024, 1);  // tap (0 + r, 2)
    multiply_tap(acc, fragments[k_step], 3, step_weights + 1536, 1);  // tap (0 + r, 3)
    wgmma_commit();
    wgmma_wait(1);  // the fragments before may be overwritten
    if (k_step == 0) {
      warp_arrive(previous, later == 1);
    }
  }
}

// ---- Epilogue ----

// Stores a thread's outputs: its positions in all phases, for its channels, from position (m_y, m_x), channel `co` on.
__device__ __forceinline__ void store_tile(const Accumulators& acc, float* __restrict__ y, int co, int m_y, int m_x) {
  float* corner = y + (static_cast<long long>(co) * 16 + m_y) * 16 + m_x;
  if (m_y < 16) {
    #pragma unroll
    for (int i = 0; i < kThreadChannels; ++i) {
      float* to = corner + static_cast<long long>(i / 2 * 8 + i % 2) * 256;
      if (m_x < 16) {
        float values[2];
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
          values[v] = acc[0][0][i / 2 * 4 + v * 2 + i % 2];
        }
        store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_shift_gemm_grad_input_c3bf306a40c089cb(const float* __restrict__ x, const unsigned char* packed,
                                                    float* __restrict__ y, int batch) {
  const int tiles = batch * 2;
  // The block's output channels and phase rows. Blocks that read the same input run together.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 4;
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
      const int first_row = tile.m_y * 2 + 2;
      Copy copy;
      for (int k_block = 0; k_block < 16; ++k_block) {
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = shared + stage * kStageBytes;
        if (thread == 0) {
          mbarrier_arrive_expect(&full[stage], kKBlockWeightBytes);
          bulk_load(to + kInputBytes, packed + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
        }
        float* staged = reinterpret_cast<float*>(to);
        // other rows than the k-block before
        copy = find_copy(x, tile.image, k_block / 4 * 16, first_row - k_block % 4, warp - 8);
        zero_pad(staged, first_row - k_block % 4, thread);
        if (elect_one()) {
          copy_rows(staged, copy, &full[stage]);
        }
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
    const int position = (image * 8 + row) * kRowPitch + column * 2;
    const int own = quarter * kChannelPitch + position;
    const int co = quarter * 2;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // which the compiler doesn't know to be 0
    Accumulators acc = {};
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(acc);
      Fragments fragments[2] = {};
      for (int k_block = 0; k_block < 16; ++k_block) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = shared + stage * kStageBytes;
        const unsigned char* weights = from + kInputBytes;
        multiply_k_block(acc, fragments, reinterpret_cast<const float*>(from) + own,
                         wgmma_descriptor(weights, 2048, 128, 0), k_block > 0 ? 1 : 0,
                         &empty[stage == 0 ? 3 : stage - 1], zero);
        next_stage(stage, parity);
      }
      wgmma_wait(0);
      pin(acc);
      warp_arrive(&empty[stage == 0 ? 3 : stage - 1], true);
      const Tile tile = tile_at(index);
      store_tile(acc, y + (tile.image + image) * 32768ll, co, tile.m_y + row, column);
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

// Gives back the registers of each thread of this warpgroup beyond 88. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_88() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
}

// Waits until each thread of this warpgroup can have 208 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_208() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
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

}  // namespace convtgen_shift_gemm_grad_input_c3bf306a40c089cb_source
using convtgen_shift_gemm_grad_input_c3bf306a40c089cb_source::convtgen_shift_gemm_grad_input_c3bf306a40c089cb_pack;
using convtgen_shift_gemm_grad_input_c3bf306a40c089cb_source::convtgen_shift_gemm_grad_input_c3bf306a40c089cb;
