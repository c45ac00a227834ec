// conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 16x32x32; dtype f16; compute f16; layout nhwc
// forward for sm_75. Template mma_gemm: a block makes 32x16 outputs of 32 channels; 4 taps; 52.0 KiB shared.
// Launch
//   sizes: batch 16, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor y: 2097152 elements, written, 16-byte aligned
//     shape (N 16, H 64, W 64, Cout 32), contiguous
//   tensor x: 1048576 elements, read, 16-byte aligned
//     shape (N 16, H 32, W 32, Cin 64), contiguous
//   tensor weight: 8192 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 32, KH 2, KW 2), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 16384 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_mma_gemm_forward_ffc45b2b25101040_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 1; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_gemm_forward_ffc45b2b25101040
//     arguments const unsigned short* x, const unsigned char* packed, unsigned short* y, int batch
//     grid 72; block 256; shared 53248
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 53248)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 53248)

namespace convtgen_mma_gemm_forward_ffc45b2b25101040_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 64;
constexpr int kGroupOut = 32;
constexpr int kWarpRows = 32;  // positions
constexpr int kPixelPitch = 144;
constexpr int kAllPlaces = 128;
constexpr int kPlaceStep = 32;  // from a place of a thread to its next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kTapBytes = 1024;            // of a step
constexpr int kKBlockWeightBytes = 16384;  // of a k-block
constexpr int kResidentBytes = 16384;      // of weights, at 0; stages follow
constexpr int kStageBytes = 18432;         // input; weights if not resident

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int /*pending*/);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);

#endif

// The block's kernel row and the kernel column that read so far before a position for a phase; -1: none.
__device__ int kernel_row(int before, int phase_row) {
  const int reach = before * 2 + phase_row;
  return reach < 2 ? reach : -1;
}

__device__ int kernel_column(int phase_column) {
  return phase_column < 2 ? phase_column : -1;
}

// Whether any tap reads so many rows and columns before a position.
__device__ bool has_taps(int y) {
  bool rows = false;
  for (int phase = 0; phase < 2; ++phase) {
    rows = rows || kernel_row(y, phase) >= 0;
  }
  bool columns = false;
  for (int phase = 0; phase < 2; ++phase) {
    columns = columns || kernel_column(phase) >= 0;
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
    const int inner = tile - load;
    first = inner >= 0 && inner <= 0 ? inner : first;
  }
  return first;
}

// Whether products of an outer tap need that load.
__device__ bool is_needed(int load) {
  bool needed = false;
  for (int tile = 0; tile < 2; ++tile) {
    const int inner = tile - load;
    needed = needed || (inner >= 0 && inner <= 0 && has_taps(inner));
  }
  return needed;
}

