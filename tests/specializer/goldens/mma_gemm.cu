// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_80. Template mma_gemm: a block makes 1024 outputs of 32 channels; 16 taps; 111.4 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
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
//   kernel convtgen_mma_gemm_forward_3865be3f1b17dff9_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 16; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_gemm_forward_3865be3f1b17dff9
//     arguments const unsigned short* x, const unsigned char* packed, const unsigned short* bias, unsigned short* y,
//       int batch
//     grid 108; block 256; shared 114048
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 114048)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 114048)

namespace convtgen_mma_gemm_forward_3865be3f1b17dff9_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 128;
constexpr int kGroupOut = 64;
constexpr int kPositions = 256;
constexpr int kWarpRows = 32;  // positions
constexpr int kWarpChannels = 32;
constexpr int kStagedColumns = 258;
constexpr int kRowPitch = 17;  // used only with a halo of rows
constexpr int kPixelPitch = 80;
constexpr int kAllPlaces = 274;
constexpr int kPlaceStep = 64;  // from a place of a thread to its next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 24192;         // the input of a stage
constexpr int kTapBytes = 1024;            // of a step
constexpr int kKBlockWeightBytes = 32768;  // of a k-block
constexpr int kStageBytes = 56960;         // input; weights if not resident
constexpr int kBiasOffset = 113920;        // one a channel

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

// The block's kernel row and the kernel column that read so far before a position for a phase; -1: none.
__device__ int kernel_row(int before, int phase_row) {
  const int reach = before * 2 + phase_row;
  return reach < 4 ? reach : -1;
}

__device__ int kernel_column(int before, int phase_column) {
  const int reach = before * 2 + phase_column;
  return reach < 4 ? reach : -1;
}

// Whether any tap reads so many rows and columns before a position.
__device__ bool has_taps(int y, int x) {
  bool rows = false;
  for (int phase = 0; phase < 2; ++phase) {
    rows = rows || kernel_row(y, phase) >= 0;
  }
  bool columns = false;
  for (int phase = 0; phase < 2; ++phase) {
    columns = columns || kernel_column(x, phase) >= 0;
  }
  return rows && columns;
}

__device__ int pixel_offset(int pixel) {
  return pixel * kPixelPitch + pixel / 2 * 16;
}

// The row and the column in the tile of its first position that a warp has, which is so many positions after the
// first.
__device__ __forceinline__ int first_row(int place) {
  return place / 256;
}

__device__ __forceinline__ int first_column(int place) {
  return place / 64 % 4 * 64 + place % 64;
}

__device__ __forceinline__ int columns_to(int tile, int i) {
  return i * 2 + tile;
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
    needed = needed || (inner >= 0 && inner <= 1 && has_taps(outer, inner));
  }
  return needed;
}

