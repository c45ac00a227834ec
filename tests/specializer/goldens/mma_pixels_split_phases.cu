// conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias; dtype f32; compute f32x3; layout nchw
// forward for sm_80. Template mma_pixels: a block makes 512 outputs of 8 channels in one of 1 phases; 16 taps; 66.8 KiB shared.
// Launch
//   sizes: batch 16, in_width 512; out_width 4096
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 16777216 elements, written, 16-byte aligned
//     shape (N 16, Cout 256, W 4096), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 16, Cin 512, W 512), contiguous
//   tensor weight: 2097152 elements, read, 4-byte aligned
//     shape (Cin 512, Cout 256, KW 16), contiguous
//   tensor bias: 256 elements, read, 4-byte aligned
//     shape (Cout 256), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 8462336 bytes, a packed copy of the weights; kept for later calls
//   region maxima: 1024 bytes, the largest magnitudes of each image's k-blocks, by slices
//   region exponents: 1088 bytes, the exponents of their scales
//   region arranged: 16777216 bytes, the input with channels last
//   kernel convtgen_mma_pixels_forward_fe14b4d7f145df33_pack
//     arguments const float* weight, unsigned char* packed
//     grid 259; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_forward_fe14b4d7f145df33_scan
//     arguments const float* x, float* maxima
//     grid 256; block 256; shared 32
//   kernel convtgen_mma_pixels_forward_fe14b4d7f145df33_exponents
//     arguments const float* maxima, int* exponents, int batch
//     grid 1; block 256; shared 0
//   kernel convtgen_mma_pixels_forward_fe14b4d7f145df33_arrange
//     arguments const float* x, const int* exponents, unsigned char* arranged, int batch
//     grid 2048; block 256; shared 0
//   kernel convtgen_mma_pixels_forward_fe14b4d7f145df33
//     arguments const unsigned char* arranged, const unsigned char* packed, const int* exponents, const float* bias,
//       float* y, int batch
//     grid 4128; block 128; shared 68400
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 68400)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 68400)

namespace convtgen_mma_pixels_forward_fe14b4d7f145df33_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kGroupOut = 256;
constexpr int kNTiles = 32;
constexpr int kWarpChannels = 32;
constexpr unsigned int kNoTap = 0x80000000u;  // that no position reads

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPixelBytes = 2048;
constexpr int kPixelBytes = 128;
constexpr int kInputBytes = 8192;
constexpr int kStepBytes = 4096;
constexpr int kKBlockWeightBytes = 8192;
constexpr long long kWeightBytes = 262144ll;  // of an N tile
constexpr long long kPackedMaximaOffset = 262400ll;
constexpr int kColumnBytes = 2304;
constexpr long long kPackedTileBytes = 264448ll;
constexpr int kStageBytes = 16384;
constexpr int kTapsOffset = 65536;
constexpr int kReadOffset = 65584;
constexpr int kStoredOffset = 66096;
constexpr int kPositionWordsOffset = 66608;
constexpr int kColumnOffset = 66864;
constexpr int kBiasOffset = 67120;
constexpr int kColumnScalesOffset = 67376;
constexpr int kImageScalesOffset = 67888;
constexpr int kFragmentBytes = 512;  // of eight columns

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

// ---- Elements ----

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 4 * 16 + i % 4;
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 4 * 16 + thread * 4 + i % 4;
}

// The column where the weights of a channel of the block stand: a thread's columns are its own channels.
__device__ __forceinline__ int column_of_channel(int channel) {
  const int i = channel / 16 * 4 + channel % 4;
  const int thread = channel / 4 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) {
  return fmaxf(a, fabsf(fmaf(b, 0, b)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) {
  return min(126, 141 - __float_as_int(most) / 0x800000);
}

// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) * 0x800000);
}

// Two factors that make 2^e, which may be no float.
__device__ __forceinline__ float2 factors_of(int e) {
  return {power_of_two(e / 2), power_of_two(e - e / 2)};
}

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair {
  unsigned int high;
  unsigned int low;
};

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * 2048.0f),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * 2048.0f));
}

