// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; fuse relu; dtype f32; compute f32x3; layout nhwc
// forward for sm_80. Template f32x3_mma: a block makes 8x16 outputs of 64 channels; 16 taps; 151.6 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 8388608 elements, written, 16-byte aligned
//     shape (N 128, H 32, W 32, Cout 64), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, H 16, W 16, Cin 128), contiguous
//   tensor weight: 131072 elements, read, 4-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor bias: 64 elements, read, 4-byte aligned
//     shape (Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 528896 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_f32x3_mma_forward_51698ab85699c147_pack
//     arguments const float* weight, unsigned char* packed
//     grid 17; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_f32x3_mma_forward_51698ab85699c147
//     arguments const float* x, const unsigned char* packed, const float* bias, float* y, int batch
//     grid 108; block 256; shared 155232
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 155232)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 155232)

namespace convtgen_f32x3_mma_forward_51698ab85699c147_source {

// ---- Constants ----

constexpr float kLowScale = 2048.0f;
constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupOut = 64;
constexpr int kWarpRows = 32;  // positions
constexpr int kPixelPitch = 144;
constexpr int kLaneValues = 512;  // a column's items: each lane's four weights of a k-step and tap
constexpr int kMostLowTerms = 256;
constexpr int kAllPlaces = 81;
constexpr int kPlaceStep = 64;  // from a place of a thread to its next
constexpr int kMostRaise = 126;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 11664;           // the input of a stage
constexpr int kLowOffset = 64;               // from a pixel's high parts to its low ones
constexpr int kFragmentBytes = 512;          // of 8 columns
constexpr int kTapBytes = 4096;              // of a step
constexpr int kKBlockWeightBytes = 65536;    // of a k-block
constexpr int kWeightBytes = 262144;         // of all k-blocks
constexpr int kPackedMaximaOffset = 262400;  // written while weights are packed
constexpr int kPackedTileBytes = 264448;
constexpr int kStageBytes = 77200;  // input; weights if not resident
constexpr int kScalesOffset = 154400;
constexpr int kBiasOffset = 154912;  // one a channel
constexpr int kMaximaOffset = 155168;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
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

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) {
  return fmaxf(a, fabsf(fmaf(b, 0, b)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) {
  return min(126, 141 - __float_as_int(most) / 0x800000);
}

// The exponent of x's scale: `kept`, if not `begins` and it brings `largest` to 2^13 and within f16, or that is 0.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 4096) / 0x800000);
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}

// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) * 0x800000);
}

// Two factors that make 2^e, which may be no float.
__device__ __forceinline__ float2 factors_of(int e) {
  return {power_of_two(e / 2), power_of_two(e - e / 2)};
}

__device__ __forceinline__ float scaled_by(float x, int e) {
  return x * factors_of(e).x * factors_of(e).y;
}

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair {
  unsigned int high;
  unsigned int low;
};

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * kLowScale),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * kLowScale));
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

// The block's kernel row and the kernel column that read so far before a position for a phase; -1: none.
__device__ int kernel_row(int before, int phase_row) {
  const int reach = before + phase_row;
  return reach < 2 ? reach : -1;
}

__device__ int kernel_column(int before, int phase_column) {
  const int reach = before * 2 + phase_column;
  return reach < 4 ? reach : -1;
}

// Whether any tap reads so many rows and columns before a position.
__device__ bool has_taps(int y, int x) {
  const bool rows = kernel_row(y, 0) >= 0;
  bool columns = false;
  for (int phase = 0; phase < 2; ++phase) {
    columns = columns || kernel_column(x, phase) >= 0;
  }
  return rows && columns;
}

// The row and the column in the tile of its first position that a warp has, which is so many positions after the
// first.
__device__ __forceinline__ int first_row(int place) {
  return place / 64 * 8 + place % 64 / 8;
}

// From there to the i-th position of a tile, in rows and columns.
__device__ __forceinline__ int rows_to(int tile, int i) {
  return i / 8 * 2 + tile;
}

__device__ __forceinline__ int columns_to(int i) {
  return i % 8;
}

