// conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; input ?x8x16x16; bias; dtype f32; compute tf32; layout nchw
// forward for sm_90a. Template halo_gemm: a block makes 512 outputs of 16 channels in each of 10 planes; 27 taps; 108.9 KiB shared.
// Launch
//   sizes: batch, in_depth 8, in_height 16, in_width 16; out_depth 16, out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 262144 * batch elements, written, 4-byte aligned
//     shape (N batch, Cout 16, D 16, H 32, W 32), contiguous
//   tensor x: 65536 * batch elements, read, 4-byte aligned
//     shape (N batch, Cin 32, D 8, H 16, W 16), contiguous
//   tensor weight: 13824 elements, read, 4-byte aligned
//     shape (Cin 32, Cout 16, KD 3, KH 3, KW 3), contiguous
//   tensor bias: 16 elements, read, 4-byte aligned
//     shape (Cout 16), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 55296 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_halo_gemm_forward_bf624a979b1f842a_pack
//     arguments const float* weight, unsigned char* packed
//     grid 14; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_halo_gemm_forward_bf624a979b1f842a
//     arguments const float* x, const unsigned char* packed, const float* bias, float* y, int batch
//     grid min(132, 64 * batch); block 384; shared 111528
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 111528)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 111528)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_halo_gemm_forward_bf624a979b1f842a_source {

// ---- Constants ----

constexpr int kConsumers = 256;
constexpr int kThreads = 384;
constexpr int kPackers = 256;      // threads of a block that packs weights
constexpr int kInstructionN = 48;  // of a product
constexpr int kPositions = 128;
constexpr int kStagedColumns = 129;
constexpr int kRowPitch = 17;  // used only with a halo of rows
constexpr int kUnitPitch = 2336;
constexpr int kAllPlaces = 146;
constexpr int kPlaceStep = 128;  // from a place of a thread to its next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kProductBytes = 1536;        // a B operand
constexpr int kKBlockWeightBytes = 27648;  // a k-block's B operands
constexpr int kResidentBytes = 55296;      // the weights, at 0; the stages follow
constexpr int kStageBytes = 9344;          // input; weights if not resident
constexpr int kBiasOffset = 111360;        // one a channel
constexpr int kBarrierOffset = 111424;     // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
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
__device__ __forceinline__ unsigned int float_to_tf32(float value);
__device__ __forceinline__ void setmaxnreg_decrease_120();
__device__ __forceinline__ void setmaxnreg_increase_192();
__device__ __forceinline__ void wgmma_m64n48k8_tf32_ss(float (&d)[24], unsigned long long a, unsigned long long b,
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

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 2 * 8 + i % 2;
}

// The column where the weights of a channel of the block stand: a thread's columns are its own channels.
__device__ __forceinline__ int column_of_channel(int channel) {
  const int i = channel / 8 * 2 + channel % 2;
  const int thread = channel / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, product by product.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_halo_gemm_forward_bf624a979b1f842a_pack(const float* __restrict__ weight,
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
      const int ci = unit * 4;
      const float value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
      halves[0] = operand(__float_as_uint(value));
      words[0] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = unit * 4 + 1;
      const float value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
      halves[0] = operand(__float_as_uint(value));
      words[1] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = unit * 4 + 2;
      const float value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
      halves[0] = operand(__float_as_uint(value));
      words[2] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = unit * 4 + 3;
      const float value = weight[(static_cast<long long>(ci) * 16 + co) * 27 + ((kd * 3 + kh) * 3 + kw)];
      halves[0] = operand(__float_as_uint(value));
      words[3] = halves[0];
    }
    const int row = kh % 2;
    int place = 0;  // of the tap among the block's
    int column = column_of_channel(co);
    column += kd * 16;
    place = (kh / 2 * 2 + row) * 3 + kw;
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
  int m_x;
};

// Of a plane's sequence, the place so many positions before the tile's: none are of the planes before and after it.
__device__ __forceinline__ Tile plane_tile(int index, int before) {
  Tile tile;
  tile.image = index / 6;
  tile.plane = index / 3 % 2;
  tile.m_x = index % 3 * kPositions - before;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index) {
  Tile tile = plane_tile(index, 18);
  return tile;
}

// ---- Places ----

using Places = long long[2];

__device__ __forceinline__ int place_of(int thread, int i) {
  return thread + i * kPlaceStep;
}

// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int pixel = place_of(thread, i);
    const int at = tile.m_x + pixel;  // in the sequence
    const int image = tile.image;
    const int iy = at / 17 % 17;
    const int ix = at % 17;
    const bool inside = is_place(thread, i) && (at >= 0 && at < 289 && iy < 16 && ix < 16);
    const long long first = static_cast<long long>(image) * 65536;
    const long long of_pixel = static_cast<long long>(iy) * 16 + ix;
    places[i] = inside ? first + of_pixel : -1;
  }
}

