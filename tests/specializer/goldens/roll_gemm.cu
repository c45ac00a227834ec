// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias; fuse relu; dtype f32; compute tf32; layout nchw
// forward for sm_90a. Template roll_gemm: a block makes 256x128 outputs of 32 channels; 21 taps; 220.1 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 134217728 elements, written, 16-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   tensor x: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cin 32, H 512, W 1024), contiguous
//   tensor weight: 21504 elements, read, 4-byte aligned
//     shape (Cin 32, Cout 32, KH 3, KW 7), contiguous
//   tensor bias: 32 elements, read, 4-byte aligned
//     shape (Cout 32), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 86016 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_roll_gemm_forward_f57fbf1a70f78e9d_pack
//     arguments const float* weight, unsigned char* packed
//     grid 21; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_roll_gemm_forward_f57fbf1a70f78e9d
//     arguments const float* x, const unsigned char* packed, const float* bias, float* y, int batch
//     grid 128; block 384; shared 225416
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 225416)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 225416)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_roll_gemm_forward_f57fbf1a70f78e9d_source {

// ---- Constants ----

constexpr int kConsumers = 256;
constexpr int kProducers = 128;
constexpr int kThreads = 384;
constexpr int kStrip = 128;
constexpr int kInstructionN = 96;  // of a product
constexpr int kTaps = 21;
constexpr int kStagedColumns = 136;
constexpr int kChannelPitch = 136;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kStageBytes = 17408;      // a row of input
constexpr int kProductBytes = 3072;     // a B operand
constexpr int kWeightBytes = 86016;     // of a block, at 0; the stages follow
constexpr int kBarrierOffset = 225280;  // mbarriers

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
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ unsigned int float_to_tf32(float value);
__device__ __forceinline__ void setmaxnreg_decrease_88();
__device__ __forceinline__ void setmaxnreg_increase_208();
__device__ __forceinline__ void wgmma_m64n96k8_tf32_rs(float (&d)[48], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate);

#endif

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 8; ++stage) {
    mbarrier_init(&full[stage], 4);
    mbarrier_init(&empty[stage], 8);
  }
}

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// ---- Packing ----

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 2 * 8 + i % 2;
}

