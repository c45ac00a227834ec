// conv_transpose2d 256 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x32x24; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_80. Template mma_pixels: a block makes 128 outputs of 256 channels in one of 4 phases; 16 taps; 147.6 KiB shared.
// Launch
//   sizes: batch 32, in_height 32, in_width 24; out_height 64, out_width 48
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 25165824 elements, written, 16-byte aligned
//     shape (N 32, H 64, W 48, Cout 256), contiguous
//   tensor x: 6291456 elements, read, 16-byte aligned
//     shape (N 32, H 32, W 24, Cin 256), contiguous
//   tensor weight: 1048576 elements, read, 2-byte aligned
//     shape (Cin 256, Cout 256, KH 4, KW 4), contiguous
//   tensor bias: 256 elements, read, 2-byte aligned
//     shape (Cout 256), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 2097152 bytes, a packed copy of the weights; kept for later calls
//   region partials: 6291456 bytes, the sums of parts of tiles
//   kernel convtgen_mma_pixels_forward_c91b79080ca4617e_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 128; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_forward_c91b79080ca4617e
//     arguments const unsigned short* x, const unsigned char* packed, const unsigned short* bias, unsigned short* y,
//       float* partials, int batch
//     grid 804; block 256; shared 151120
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 151120)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 151120)
//   kernel convtgen_mma_pixels_forward_c91b79080ca4617e_add
//     arguments const unsigned short* bias, unsigned short* y, float* partials, int batch
//     grid 12; block 256; shared 151120
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 151120)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 151120)

namespace convtgen_mma_pixels_forward_c91b79080ca4617e_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 256;
constexpr int kGroupOut = 256;
constexpr int kWarpRows = 64;
constexpr int kWarpChannels = 64;
constexpr unsigned int kNoTap = 0x80000000u;  // that no position reads
constexpr int kPositionStep = 32;             // from a position that a thread copies to its next one

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPixelBytes = 512;
constexpr int kPixelBytes = 128;
constexpr int kInputBytes = 16384;
constexpr int kStepBytes = 8192;
constexpr int kKBlockWeightBytes = 32768;
constexpr int kStageBytes = 49152;
constexpr int kTapsOffset = 147456;
constexpr int kReadOffset = 147536;
constexpr int kStoredOffset = 148560;
constexpr int kPositionWordsOffset = 149584;
constexpr int kBiasOffset = 150096;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 2 : -((1 - a) / 2);
}

__device__ int floor_mod(int a) {
  return a - 2 * (a >= 0 ? a / 2 : -((1 - a) / 2));
}

// ---- Elements ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 8 * 32 + thread * 8 + i % 8;
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[4][8][4];

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_pixels_forward_c91b79080ca4617e_pack(const unsigned short* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
  // two columns, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 32768) {
    const int tap = static_cast<int>(i % 16);
    const int column = static_cast<int>(i / 16 % 128);
    const int step = static_cast<int>(i / 2048 % 16);
    const int group = static_cast<int>(i / 32768);
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
                weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
            parts[e] = value;
          }
          words[lane][half * 2 + unit] = parts[0] | (parts[1] << 16);
        }
      }
    }
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = packed + ((static_cast<long long>(group) * 16 + tap) * 4 + step / 4) * kKBlockWeightBytes +
                        (step % 4 * kStepBytes + first / 16 * 512 + first % 8 * 64);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      *reinterpret_cast<uint4*>(to + lane * 16) =
          make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
    }
  }
}

// ---- Positions ----

// A bit for each tap of an axis: whether it reads within the image, where the first one reads at `at`.
__device__ __forceinline__ unsigned int taps_within(int at) {
  unsigned int bits = 0;
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    const int i = at - tap;
    bits |= i >= 0 && i < 24 ? 1u << tap : 0u;
  }
  return bits;
}

// A bit for each tap of an axis: whether it reads within the image, where the first one reads at `at`.
__device__ __forceinline__ unsigned int taps_within_2(int at) {
  unsigned int bits = 0;
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    const int i = at - tap;
    bits |= i >= 0 && i < 32 ? 1u << tap : 0u;
  }
  return bits;
}

// Which taps read within the image for a position where the first one reads at (iy, ix). A bit for each row and column.
__device__ __forceinline__ unsigned int taps_of(int iy, int ix) {
  return taps_within(ix) | (taps_within_2(iy) << 2);
}