// ---- Elements ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 4 * 16 + thread * 4 + i % 4;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_gemm_forward_ffc45b2b25101040_pack(const unsigned short* __restrict__ weight,
                                                    unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a step and tap, so that it writes whole sectors: the step's channels of one
  // column or of two, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 256) {
    const int tap = static_cast<int>(i % 4);
    const int column = static_cast<int>(i / 4 % 16);
    const int step = static_cast<int>(i / 64 % 4);
    const int group = static_cast<int>(i / 256);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    {
      const int of_warp = first % 16;
      const int co = first - of_warp + channel_of_column(of_warp);
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[0][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[1][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[2][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[3][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[0][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[1][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[2][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[3][1] = halves[0] | (halves[1] << 16);
      }
    }
    {
      const int of_warp = (first + 8) % 16;
      const int co = first + 8 - of_warp + channel_of_column(of_warp);
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[0][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[1][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[2][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[3][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[0][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[1][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[2][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 4 + tap];
          halves[1] = value;
        }
        words[3][3] = halves[0] | (halves[1] << 16);
      }
    }
    const int kh = tap / 2;
    const int kw = tap % 2;
    unsigned char* k_block = packed + static_cast<long long>(group) * kKBlockWeightBytes;
    unsigned char* of_tap = k_block + (step * 4 + kh * 2 + kw) * kTapBytes;
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = of_tap + first / 16 * 512 + first % 8 * 64;
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0][0], words[0][1], words[0][2], words[0][3]);
    *reinterpret_cast<uint4*>(to + 16) = make_uint4(words[1][0], words[1][1], words[1][2], words[1][3]);
    *reinterpret_cast<uint4*>(to + 32) = make_uint4(words[2][0], words[2][1], words[2][2], words[2][3]);
    *reinterpret_cast<uint4*>(to + 48) = make_uint4(words[3][0], words[3][1], words[3][2], words[3][3]);
  }
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
  tile.image = index / 8;
  tile.m_y = index / 4 % 2 * 16;
  tile.m_x = index % 4 * 8;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index) {
  Tile tile = square_tile(index);
  tile.m_y = tile.m_y;
  tile.m_x = tile.m_x;
  return tile;
}

// ---- Staging ----

// Copies so many bytes of packed weights. Copies of a thread lie constant distances apart.
__device__ __forceinline__ void stage_weights(unsigned char* to, const unsigned char* from) {
  const unsigned int first = threadIdx.x * 16;
  unsigned char* own_to = to + first;
  const unsigned char* own_from = from + first;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    async_copy_16(own_to + i * 4096, own_from + i * 4096, 16);
  }
}

// ---- Places ----

using Places = long long[4];

__device__ __forceinline__ int place_of(int thread, int i) {
  return thread / 8 + i * kPlaceStep;
}

// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int pixel = place_of(thread, i);
    const int image = tile.image;
    const int iy = tile.m_y + pixel / 8;
    const int ix = tile.m_x + pixel % 8;
    const bool inside = is_place(thread, i) && (iy >= 0 && iy < 32 && ix >= 0 && ix < 32);
    const long long first = static_cast<long long>(image) * 65536;
    const long long of_pixel = static_cast<long long>(iy) * 32 + ix;
    places[i] = inside ? first + of_pixel * 64 : -1;
  }
}

// ---- Through registers ----

using Words = unsigned int[8][4];

// The unit of a k-block, of the thread's item.
__device__ __forceinline__ int unit_of(int thread) {
  return thread % 8;
}

// Loads a batch of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const unsigned short* __restrict__ x, const Places& places,
                                           int first_channel, int thread) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 4) {
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
    if (item < 4 && is_place(thread, item)) {
      unsigned char* pixel = to + unit_of(thread) * 16 + place_of(thread, item) * kPixelPitch;
      uint4* place = reinterpret_cast<uint4*>(pixel);
      *place = make_uint4(words[item][0], words[item][1], words[item][2], words[item][3]);
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 positions, phase and tile of 8 channels of its warp.
using Accumulators = float[2][4][2][4];

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const unsigned char* input,
                                              const unsigned char* weights) {
  // taps (0 to 1, 0 to 1)
  unsigned int a[2][4];
  // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
  #pragma unroll
  for (int load = 0; load < 2; ++load) {
    if (first_use(load) == 0 && is_needed(load)) {
      matrix_load_x4(a[load], input + load * 1152);
    }
  }
  #pragma unroll
  for (int phase = 0; phase < 4; ++phase) {
    const int row = kernel_row(0, phase / 2);
    const int column = kernel_column(phase % 2);
    if (row >= 0 && column >= 0) {
      const unsigned char* of_tap = weights + (row * 2 + column) * kTapBytes;
      const uint4 words = *reinterpret_cast<const uint4*>(of_tap);
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int next[2] = {words.z, words.w};
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        mma_k16_f16(acc[tile][phase][0], a[tile], b);
        mma_k16_f16(acc[tile][phase][1], a[tile], next);
      }
    }
  }
}

// The same of a k-block. Weights of the next k-block, where there is one, are copied step by step: copies all at once
// would keep products waiting for what they load.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* input,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    multiply_step(acc, input + k_step * 32, weights + k_step * 4096);
  }
}

// ---- Epilogue ----

// The thread's i-th channel of a phase of a tile, for its row of that half.
__device__ __forceinline__ float acc_of(const float (&acc)[4][2][4], int phase, int i, int half) {
  return kernel_row(0, phase / 2) >= 0 && kernel_column(phase % 2) >= 0 ? acc[phase][i / 2][half * 2 + i % 2] : 0;
}

// Stores a thread's outputs in nhwc, which are the `row`-th positions of its warp's tiles and the eighth after these.
// `place` is the warp's first position in the block's tile, `channel` the thread's first channel of the block's, `y`
// the block's first channel of the first image.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, unsigned short* __restrict__ y, const Tile& tile,
                                             int place, int row, int channel) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int first = 0; first < 2; ++first) {
      const int column = columns_to(row + half * 8);
      const int image = tile.image;
      const int m_y = tile.m_y + first_row(place) + rows_to(first, row + half * 8);
      const int m_x = tile.m_x + column;
      #pragma unroll
      for (int phase_h = 0; phase_h < 2; ++phase_h) {
        const int oy = m_y * 2 + phase_h;
        if (oy >= 0 && oy < 64) {
          #pragma unroll
          for (int phase_w = 0; phase_w < 2; ++phase_w) {
            const int ox = m_x * 2 + phase_w;
            if (ox >= 0 && ox < 64) {
              unsigned short* to = y + ((static_cast<long long>(image) * 64 + oy) * 64 + ox) * 32 + channel;
              float values[4];
              #pragma unroll
              for (int v = 0; v < 4; ++v) {
                values[v] = acc_of(acc[first], phase_h * 2 + phase_w, v, half);
              }
              store_global_8(to,
                             make_uint2(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3])));
            }
          }
        }
      }
    }
  }
}