// The first inner tap that may need a load, for some tile; -1: none.
__device__ int first_use(int load) {
  int first = -1;
  for (int tile = 1; tile >= 0; --tile) {
    const int inner = tile + 1 - load;
    first = inner >= 0 && inner <= 1 ? inner : first;
  }
  return first;
}

// Whether products of an outer tap need that load.
__device__ bool is_needed(int outer, int load) {
  bool needed = false;
  for (int tile = 0; tile < 2; ++tile) {
    const int inner = tile + 1 - load;
    needed = needed || (inner >= 0 && inner <= 1 && has_taps(inner, outer));
  }
  return needed;
}

// ---- Packing ----

// Where the weights of a k-step and a tap of the kernel begin in those of the first phase rows.
__device__ __forceinline__ long long packed_offset(int k_step, int tap) {
  const int kh = tap / 4;
  return static_cast<long long>(kh % 2) * 264448 + k_step / 2 * kKBlockWeightBytes +
         (k_step % 2 * 8 + kh / 2 * 4 + tap % 4) * kTapBytes;
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 4 * 16 + thread * 4 + i % 4;
}

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
__device__ __forceinline__ void pack_split(const float* __restrict__ weight, unsigned char* __restrict__ packed) {
  // Some columns at a time, each with a scale of its own, which each block that packs a part of them finds by itself.
  const int first = threadIdx.x / 4;
  for (int block = blockIdx.x; block < 16; block += gridDim.x) {
    const int n = block * 4 % 64 + threadIdx.x % 4;
    const int channel_tile = block * 4 / 64;
    const int of_warp = n % 16;
    const int co = channel_tile * 64 + n - of_warp + channel_of_column(of_warp);
    unsigned char* to = packed + static_cast<long long>(channel_tile) * kPackedTileBytes;
    float most = 0;
    #pragma unroll 8
    for (int i = first; i < 2048; i += 64) {
      most = larger_finite(most, weight[(static_cast<long long>(i / 16) * kGroupOut + co) * 16 + i % 16]);
    }
    for (int mask = 16; mask >= 4; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    }
    float* maxima = reinterpret_cast<float*>(to + kPackedMaximaOffset) + n * 8;
    if (threadIdx.x % 32 / 4 == 0) {
      maxima[threadIdx.x / 32] = most;
    }
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) {
      most = fmaxf(most, maxima[warp]);
    }
    const int exponent = scale_exponent(most);
    if (first < 2) {
      reinterpret_cast<int*>(to + static_cast<long long>(first) * 264448 + kWeightBytes)[n] = exponent;
    }
    #pragma unroll 2
    for (int item = first; item < kLaneValues; item += 64) {
      const int tap = item / 4 % 16;
      const int k_step = item / 64;
      SplitPair pairs[2];
      pairs[0] = split_pair(weight[(static_cast<long long>(item / 64 * 16 + item % 4 * 2) * kGroupOut + co) * 16 + tap],
                            weight[(static_cast<long long>(item / 64 * 16 + item % 4 * 2 + 1) * kGroupOut + co) * 16 +
                                   tap], power_of_two(exponent), true);
      pairs[1] = split_pair(weight[(static_cast<long long>(item / 64 * 16 + 8 + item % 4 * 2) * kGroupOut + co) * 16 +
                                   tap], weight[(static_cast<long long>(item / 64 * 16 + 8 + item % 4 * 2 + 1) *
                                                 kGroupOut + co) * 16 + tap], power_of_two(exponent), true);
      unsigned char* of_tap = to + packed_offset(k_step, tap);
      reinterpret_cast<uint4*>(of_tap + n / 8 * kFragmentBytes)[n % 8 * 4 + item % 4] =
          make_uint4(pairs[0].high, pairs[1].high, pairs[0].low, pairs[1].low);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_f32x3_mma_forward_51698ab85699c147_pack(const float* __restrict__ weight,
                                                     unsigned char* __restrict__ packed) {
  pack_split(weight, packed);
}

// ---- Tiles ----

// A tile's place: its image and first position. In the sequence m_x counts positions of the image and m_y is 0.
struct Tile {
  int image;
  int m_y;
  int m_x;
};

__device__ __forceinline__ Tile square_tile(int index) {
  Tile tile;
  tile.image = index / 9;
  tile.m_y = index / 3 % 3 * 8;
  tile.m_x = index % 3 * 8;
  return tile;
}

__device__ __forceinline__ Tile square_tile_2(int index) {
  Tile tile;
  tile.image = index / 9;
  tile.m_y = index / 3 % 3 * 8;
  tile.m_x = index % 3 * 8;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index) {
  Tile tile = square_tile(index);
  tile.m_y = tile.m_y - 1;
  tile.m_x = tile.m_x - 1;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile_2(int index) {
  Tile tile = square_tile_2(index);
  tile.m_y = tile.m_y - 1;
  tile.m_x = tile.m_x - 1;
  return tile;
}

// ---- Staging ----

// Copies so many bytes of packed weights. Copies of a thread lie constant distances apart.
__device__ __forceinline__ void stage_weights(unsigned char* to, const unsigned char* from) {
  const unsigned int first = threadIdx.x * 16;
  unsigned char* own_to = to + first;
  const unsigned char* own_from = from + first;
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    async_copy_16(own_to + i * 4096, own_from + i * 4096, 16);
  }
}

using Places = long long[2];

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
  for (int i = 0; i < 2; ++i) {
    const int pixel = place_of(thread, i);
    const int image = tile.image;
    const int iy = tile.m_y + pixel / 9;
    const int ix = tile.m_x + pixel % 9;
    const bool inside = is_place(thread, i) && (iy >= 0 && iy < 16 && ix >= 0 && ix < 16);
    const long long first = static_cast<long long>(image) * 32768;
    const long long of_pixel = static_cast<long long>(iy) * 16 + ix;
    places[i] = inside ? first + of_pixel * 128 : -1;
  }
}

// A k-block's input of a thread: a unit of each of its places.
using Values = float[2][8];

__device__ __forceinline__ int unit_of(int thread) {
  return thread % 4;
}

// Loads a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_values(Values& values, const float* __restrict__ x, const Places& places,
                                            int first_channel, int thread) {
  const int ci = first_channel + unit_of(thread) * 8;
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float* pixel = x + places[i];
    const float* from = pixel + ci;
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint4 loaded = make_uint4(0, 0, 0, 0);
      if (places[i] >= 0) {
        loaded = load_constant_16(from + half * 4);
      }
      values[i][half * 4] = __uint_as_float(loaded.x);
      values[i][half * 4 + 1] = __uint_as_float(loaded.y);
      values[i][half * 4 + 2] = __uint_as_float(loaded.z);
      values[i][half * 4 + 3] = __uint_as_float(loaded.w);
    }
  }
}

