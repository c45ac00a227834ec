// conv_transpose1d 64 -> 64; kernel 128; stride 64; padding 32; input 8x200; dtype f16; compute f16; layout nhwc; directions grad_input
// grad_input for sm_90a. Template mma_pixels: a block makes 128 outputs of 64 channels in one of 1 phases; 128 taps; 101.0 KiB shared.
// In the code x is grad_y and y is grad_x; channels are exchanged and taps mirrored: tap (0, 0) is the last one.
// Launch
//   sizes: batch 8, in_width 200; out_width 12800
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 102400 elements, written, 16-byte aligned
//     shape (N 8, W 200, Cin 64), contiguous
//   tensor grad_y: 6553600 elements, read, 16-byte aligned
//     shape (N 8, W 12800, Cout 64), contiguous
//   tensor weight: 524288 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 64, KW 128), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 1048576 bytes, a packed copy of the weights; kept for later calls
//   region partials: 2981888 bytes, the sums of parts of tiles
//   kernel convtgen_mma_pixels_grad_input_3aa456e7a310c106_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 64; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_grad_input_3aa456e7a310c106
//     arguments const unsigned short* grad_y, const unsigned char* packed, unsigned short* grad_x, float* partials,
//       int batch
//     grid 91; block 128; shared 103440
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 103440)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 103440)
//   kernel convtgen_mma_pixels_grad_input_3aa456e7a310c106_add
//     arguments unsigned short* grad_x, float* partials, int batch
//     grid 13; block 128; shared 103440
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 103440)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 103440)

namespace convtgen_mma_pixels_grad_input_3aa456e7a310c106_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 64;
constexpr int kGroupOut = 64;
constexpr int kKernelW = 128;
constexpr int kStageTaps = 128;  // of a kernel, as stages have them
constexpr int kWarpRows = 64;
constexpr int kWarpChannels = 32;
constexpr unsigned int kGuards = 0x500u;
constexpr unsigned int kNoTap = 1408u;  // that no position reads
constexpr int kKernelTaps = 128;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPixelBytes = 128;
constexpr int kPixelBytes = 128;
constexpr int kInputBytes = 16384;
constexpr int kStepBytes = 2048;
constexpr int kKBlockWeightBytes = 8192;
constexpr int kStageBytes = 24576;
constexpr int kTapsOffset = 98304;
constexpr int kReadOffset = 100368;
constexpr int kStoredOffset = 101392;
constexpr int kPositionWordsOffset = 102416;
constexpr int kPositionEndsOffset = 102928;  // of fields

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);

#endif

// ---- Elements ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 8 * 32 + thread * 8 + i % 8;
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[4][4][4];

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_pixels_grad_input_3aa456e7a310c106_pack(const unsigned short* __restrict__ weight,
                                                         unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
  // two columns, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 16384) {
    const int tap = static_cast<int>(i % kStageTaps);
    const int column = static_cast<int>(i / kStageTaps % 32);
    const int step = static_cast<int>(i / 4096 % 4);
    const int group = static_cast<int>(i / 16384);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int of_warp = (first + half * 8) % kWarpChannels;
      const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
      #pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
          unsigned int parts[2];
          #pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int ci = (2 * step + unit) * 8 + 2 * lane + e;
            const unsigned short value =
                weight[(static_cast<long long>(group * kGroupOut + co) * kGroupIn + ci) * kKernelTaps + (127 - tap)];
            parts[e] = value;
          }
          words[lane][half * 2 + unit] = parts[0] | (parts[1] << 16);
        }
      }
    }
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = packed + (static_cast<long long>(group) * kStageTaps + tap) * kKBlockWeightBytes +
                        (step * kStepBytes + first / 16 * 512 + first % 8 * 64);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      *reinterpret_cast<uint4*>(to + lane * 16) =
          make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
    }
  }
}

// ---- Positions ----