// Stores a warp's outputs. `first` is its first position in the block's tile, `channel` its first channel of the
// block's.
__device__ __forceinline__ void store_tiles(const Accumulators& acc, unsigned short* __restrict__ y, const Tile& tile,
                                            int first, int lane, int channel) {
  store_pixels(acc, y, tile, first, lane / 4, channel + lane % 4 * 4);
}

// ---- Kernel ----

// What a block stages next.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_gemm_forward_ffc45b2b25101040(const unsigned short* __restrict__ x,
                                               const unsigned char* __restrict__ packed, unsigned short* __restrict__ y,
                                               int batch) {
  const int tiles = batch * 8;

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  const int thread = threadIdx.x;
  stage_weights(shared, packed);

  // The lane's pixel of its warp's first tile, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 4;
  const int warp_n = thread / 128;
  const int place = warp_m * kWarpRows;
  const int pixel = (first_row(place) + rows_to(0, lane % 16)) * 8 + columns_to(lane % 16);
  const int input_offset = pixel * kPixelPitch + lane / 16 * 16;
  const int lane_weights = warp_n * 512 + lane * 16;

  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Places places;
  find_places(places, staged_tile(first_tile), thread);
  Words words;
  if (first_tile < tiles) {
    async_copy_commit();
    load_batch(words, x, places, 0, thread);
    store_batch(stages, words, thread);
    if (++next.k_block == 1) {
      next.k_block = 0;
      next.index += next_tile;
      find_places(places, staged_tile(next.index), thread);
    }
  }

  int stage = 0;
  #pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators acc = {};
    const unsigned char* from = stages + stage * kStageBytes;
    async_copy_wait(0);
    __syncthreads();  // the stage has come, and all have read the one that is staged now
    const int staged = stage == 0 ? 1 : stage - 1;
    unsigned char* to = stages + staged * kStageBytes;
    const bool more = next.index < tiles;
    if (more) {
      load_batch(words, x, places, next.k_block * 64, thread);
      if (++next.k_block == 1) {
        next.k_block = 0;
        next.index += next_tile;
        find_places(places, staged_tile(next.index), thread);
      }
    }
    multiply_k_block(acc, from + input_offset, shared + lane_weights);
    async_copy_commit();
    if (more) {
      store_batch(to, words, thread);
    }
    stage = stage + 1 == 2 ? 0 : stage + 1;
    const Tile tile = square_tile(index);
    store_tiles(acc, y, tile, place, lane, warp_n * 16);
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

// Copies `bytes` (0 to 16) from global to shared memory, through registers, and writes zeros for the rest of
// 16; aligned to 16.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  uint4 value = make_uint4(0, 0, 0, 0);
  if (bytes == 16) {
    value = *static_cast<const uint4*>(from);
  } else {
    for (unsigned int i = 0; i < bytes; ++i) {
      const unsigned int byte = static_cast<unsigned int>(static_cast<const unsigned char*>(from)[i]) << i % 4 * 8;
      value.x |= i / 4 == 0 ? byte : 0;
      value.y |= i / 4 == 1 ? byte : 0;
      value.z |= i / 4 == 2 ? byte : 0;
      value.w |= i / 4 == 3 ? byte : 0;
    }
  }
  *static_cast<uint4*>(to) = value;
}

// Nothing: copies are done when the thread goes on.
__device__ __forceinline__ void async_copy_commit() {}

// Nothing: copies are done when the thread goes on.
__device__ __forceinline__ void async_copy_wait(int /*pending*/) {}

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// K = 16, f16: two products of K = 8.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%8}, {%0, %1, %2, %3};\n\t"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%6, %7}, {%9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("{\n\t.reg .b16 first, second;\n\tcvt.rn.f16.f32 first, %1;\n\tcvt.rn.f16.f32 second, %2;\n\t"
      "mov.b32 %0, {first, second};\n\t}"
      : "=r"(bits)
      : "f"(low), "f"(high));
  return bits;
}

#endif

}  // namespace convtgen_mma_gemm_forward_ffc45b2b25101040_source
using convtgen_mma_gemm_forward_ffc45b2b25101040_source::convtgen_mma_gemm_forward_ffc45b2b25101040_pack;
using convtgen_mma_gemm_forward_ffc45b2b25101040_source::convtgen_mma_gemm_forward_ffc45b2b25101040;
