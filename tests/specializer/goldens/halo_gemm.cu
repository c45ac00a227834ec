// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template halo_gemm: a block makes 512 outputs of 32 channels; 16 taps; 183.0 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 8388608 elements, written, 16-byte aligned
//     shape (N 128, H 32, W 32, Cout 64), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, H 16, W 16, Cin 128), contiguous
//   tensor weight: 131072 elements, read, 2-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor bias: 64 elements, read, 2-byte aligned
//     shape (Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 262144 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_halo_gemm_forward_2a3d0bc419a8a723_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 64; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_halo_gemm_forward_2a3d0bc419a8a723
//     arguments const unsigned short* x, const unsigned char* packed, const unsigned short* bias, unsigned short* y,
//       int batch
//     grid 132; block 384; shared 187368
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 187368)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 187368)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_halo_gemm_forward_2a3d0bc419a8a723_source {

// ---- Constants ----

constexpr int kConsumers = 256;
constexpr int kThreads = 384;
constexpr int kPackers = 256;       // threads of a block that packs weights
constexpr int kInstructionN = 128;  // of a product
constexpr int kPositions = 128;
constexpr int kStagedColumns = 129;
constexpr int kRowPitch = 17;  // used only with a halo of rows
constexpr int kUnitPitch = 2336;
constexpr int kAllPlaces = 146;
constexpr int kPlaceStep = 32;  // from a place of a thread to its next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kProductBytes = 4096;        // a B operand
constexpr int kKBlockWeightBytes = 32768;  // a k-block's B operands
constexpr int kResidentBytes = 131072;     // the weights, at 0; the stages follow
constexpr int kStageBytes = 9344;          // input; weights if not resident
constexpr int kBiasOffset = 187136;        // one a channel
constexpr int kBarrierOffset = 187264;     // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
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
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void setmaxnreg_decrease_88();
__device__ __forceinline__ void setmaxnreg_increase_208();
__device__ __forceinline__ void wgmma_m64n128k16_f16_ss(float (&d)[64], unsigned long long a, unsigned long long b,
                                                        int accumulate);

#endif

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 6; ++stage) {
    mbarrier_init(&full[stage], 128);
    mbarrier_init(&empty[stage], 4);
  }
}

// ---- Elements ----

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 8 * 32 + i % 8;
}

// The column where the weights of a channel of the block stand: a thread's columns are its own channels.
__device__ __forceinline__ int column_of_channel(int channel) {
  const int i = channel / 32 * 8 + channel % 8;
  const int thread = channel / 8 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, product by product.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_halo_gemm_forward_2a3d0bc419a8a723_pack(const unsigned short* __restrict__ weight,
                                                     unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  // A thread packs a unit: 16 bytes of one output channel and kernel tap. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 16384) {
    const int tap = static_cast<int>(i % 16);
    const int co = static_cast<int>(i / 16 % 64);
    const int unit = static_cast<int>(i / 1024);
    const int kh = tap / 4;
    const int kw = tap % 4;
    unsigned int words[4];
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 1;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[1] = value;
      }
      words[0] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 2;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 3;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[1] = value;
      }
      words[1] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 4;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 5;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[1] = value;
      }
      words[2] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 6;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 7;
        const unsigned short value = weight[(static_cast<long long>(ci) * 64 + co) * 16 + (kh * 4 + kw)];
        halves[1] = value;
      }
      words[3] = halves[0] | (halves[1] << 16);
    }
    const int row = kh % 2;
    int place = 0;  // of the tap among the block's
    int column = column_of_channel(co % 32);
    place = kh / 2 * 2 + kw / 2;
    column += (row * 2 + kw % 2) * 32;
    const int n_tile = co / 32;
    unsigned char* k_block = packed + (static_cast<long long>(n_tile) * 4 + unit / 4) * kKBlockWeightBytes;
    *reinterpret_cast<uint4*>(k_block + (place * 2 + unit % 4 / 2) * kProductBytes +
                              (unit % 2 * kInstructionN + column) * 16) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

// A tile's place: its image and first position. In the sequence m_x counts positions of the image and m_y is 0.
struct Tile {
  int image;
  int m_x;
};

// Of the sequence, the place so many positions before the tile's.
__device__ __forceinline__ Tile flat_tile(int index, int before) {
  const long long at = static_cast<long long>(index) * kPositions - before;
  const long long image = at < 0 ? -((288 - at) / 289) : at / 289;
  Tile tile;
  tile.image = static_cast<int>(image);
  tile.m_x = static_cast<int>(at - image * 289);
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index) {
  Tile tile = flat_tile(index, 18);
  return tile;
}

// ---- Places ----

using Places = long long[5];

__device__ __forceinline__ int place_of(int thread, int i) {
  return thread / 4 + i * kPlaceStep;
}

// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread, int batch) {
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    const int pixel = place_of(thread, i);
    const int at = tile.m_x + pixel;  // in the sequence
    const int image = tile.image + at / 289;
    const int iy = at / 17 % 17;
    const int ix = at % 17;
    const bool inside = is_place(thread, i) && (image >= 0 && image < batch && iy < 16 && ix < 16);
    const long long first = static_cast<long long>(image) * 32768;
    const long long of_pixel = static_cast<long long>(iy) * 16 + ix;
    places[i] = inside ? first + of_pixel * 128 : -1;
  }
}

// ---- Through registers ----

using Words = unsigned int[8][4];

// The unit of a k-block, of the thread's item.
__device__ __forceinline__ int unit_of(int thread) {
  return thread % 4;
}

// Loads a batch of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const unsigned short* __restrict__ x, const Places& places,
                                           int first_channel, int thread) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 5) {
      const long long place = places[item];
      const int ci = first_channel + unit_of(thread) * 8;
      const unsigned short* pixel = x + place;
      const unsigned short* from = pixel + ci;
      uint4 loaded = make_uint4(0, 0, 0, 0);
      if (place >= 0) {
        loaded = load_constant_16(from);
      }
      words[item][0] = loaded.x;
      words[item][1] = loaded.y;
      words[item][2] = loaded.z;
      words[item][3] = loaded.w;
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int thread) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 5 && is_place(thread, item)) {
      unsigned char* pixel = to + unit_of(thread) * kUnitPitch + place_of(thread, item) * 16;
      uint4* place = reinterpret_cast<uint4*>(pixel);
      *place = make_uint4(words[item][0], words[item][1], words[item][2], words[item][3]);
    }
  }
}

// ---- Products ----

// One thread's accumulators for one part, of all phases or of one.
using Accumulators = float[64];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[2][1]) {
  #pragma unroll
  for (int part = 0; part < 2; ++part) {
    #pragma unroll
    for (int i = 0; i < 64; ++i) {
      wgmma_pin(acc[part][0][i]);
    }
  }
}