// ---- Elements ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 8 * 32 + thread * 8 + i % 8;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_gemm_forward_3865be3f1b17dff9_pack(const unsigned short* __restrict__ weight,
                                                    unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a step and tap, so that it writes whole sectors: the step's channels of one
  // column or of two, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 4096) {
    const int tap = static_cast<int>(i % 16);
    const int column = static_cast<int>(i / 16 % 32);
    const int step = static_cast<int>(i / 512 % 8);
    const int group = static_cast<int>(i / 4096);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    {
      const int of_warp = first % kWarpChannels;
      const int co = first - of_warp + channel_of_column(of_warp);
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[0][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[1][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[2][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[3][0] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[0][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[1][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[2][1] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[3][1] = halves[0] | (halves[1] << 16);
      }
    }
    {
      const int of_warp = (first + 8) % kWarpChannels;
      const int co = first + 8 - of_warp + channel_of_column(of_warp);
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[0][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[1][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[2][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = 2 * step * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = 2 * step * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[3][2] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 1;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[0][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 2;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 3;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[1][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 4;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 5;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[2][3] = halves[0] | (halves[1] << 16);
      }
      {
        unsigned int halves[2];
        {
          const int ci = (2 * step + 1) * 8 + 6;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[0] = value;
        }
        {
          const int ci = (2 * step + 1) * 8 + 7;
          const unsigned short value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * 16 + tap];
          halves[1] = value;
        }
        words[3][3] = halves[0] | (halves[1] << 16);
      }
    }
    const int kh = tap / 4;
    const int kw = tap % 4;
    const int n_tile = group * 2 + first / 32;
    unsigned char* k_block = packed + (static_cast<long long>(n_tile) * 4 + step / 2) * kKBlockWeightBytes;
    unsigned char* of_tap = k_block + (step % 2 * 16 + kh * 4 + kw) * kTapBytes;
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = of_tap + first % 32 / 16 * 512 + first % 8 * 64;
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

// ---- Staging ----

// Copies so many bytes of packed weights. Copies of a thread lie constant distances apart.
__device__ __forceinline__ void stage_weights(unsigned char* to, const unsigned char* from) {
  const unsigned int first = threadIdx.x * 16;
  unsigned char* own_to = to + first;
  const unsigned char* own_from = from + first;
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    async_copy_16(own_to + i * 4096, own_from + i * 4096, 16);
  }
}

// Copies so many bytes of packed weights. Copies of a thread lie constant distances apart.
__device__ __forceinline__ void stage_weights_2(unsigned char* to, const unsigned char* from) {
  const unsigned int first = threadIdx.x * 16;
  unsigned char* own_to = to + first;
  const unsigned char* own_from = from + first;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    async_copy_16(own_to + i * 4096, own_from + i * 4096, 16);
  }
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

// ---- Asynchronous copies ----

// The thread's channels of a k-block, and where its copy of a place lies in a stage.
__device__ __forceinline__ int copied_channel(int thread) {
  return thread % 4 * 8;
}

__device__ __forceinline__ int offset_of_copy(int thread, int i) {
  const int channel = copied_channel(thread);
  return channel / 8 * 16 + pixel_offset(place_of(thread, i)) + channel % 8 * 2;
}

// Issues the thread's copies of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void stage_input(unsigned char* to, const unsigned short* __restrict__ x,
                                            const Places& places, int first_channel, int thread) {
  const int ci = first_channel + copied_channel(thread);
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    if (is_place(thread, i)) {
      const bool any = places[i] >= 0;
      async_copy_16(to + offset_of_copy(thread, i), any ? x + places[i] + ci : x, any ? 16 : 0);
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 positions, phase and tile of 8 channels of its warp.
using Accumulators = float[2][4][4][4];

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const unsigned char* input,
                                              const unsigned char* weights) {
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int outer = 0; outer <= 1; ++outer) {
    unsigned int a[3][4];
    #pragma unroll
    for (int inner = 0; inner <= 1; ++inner) {
      // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
      #pragma unroll
      for (int load = 0; load < 3; ++load) {
        if (first_use(load) == inner && is_needed(outer, load)) {
          matrix_load_x4(a[load], input + pixel_offset((1 - outer) * kRowPitch + load));
        }
      }
      #pragma unroll
      for (int phase = 0; phase < 4; ++phase) {
        const int row = kernel_row(outer, phase / 2);
        const int column = kernel_column(inner, phase % 2);
        if (row >= 0 && column >= 0) {
          const unsigned char* of_tap = weights + (row * 4 + column) * kTapBytes;
          #pragma unroll
          for (int two = 0; two < 2; ++two) {
            const uint4 words = *reinterpret_cast<const uint4*>(of_tap + two * 512);
            const unsigned int b[2] = {words.x, words.y};
            const unsigned int next[2] = {words.z, words.w};
            #pragma unroll
            for (int tile = 0; tile < 2; ++tile) {
              mma_k16_f16(acc[tile][phase][two * 2], a[tile + 1 - inner], b);
              mma_k16_f16(acc[tile][phase][two * 2 + 1], a[tile + 1 - inner], next);
            }
          }
        }
      }
    }
  }
}

// The same of a k-block. Weights of the next k-block, where there is one, are copied step by step: copies all at once
// would keep products waiting for what they load.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* input,
                                                 const unsigned char* weights, unsigned char* next_to,
                                                 const unsigned char* next_from, bool more) {
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    if (more) {
      stage_weights_2(next_to + k_step * 16384, next_from + k_step * 16384);
    }
    multiply_step(acc, input + k_step * 32, weights + k_step * 16384);
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
__device__ __forceinline__ float acc_of(const float (&acc)[4][4][4], int phase, int i, int half) {
  return is_made(phase) ? acc[phase][i / 2][half * 2 + i % 2] : 0;
}

// Stores a thread's outputs in nhwc, which are the `row`-th positions of its warp's tiles and the eighth after these.
// `place` is the warp's first position in the block's tile, `channel` the thread's first channel of the block's, `y`
// the block's first channel of the first image.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, unsigned short* __restrict__ y, const float* bias,
                                             const Tile& tile, int place, int row, int channel, int batch) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int first = 0; first < 2; ++first) {
      const int column = first_column(place) + columns_to(first, row + half * 8);
      const int at = tile.m_x + column;  // in the sequence
      const int image = tile.image + at / 289;
      const int m_y = at / 17 % 17;
      const int m_x = at % 17;
      #pragma unroll
      for (int phase_h = 0; phase_h < 2; ++phase_h) {
        const int oy = m_y * 2 + phase_h - 1;
        if (oy >= 0 && oy < 32 && image < batch) {
          #pragma unroll
          for (int phase_w = 0; phase_w < 2; ++phase_w) {
            const int ox = m_x * 2 - 1 + phase_w;
            if (ox >= 0 && ox < 32) {
              unsigned short* to = y + ((static_cast<long long>(image) * 32 + oy) * 32 + ox) * 64 + channel;
              float values[8];
              #pragma unroll
              for (int v = 0; v < 8; ++v) {
                values[v] = epilogue(acc_of(acc[first], phase_h * 2 + phase_w, v, half), bias[channel + v]);
              }
              store_global_16(to,
                              make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                         floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
            }
          }
        }
      }
    }
  }
}

// Stores a warp's outputs. `first` is its first position in the block's tile, `channel` its first channel of the
// block's, whose first one of all is `first_channel`.
__device__ __forceinline__ void store_tiles(const Accumulators& acc, unsigned short* __restrict__ y, const float* bias,
                                            const Tile& tile, int first, int lane, int channel, int first_channel,
                                            int batch) {
  store_pixels(acc, y + first_channel, bias, tile, first, lane / 4, channel + lane % 4 * 8, batch);
}

// ---- Kernel ----

// What a block stages next.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_gemm_forward_3865be3f1b17dff9(const unsigned short* __restrict__ x,
                                               const unsigned char* __restrict__ packed,
                                               const unsigned short* __restrict__ bias, unsigned short* __restrict__ y,
                                               int batch) {
  const int tiles = static_cast<int>((static_cast<long long>(batch) * 289 + 255) / kPositions);

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % 2;
  const int first_tile = blockIdx.x / 2;
  const int next_tile = gridDim.x / 2;
  const int first_out = n_tile % 2 * 32;  // of the group's
  const unsigned char* own_weights = packed + static_cast<long long>(n_tile) * 131072;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  for (int i = thread; i < 32; i += kThreads) {
    biases[i] = half_to_float(bias[first_out + i]);
  }

  // The lane's pixel of its warp's first tile, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 8;
  const int warp_n = thread / 256;
  const int place = warp_m * kWarpRows;
  const int pixel = first_row(place) * kStagedColumns + (first_column(place) + columns_to(0, lane % 16));
  const int input_offset = pixel * kPixelPitch + pixel / 2 * 16 + lane / 16 * 16;
  const int lane_weights = warp_n * 1024 + lane * 16;

  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Places places;
  find_places(places, staged_tile(first_tile), thread, batch);
  if (next.index < tiles) {
    stage_input(shared, x, places, next.k_block * 32, thread);
    stage_weights(shared + kInputBytes, own_weights + next.k_block * kKBlockWeightBytes);
    if (++next.k_block == 4) {
      next.k_block = 0;
      next.index += next_tile;
      find_places(places, staged_tile(next.index), thread, batch);
    }
  }
  async_copy_commit();

  int stage = 0;
  #pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators acc = {};
    #pragma unroll 1
    for (int k_block = 0; k_block < 4; ++k_block) {
      const unsigned char* from = shared + stage * kStageBytes;
      async_copy_wait(0);
      __syncthreads();  // the stage has come, and all have read the one that is staged now
      const int staged = stage == 0 ? 1 : stage - 1;
      unsigned char* to = shared + staged * kStageBytes;
      const bool more = next.index < tiles;
      const unsigned char* next_weights = own_weights + next.k_block * kKBlockWeightBytes;
      if (more) {
        stage_input(to, x, places, next.k_block * 32, thread);
        if (++next.k_block == 4) {
          next.k_block = 0;
          next.index += next_tile;
          find_places(places, staged_tile(next.index), thread, batch);
        }
      }
      multiply_k_block(acc, from + input_offset, from + kInputBytes + lane_weights, to + kInputBytes, next_weights,
                       more);
      async_copy_commit();
      stage = stage + 1 == 2 ? 0 : stage + 1;
    }
    const Tile tile = flat_tile(index, 0);
    store_tiles(acc, y, biases, tile, place, lane, warp_n * kWarpChannels, first_out, batch);
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

}  // namespace convtgen_mma_gemm_forward_3865be3f1b17dff9_source
using convtgen_mma_gemm_forward_3865be3f1b17dff9_source::convtgen_mma_gemm_forward_3865be3f1b17dff9_pack;
using convtgen_mma_gemm_forward_3865be3f1b17dff9_source::convtgen_mma_gemm_forward_3865be3f1b17dff9;