// With `nonzero` no value but zero has a high part of zero: its product with an infinity is then one.
__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale, bool nonzero) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  if (nonzero) {
    high |= a != 0 && (high & 0x7fff) == 0 ? 1u : 0u;
    high |= b != 0 && (high & 0x7fff0000) == 0 ? 0x10000u : 0u;
  }
  return {high, low_parts(a * scale, b * scale, high)};
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// ---- Weights ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
__device__ __forceinline__ void pack_split(const float* __restrict__ weight, unsigned char* __restrict__ packed) {
  // Some columns at a time, each with a scale of its own, which each block that packs a part of them finds by itself.
  const int first = threadIdx.x / 8;
  for (int block = blockIdx.x; block < 256; block += gridDim.x) {
    const int n = block * 8 % 64 + threadIdx.x % 8;
    const int column = n - n % kWarpChannels + column_of_channel(n % kWarpChannels);
    const int channel_tile = block * 8 / 64;
    const int of_warp = column % kWarpChannels;
    const int co = channel_tile * 64 + column - of_warp + channel_of_column(of_warp);
    unsigned char* to = packed + static_cast<long long>(channel_tile) * kPackedTileBytes;
    float most = 0;
    #pragma unroll 8
    for (int i = first; i < 1024; i += 32) {
      most =
          larger_finite(most, weight[(static_cast<long long>(i / 2) * kGroupOut + co / 8) * 16 + (i % 2 * 8 + co % 8)]);
    }
    for (int mask = 16; mask >= 8; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    }
    float* maxima = reinterpret_cast<float*>(to + kPackedMaximaOffset) + column * 8;
    if (threadIdx.x % 32 / 8 == 0) {
      maxima[threadIdx.x / 32] = most;
    }
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) {
      most = fmaxf(most, maxima[warp]);
    }
    const int exponent = scale_exponent(most);
    if (first < 1) {
      reinterpret_cast<int*>(to + static_cast<long long>(first) * 8462336 + kWeightBytes)[column] = exponent;
    }
    #pragma unroll 2
    for (int item = first; item < 256; item += 32) {
      const int tap = item / 4 % 2;
      const int k_step = item / 8;
      SplitPair pairs[2];
      pairs[0] = split_pair(weight[(static_cast<long long>(item / 8 * 16 + item % 4 * 2) * kGroupOut + co / 8) * 16 +
                                   (tap * 8 + co % 8)],
                            weight[(static_cast<long long>(item / 8 * 16 + item % 4 * 2 + 1) * kGroupOut + co / 8) *
                                   16 + (tap * 8 + co % 8)], power_of_two(exponent), true);
      pairs[1] = split_pair(weight[(static_cast<long long>(item / 8 * 16 + 8 + item % 4 * 2) * kGroupOut + co / 8) *
                                   16 + (tap * 8 + co % 8)],
                            weight[(static_cast<long long>(item / 8 * 16 + 8 + item % 4 * 2 + 1) * kGroupOut + co / 8) *
                                   16 + (tap * 8 + co % 8)], power_of_two(exponent), true);
      unsigned char* of_tap =
          to + ((static_cast<long long>(tap) * 16 + k_step / 2) * kKBlockWeightBytes + k_step % 2 * kStepBytes);
      reinterpret_cast<uint4*>(of_tap + column / 8 * kFragmentBytes)[column % 8 * 4 + item % 4] =
          make_uint4(pairs[0].high, pairs[1].high, pairs[0].low, pairs[1].low);
    }
  }
}

// ---- Scales ----

// The largest finite magnitude of a slice of an image's k-block: (image, k-block of all groups, slice).
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_pixels_forward_fe14b4d7f145df33_scan(const float* __restrict__ x, float* __restrict__ maxima) {
  const int thread = threadIdx.x;
  const long long image = blockIdx.x / 16;
  const int of_image = blockIdx.x % 16;
  const int group = of_image / 16;
  const int first = of_image % 16 * 32;  // channel of the group
  const float* from = x + image * 262144 + (group * 512 + first) * 512ll;
  // With channels last a warp reads the channels of a pixel; else all are adjacent.
  float most = 0;
  for (long long i = static_cast<long long>(thread); i < 16384; i += 2048) {
    float read[8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      read[k] = 0;
      if (i + k * 256 < 16384) {
        read[k] = from[i + k * 256];
      }
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      most = larger_finite(most, read[k]);
    }
  }
  #pragma unroll
  for (int mask = 16; mask >= 1; mask /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
  }
  float* found = static_cast<float*>(shared_memory());
  if (thread % 32 == 0) {
    found[thread / 32] = most;
  }
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < 8; ++warp) {
      most = fmaxf(most, found[warp]);
    }
    maxima[blockIdx.x] = most;
  }
}