// Issues all products of one k-block. `later` is 0 in a tile's first k-block, whose first products overwrite the
// accumulators.
__device__ __forceinline__ void multiply_k_block(Accumulators (&acc)[2][1], const unsigned char* input,
                                                 unsigned long long weights, int later) {
  #pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int first = part / 2 * kStagedColumns + part % 2 * 64;
    const unsigned long long a = wgmma_descriptor(input + first * 16, kUnitPitch, 128, 0);
    // taps (0 to 3, 0 to 3)
    #pragma unroll
    for (int t_y = 0; t_y < 2; ++t_y) {
      #pragma unroll
      for (int t_x = 0; t_x < 2; ++t_x) {
        const int pixel = (1 - t_y) * kRowPitch + (1 - t_x);
        #pragma unroll
        for (int k_step = 0; k_step < 2; ++k_step) {
          const unsigned long long moved = wgmma_descriptor_move(a, pixel * 16 + k_step * 4672);
          const int accumulate = t_y + t_x + k_step > 0 ? 1 : later;
          const int tap = t_y * 2 + t_x;
          wgmma_m64n128k16_f16_ss(acc[part][0], moved,
                                  wgmma_descriptor_move(weights, (tap * 2 + k_step) * kProductBytes), accumulate);
        }
      }
    }
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

// A part's accumulator of a phase and the thread's i-th channel, for its row of that half.
__device__ __forceinline__ float acc_of(const Accumulators (&acc)[1], int phase, int i, int half) {
  const int column = i / 2 * 4 + half * 2 + i % 2;
  return acc[0][phase * 16 + column];
}

// Stores a thread's outputs of the warpgroup's parts. `row` is the thread's first of a part, `channel` its first of the
// block's, `y` the block's first channel of the first image.
__device__ __forceinline__ void store_parts(const Accumulators (&acc)[2][1], unsigned short* __restrict__ y,
                                            const float* bias, const Tile& tile, int row, int channel, int batch) {
  float bias_registers[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    bias_registers[i] = bias[own_channel(channel, i)];
  }
  #pragma unroll
  for (int part = 0; part < 2; ++part) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int place = row + 8 * half;             // in the part
      const int at = tile.m_x + part * 64 + place;  // in the sequence
      const int image = tile.image + at / 289;
      const int m_y = at / 17 % 17;
      const int m_x = at % 17;
      #pragma unroll
      for (int phase = 0; phase < 4; ++phase) {
        const int oy = m_y * 2 + phase / 2 - 1;
        const int ox = m_x * 2 + phase % 2 - 1;
        if (oy >= 0 && oy < 32 && ox >= 0 && ox < 32 && image < batch) {
          unsigned short* to = y + ((static_cast<long long>(image) * 32 + oy) * 32 + ox) * 64;
          const int own = own_channel(channel, 0);
          float values[8];
          #pragma unroll
          for (int i = 0; i < 8; ++i) {
            values[i] = epilogue(acc_of(acc[part], phase, i, half), bias_registers[i]);
          }
          store_global_16(to + own,
                          make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                     floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_halo_gemm_forward_2a3d0bc419a8a723(const unsigned short* __restrict__ x, const unsigned char* packed,
                                                const unsigned short* __restrict__ bias, unsigned short* __restrict__ y,
                                                int batch) {
  const int tiles = static_cast<int>((static_cast<long long>(batch) * 289 + 127) / kPositions);

  // The block's output channels and phase rows. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % 2;
  const int first_tile = blockIdx.x / 2;
  const int next_tile = gridDim.x / 2;
  const int first_out = n_tile % 2 * 32;
  const unsigned char* block_weights = packed + static_cast<long long>(n_tile) * 131072;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 6;
  unsigned long long* resident = empty + 6;  // of resident weights
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  for (int i = threadIdx.x; i < 32; i += kThreads) {
    biases[i] = half_to_float(bias[first_out + i]);
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_88();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, kResidentBytes);
      for (int k_block = 0; k_block < 4; ++k_block) {
        bulk_load(shared + k_block * kKBlockWeightBytes, block_weights + k_block * kKBlockWeightBytes,
                  kKBlockWeightBytes, resident);
      }
    }
    int issued = 0;  // stages
    Words words;
    Places places;
    find_places(places, staged_tile(first_tile), thread, batch);
    if (first_tile < tiles) {
      load_batch(words, x, places, 0, thread);  // a batch is loaded before the one before it is written
    }
    for (int index = first_tile; index < tiles; index += next_tile) {
      for (int k_block = 0; k_block < 4; ++k_block) {
        const int stage = issued % 6;
        mbarrier_wait(&empty[stage], (issued / 6 % 2) ^ 1);
        unsigned char* to = stages + stage * kStageBytes;
        ++issued;
        store_batch(to, words, thread);
        // The next k-block, of this tile or of the next one.
        const bool more = k_block + 1 < 4;
        if (!more) {
          find_places(places, staged_tile(index + next_tile), thread, batch);
        }
        if (more || index + next_tile < tiles) {
          load_batch(words, x, places, more ? (k_block + 1) * 32 : 0, thread);
        }
        fence_proxy_async();
        mbarrier_arrive(&full[stage]);
      }
    }
  } else {
    setmaxnreg_increase_208();
    // The warpgroup's tiles and its parts of them; the thread's first row of a part, and its first channel.
    const int warpgroup = warp / 4;
    const int lane = threadIdx.x % 32;
    const int row = warp % 4 * 16 + lane / 4;
    const int channel = lane % 4 * 8;
    Accumulators acc[2][1] = {};
    int consumed = warpgroup * 4;  // stages
    mbarrier_wait(resident, 0);
    for (int index = first_tile + warpgroup * next_tile; index < tiles; index += 2 * next_tile) {
      pin(acc);
      for (int k_block = 0; k_block < 4; ++k_block) {
        const int stage = consumed % 6;
        mbarrier_wait(&full[stage], consumed / 6 % 2);
        const unsigned char* from = stages + stage * kStageBytes;
        const unsigned char* weights = shared + k_block * kKBlockWeightBytes;
        wgmma_fence();
        multiply_k_block(acc, from, wgmma_descriptor(weights, 2048, 128, 0), k_block > 0 ? 1 : 0);
        wgmma_commit();
        if (k_block > 0) {
          wgmma_wait(1);  // the k-block before
          if (lane == 0) {
            mbarrier_arrive(&empty[(consumed - 1) % 6]);
          }
        }
        ++consumed;
      }
      wgmma_wait(0);
      pin(acc);
      if (lane == 0) {
        mbarrier_arrive(&empty[(consumed - 1) % 6]);
      }
      consumed += 4;
      const Tile tile = flat_tile(index, 0);
      store_parts(acc, y + first_out, biases, tile, row, channel, batch);
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

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
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

// Gives back the registers of each thread of this warpgroup beyond 88. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_88() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
}

// Waits until each thread of this warpgroup can have 208 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_208() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
}

// d (64x128, f32) = a (64x16) * b (16x128), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B K-major.
__device__ __forceinline__ void wgmma_m64n128k16_f16_ss(float (&d)[64], unsigned long long a, unsigned long long b,
                                                        int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_halo_gemm_forward_2a3d0bc419a8a723_source
using convtgen_halo_gemm_forward_2a3d0bc419a8a723_source::convtgen_halo_gemm_forward_2a3d0bc419a8a723_pack;
using convtgen_halo_gemm_forward_2a3d0bc419a8a723_source::convtgen_halo_gemm_forward_2a3d0bc419a8a723;