// ---- Through registers ----

using Words = unsigned int[8][4];

// The unit of a k-block, of the thread's item.
__device__ __forceinline__ int unit_of(int i) {
  return i % 4;
}

// Loads a batch of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const float* __restrict__ x, const Places& places,
                                           int first_channel) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 8) {
      const long long place = places[item / 4];
      const int ci = first_channel + unit_of(item) * 4;
      const float* pixel = x + place;
      const float* from = pixel + ci * 2048ll;
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float* element = from + c * 2048ll;
        words[item][c] = 0;
        if (place >= 0) {
          words[item][c] = *reinterpret_cast<const unsigned int*>(element);
        }
      }
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int thread) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 8 && is_place(thread, item / 4)) {
      unsigned char* pixel = to + unit_of(item) * kUnitPitch + place_of(thread, item / 4) * 16;
      uint4* place = reinterpret_cast<uint4*>(pixel);
      *place = make_uint4(operand(words[item][0]), operand(words[item][1]), operand(words[item][2]),
                          operand(words[item][3]));
    }
  }
}

// ---- Products ----

// One thread's accumulators for one part, of all phases or of one.
using Accumulators = float[24];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[4]) {
  #pragma unroll
  for (int array = 0; array < 4; ++array) {
    #pragma unroll
    for (int i = 0; i < 24; ++i) {
      wgmma_pin(acc[array][i]);
    }
  }
}