// Puts the weights where the products look for them: for each block of output channels, k-block of input channels,
// kernel column and k-step the two columns of a B operand, whose rows are the output channels of all kernel rows. A
// thread makes 16 bytes, adjacent threads read adjacent weights.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_roll_gemm_forward_f57fbf1a70f78e9d_pack(const float* __restrict__ weight,
                                                     unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  const int index = blockIdx.x * 256 + threadIdx.x;
  const int tap = index % kTaps;
  const int n = index / kTaps % 32;
  const int half = index / 672 % 2;
  const int k_step = index / 1344 % 4;
  const int n_tile = index / 5376;
  if (n_tile < 1) {
    const int co = n_tile * 32 + n;
    unsigned int words[4];
    #pragma unroll
    for (int word = 0; word < 4; ++word) {
      unsigned int parts;
      const int ci = k_step * 8 + half * 4 + word;
      const float value = weight[(static_cast<long long>(ci) * 32 + co) * kTaps + tap];
      parts = __float_as_uint(value);
      words[word] = operand(parts);
    }
    const int product = tap % 7 * 4 + k_step;
    unsigned char* to = packed + static_cast<long long>(n_tile) * kWeightBytes + product * kProductBytes;
    const int row = half * kInstructionN + tap / 7 * 32 + n;
    *reinterpret_cast<uint4*>(to + row * 16) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

// A tile's place: its first image, its first position in a row there, and its first row of outputs.
struct Tile {
  int image;
  int column;
  int row;
};

__device__ __forceinline__ Tile tile_at(int index) {
  const int strip = index / 2;
  Tile tile;
  tile.image = strip / 8;
  tile.column = strip % 8 * kStrip;
  tile.row = index % 2 * 256;
  return tile;
}

// The input rows that a tile reads: from the first to before the last. Some may lie past the image's end.
__device__ __forceinline__ int first_input_row(const Tile& tile) {
  return max(0, tile.row - 1);
}

__device__ __forceinline__ int last_input_row(const Tile& tile) {
  return min(tile.row + 256, 512) + 1;
}

// ---- Producer ----

// Staged columns that hold a row of the tile's image: half-open range [first_of, last_of); empty outside the image.
__device__ __forceinline__ int image_column(const Tile& tile) {
  return 4 - tile.column;
}

__device__ __forceinline__ int first_of(const Tile& tile) {
  return max(0, image_column(tile));
}

__device__ __forceinline__ int last_of(const Tile& tile) {
  return min(kStagedColumns, image_column(tile) + 1024);
}

// Zero padding: clears what no copy writes while the stage belongs to this tile, outside the images and in channels
// that the layer lacks.
__device__ __forceinline__ void zero_pad(float* to, const Tile& tile, int thread) {
  for (int i = thread; i < 1088; i += kProducers) {
    const int channel = i / 34;
    const int column = i % 34 * 4;
    const bool is_copied = column >= first_of(tile) && column < last_of(tile);
    if (!is_copied) {
      *reinterpret_cast<uint4*>(to + channel * kChannelPitch + column) = make_uint4(0, 0, 0, 0);
    }
  }
}

// Issues a warp's share of a stage: every fourth channel. Each lane issues a copy of its own. One lane announces the
// bytes, which may be after the first of them has arrived. `x` is the tile's first image, at the row and the first
// channel.
__device__ __forceinline__ void copy_channels(float* to, const float* __restrict__ x, const Tile& tile, int thread,
                                              unsigned long long* full) {
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int own = (35 - warp) / 4;
  if (lane == 0) {
    const int elements = max(0, last_of(tile) - first_of(tile));  // of a channel
    mbarrier_arrive_expect(full, own * elements * 4);
  }
  for (int i = lane; i < own; i += 32) {
    const int channel = i * 4 + warp;
    const int first = first_of(tile);
    const int count = last_of(tile) - first;
    bulk_load(to + channel * kChannelPitch + first, x + channel * 524288ll + (first - image_column(tile)), count * 4,
              full);
  }
}

// ---- Products ----

using Accumulators = float[48];
// The A fragments of products whose first position is each of the thread's positions.
using Fragments = unsigned int[9][4];

// Loads a thread's A fragments of a staged row, for one k-step. `row` is its first position of its first channel.
// Returns a word that depends on all loads.
__device__ __forceinline__ unsigned int load_fragments(Fragments& fragments, const float* row) {
  unsigned int words[2][10];  // for the halves of a product's channels
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* from = row + half * 544;
    #pragma unroll
    for (int i = 0; i < 10; i += 2) {
      const uint2 v = *reinterpret_cast<const uint2*>(from + i);
      words[half][i] = operand(v.x);
      words[half][i + 1] = operand(v.y);
    }
  }
  #pragma unroll
  for (int i = 1; i < 9; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
  unsigned int read = words[0][9] | words[1][9];
  #pragma unroll
  for (int i = 0; i < 9; ++i) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][i + j % 2];
      fragments[i][j] = word;
    }
    read |= words[0][i] | words[1][i];
  }
  return read;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 48; ++i) {
    wgmma_pin(acc[i]);
  }
}

// All products of one k-block of an input row; `row` is the thread's first position there. The stage is released as
// soon as it lies in registers. Fake dependency: the arrival's address takes a word that waits for the loads, and
// `zero` leaves nothing of it.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, Fragments (&fragments)[2], const float* row,
                                                 unsigned long long weights, unsigned long long* empty, int zero) {
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    const float* k_step_row = row + k_step * 1088;
    const int at = k_step % 2;
    const unsigned int read = load_fragments(fragments[at], k_step_row);
    if (k_step == 3) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty + (read & static_cast<unsigned int>(zero)));
      }
    }
    const unsigned long long k_step_weights = wgmma_descriptor_move(weights, k_step * kProductBytes);
    wgmma_fence();
    // taps (0, 0) (1, 0) (2, 0)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][7], wgmma_descriptor_move(k_step_weights, 0), 1);
    // taps (0, 1) (1, 1) (2, 1)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][6], wgmma_descriptor_move(k_step_weights, 12288), 1);
    // taps (0, 2) (1, 2) (2, 2)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][5], wgmma_descriptor_move(k_step_weights, 24576), 1);
    // taps (0, 3) (1, 3) (2, 3)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][4], wgmma_descriptor_move(k_step_weights, 36864), 1);
    // taps (0, 4) (1, 4) (2, 4)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][3], wgmma_descriptor_move(k_step_weights, 49152), 1);
    // taps (0, 5) (1, 5) (2, 5)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][2], wgmma_descriptor_move(k_step_weights, 61440), 1);
    // taps (0, 6) (1, 6) (2, 6)
    wgmma_m64n96k8_tf32_rs(acc, fragments[at][1], wgmma_descriptor_move(k_step_weights, 73728), 1);
    wgmma_commit();
    wgmma_wait(1);  // the fragments before may be overwritten
  }
}