// Writes the largest finite magnitude of a warp's values. Collective.
__device__ __forceinline__ void write_maximum(float* maxima, const Values& values, int thread) {
  float most = 0;
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      most = larger_finite(most, values[i][c]);
    }
  }
  #pragma unroll
  for (int mask = 16; mask >= 1; mask /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
  }
  if (thread % 32 == 0) {
    maxima[thread / 32] = most;
  }
}

// The maximum of all warps.
__device__ __forceinline__ float block_maximum(const float* maxima) {
  float most = maxima[0];
  #pragma unroll
  for (int warp = 1; warp < 8; ++warp) {
    most = fmaxf(most, maxima[warp]);
  }
  return most;
}

// Writes a thread's values to a stage, split.
__device__ __forceinline__ void store_split(unsigned char* to, const Values& values, float scale, int thread) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (is_place(thread, i)) {
      SplitPair pairs[4];
      #pragma unroll
      for (int word = 0; word < 4; ++word) {
        pairs[word] = split_pair(values[i][word * 2], values[i][word * 2 + 1], scale, false);
      }
      unsigned char* unit = to + unit_of(thread) * 16 + place_of(thread, i) * kPixelPitch;
      *reinterpret_cast<uint4*>(unit) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
      *reinterpret_cast<uint4*>(unit + kLowOffset) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 positions, phase and tile of 8 channels of its warp.
using Accumulators = float[2][2][2][4];

// What the accumulators hold: products since the last addition to the totals, of high parts and of low ones (at the
// most, of a phase); the exponent of x's scale; the totals' exponent, which is not larger; the factor from the
// accumulators to the totals.
struct Held {
  int terms;
  int low_terms;
  int exponent;
  int total;
  float factor;
};

// Adds the products of high parts to the totals.
__device__ __forceinline__ void add_high(Accumulators& totals, Accumulators& high, float factor) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int phase = 0; phase < 2; ++phase) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& value = high[tile][phase][i / 4][i % 4];
        totals[tile][phase][i / 4][i % 4] = fmaf(value, factor, totals[tile][phase][i / 4][i % 4]);
        value = 0;
      }
    }
  }
}