// An axis of a phase.
struct PhaseAxis {
  int phase;   // its first output
  int taps;    // how many it has
  int first;   // the first of them
  int offset;  // where that reads
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase(int number) {
  const int first = number % 2;
  PhaseAxis axis;
  axis.phase = floor_mod(first - 1 + number / 2);
  axis.taps = number < 2 && number < 4 ? (5 - first) / 2 : 0;
  axis.first = first;
  axis.offset = -floor_div(first - 1);
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
    const long long row = at / 24;
    const long long plane = row / 32;
    const int m_w = static_cast<int>(at % 24);
    const int m_h = static_cast<int>(row % 32);
    const int iy = m_h + rows.offset;
    const int ix = m_w + columns.offset;
    const int oy = m_h * 2 + rows.phase;
    const int ox = m_w * 2 + columns.phase;
    const unsigned int word = taps_of(iy, ix);
    const bool is_stored = plane < batch && oy < 64 && ox < 48;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] = ((plane * 32 + iy) * 24 + ix) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] = !is_stored ? -1 : ((plane * 64 + oy) * 48 + ox) * 256;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = plane < batch ? word : 0;
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
      const long long before = static_cast<long long>(tap_h) * 24 + tap_w;
      tap.from = -before * kInputPixelBytes;
      tap.word = (1u << tap_w) | (1u << (tap_h + 2));
      tap.number = (rows.first + tap_h * 2) * 4 + columns.first + tap_w * 2;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[4];
  unsigned int words[4];
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
  next.weights = weights + static_cast<long long>(tap.number) * 131072;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps) {
  next.pixels += kPixelBytes;
  next.weights += kKBlockWeightBytes;
  if (++next.k_block == 4) {
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
    const bool any = (places.words[0] & next.word) == next.word;
    async_copy_16(own, next.pixels + places.from[0], any ? 16 : 0);
  }
  {
    const bool any = (places.words[1] & next.word) == next.word;
    async_copy_16(own + 4096, next.pixels + places.from[1], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns, from, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 4096, from + 4096, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 8192, from + 8192, next.word == kNoTap ? 0 : 16);
}

__device__ __forceinline__ void stage_part_2(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int vector = thread % 8;
  const int position = thread / 8;
  unsigned char* own = to + position * kPixelBytes + (vector ^ (position % 8)) * 16;
  {
    const bool any = (places.words[2] & next.word) == next.word;
    async_copy_16(own + 8192, next.pixels + places.from[2], any ? 16 : 0);
  }
  {
    const bool any = (places.words[3] & next.word) == next.word;
    async_copy_16(own + 12288, next.pixels + places.from[3], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns + 12288, from + 12288, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 16384, from + 16384, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 20480, from + 20480, next.word == kNoTap ? 0 : 16);
}

__device__ __forceinline__ void stage_part_3(unsigned char* to, const Next& next, int thread) {
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns + 24576, from + 24576, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 28672, from + 28672, next.word == kNoTap ? 0 : 16);
}

// ---- Products ----

// What a warp multiplies in a k-step. Of split values the high parts of all tiles come first.
struct Fragments {
  unsigned int a[4][4];
  uint4 b[4];
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
  for (int two = 0; two < 4; ++two) {
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
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 8192 + two * 512);
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
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 16384 + two * 512);
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
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 24576 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Fragments& fragments) {
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
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

// The first step of a part, which has whole k-blocks where their taps follow one another. Of a whole tile: 0.
__device__ __forceinline__ int first_step(int part, int taps) {
  return part < 0 ? 0 : static_cast<int>(4ll * taps * part / 4);
}

// Where a thread's sums of a part begin.
__device__ __forceinline__ float* part_of(float* partials, int number, int thread) {
  return partials + (static_cast<long long>(number) * 32768 + thread * 4);
}

// Puts a thread's sums into the workspace.
__device__ __forceinline__ void put_part(const Accumulators& acc, float* partials, int number, int thread) {
  float* to = part_of(partials, number, thread);
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int eight = 0; eight < 8; ++eight) {
      const float (&values)[4] = acc[tile][eight];
      *reinterpret_cast<uint4*>(to + (tile * 8 + eight) * 1024) = make_uint4(__float_as_uint(values[0]),
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
    for (int eight = 0; eight < 8; ++eight) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + (tile * 8 + eight) * 1024);
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
                                              const unsigned char* shared, const float* bias, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long to = stored[row + tile * 16 + half * 8];
      if (to >= 0) {
        // Other channels lie at constant distances from the first, which take no registers.
        unsigned short* first_y = y + to + channel;
        #pragma unroll
        for (int i = 0; i < 16; i += 8) {
          const int before = i / 8 * 32 + i % 8;
          float values[8];
          #pragma unroll
          for (int v = 0; v < 8; ++v) {
            values[v] = epilogue(acc[tile][(i + v) / 2][half * 2 + (i + v) % 2], bias[channel + before + v]);
          }
          store_global_16(first_y + before,
                          make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                     floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_pixels_forward_c91b79080ca4617e(const unsigned short* __restrict__ x,
                                                 const unsigned char* __restrict__ packed,
                                                 const unsigned short* __restrict__ bias,
                                                 unsigned short* __restrict__ y, float* __restrict__ partials,
                                                 int batch) {
  const long long positions = static_cast<long long>(batch) * 768;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase

  // Tiles before those that have parts. What a block makes is numbered: whole tiles, then parts.
  const int whole = max(4 * tiles - 12, 0);

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = reinterpret_cast<const unsigned char*>(x) + thread % 8 * 16;
  for (int i = thread; i < 256; i += kThreads) {
    biases[i] = half_to_float(bias[i]);
  }

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 2;
  const int warp_n = thread / 64;
  const int position = warp_m * kWarpRows + lane % 16;
  const int swapped = ((lane / 16) ^ (position % 8)) * 16;
  const int lane_weights = kInputBytes + warp_n * 2048 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x; index < whole + (4 * tiles - whole) * 4; index += next_tile) {
    const int part = index >= whole ? (index - whole) % 4 : -1;  // -1: it is a whole tile
    const int of_phases = index < whole ? index : whole + (index - whole) / 4;
    const int phase = of_phases / tiles;
    const PhaseAxis rows = axis_of_phase(phase / 2 % 2);
    const PhaseAxis columns = axis_of_phase(phase % 2);
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(of_phases - phase * tiles) * 128, thread, rows, columns, batch);
    find_taps(taps, thread, rows, columns);
    __syncthreads();
    Places places;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int copied = thread / 8 + i * kPositionStep;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
    }
    const int tap_count = rows.taps * columns.taps;
    Next next;
    next.tap = 0;
    next.k_block = 0;
    const int first = part < 0 ? 0 : static_cast<int>(4ll * tap_count * part / 4);
    next.tap = first / 4;
    next.k_block = first % 4;
    find_next(next, own_x, packed, taps);
    next.pixels += next.k_block * kPixelBytes;
    next.weights += static_cast<long long>(next.k_block) * kKBlockWeightBytes;
    #pragma unroll 1
    for (int stage = 0; stage < 2; ++stage) {
      stage_part(shared + stage * kStageBytes, places, next, thread);
      stage_part_2(shared + stage * kStageBytes, places, next, thread);
      stage_part_3(shared + stage * kStageBytes, next, thread);
      advance(next, own_x, packed, taps);
      async_copy_commit();
    }

    const int steps = part < 0 ? 4 * tap_count
                      : first_step(part + 1, tap_count) - (part < 0 ? 0 : static_cast<int>(4ll * tap_count * part / 4));
    Accumulators acc = {};
    Fragments fragments[2];
    async_copy_wait(1);
    __syncthreads();
    load_fragments(fragments[0], shared + position * kPixelBytes, swapped, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 3, 0 to 3).
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 2 : stage - 1) * kStageBytes;
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      load_fragments_3(fragments[0], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part_2(staged, places, next, thread);
      multiply_step(acc, fragments[1]);
      load_fragments_4(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part_3(staged, next, thread);
      multiply_step(acc, fragments[0]);
      advance(next, own_x, packed, taps);
      async_copy_commit();
      stage = stage + 1 == 3 ? 0 : stage + 1;
      async_copy_wait(1);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + position * kPixelBytes, swapped, after + lane_weights);
      multiply_step(acc, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    if (part >= 0) {
      put_part(acc, partials, (of_phases - whole) * 4 + part, thread);
      continue;
    }
    store_outputs(acc, y, shared, biases, warp_m * kWarpRows + lane / 4, warp_n * kWarpChannels + lane % 4 * 8);
  }
}

// ---- Adding ----

// A block adds the parts of one N tile of a tile.
extern "C" __global__ void __launch_bounds__(kThreads)
    convtgen_mma_pixels_forward_c91b79080ca4617e_add(const unsigned short* __restrict__ bias,
                                                     unsigned short* __restrict__ y, float* __restrict__ partials,
                                                     int batch) {
  const long long positions = static_cast<long long>(batch) * 768;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase
  const int tile = max(4 * tiles - 12, 0) + blockIdx.x;
  if (tile < 4 * tiles) {
    const int phase = tile / tiles;
    const PhaseAxis rows = axis_of_phase(phase / 2 % 2);
    const PhaseAxis columns = axis_of_phase(phase % 2);
    unsigned char* shared = static_cast<unsigned char*>(shared_memory());
    float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
    const int thread = threadIdx.x;
    find_positions(shared, static_cast<long long>(tile - phase * tiles) * 128, thread, rows, columns, batch);
    for (int i = thread; i < 256; i += kThreads) {
      biases[i] = half_to_float(bias[i]);
    }
    __syncthreads();
    Accumulators acc = {};
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
      add_part(acc, part_of(partials, static_cast<int>(blockIdx.x) * 4 + part, thread));
    }
    const int lane = thread % 32;
    const int warp_m = thread / 32 % 2;
    const int warp_n = thread / 64;
    store_outputs(acc, y, shared, biases, warp_m * kWarpRows + lane / 4, warp_n * kWarpChannels + lane % 4 * 8);
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
    case 1:
      asm volatile("cp.async.wait_group 1;" ::: "memory");
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

#endif

}  // namespace convtgen_mma_pixels_forward_c91b79080ca4617e_source
using convtgen_mma_pixels_forward_c91b79080ca4617e_source::convtgen_mma_pixels_forward_c91b79080ca4617e_pack;
using convtgen_mma_pixels_forward_c91b79080ca4617e_source::convtgen_mma_pixels_forward_c91b79080ca4617e;
using convtgen_mma_pixels_forward_c91b79080ca4617e_source::convtgen_mma_pixels_forward_c91b79080ca4617e_add;
