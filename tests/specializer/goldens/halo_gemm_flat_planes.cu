// conv_transpose3d 64 -> 16; kernel 3x3x3; input 8x32x30x30; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template halo_gemm: a block makes 16x8 outputs of 16 channels in each of 17 planes; 27 taps; 123.9 KiB shared.
// Launch
//   sizes: batch 8, in_depth 32, in_height 30, in_width 30; out_depth 34, out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 4456448 elements, written, 16-byte aligned
//     shape (N 8, D 34, H 32, W 32, Cout 16), contiguous
//   tensor x: 14745600 elements, read, 16-byte aligned
//     shape (N 8, D 32, H 30, W 30, Cin 64), contiguous
//   tensor weight: 27648 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 16, KD 3, KH 3, KW 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 55296 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_halo_gemm_forward_8b11dcfc6cda0d86_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 14; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_halo_gemm_forward_8b11dcfc6cda0d86
//     arguments const unsigned short* x, const unsigned char* packed, unsigned short* y, int batch
//     grid 128; block 384; shared 126824
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 126824)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 126824)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_halo_gemm_forward_8b11dcfc6cda0d86_source {

// ---- Constants ----

constexpr int kConsumers = 256;
constexpr int kThreads = 384;
constexpr int kPackers = 256;      // threads of a block that packs weights
constexpr int kInstructionN = 48;  // of a product
constexpr int kUnitPitch = 2976;
constexpr int kAllPlaces = 180;
constexpr int kPlaceStep = 32;  // from a place of a thread to its next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kProductBytes = 1536;        // a B operand
constexpr int kKBlockWeightBytes = 27648;  // a k-block's B operands
constexpr int kResidentBytes = 55296;      // the weights, at 0; the stages follow
constexpr int kStageBytes = 11904;         // input; weights if not resident
constexpr int kBarrierOffset = 126720;     // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
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
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void setmaxnreg_decrease_120();
__device__ __forceinline__ void setmaxnreg_increase_192();
__device__ __forceinline__ void wgmma_m64n48k16_f16_ss(float (&d)[24], unsigned long long a, unsigned long long b,
                                                       int accumulate);

#endif

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 6; ++stage) {
    mbarrier_init(&full[stage], 128);
    mbarrier_init(&empty[stage], 8);
  }
}

// ---- Elements ----

// The column where the weights of a channel of the block stand: a thread's columns are its own channels.
__device__ __forceinline__ int column_of_channel(int channel) {
  const int i = channel / 16 * 4 + channel % 4;
  const int thread = channel / 4 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, product by product.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_halo_gemm_forward_8b11dcfc6cda0d86_pack(const unsigned short* __restrict__ weight,
                                                     unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  // A thread packs a unit: 16 bytes of one output channel and kernel tap. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 3456) {
    const int tap = static_cast<int>(i % 27);
    const int co = static_cast<int>(i / 27 % 16);
    const int unit = static_cast<int>(i / 432);
    const int kd = tap / 9;
    const int kh = tap / 3 % 3;
    const int kw = tap % 3;
    unsigned int words[4];
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 1;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[1] = value;
      }
      words[0] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 2;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 3;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[1] = value;
      }
      words[1] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 4;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 5;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[1] = value;
      }
      words[2] = halves[0] | (halves[1] << 16);
    }
    {
      unsigned int halves[2];
      {
        const int ci = unit * 8 + 6;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[0] = value;
      }
      {
        const int ci = unit * 8 + 7;
        const unsigned short value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
        halves[1] = value;
      }
      words[3] = halves[0] | (halves[1] << 16);
    }
    int place = 0;  // of the tap among the block's
    int column = column_of_channel(co);
    column += kd * 16;
    place = kh * 3 + kw;
    column += 0;
    unsigned char* k_block = packed + static_cast<long long>(unit / 4) * kKBlockWeightBytes;
    *reinterpret_cast<uint4*>(k_block + (place * 2 + unit % 4 / 2) * kProductBytes +
                              (unit % 2 * kInstructionN + column) * 16) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

// A tile's place: its image and first position. In the sequence m_x counts positions of the image and m_y is 0.
struct Tile {
  int image;
  int plane;  // of a volume's output
  int m_y;
  int m_x;
};

__device__ __forceinline__ Tile square_tile(int index) {
  Tile tile;
  tile.image = index / 16;
  tile.plane = index / 8 % 2;
  tile.m_y = index / 4 % 2 * 16;
  tile.m_x = index % 4 * 8;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index) {
  Tile tile = square_tile(index);
  tile.m_y = tile.m_y - 2;
  tile.m_x = tile.m_x - 2;
  return tile;
}

// ---- Places ----

using Places = long long[6];

__device__ __forceinline__ int place_of(int thread, int i) {
  return thread / 4 + i * kPlaceStep;
}

// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread) {
  #pragma unroll
  for (int i = 0; i < 6; ++i) {
    const int pixel = place_of(thread, i);
    const int image = tile.image;
    const int iy = tile.m_y + pixel / 10;
    const int ix = tile.m_x + pixel % 10;
    const bool inside = is_place(thread, i) && (iy >= 0 && iy < 30 && ix >= 0 && ix < 30);
    const long long first = static_cast<long long>(image) * 1843200;
    const long long of_pixel = static_cast<long long>(iy) * 30 + ix;
    places[i] = inside ? first + of_pixel * 64 : -1;
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
    if (item < 6) {
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
    if (item < 6 && is_place(thread, item)) {
      unsigned char* pixel = to + unit_of(thread) * kUnitPitch + place_of(thread, item) * 16;
      uint4* place = reinterpret_cast<uint4*>(pixel);
      *place = make_uint4(words[item][0], words[item][1], words[item][2], words[item][3]);
    }
  }
}

// ---- Products ----

// One thread's accumulators for one part, of all phases or of one.
using Accumulators = float[24];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 24; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Issues all products of one k-block. `first_part` is the warpgroup's first part of the tile.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* input,
                                                 unsigned long long weights, int first_part) {
  const int first = first_part * 80;
  const unsigned long long a = wgmma_descriptor(input + first * 16, kUnitPitch, 160, 0);
  // taps (0 to 2, 0 to 2)
  #pragma unroll
  for (int t_y = 0; t_y < 3; ++t_y) {
    #pragma unroll
    for (int t_x = 0; t_x < 3; ++t_x) {
      const int pixel = (2 - t_y) * 10 + (2 - t_x);
      #pragma unroll
      for (int k_step = 0; k_step < 2; ++k_step) {
        const unsigned long long moved = wgmma_descriptor_move(a, pixel * 16 + k_step * 5952);
        const int tap = t_y * 3 + t_x;
        wgmma_m64n48k16_f16_ss(acc, moved, wgmma_descriptor_move(weights, (tap * 2 + k_step) * kProductBytes), 1);
      }
    }
  }
}

// ---- Epilogue ----

// A part's accumulator of a phase and the thread's i-th channel, for its row of that half.
__device__ __forceinline__ float acc_of(const Accumulators& acc, int i, int half) {
  const int column = i / 2 * 4 + half * 2 + i % 2;
  return acc[column];
}

// Stores a thread's outputs of the warpgroup's parts. `row` is the thread's first of a part, `channel` its first of the
// block's, `y` the block's first channel of the first image.
__device__ __forceinline__ void store_parts(const Accumulators& acc, unsigned short* __restrict__ y, const Tile& tile,
                                            int plane, int first_part, int row, int channel) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int place = row + 8 * half;  // in the part
    const int image = tile.image;
    const int m_y = tile.m_y + first_part * 8 + place / 8;
    const int m_x = tile.m_x + place % 8;
    if (m_y >= 0 && m_y < 32 && m_x >= 0 && m_x < 32) {
      unsigned short* to = y + (((static_cast<long long>(image) * 34 + plane) * 32 + m_y) * 32 + m_x) * 16;
      float values[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = acc_of(acc, i, half);
      }
      store_global_8(to + channel,
                     make_uint2(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3])));
    }
  }
}

// ---- Volumes ----

// A tile's first position whose outputs it stores; the first plane of the input that it stages; the position to before
// which it goes.
__device__ __forceinline__ int first_position(int index) {
  return index / 8 % 2 * 17;
}

__device__ __forceinline__ int first_staged(int first_m) {
  return max(0, first_m - 2);
}

__device__ __forceinline__ int end_position(int first_m) {
  return min(first_m + 17, 34);
}

// No accumulator has a product yet.
__device__ __forceinline__ void clear(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 24; ++i) {
    acc[i] = 0;
  }
}

// Planes that are stored make room for later ones.
__device__ __forceinline__ void move_on(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 24; ++i) {
    const int from = i + 8;
    acc[i] = from < 24 ? acc[from < 23 ? from : 23] : 0;
  }
}

// What the producers stage next: a k-block of a tile's plane of the input, of those to before `end`.
struct Next {
  int index;  // of the tile
  int plane;
  int end;
  int k_block;
};

// Goes to a tile, or to the first one after it that reads any plane.
__device__ __forceinline__ void go_to_tile(Next& next, int index, int tiles, int next_tile) {
  next.index = index;
  next.k_block = 0;
  next.plane = 0;
  next.end = 0;
  while (next.plane == next.end && next.index < tiles) {
    const int first_m = first_position(next.index);
    next.plane = first_staged(first_m);
    next.end = max(next.plane, min(end_position(first_m), 32));
    if (next.plane == next.end) {
      next.index += next_tile;
    }
  }
}

// x, or a channel of it, from a plane on.
__device__ __forceinline__ const unsigned short* from_plane(const unsigned short* x, int plane) {
  return x + static_cast<long long>(plane) * 57600;
}

// Goes on to what is staged after a k-block.
__device__ __forceinline__ void next_k_block(Next& next, Places& places, int thread, int tiles, int next_tile) {
  if (++next.k_block == 2) {
    next.k_block = 0;
    if (++next.plane == next.end) {
      go_to_tile(next, next.index + next_tile, tiles, next_tile);
      find_places(places, staged_tile(next.index), thread);
    }
  }
}