// Whether a thread's totals are finite: a row and a column of each phase.
__device__ __forceinline__ bool are_finite(const Accumulators& totals) {
  bool finite = true;
  #pragma unroll
  for (int phase = 0; phase < 2; ++phase) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      finite &= is_finite(totals[0][phase][i / 2][i % 2]);
    }
    #pragma unroll
    for (int row = 1; row < 4; ++row) {
      finite &= is_finite(totals[row / 2][phase][0][row % 2 * 2]);
    }
  }
  return finite;
}

// Adds all products to the totals. Infinities have no low parts: where a total isn't finite, it is the result.
__device__ __forceinline__ void add_all(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held) {
  add_high(totals, high, held.factor);
  const bool finite = are_finite(totals);
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int phase = 0; phase < 2; ++phase) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& total = totals[tile][phase][i / 4][i % 4];
        if (finite || is_finite(total)) {
          total = fmaf(low[tile][phase][i / 4][i % 4], held.factor * 0.00048828125f, total);
        }
        low[tile][phase][i / 4][i % 4] = 0;
      }
    }
  }
  held.terms = 0;
  held.low_terms = 0;
}

// Begins a k-block whose scale has this exponent.
__device__ __forceinline__ void begin_k_block(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                              int exponent) {
  if (held.exponent != exponent || held.low_terms > kMostLowTerms) {
    add_all(totals, high, low, held);
    if (exponent < held.total) {
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        #pragma unroll
        for (int phase = 0; phase < 2; ++phase) {
          #pragma unroll
          for (int i = 0; i < 8; ++i) {
            float& total = totals[tile][phase][i / 4][i % 4];
            total = scaled_by(total, exponent - held.total);
          }
        }
      }
      held.total = exponent;
    }
    held.exponent = exponent;
    held.factor = power_of_two(held.total - exponent);
  }
}

// Makes a tile's results of its totals. `scales` undo those of the weights, in two factors for each of a warp's
// columns; they begin at the thread's first one.
__device__ __forceinline__ void unscale(Accumulators& totals, const float2* scales, int total) {
  const float2 own = factors_of(-total);
  #pragma unroll
  for (int eight = 0; eight < 2; ++eight) {
    const float4 two = *reinterpret_cast<const float4*>(scales + eight * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      #pragma unroll
      for (int phase = 0; phase < 2; ++phase) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& value = totals[tile][phase][eight][i];
          value = value * factors[i % 2][0] * factors[i % 2][1];
        }
      }
    }
  }
}

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                              const unsigned char* input, const unsigned char* weights) {
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int outer = 0; outer <= 1; ++outer) {
    if (held.terms + 2 > 8) {
      add_high(totals, high, held.factor);
      held.terms = 0;
    }
    held.terms += 2;
    unsigned int a[3][2][4];
    #pragma unroll
    for (int inner = 0; inner <= 1; ++inner) {
      // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
      #pragma unroll
      for (int load = 0; load < 3; ++load) {
        if (first_use(load) == inner && is_needed(outer, load)) {
          matrix_load_x4(a[load][0], input + (load * 9 + 1 - outer) * kPixelPitch);
          matrix_load_x4(a[load][1], input + (load * 9 + 1 - outer) * kPixelPitch + kLowOffset);
        }
      }
      #pragma unroll
      for (int phase = 0; phase < 2; ++phase) {
        const int row = kernel_row(inner, 0);
        const int column = kernel_column(outer, phase);
        if (row >= 0 && column >= 0) {
          const unsigned char* of_tap = weights + (row * 4 + column) * kTapBytes;
          #pragma unroll
          for (int eight = 0; eight < 2; ++eight) {
            const uint4 words = *reinterpret_cast<const uint4*>(of_tap + eight * kFragmentBytes);
            const unsigned int b_high[2] = {words.x, words.y};
            const unsigned int b_low[2] = {words.z, words.w};
            #pragma unroll
            for (int tile = 0; tile < 2; ++tile) {
              mma_k16_f16(high[tile][phase][eight], a[tile + 1 - inner][0], b_high);
            }
            #pragma unroll
            for (int tile = 0; tile < 2; ++tile) {
              mma_k16_f16(low[tile][phase][eight], a[tile + 1 - inner][0], b_low);
            }
            #pragma unroll
            for (int tile = 0; tile < 2; ++tile) {
              mma_k16_f16(low[tile][phase][eight], a[tile + 1 - inner][1], b_high);
            }
          }
        }
      }
    }
  }
}