// The exponent of a k-block's scale, by its largest magnitude.
__device__ __forceinline__ int exponent_of_k_block(const float* __restrict__ maxima, long long first) {
  float most = 0;
  most = fmaxf(most, maxima[first]);
  return scale_exponent(most);
}

// Makes exponents of maxima: of an image and a group. Those of magnitudes that are near are the same, since what goes
// on with another scale must be put away before.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_pixels_forward_fe14b4d7f145df33_exponents(const float* __restrict__ maxima,
                                                           int* __restrict__ exponents, int batch) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < static_cast<long long>(batch)) {
    const float* of_group = maxima + i * 16;
    int least = 126;
    #pragma unroll 4
    for (int k_block = 0; k_block < 16; ++k_block) {
      least = min(least, exponent_of_k_block(of_group, k_block));
    }
    int* to = exponents + i * 17;
    to[0] = least;
    #pragma unroll 4
    for (int k_block = 0; k_block < 16; ++k_block) {
      to[1 + k_block] = min((exponent_of_k_block(of_group, k_block) - least) / 2 * 2, 126);
    }
  }
}

// Writes a k-block of x as products read it.
__device__ __forceinline__ void arrange_split(const float* __restrict__ x, const int* __restrict__ exponents,
                                              unsigned char* __restrict__ arranged, long long pixel, int k_block,
                                              int lane) {
  const int unit = lane / 8;
  const int first = k_block * 32 + unit * 8;
  const long long image = pixel / 512;
  const int* of_image = exponents + image * 17;
  const float scale = power_of_two(of_image[0] + of_image[1 + k_block]);
  const float* from = x + image * 262144 + pixel % 512 + first * 512ll;
  float values[8];
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    values[c] = 0;
    values[c] = from[c * 512ll];
  }
  SplitPair pairs[4];
  #pragma unroll
  for (int word = 0; word < 4; ++word) {
    pairs[word] = split_pair(values[word * 2], values[word * 2 + 1], scale, false);
  }
  unsigned char* to = arranged + pixel * kInputPixelBytes + k_block * kPixelBytes + (unit / 2 * 4 + unit % 2) * 16;
  *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
  *reinterpret_cast<uint4*>(to + 32) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[2][4][4];

// What the accumulators hold: k-steps since the last addition to the totals, of high parts and of low ones; the factors
// to the totals, of each row.
struct Held {
  int terms;
  int low_terms;
  int tap;  // of the stage that comes, and its k-block
  int k_block;
  float factors[2][2];
};

// Adds the products of high parts to the totals.
__device__ __forceinline__ void add_high(Accumulators& totals, Accumulators& high, Held& held) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& value = high[tile][i / 4][i % 4];
      totals[tile][i / 4][i % 4] = fmaf(value, held.factors[tile][i % 4 / 2], totals[tile][i / 4][i % 4]);
      value = 0;
    }
  }
  held.terms = 0;
}

// Adds all products to the totals. Infinities have no low parts: a total that isn't finite is the result.
__device__ __forceinline__ void add_all(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held) {
  add_high(totals, high, held);
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& total = totals[tile][i / 4][i % 4];
      if (is_finite(total)) {
        total = fmaf(low[tile][i / 4][i % 4], held.factors[tile][i % 4 / 2] * 0.00048828125f, total);
      }
      low[tile][i / 4][i % 4] = 0;
    }
  }
  held.low_terms = 0;
}