// The first tap of an axis that reads before the image's end, where the first of all reads at `at`.
__device__ __forceinline__ unsigned int first_within(int at) {
  return at < 12800 ? 0 : min(at - 12799, 128);
}

// The first tap of an axis that reads before the image's end, where the first of all reads at `at`.
__device__ __forceinline__ unsigned int first_within_2(int at) {
  return at < 1 ? 0 : min(at, 1);
}

// How many taps of an axis read after the image's beginning, where the first of all reads at `at`.
__device__ __forceinline__ unsigned int end_within(int at) {
  return at < 0 ? 0 : min(at + 1, 128);
}

// How many taps of an axis read after the image's beginning, where the first of all reads at `at`.
__device__ __forceinline__ unsigned int end_within_2(int at) {
  return at < 0 ? 0 : min(at + 1, 1);
}

// Which taps read within the image for a position where the first one reads at (iy, ix). Of each axis the first.
__device__ __forceinline__ unsigned int taps_of(int iy, int ix) {
  return first_within(ix) | (first_within_2(iy) << 9);
}

// Of each axis the tap after the last of these.
__device__ __forceinline__ unsigned int ends_of(int iy, int ix) {
  return end_within(ix) | (end_within_2(iy) << 9);
}

// An axis of a phase.
struct PhaseAxis {
  int taps;    // how many it has
  int offset;  // where that reads
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase() {
  PhaseAxis axis;
  axis.taps = 1;
  axis.offset = 0;
  return axis;
}

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase_2() {
  PhaseAxis axis;
  axis.taps = 128;
  axis.offset = 95;
  return axis;
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread,
                                               const PhaseAxis& rows, const PhaseAxis& columns, int batch) {
  #pragma unroll 1
  for (int i = thread; i < 128; i += kThreads) {
    const long long at = first + i;
    const long long row = at / 200;
    const int m_w = static_cast<int>(at % 200);
    const int iy = rows.offset;
    const int ix = m_w * 64 + columns.offset;
    const unsigned int word = taps_of(iy, ix);
    const bool is_stored = row < batch && m_w < 200;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] = ((row + iy) * 12800 + ix) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] = !is_stored ? -1 : (row * 200 + m_w) * 64;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = row < batch ? word : 0;
    reinterpret_cast<unsigned int*>(shared + kPositionEndsOffset)[i] = row < batch ? ends_of(iy, ix) : 0;
  }
}

// ---- Taps ----

// A tap of a phase: how many bytes from where the first one reads it does, its word, and its number in the kernel.
struct Tap {
  long long from;
  unsigned int word;
  int number;
};