// The same of a k-block.
__device__ __forceinline__ void multiply_k_block(Accumulators& totals, Accumulators& high, Accumulators& low,
                                                 Held& held, const unsigned char* input, const unsigned char* weights) {
  #pragma unroll 1
  for (int k_step = 0; k_step < 2; ++k_step) {
    multiply_step(totals, high, low, held, input + k_step * 32, weights + k_step * 32768);
  }
  held.low_terms += 8;
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

// Whether any tap makes outputs of a phase of the block; the others are bias alone.
__device__ bool is_made(int phase) {
  bool made = false;
  for (int y = 0; y <= 1; ++y) {
    for (int x = 0; x <= 1; ++x) {
      made = made || (kernel_row(y, phase / 2) >= 0 && kernel_column(x, phase % 2) >= 0);
    }
  }
  return made;
}

// The thread's i-th channel of a phase of a tile, for its row of that half.
__device__ __forceinline__ float acc_of(const float (&acc)[2][2][4], int phase, int i, int half) {
  return is_made(phase) ? acc[phase][i / 2][half * 2 + i % 2] : 0;
}

// Stores a thread's outputs in nhwc, which are the `row`-th positions of its warp's tiles and the eighth after these.
// `place` is the warp's first position in the block's tile, `channel` the thread's first channel of the block's, `y`
// the block's first channel of the first image.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, float* __restrict__ y, const float* bias,
                                             const Tile& tile, int place, int row, int channel, int phase_row) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int first = 0; first < 2; ++first) {
      const int column = columns_to(row + half * 8);
      const int image = tile.image;
      const int m_y = tile.m_y + first_row(place) + rows_to(first, row + half * 8);
      const int m_x = tile.m_x + column;
      const int oy = m_y * 2 + phase_row - 1;
      if (oy >= 0 && oy < 32) {
        #pragma unroll
        for (int phase_w = 0; phase_w < 2; ++phase_w) {
          const int ox = m_x * 2 - 1 + phase_w;
          if (ox >= 0 && ox < 32) {
            float* to = y + ((static_cast<long long>(image) * 32 + oy) * 32 + ox) * 64 + channel;
            float values[4];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
              values[v] = epilogue(acc_of(acc[first], phase_w, v, half), bias[channel + v]);
            }
            store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                           __float_as_uint(values[2]), __float_as_uint(values[3])));
          }
        }
      }
    }
  }
}

// Stores a warp's outputs. `first` is its first position in the block's tile, `channel` its first channel of the
// block's.
__device__ __forceinline__ void store_tiles(const Accumulators& acc, float* __restrict__ y, const float* bias,
                                            const Tile& tile, int first, int lane, int channel, int phase_row) {
  store_pixels(acc, y, bias, tile, first, lane / 4, channel + lane % 4 * 4, phase_row);
}

// ---- Kernel ----

// A k-block of a tile.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
};