// Begins a stage, which has a tap of a k-block: `offsets` say where the exponents of each position's image begin, from
// the thread's first position on. Collective.
__device__ __forceinline__ void begin_stage(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                            const int* __restrict__ exponents, const long long* offsets, int taps) {
  bool any = held.low_terms + 2 > 256;
  float factors[2][2];
  if (held.tap == 0) {
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
      const float factor = power_of_two(-exponents[offsets[row * 8] + 1 + held.k_block]);
      any = any || factor != held.factors[row / 2][row % 2];
      factors[row / 2][row % 2] = factor;
    }
    ++held.k_block;
  }
  if (__ballot_sync(0xffffffffu, any ? 1 : 0) != 0) {
    add_all(totals, high, low, held);
  } else if (held.terms + 2 > 8) {
    add_high(totals, high, held);
  }
  if (held.tap == 0) {
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
      held.factors[row / 2][row % 2] = factors[row / 2][row % 2];
    }
  }
  held.tap = held.tap + 1 == taps ? 0 : held.tap + 1;
  held.terms += 2;
  held.low_terms += 2;
}

// Makes a tile's results of its totals. `scales` undo those of the weights, in two factors for each of a warp's
// columns; they begin at the thread's first one.
__device__ __forceinline__ void unscale(Accumulators& totals, const float2* scales, const int* __restrict__ exponents,
                                        const long long* offsets) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const float2 rows[2] = {factors_of(-exponents[offsets[tile * 16]]), factors_of(-exponents[offsets[tile * 16 + 8]])};
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float2 column = scales[i / 4 * 8 + i % 2];
      float& value = totals[tile][i / 4][i % 4];
      value = value * (column.x * rows[i % 4 / 2].x) * (column.y * rows[i % 4 / 2].y);
    }
  }
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_pixels_forward_fe14b4d7f145df33_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  pack_split(weight, packed);
}

// ---- Arranging ----

// Writes x, which is in nchw or split, with channels last; zeros after a group's channels.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_pixels_forward_fe14b4d7f145df33_arrange(const float* __restrict__ x, const int* __restrict__ exponents,
                                                         unsigned char* __restrict__ arranged, int batch) {
  const int lane = threadIdx.x % 32;
  const int part = blockIdx.x % 16;
  const long long pixel = static_cast<long long>(blockIdx.x / 16) * 64 + threadIdx.x / 32 * 8 + lane % 8;
  if (pixel < batch * 512ll) {
    arrange_split(x, exponents, arranged, pixel, part, lane);
  }
}

// ---- Positions ----

// A bit for each tap of an axis: whether it reads within the image, where the first one reads at `at`.
__device__ __forceinline__ unsigned int taps_within(int at) {
  unsigned int bits = 0;
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    const int i = at - tap;
    bits |= i >= 0 && i < 512 ? 1u << tap : 0u;
  }
  return bits;
}

// A bit for each tap of an axis: whether it reads within the image.
__device__ __forceinline__ unsigned int taps_within_2() {
  unsigned int bits = 0;
  bits |= 1u;
  return bits;
}

// Which taps read within the image for a position where the first one reads at (iy, ix). A bit for each row and column.
__device__ __forceinline__ unsigned int taps_of(int ix) {
  return taps_within(ix) | (taps_within_2() << 2);
}