// Brings the stages of all of the block's tiles; those whose copies are in flight are not published. Returns how many
// there are.
__device__ __forceinline__ int produce_planes(const unsigned short* __restrict__ x, unsigned char* stages,
                                              unsigned long long* full, unsigned long long* empty, int thread,
                                              int first_tile, int next_tile, int tiles) {
  int issued = 0;
  Words words;
  Places places;
  Next next;
  go_to_tile(next, first_tile, tiles, next_tile);
  find_places(places, staged_tile(next.index), thread);
  if (next.index < tiles) {
    // a batch is loaded before the one before it is written
    load_batch(words, from_plane(x, next.plane), places, next.k_block * 32, thread);
  }
  while (next.index < tiles) {
    const int stage = issued % 6;
    mbarrier_wait(&empty[stage], (issued / 6 % 2) ^ 1);
    unsigned char* to = stages + stage * kStageBytes;
    ++issued;
    store_batch(to, words, thread);
    next_k_block(next, places, thread, tiles, next_tile);
    if (next.index < tiles) {
      load_batch(words, from_plane(x, next.plane), places, next.k_block * 32, thread);
    }
    fence_proxy_async();
    mbarrier_arrive(&full[stage]);
  }
  return issued;
}

// Makes the products of all of the warpgroup's tiles, and stores each plane of the output as soon as it has them all.
__device__ __forceinline__ void consume_planes(Accumulators& acc, unsigned short* __restrict__ y,
                                               const unsigned char* weights, const unsigned char* stages,
                                               unsigned long long* full, unsigned long long* empty, int first_tile,
                                               int next_tile, int tiles, int first_part, int row, int channel) {
  int consumed = 0;  // stages
  for (int index = first_tile; index < tiles; index += next_tile) {
    const Tile tile = square_tile(index);
    const int first_m = first_position(index);
    const int end_m = end_position(first_m);
    clear(acc);
    pin(acc);
    #pragma unroll 1
    for (int m = first_staged(first_m); m < end_m; ++m) {
      if (m < 32) {
        #pragma unroll 1
        for (int k_block = 0; k_block < 2; ++k_block) {
          const int stage = consumed % 6;
          mbarrier_wait(&full[stage], consumed / 6 % 2);
          const unsigned char* from = stages + stage * kStageBytes;
          wgmma_fence();
          multiply_k_block(acc, from, wgmma_descriptor(weights + k_block * kKBlockWeightBytes, 768, 128, 0),
                           first_part);
          wgmma_commit();
          if (k_block > 0) {
            wgmma_wait(1);  // the k-block before
            if (threadIdx.x % 32 == 0) {
              mbarrier_arrive(&empty[(consumed - 1) % 6]);
            }
          }
          ++consumed;
        }
        wgmma_wait(0);
        pin(acc);
        if (threadIdx.x % 32 == 0) {
          mbarrier_arrive(&empty[(consumed - 1) % 6]);
        }
      }
      if (m >= first_m && m >= 0 && m < 34) {
        store_parts(acc, y, tile, m, first_part, row, channel);
      }
      move_on(acc);
      pin(acc);
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_halo_gemm_forward_8b11dcfc6cda0d86(const unsigned short* __restrict__ x, const unsigned char* packed,
                                                unsigned short* __restrict__ y, int batch) {
  const int tiles = batch * 16;

  // The block's output channels and phase rows. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 6;
  unsigned long long* resident = empty + 6;  // of resident weights
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_120();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, kResidentBytes);
      for (int k_block = 0; k_block < 2; ++k_block) {
        bulk_load(shared + k_block * kKBlockWeightBytes, packed + k_block * kKBlockWeightBytes, kKBlockWeightBytes,
                  resident);
      }
    }
    produce_planes(x, stages, full, empty, thread, first_tile, next_tile, tiles);
  } else {
    setmaxnreg_increase_192();
    // The warpgroup's tiles and its parts of them; the thread's first row of a part, and its first channel.
    const int warpgroup = warp / 4;
    const int lane = threadIdx.x % 32;
    const int row = warp % 4 * 16 + lane / 4;
    const int channel = lane % 4 * 4;
    Accumulators acc = {};
    mbarrier_wait(resident, 0);
    consume_planes(acc, y, shared, stages, full, empty, first_tile, next_tile, tiles, warpgroup, row, channel);
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

// Gives back the registers of each thread of this warpgroup beyond 120. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_120() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 120;");
}

// Waits until each thread of this warpgroup can have 192 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_192() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
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

}  // namespace convtgen_halo_gemm_forward_8b11dcfc6cda0d86_source
using convtgen_halo_gemm_forward_8b11dcfc6cda0d86_source::convtgen_halo_gemm_forward_8b11dcfc6cda0d86_pack;
using convtgen_halo_gemm_forward_8b11dcfc6cda0d86_source::convtgen_halo_gemm_forward_8b11dcfc6cda0d86;