// Loads the next k-block if its tile is one of the call's; after a tile's last one, finds the places of the next tile.
__device__ __forceinline__ void load_next(Values& values, Places& places, Next& loaded, Next& next,
                                          const float* __restrict__ x, int thread, int tiles, int next_tile) {
  loaded.index = next.index;
  loaded.k_block = next.k_block;
  if (next.index < tiles) {
    load_values(values, x, places, next.k_block * 32, thread);
    if (++next.k_block == 4) {
      next.k_block = 0;
      next.index += next_tile;
      find_places(places, staged_tile_2(next.index), thread);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_f32x3_mma_forward_51698ab85699c147(const float* __restrict__ x, const unsigned char* __restrict__ packed,
                                                const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const int tiles = batch * 9;

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % 2;
  const int first_tile = blockIdx.x / 2;
  const int next_tile = gridDim.x / 2;
  const int phase_row = n_tile % 2;
  const unsigned char* own_weights = packed + static_cast<long long>(n_tile) * kPackedTileBytes;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  float2* scales = reinterpret_cast<float2*>(shared + kScalesOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  float* maxima = reinterpret_cast<float*>(shared + kMaximaOffset);
  const int thread = threadIdx.x;
  for (int i = thread; i < 64; i += kThreads) {
    scales[i] = factors_of(-reinterpret_cast<const int*>(own_weights + kWeightBytes)[i]);
    biases[i] = bias[i];
  }
  stage_weights(shared + kInputBytes, own_weights);
  async_copy_commit();

  // The lane's pixel of its warp's first tile, and its weights. Unsigned divisions take fewer registers.
  const int lane = threadIdx.x % 32;
  const int warp_m = threadIdx.x / 32 % 2;
  const int warp_n = threadIdx.x / 64;
  const int place = warp_m * kWarpRows;
  const int pixel = (first_row(place) + rows_to(0, lane % 16)) * 9 + columns_to(lane % 16);
  const int input_offset = pixel * kPixelPitch + lane / 16 * 16;
  const int lane_weights = warp_n * 1024 + lane * 16;

  // What registers hold is written to a stage before the products of the stage before; then more is loaded, whose
  // largest magnitude is written after them.
  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Next loaded;
  Places places;
  Values values = {};
  find_places(places, staged_tile(first_tile), thread);
  load_next(values, places, loaded, next, x, thread, tiles, next_tile);
  write_maximum(maxima, values, thread);
  __syncthreads();
  int exponent = next_exponent(block_maximum(maxima), 0, true);  // of the scale of what is written last
  store_split(shared, values, power_of_two(exponent), thread);
  load_next(values, places, loaded, next, x, thread, tiles, next_tile);
  write_maximum(maxima + 8, values, thread);

  int stage = 0;
  #pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators high = {};
    Accumulators low = {};
    Accumulators totals = {};
    Held held = {0, 0, exponent, exponent, 1};
    #pragma unroll 1
    for (int k_block = 0; k_block < 4; ++k_block) {
      const unsigned char* from = shared + stage * kStageBytes;
      async_copy_wait(0);
      __syncthreads();  // the stage has come, and all have read the one that is written now
      begin_k_block(totals, high, low, held, exponent);
      if (loaded.index < tiles) {
        unsigned char* to = shared + (1 - stage) * kStageBytes;
        stage_weights(to + kInputBytes, own_weights + loaded.k_block * kKBlockWeightBytes);
        async_copy_commit();
        exponent = next_exponent(block_maximum(maxima + (1 - stage) * 8), exponent, loaded.k_block == 0);
        if (loaded.k_block > 0) {
          exponent = min(exponent, held.total + kMostRaise);
        }
        store_split(to, values, power_of_two(exponent), thread);
        load_next(values, places, loaded, next, x, thread, tiles, next_tile);
      }
      multiply_k_block(totals, high, low, held, from + input_offset, from + kInputBytes + lane_weights);
      if (loaded.index < tiles) {
        write_maximum(maxima + stage * 8, values, thread);
      }
      stage = 1 - stage;
    }
    add_all(totals, high, low, held);
    unscale(totals, scales + warp_n * 16 + lane % 4 * 2, held.total);
    const Tile tile = square_tile(index);
    store_tiles(totals, y, biases, tile, place, lane, warp_n * 16, phase_row);
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

}  // namespace convtgen_f32x3_mma_forward_51698ab85699c147_source
using convtgen_f32x3_mma_forward_51698ab85699c147_source::convtgen_f32x3_mma_forward_51698ab85699c147_pack;
using convtgen_f32x3_mma_forward_51698ab85699c147_source::convtgen_f32x3_mma_forward_51698ab85699c147;