// Writes the taps of a phase, and after them one that reads nowhere.
__device__ __forceinline__ void find_taps(Tap* taps, int thread, const PhaseAxis& rows, const PhaseAxis& columns) {
  const int all = rows.taps * columns.taps;
  #pragma unroll 1
  for (int i = thread; i <= all; i += kThreads) {
    Tap tap;
    tap.from = 0;
    tap.word = kNoTap;
    tap.number = 0;
    if (i < all) {
      const int tap_w = i % columns.taps;
      const int tap_h = i / columns.taps % rows.taps;
      const long long before = static_cast<long long>(tap_h) * 12800 + tap_w;
      tap.from = -before * kInputPixelBytes;
      tap.word = kGuards + (tap_w | (tap_h << 9));
      tap.number = tap_h * kKernelW + tap_w;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[8];
  unsigned int words[8];
  unsigned int end[8];
};

// What is staged next: a tap and k-block.
struct Next {
  int tap;  // of the phase
  int k_block;
  unsigned int word;            // of the tap
  const unsigned char* pixels;  // where it reads for a position at 0
  const unsigned char* weights;
};

// Of values that are split the taps of a k-block follow one another, else the k-blocks of a tap.
__device__ __forceinline__ void find_next(Next& next, const unsigned char* x, const unsigned char* weights,
                                          const Tap* taps) {
  const Tap tap = taps[next.tap];
  next.word = tap.word;
  next.pixels = x + tap.from;
  next.weights = weights + static_cast<long long>(tap.number) * 8192;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps) {
  next.pixels += kPixelBytes;
  next.weights += kKBlockWeightBytes;
  if (++next.k_block == 1) {
    next.k_block = 0;
    next.tap += next.word == kNoTap ? 0 : 1;
    find_next(next, x, weights, taps);
  }
}

__device__ __forceinline__ void stage_part(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int vector = thread % 8;
  const int position = thread / 8;
  unsigned char* own = to + position * kPixelBytes + (vector ^ (position % 8)) * 16;
  {
    const bool any = ((next.word - places.words[0]) & ~(next.word - places.end[0]) & kGuards) == kGuards;
    async_copy_16(own, next.pixels + places.from[0], any ? 16 : 0);
  }
  {
    const bool any = ((next.word - places.words[1]) & ~(next.word - places.end[1]) & kGuards) == kGuards;
    async_copy_16(own + 2048, next.pixels + places.from[1], any ? 16 : 0);
  }
  {
    const bool any = ((next.word - places.words[2]) & ~(next.word - places.end[2]) & kGuards) == kGuards;
    async_copy_16(own + 4096, next.pixels + places.from[2], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns, from, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 2048, from + 2048, next.word == kNoTap ? 0 : 16);
}

__device__ __forceinline__ void stage_part_2(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int vector = thread % 8;
  const int position = thread / 8;
  unsigned char* own = to + position * kPixelBytes + (vector ^ (position % 8)) * 16;
  {
    const bool any = ((next.word - places.words[3]) & ~(next.word - places.end[3]) & kGuards) == kGuards;
    async_copy_16(own + 6144, next.pixels + places.from[3], any ? 16 : 0);
  }
  {
    const bool any = ((next.word - places.words[4]) & ~(next.word - places.end[4]) & kGuards) == kGuards;
    async_copy_16(own + 8192, next.pixels + places.from[4], any ? 16 : 0);
  }
  {
    const bool any = ((next.word - places.words[5]) & ~(next.word - places.end[5]) & kGuards) == kGuards;
    async_copy_16(own + 10240, next.pixels + places.from[5], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns + 4096, from + 4096, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 6144, from + 6144, next.word == kNoTap ? 0 : 16);
}

__device__ __forceinline__ void stage_part_3(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int vector = thread % 8;
  const int position = thread / 8;
  unsigned char* own = to + position * kPixelBytes + (vector ^ (position % 8)) * 16;
  {
    const bool any = ((next.word - places.words[6]) & ~(next.word - places.end[6]) & kGuards) == kGuards;
    async_copy_16(own + 12288, next.pixels + places.from[6], any ? 16 : 0);
  }
  {
    const bool any = ((next.word - places.words[7]) & ~(next.word - places.end[7]) & kGuards) == kGuards;
    async_copy_16(own + 14336, next.pixels + places.from[7], any ? 16 : 0);
  }
}

// ---- Products ----

// What a warp multiplies in a k-step. Of split values the high parts of all tiles come first.
struct Fragments {
  unsigned int a[4][4];
  uint4 b[2];
};

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const unsigned char* input, int swapped,
                                               const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + swapped + tile * 2048);
  }
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + two * 512);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments_2(Fragments& fragments, const unsigned char* input, int swapped,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + (swapped ^ 32) + tile * 2048);
  }
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 2048 + two * 512);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments_3(Fragments& fragments, const unsigned char* input, int swapped,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + (swapped ^ 64) + tile * 2048);
  }
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 4096 + two * 512);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments_4(Fragments& fragments, const unsigned char* input, int swapped,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + (swapped ^ 96) + tile * 2048);
  }
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 6144 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Fragments& fragments) {
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
    const uint4 words = fragments.b[two];
    const unsigned int b[2] = {words.x, words.y};
    const unsigned int next[2] = {words.z, words.w};
    #pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      mma_k16_f16(acc[tile][two * 2], fragments.a[tile], b);
      mma_k16_f16(acc[tile][two * 2 + 1], fragments.a[tile], next);
    }
  }
}