// Moves the accumulators of all output rows up by one; those of the last row become zero.
__device__ __forceinline__ void roll(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 48; ++i) {
    acc[i] = i + 16 < 48 ? acc[i + 16] : 0;
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

// The biases of a thread's channels. They are loaded before a tile's first store: later loads would wait for it.
using BiasRegisters = float[8];

__device__ __forceinline__ void load_bias(BiasRegisters& registers, const float* __restrict__ bias, int co) {
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int channel = own_channel(co, i);
    registers[i] = bias[channel];
  }
}

// Stores a thread's outputs of the complete row. `to` is its first position of its first channel, `co`; `left` counts
// the positions from there to the row's end.
__device__ __forceinline__ void store_row(const Accumulators& acc, float* __restrict__ to,
                                          const float* __restrict__ bias, int co, int left) {
  BiasRegisters biases;
  load_bias(biases, bias, co);
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int channel = i / 2 * 8 + i % 2;
    float* row = to + channel * 524288ll;
    if (left > 0) {
      float values[2];
      #pragma unroll
      for (int v = 0; v < 2; ++v) {
        values[v] = epilogue(acc[i / 2 * 4 + v * 2 + i % 2], biases[i]);
      }
      store_global_8(row, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_roll_gemm_forward_f57fbf1a70f78e9d(const float* __restrict__ x, const unsigned char* packed,
                                                const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const int strips = batch * 8;
  const int tiles = strips * 2;

  // The block's output channels. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kWeightBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 8;
  unsigned long long* resident = empty + 8;  // of the weights
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  int stage = 0;
  unsigned int parity = warp >= 8 ? 1 : 0;
  if (warp >= 8) {
    setmaxnreg_decrease_88();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, kWeightBytes);
      bulk_load(shared, packed, kWeightBytes, resident);
    }
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      const float* image = x + tile.image * 16777216ll;
      const int last = min(512, last_input_row(tile));
      int unpadded = 8;
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        float* to = reinterpret_cast<float*>(stages + stage * kStageBytes);
        mbarrier_wait(&empty[stage], parity);
        if (unpadded != 0) {
          zero_pad(to, tile, thread);
          fence_proxy_async();
          --unpadded;
        }
        __syncwarp();
        copy_channels(to, image + static_cast<long long>(iy) * 1024, tile, thread, &full[stage]);
        ++stage;
        if (stage == 8) {
          stage = 0;
          parity ^= 1;
        }
      }
    }
  } else {
    setmaxnreg_increase_208();
    // The thread's place in the strip, and the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int column = (warp * 8 + lane / 4) * 2;
    const int own = quarter * kChannelPitch + column;
    const int co = quarter * 2;
    Accumulators acc = {};
    mbarrier_wait(resident, 0);
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      const int image = tile.image;
      const int ox = tile.column + column;
      const int left = image < batch ? 1024 - ox : 0;
      float* to = y + (static_cast<long long>(image) * 32 + co) * 524288 + ox;
      const int last = last_input_row(tile);
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        if (iy < 512) {
          pin(acc);
          Fragments fragments[2] = {};
          mbarrier_wait(&full[stage], parity);
          multiply_k_block(acc, fragments, reinterpret_cast<const float*>(stages + stage * kStageBytes) + own,
                           wgmma_descriptor(shared, 1536, 128, 0), &empty[stage], batch >> 31);
          ++stage;
          if (stage == 8) {
            stage = 0;
            parity ^= 1;
          }
          wgmma_wait(0);
          pin(acc);
        }
        const int oy = iy - 1;
        if (oy >= tile.row) {
          float* row = to + static_cast<long long>(oy) * 1024;
          store_row(acc, row, bias, co, left);
        }
        roll(acc);
      }
      // Drops what was accumulated for rows after the tile.
      #pragma unroll
      for (int i = 0; i < 48; ++i) {
        acc[i] = 0;
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

}  // namespace convtgen_roll_gemm_forward_f57fbf1a70f78e9d_source
using convtgen_roll_gemm_forward_f57fbf1a70f78e9d_source::convtgen_roll_gemm_forward_f57fbf1a70f78e9d_pack;
using convtgen_roll_gemm_forward_f57fbf1a70f78e9d_source::convtgen_roll_gemm_forward_f57fbf1a70f78e9d;