// An axis of a phase.
struct PhaseAxis {
  int taps;  // how many it has
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase() {
  PhaseAxis axis;
  axis.taps = 1;
  return axis;
}

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase_2() {
  PhaseAxis axis;
  axis.taps = 2;
  return axis;
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread, int batch) {
  #pragma unroll 1
  for (int i = thread; i < 64; i += kThreads) {
    const long long at = first + i;
    const long long row = at / 513;
    const int m_w = static_cast<int>(at % 513);
    const int ox = m_w * 8 - 4;
    const unsigned int word = taps_of(m_w);
    const long long out_image = row * 256;
    const bool is_stored = row < batch;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] = (row * 512 + m_w) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] = !is_stored ? -1 : out_image * 4096;
    reinterpret_cast<int*>(shared + kColumnOffset)[i] = ox;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = row < batch ? word : 0;
    reinterpret_cast<long long*>(shared + kImageScalesOffset)[i] = row < batch ? row * 17 : 0;
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
      const long long before = static_cast<long long>(tap_h) * 512 + tap_w;
      tap.from = -before * kInputPixelBytes;
      tap.word = (1u << tap_w) | (1u << (tap_h + 2));
      tap.number = tap_h * 2 + tap_w;
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
                                          const Tap* taps, int tap_count) {
  const Tap tap = taps[next.k_block < 16 ? next.tap : tap_count];
  next.word = tap.word;
  next.pixels = x + tap.from + next.k_block * kPixelBytes;
  next.weights = weights + (static_cast<long long>(tap.number) * 16 + min(next.k_block, 15)) * kKBlockWeightBytes;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps, int tap_count) {
  if (++next.tap >= tap_count) {
    next.tap = 0;
    next.k_block += next.word == kNoTap ? 0 : 1;
  }
  find_next(next, x, weights, taps, tap_count);
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
    async_copy_16(own + 2048, next.pixels + places.from[1], any ? 16 : 0);
  }
  {
    const bool any = (places.words[2] & next.word) == next.word;
    async_copy_16(own + 4096, next.pixels + places.from[2], any ? 16 : 0);
  }
  {
    const bool any = (places.words[3] & next.word) == next.word;
    async_copy_16(own + 6144, next.pixels + places.from[3], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns, from, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 2048, from + 2048, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 4096, from + 4096, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 6144, from + 6144, next.word == kNoTap ? 0 : 16);
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
  for (int tile = 0; tile < 2; ++tile) {
    matrix_load_x4(fragments.a[tile], input + swapped + tile * 2048);
  }
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    matrix_load_x4(fragments.a[2 + tile], input + (swapped ^ 32) + tile * 2048);
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
  for (int tile = 0; tile < 2; ++tile) {
    matrix_load_x4(fragments.a[tile], input + (swapped ^ 64) + tile * 2048);
  }
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    matrix_load_x4(fragments.a[2 + tile], input + (swapped ^ 96) + tile * 2048);
  }
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 4096 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& high, Accumulators& low, Fragments& fragments) {
  #pragma unroll
  for (int product = 0; product < 3; ++product) {
    #pragma unroll
    for (int eight = 0; eight < 4; ++eight) {
      const uint4 words = fragments.b[eight];
      const unsigned int b[2] = {product == 1 ? words.z : words.x, product == 1 ? words.w : words.y};
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        if (product == 0) {
          mma_k16_f16(high[tile][eight], fragments.a[tile], b);
        } else {
          mma_k16_f16(low[tile][eight], fragments.a[product == 1 ? tile : 2 + tile], b);
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

// Stores a thread's outputs: of each position so many adjacent ones of a channel together. Columns before a row's first
// output, and after its last one, are of no output: whole vectors, since rows begin and end with these. `stored` is
// where each position's row begins, and `first_columns` its first phase's column; else it takes what store_outputs()
// does.
__device__ __forceinline__ void store_phases(const Accumulators& acc, float* __restrict__ y, const long long* stored,
                                             const int* first_columns, const float* bias, int row, int column) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = row + tile * 16 + half * 8;
      const long long to = stored[position];
      const int first = first_columns[position];
      if (to >= 0) {
        #pragma unroll
        for (int i = 0; i < 8; i += 4) {
          const int own = own_channel(column, i);
          const int ox = first + own % 8;
          if (ox >= 0 && ox < 4096) {
            float values[4];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
              values[v] = epilogue(acc[tile][(i + v) / 2][half * 2 + (i + v) % 2], bias[own]);
            }
            store_global_16(y + to + ox + own / 8 * 4096ll,
                            make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                       __float_as_uint(values[2]), __float_as_uint(values[3])));
          }
        }
      }
    }
  }
}

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel.
__device__ __forceinline__ void store_outputs(const Accumulators& acc, float* __restrict__ y,
                                              const unsigned char* shared, const float* bias, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  store_phases(acc, y, stored, reinterpret_cast<const int*>(shared + kColumnOffset), bias, row, channel);
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_pixels_forward_fe14b4d7f145df33(const unsigned char* __restrict__ arranged,
                                                 const unsigned char* __restrict__ packed,
                                                 const int* __restrict__ exponents, const float* __restrict__ bias,
                                                 float* __restrict__ y, int batch) {
  const long long positions = static_cast<long long>(batch) * 513;
  const int tiles = static_cast<int>((positions + 63) / 64);  // of a phase

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int next_tile = gridDim.x / kNTiles;
  const int first_out = n_tile % 32 * 64;  // of the group's
  const unsigned char* own_weights =
      packed + static_cast<long long>(n_tile) * 262144 + static_cast<long long>(n_tile) * kColumnBytes;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = arranged + thread % 8 * 16;
  for (int i = thread; i < 64; i += kThreads) {
    biases[i] = bias[(first_out + i) / 8];
  }
  float2* scales = reinterpret_cast<float2*>(shared + kColumnScalesOffset);
  for (int i = thread; i < 64; i += kThreads) {
    scales[i] = factors_of(-reinterpret_cast<const int*>(own_weights + kWeightBytes)[i]);
  }

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 2;
  const int warp_n = thread / 64;
  const int position = warp_m * 32 + lane % 16;
  const int swapped = ((lane / 16) ^ (position % 8)) * 16;
  const int lane_weights = kInputBytes + warp_n * 2048 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x / kNTiles; index < tiles; index += next_tile) {
    const PhaseAxis rows = axis_of_phase();
    const PhaseAxis columns = axis_of_phase_2();
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(index) * 64, thread, batch);
    find_taps(taps, thread, rows, columns);
    __syncthreads();
    Places places;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int copied = thread / 8 + i * 16;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
    }
    const int tap_count = rows.taps * columns.taps;
    Next next;
    next.tap = 0;
    next.k_block = 0;
    find_next(next, own_x, own_weights, taps, tap_count);
    #pragma unroll 1
    for (int stage = 0; stage < 3; ++stage) {
      stage_part(shared + stage * kStageBytes, places, next, thread);
      advance(next, own_x, own_weights, taps, tap_count);
      async_copy_commit();
    }

    const int steps = rows.taps * columns.taps * 16;
    Accumulators acc = {};
    Accumulators high = {};
    Accumulators low = {};
    Held held = {};
    const long long* offsets =
        reinterpret_cast<const long long*>(shared + kImageScalesOffset) + (warp_m * 32 + lane / 4);
    Fragments fragments[2];
    async_copy_wait(2);
    __syncthreads();
    load_fragments(fragments[0], shared + position * kPixelBytes, swapped, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 0, 0 to 15).
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 3 : stage - 1) * kStageBytes;
      begin_stage(acc, high, low, held, exponents, offsets, tap_count);
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(high, low, fragments[0]);
      advance(next, own_x, own_weights, taps, tap_count);
      async_copy_commit();
      stage = stage + 1 == 4 ? 0 : stage + 1;
      async_copy_wait(2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + position * kPixelBytes, swapped, after + lane_weights);
      multiply_step(high, low, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    add_all(acc, high, low, held);
    unscale(acc, scales + (warp_n * kWarpChannels + lane % 4 * 2), exponents, offsets);
    store_outputs(acc, y + first_out / 8 * 4096ll, shared, biases, warp_m * 32 + lane / 4,
                  warp_n * kWarpChannels + lane % 4 * 4);
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

}  // namespace convtgen_mma_pixels_forward_fe14b4d7f145df33_source
using convtgen_mma_pixels_forward_fe14b4d7f145df33_source::convtgen_mma_pixels_forward_fe14b4d7f145df33_scan;
using convtgen_mma_pixels_forward_fe14b4d7f145df33_source::convtgen_mma_pixels_forward_fe14b4d7f145df33_exponents;
using convtgen_mma_pixels_forward_fe14b4d7f145df33_source::convtgen_mma_pixels_forward_fe14b4d7f145df33_pack;
using convtgen_mma_pixels_forward_fe14b4d7f145df33_source::convtgen_mma_pixels_forward_fe14b4d7f145df33_arrange;
using convtgen_mma_pixels_forward_fe14b4d7f145df33_source::convtgen_mma_pixels_forward_fe14b4d7f145df33;