// ---- Epilogue ----

// The first step of a part, which has whole k-blocks where their taps follow one another. Of a whole tile: 0.
__device__ __forceinline__ int first_step(int part, int taps) {
  return part < 0 ? 0 : static_cast<int>(static_cast<long long>(taps) * part / 7);
}

// Where a thread's sums of a part begin.
__device__ __forceinline__ float* part_of(float* partials, int number, int thread) {
  return partials + (static_cast<long long>(number) * 8192 + thread * 4);
}

// Puts a thread's sums into the workspace.
__device__ __forceinline__ void put_part(const Accumulators& acc, float* partials, int number, int thread) {
  float* to = part_of(partials, number, thread);
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int eight = 0; eight < 4; ++eight) {
      const float (&values)[4] = acc[tile][eight];
      *reinterpret_cast<uint4*>(to + (tile * 4 + eight) * 512) = make_uint4(__float_as_uint(values[0]),
                                                                            __float_as_uint(values[1]),
                                                                            __float_as_uint(values[2]),
                                                                            __float_as_uint(values[3]));
    }
  }
}

// Adds the sums of a part that a thread has put there.
__device__ __forceinline__ void add_part(Accumulators& acc, const float* from) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int eight = 0; eight < 4; ++eight) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + (tile * 4 + eight) * 512);
      acc[tile][eight][0] += __uint_as_float(words.x);
      acc[tile][eight][1] += __uint_as_float(words.y);
      acc[tile][eight][2] += __uint_as_float(words.z);
      acc[tile][eight][3] += __uint_as_float(words.w);
    }
  }
}

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel.
__device__ __forceinline__ void store_outputs(const Accumulators& acc, unsigned short* __restrict__ y,
                                              const unsigned char* shared, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long to = stored[row + tile * 16 + half * 8];
      if (to >= 0) {
        // Other channels lie at constant distances from the first, which take no registers.
        unsigned short* first_y = y + to + channel;
        float values[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
          values[v] = acc[tile][v / 2][half * 2 + v % 2];
        }
        store_global_16(first_y,
                        make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                   floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_pixels_grad_input_3aa456e7a310c106(const unsigned short* __restrict__ x,
                                                    const unsigned char* __restrict__ packed,
                                                    unsigned short* __restrict__ y, float* __restrict__ partials,
                                                    int batch) {
  const long long positions = static_cast<long long>(batch) * 200;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase

  // Tiles before those that have parts. What a block makes is numbered: whole tiles, then parts.
  const int whole = max(tiles - 13, 0);

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = reinterpret_cast<const unsigned char*>(x) + thread % 8 * 16;

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 2;
  const int warp_n = thread / 64;
  const int position = warp_m * kWarpRows + lane % 16;
  const int swapped = ((lane / 16) ^ (position % 8)) * 16;
  const int lane_weights = kInputBytes + warp_n * 1024 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x; index < whole + (tiles - whole) * 7; index += next_tile) {
    const int part = index >= whole ? (index - whole) % 7 : -1;  // -1: it is a whole tile
    const int of_phases = index < whole ? index : whole + (index - whole) / 7;
    const PhaseAxis rows = axis_of_phase();
    const PhaseAxis columns = axis_of_phase_2();
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(of_phases) * 128, thread, rows, columns, batch);
    find_taps(taps, thread, rows, columns);
    __syncthreads();
    Places places;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int copied = thread / 8 + i * 16;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
      places.end[i] = reinterpret_cast<const unsigned int*>(shared + kPositionEndsOffset)[copied];
    }
    const int tap_count = rows.taps * columns.taps;
    Next next;
    next.tap = 0;
    next.k_block = 0;
    const int first = part < 0 ? 0 : static_cast<int>(static_cast<long long>(tap_count) * part / 7);
    next.tap = first;
    next.k_block = 0;
    find_next(next, own_x, packed, taps);
    next.pixels += next.k_block * kPixelBytes;
    next.weights += static_cast<long long>(next.k_block) * kKBlockWeightBytes;
    #pragma unroll 1
    for (int stage = 0; stage < 3; ++stage) {
      stage_part(shared + stage * kStageBytes, places, next, thread);
      stage_part_2(shared + stage * kStageBytes, places, next, thread);
      stage_part_3(shared + stage * kStageBytes, places, next, thread);
      advance(next, own_x, packed, taps);
      async_copy_commit();
    }

    const int steps = part < 0 ? tap_count
                      : first_step(part + 1, tap_count) -
                        (part < 0 ? 0 : static_cast<int>(static_cast<long long>(tap_count) * part / 7));
    Accumulators acc = {};
    Fragments fragments[2];
    async_copy_wait(2);
    __syncthreads();
    load_fragments(fragments[0], shared + position * kPixelBytes, swapped, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 0, 0 to 127).
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 3 : stage - 1) * kStageBytes;
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      load_fragments_3(fragments[0], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part_2(staged, places, next, thread);
      multiply_step(acc, fragments[1]);
      load_fragments_4(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part_3(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      advance(next, own_x, packed, taps);
      async_copy_commit();
      stage = stage + 1 == 4 ? 0 : stage + 1;
      async_copy_wait(2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + position * kPixelBytes, swapped, after + lane_weights);
      multiply_step(acc, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    if (part >= 0) {
      put_part(acc, partials, (of_phases - whole) * 7 + part, thread);
      continue;
    }
    store_outputs(acc, y, shared, warp_m * kWarpRows + lane / 4, warp_n * kWarpChannels + lane % 4 * 8);
  }
}

// ---- Adding ----

// A block adds the parts of one N tile of a tile.
extern "C" __global__ void __launch_bounds__(kThreads)
    convtgen_mma_pixels_grad_input_3aa456e7a310c106_add(unsigned short* __restrict__ y, float* __restrict__ partials,
                                                        int batch) {
  const long long positions = static_cast<long long>(batch) * 200;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase
  const int tile = max(tiles - 13, 0) + blockIdx.x;
  if (tile < tiles) {
    const PhaseAxis rows = axis_of_phase();
    const PhaseAxis columns = axis_of_phase_2();
    unsigned char* shared = static_cast<unsigned char*>(shared_memory());
    const int thread = threadIdx.x;
    find_positions(shared, static_cast<long long>(tile) * 128, thread, rows, columns, batch);
    __syncthreads();
    Accumulators acc = {};
    #pragma unroll
    for (int part = 0; part < 7; ++part) {
      add_part(acc, part_of(partials, static_cast<int>(blockIdx.x) * 7 + part, thread));
    }
    const int lane = thread % 32;
    const int warp_m = thread / 32 % 2;
    const int warp_n = thread / 64;
    store_outputs(acc, y, shared, warp_m * kWarpRows + lane / 4, warp_n * kWarpChannels + lane % 4 * 8);
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

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Closes a group: all copies of this thread since the last one. An empty group is legal.
__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 to 7) newest groups of this thread are still in flight.
__device__ __forceinline__ void async_copy_wait(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// K = 16, f16.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

#endif

}  // namespace convtgen_mma_pixels_grad_input_3aa456e7a310c106_source
using convtgen_mma_pixels_grad_input_3aa456e7a310c106_source::convtgen_mma_pixels_grad_input_3aa456e7a310c106_pack;
using convtgen_mma_pixels_grad_input_3aa456e7a310c106_source::convtgen_mma_pixels_grad_input_3aa456e7a310c106;
using convtgen_mma_pixels_grad_input_3aa456e7a310c106_source::convtgen_mma_pixels_grad_input_3aa456e7a310c106_add;