// Issues all products of one k-block. `first_part` is the warpgroup's first part of the tile.
__device__ __forceinline__ void multiply_k_block(Accumulators (&acc)[4], const unsigned char* input,
                                                 unsigned long long weights, int first_part) {
  const int first = first_part / 2 * kStagedColumns + first_part % 2 * 64;
  const unsigned long long a = wgmma_descriptor(input + first * 16, kUnitPitch, 128, 0);
  // taps (0 to 2, 0 to 2)
  #pragma unroll
  for (int t_y = 0; t_y < 2; ++t_y) {
    #pragma unroll
    for (int t_x = 0; t_x < 2; ++t_x) {
      const int pixel = (1 - t_y) * kRowPitch + (1 - t_x);
      #pragma unroll
      for (int k_step = 0; k_step < 2; ++k_step) {
        const unsigned long long moved = wgmma_descriptor_move(a, pixel * 16 + k_step * 4672);
        #pragma unroll
        for (int phase = 0; phase < 4; ++phase) {
          const int row = t_y * 2 + phase / 2;  // of the block's kernel rows
          const int column = t_x * 2 + phase % 2;
          if (row < 3 && column < 3) {
            const int tap = row * 3 + column;
            wgmma_m64n48k8_tf32_ss(acc[phase], moved,
                                   wgmma_descriptor_move(weights, (tap * 2 + k_step) * kProductBytes), 1);
          }
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

// A part's accumulator of a phase and the thread's i-th channel, for its row of that half.
__device__ __forceinline__ float acc_of(const Accumulators (&acc)[4], int depth_tap, int phase, int i, int half) {
  const int column = i / 2 * 4 + half * 2 + i % 2;
  const int of_plane = (depth_tap < 2 ? depth_tap : 2) * 8;
  return depth_tap >= 3 ? 0 : phase / 2 < 3 ? acc[phase][of_plane + column] : 0;
}

// Stores a thread's outputs of the warpgroup's parts. `row` is the thread's first of a part, `channel` its first of the
// block's, `y` the block's first channel of the first image.
__device__ __forceinline__ void store_parts(const Accumulators (&acc)[4], float* __restrict__ y, const float* bias,
                                            const Tile& tile, int plane, int depth_tap, int first_part, int row,
                                            int channel) {
  float bias_registers[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    bias_registers[i] = bias[own_channel(channel, i)];
  }
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int place = row + 8 * half;                   // in the part
    const int at = tile.m_x + first_part * 64 + place;  // in the sequence
    const int image = tile.image;
    const int m_y = at / 17 % 17;
    const int m_x = at % 17;
    #pragma unroll
    for (int phase = 0; phase < 4; ++phase) {
      const int oy = m_y * 2 + phase / 2 - 1;
      const int ox = m_x * 2 + phase % 2 - 1;
      if (oy >= 0 && oy < 32 && ox >= 0 && ox < 32 && at < 289) {
        float* to = y + ((static_cast<long long>(image) * 256 + plane) * 32 + oy) * 32 + ox;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int own = own_channel(channel, i);
          // Of parted phases: the block's first column. `y` is the image's first channel then.
          float values = epilogue(acc_of(acc, depth_tap, phase, i, half), bias_registers[i]);
          *(to + static_cast<long long>(own) * 16384) = values;
        }
      }
    }
  }
}

// ---- Volumes ----

// A tile's first position whose outputs it stores; the first plane of the input that it stages; the position to before
// which it goes.
__device__ __forceinline__ int first_position(int index) {
  return index / 3 % 2 * 5;
}

__device__ __forceinline__ int first_staged(int first_m) {
  return max(0, first_m - 1);
}

__device__ __forceinline__ int end_position(int first_m) {
  return min(first_m + 5, 9);
}

// No accumulator has a product yet.
__device__ __forceinline__ void clear(Accumulators (&acc)[4]) {
  #pragma unroll
  for (int array = 0; array < 4; ++array) {
    #pragma unroll
    for (int i = 0; i < 24; ++i) {
      acc[array][i] = 0;
    }
  }
}

// Planes that are stored make room for later ones.
__device__ __forceinline__ void move_on(Accumulators (&acc)[4]) {
  #pragma unroll
  for (int array = 0; array < 4; ++array) {
    #pragma unroll
    for (int i = 0; i < 24; ++i) {
      const int from = i + 16;
      acc[array][i] = from < 24 ? acc[array][from < 23 ? from : 23] : 0;
    }
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
    next.end = max(next.plane, min(end_position(first_m), 8));
    if (next.plane == next.end) {
      next.index += next_tile;
    }
  }
}

// x, or a channel of it, from a plane on.
__device__ __forceinline__ const float* from_plane(const float* x, int plane) {
  return x + static_cast<long long>(plane) * 256;
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
__device__ __forceinline__ int produce_planes(const float* __restrict__ x, unsigned char* stages,
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
    load_batch(words, from_plane(x, next.plane), places, next.k_block * 16);
  }
  while (next.index < tiles) {
    const int stage = issued % 6;
    mbarrier_wait(&empty[stage], (issued / 6 % 2) ^ 1);
    unsigned char* to = stages + stage * kStageBytes;
    ++issued;
    store_batch(to, words, thread);
    next_k_block(next, places, thread, tiles, next_tile);
    if (next.index < tiles) {
      load_batch(words, from_plane(x, next.plane), places, next.k_block * 16);
    }
    fence_proxy_async();
    mbarrier_arrive(&full[stage]);
  }
  return issued;
}

// Makes the products of all of the warpgroup's tiles, and stores each plane of the output as soon as it has them all.
__device__ __forceinline__ void consume_planes(Accumulators (&acc)[4], float* __restrict__ y, const float* bias,
                                               const unsigned char* weights, const unsigned char* stages,
                                               unsigned long long* full, unsigned long long* empty, int first_tile,
                                               int next_tile, int tiles, int first_part, int row, int channel) {
  int consumed = 0;  // stages
  for (int index = first_tile; index < tiles; index += next_tile) {
    const Tile tile = plane_tile(index, 0);
    const int first_m = first_position(index);
    const int end_m = end_position(first_m);
    clear(acc);
    pin(acc);
    #pragma unroll 1
    for (int m = first_staged(first_m); m < end_m; ++m) {
      if (m < 8) {
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
      #pragma unroll
      for (int depth_tap = 0; depth_tap < 2; ++depth_tap) {
        const int plane = m * 2 + depth_tap - 1;
        if (m >= first_m && plane >= 0 && plane < 16) {
          store_parts(acc, y, bias, tile, plane, depth_tap, first_part, row, channel);
        }
      }
      move_on(acc);
      pin(acc);
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_halo_gemm_forward_bf624a979b1f842a(const float* __restrict__ x, const unsigned char* packed,
                                                const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const int tiles = batch * 6;

  // The block's output channels and phase rows. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

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
  for (int i = threadIdx.x; i < 16; i += kThreads) {
    biases[i] = bias[i];
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
    const int channel = lane % 4 * 2;
    Accumulators acc[4] = {};
    mbarrier_wait(resident, 0);
    consume_planes(acc, y, biases, shared, stages, full, empty, first_tile, next_tile, tiles, warpgroup, row, channel);
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

// A float as products of tf32 read it, which ignore the 13 low bits. Rounds to nearest even. sm_90 and later;
// on others ties are rounded away from zero.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  unsigned int bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
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

// d (64x48, f32) = a (64x8) * b (8x48), added to d where `accumulate` is not 0: tf32, A K-major in shared memory, B K-major.
__device__ __forceinline__ void wgmma_m64n48k8_tf32_ss(float (&d)[24], unsigned long long a, unsigned long long b,
                                                       int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %26, 0; wgmma.mma_async.sync.aligned.m64n48k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23}, "
      "%24, %25, p, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_halo_gemm_forward_bf624a979b1f842a_source
using convtgen_halo_gemm_forward_bf624a979b1f842a_source::convtgen_halo_gemm_forward_bf624a979b1f842a_pack;
using convtgen_halo_gemm_forward_bf624a979b1f842a_source::convtgen_halo_gemm_forward_bf624a979b1f842a;
