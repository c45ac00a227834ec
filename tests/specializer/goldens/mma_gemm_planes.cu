// conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; input ?x8x16x16; bias; dtype f32; compute tf32; layout nchw
// forward for sm_80. Template mma_gemm: a block makes 16x64 outputs of 16 channels; 27 taps; 141.5 KiB shared.
// Launch
//   sizes: batch, in_depth 8, in_height 16, in_width 16; out_depth 16, out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 262144 * batch elements, written, 16-byte aligned
//     shape (N batch, Cout 16, D 16, H 32, W 32), contiguous
//   tensor x: 65536 * batch elements, read, 16-byte aligned
//     shape (N batch, Cin 32, D 8, H 16, W 16), contiguous
//   tensor weight: 13824 elements, read, 4-byte aligned
//     shape (Cin 32, Cout 16, KD 3, KH 3, KW 3), contiguous
//   tensor bias: 16 elements, read, 4-byte aligned
//     shape (Cout 16), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 55296 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_mma_gemm_forward_01e6d16f98f1a70d_pack
//     arguments const float* weight, unsigned char* packed
//     grid 7; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_gemm_forward_01e6d16f98f1a70d
//     arguments const float* x, const unsigned char* packed, const float* bias, float* y, int batch
//     grid min(108, 48 * batch); block 256; shared 144864
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 144864)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 144864)

namespace convtgen_mma_gemm_forward_01e6d16f98f1a70d_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 32;
constexpr int kWarpRows = 64;  // positions
constexpr int kStagedColumns = 33;
constexpr int kRowPitch = 33;  // used only with a halo of rows
constexpr int kPixelPitch = 80;
constexpr int kOutputRowPitch = 20;
constexpr int kChannelPitch = 164;
constexpr int kAllPlaces = 297;
constexpr int kPlaceStep = 64;  // from a place of a thread to its next
constexpr int kChannelVectors = 24;
constexpr int kNoRow = -1073741824;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kWarpOutputBytes = 5248;
constexpr int kTapBytes = 512;            // of a step
constexpr int kKBlockWeightBytes = 9216;  // of a k-block
constexpr int kResidentBytes = 55296;     // of weights, at 0; stages follow
constexpr int kStageBytes = 23760;        // input; weights if not resident
constexpr int kBiasOffset = 102816;       // one a channel
constexpr int kOutputOffset = 102880;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int float_to_tf32(float value);

#endif

// The block's kernel row and the kernel column that read so far before a position for a phase; -1: none.
__device__ int kernel_row(int before, int phase_row) {
  const int reach = before * 2 + phase_row;
  return reach < 3 ? reach : -1;
}

__device__ int kernel_column(int before, int phase_column) {
  const int reach = before * 2 + phase_column;
  return reach < 3 ? reach : -1;
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

// The row and the column in the tile of its first position that a warp has, which is so many positions after the
// first.
__device__ __forceinline__ int first_row(int place) {
  return place / 256 * 8 + place % 64 / 8;
}

__device__ __forceinline__ int first_column(int place) {
  return place / 64 % 4 * 8;
}

// From there to the i-th position of a tile, in rows and columns.
__device__ __forceinline__ int rows_to(int tile, int i) {
  return i / 8 * 4 + tile;
}

__device__ __forceinline__ int columns_to(int i) {
  return i % 8;
}

// The first inner tap that may need a load, for some tile; -1: none.
__device__ int first_use(int load) {
  int first = -1;
  for (int tile = 3; tile >= 0; --tile) {
    const int inner = tile + 1 - load;
    first = inner >= 0 && inner <= 1 ? inner : first;
  }
  return first;
}

// Whether products of an outer tap need that load.
__device__ bool is_needed(int outer, int load) {
  bool needed = false;
  for (int tile = 0; tile < 4; ++tile) {
    const int inner = tile + 1 - load;
    needed = needed || (inner >= 0 && inner <= 1 && has_taps(inner, outer));
  }
  return needed;
}

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// Stores adjacent elements from shared memory as one vector.
__device__ __forceinline__ void store_staged_vector(float* to, const float* from) {
  store_global_16(to, *reinterpret_cast<const uint4*>(from));
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_gemm_forward_01e6d16f98f1a70d_pack(const float* __restrict__ weight,
                                                    unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a step and tap, so that it writes whole sectors: the step's channels of one
  // column or of two, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 1728) {
    const int tap = static_cast<int>(i % 27);
    const int column = static_cast<int>(i / 27 % 16);
    const int step = static_cast<int>(i / 432 % 4);
    const int group = static_cast<int>(i / 1728);
    unsigned int words[4][2];
    const int of_warp = column % 8;
    const int co = column - of_warp + channel_of_column(of_warp);
    {
      unsigned int halves[2];
      const int ci = 2 * step * 4;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[0][0] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = 2 * step * 4 + 1;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[1][0] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = 2 * step * 4 + 2;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[2][0] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = 2 * step * 4 + 3;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[3][0] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = (2 * step + 1) * 4;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[0][1] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = (2 * step + 1) * 4 + 1;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[1][1] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = (2 * step + 1) * 4 + 2;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[2][1] = halves[0];
    }
    {
      unsigned int halves[2];
      const int ci = (2 * step + 1) * 4 + 3;
      const float value = weight[(static_cast<long long>(group * kGroupIn + ci) * 16 + co) * 27 + tap];
      halves[0] = operand(__float_as_uint(value));
      words[3][1] = halves[0];
    }
    const int kd = tap / 9;
    const int kh = tap / 3 % 3;
    const int kw = tap % 3;
    unsigned char* k_block = packed + ((static_cast<long long>(group) * 3 + kd) * 2 + step / 2) * kKBlockWeightBytes;
    unsigned char* of_tap = k_block + (step % 2 * 9 + kh * 3 + kw) * kTapBytes;
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = of_tap + column / 8 * 256 + column % 8 * 32;
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0][0], words[0][1]);
    *reinterpret_cast<uint2*>(to + 8) = make_uint2(words[1][0], words[1][1]);
    *reinterpret_cast<uint2*>(to + 16) = make_uint2(words[2][0], words[2][1]);
    *reinterpret_cast<uint2*>(to + 24) = make_uint2(words[3][0], words[3][1]);
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
  tile.image = index / 48;
  tile.plane = index / 3 % 16;
  tile.m_y = index % 3 * 8;
  tile.m_x = 0;
  return tile;
}

__device__ __forceinline__ Tile square_tile_2(int index) {
  Tile tile;
  tile.image = index / 48;
  tile.plane = index / 3 % 16;
  tile.m_y = index % 3 * 8;
  tile.m_x = 0;
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
  for (int i = 0; i < 14; ++i) {
    if ((i + 1) * 4096 <= 55296 || static_cast<int>(first) + i * 4096 < 55296) {
      async_copy_16(own_to + i * 4096, own_from + i * 4096, 16);
    }
  }
}

// ---- Places ----

using Places = long long[5];

__device__ __forceinline__ int place_of(int thread, int i) {
  return thread % kPlaceStep + i * kPlaceStep;
}

// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread) {
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    const int pixel = place_of(thread, i);
    const int image = tile.image;
    const int iy = tile.m_y + pixel / kStagedColumns;
    const int ix = tile.m_x + pixel % kStagedColumns;
    const bool inside = is_place(thread, i) && (iy >= 0 && iy < 16 && ix >= 0 && ix < 16);
    const long long first = static_cast<long long>(image) * 65536;
    const long long of_pixel = static_cast<long long>(iy) * 16 + ix;
    places[i] = inside ? first + of_pixel : -1;
  }
}

// ---- Through registers ----

using Words = unsigned int[8][4];

// The unit of a k-block, of the thread's item.
__device__ __forceinline__ int unit_of(int thread) {
  return thread / kPlaceStep;
}

// Loads a batch of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const float* __restrict__ x, const Places& places,
                                           int first_channel, int thread) {
  #pragma unroll
  for (int item = 0; item < 8; ++item) {
    if (item < 5) {
      const long long place = places[item];
      const int ci = first_channel + unit_of(thread) * 4;
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
    if (item < 5 && is_place(thread, item)) {
      unsigned char* pixel = to + unit_of(thread) * 16 + place_of(thread, item) * kPixelPitch;
      uint4* place = reinterpret_cast<uint4*>(pixel);
      *place = make_uint4(operand(words[item][0]), operand(words[item][1]), operand(words[item][2]),
                          operand(words[item][3]));
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 positions, phase and tile of 8 channels of its warp.
using Accumulators = float[4][4][1][4];

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const unsigned char* input,
                                              const unsigned char* weights) {
  // taps (0 to 2, 0 to 2)
  #pragma unroll
  for (int outer = 0; outer <= 1; ++outer) {
    unsigned int a[5][4];
    #pragma unroll
    for (int inner = 0; inner <= 1; ++inner) {
      // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
      #pragma unroll
      for (int load = 0; load < 5; ++load) {
        if (first_use(load) == inner && is_needed(outer, load)) {
          matrix_load_x4(a[load], input + (load * kRowPitch + 1 - outer) * kPixelPitch);
        }
      }
      #pragma unroll
      for (int phase = 0; phase < 4; ++phase) {
        const int row = kernel_row(inner, phase / 2);
        const int column = kernel_column(outer, phase % 2);
        if (row >= 0 && column >= 0) {
          const unsigned char* of_tap = weights + (row * 3 + column) * kTapBytes;
          const uint2 words = *reinterpret_cast<const uint2*>(of_tap);
          const unsigned int b[2] = {words.x, words.y};
          #pragma unroll
          for (int tile = 0; tile < 4; ++tile) {
            mma_k8_tf32(acc[tile][phase][0], a[tile + 1 - inner], b);
          }
        }
      }
    }
  }
}

// The same of a k-block. Weights of the next k-block, where there is one, are copied step by step: copies all at once
// would keep products waiting for what they load.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* input,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    multiply_step(acc, input + k_step * 32, weights + k_step * 4608);
  }
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
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
__device__ __forceinline__ float acc_of(const float (&acc)[4][1][4], int phase, int i, int half) {
  return is_made(phase) ? acc[phase][i / 2][half * 2 + i % 2] : 0;
}

// The n-th channel of a turn in the order in which they are stored.
__device__ int stored_channel(int n) {
  return n % 8 + n / 8;
}

// Which of them is the lane's first.
__device__ __forceinline__ int first_stored(int lane) {
  return lane / kChannelVectors;
}

// What a lane stores in each round: the offset in y of its first channel in the first turn and phase row, and its
// output row; a row far outside of the image where it stores nothing. Other channels and phase rows lie at constant
// distances, so no register keeps their addresses.
struct Stored {
  long long offset[1];
  int row[1];
};

__device__ __forceinline__ void find_stored(Stored& stored, const Tile& tile, int place, int lane, int channel) {
  const int index = lane % kChannelVectors;
  const bool any = lane < 24;
  const int column = (index % 3 + 1) * 4 - 3;  // of the warp's
  const int image = tile.image;
  const int m_y = tile.m_y + first_row(place) + index / 3;
  const int first_x = (tile.m_x + first_column(place)) * 2 - 1;
  const int ox = first_x + column;
  const int oy = m_y * 2 - 1;
  const bool inside = any && ox >= 0 && ox < 32;
  stored.offset[0] = (((static_cast<long long>(image) * 16 + (channel + stored_channel(first_stored(lane)))) * 16 +
                       tile.plane) * 32 + oy) * 32 + ox;
  stored.row[0] = inside ? oy : kNoRow;
}

// Puts adjacent outputs, aligned to all of them, into shared memory in one piece.
__device__ __forceinline__ void put_together(float* to, const float& values) {
  *to = values;
}

// Puts the lane's outputs of two channels of a turn into the warp's place. `bias` is that of the lane's first channel.
__device__ __forceinline__ void put_outputs(float* place, const Accumulators& acc, const float* bias, int lane,
                                            int phase_h) {
  float own_biases[2] = {};
  // Read once: a compiler reads them again after each write to shared memory, which might have changed them.
  own_biases[0] = bias[0];
  own_biases[1] = bias[1];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    #pragma unroll
    for (int first = 0; first < 4; ++first) {
      const int row = rows_to(first, lane / 4 + half * 8);
      const int column = columns_to(lane / 4 + half * 8) * 2;
      #pragma unroll
      for (int own = 0; own < 2; ++own) {
        float* to = place + (lane % 4 * 2 + own) * kChannelPitch + row * kOutputRowPitch + 3 + column;
        #pragma unroll
        for (int begin = 0; begin < 2; ++begin) {
          float values = epilogue(acc_of(acc[first], phase_h * 2 + begin, own, half), own_biases[own]);
          put_together(to + begin, values);
        }
      }
    }
  }
}

// Stores what a turn has put. `channel` is the first of the first turn.
__device__ __forceinline__ void store_turn(float* __restrict__ y, const float* place, const Stored& stored,
                                           const Tile& tile, int first, int lane, int channel, int phase_h) {
  const int nth = first_stored(lane);
  const int index = lane % kChannelVectors;
  const float* from = place + (nth % 8 + nth / 8) * kChannelPitch + index / 3 * kOutputRowPitch + (index % 3 + 1) * 4;
  const int oy = stored.row[0] + phase_h;
  if (oy >= 0 && oy < 32) {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int before = i;  // from the lane's first channel
      float* to = y + stored.offset[0] + (phase_h * 32 + static_cast<long long>(before) * 16384);
      store_staged_vector(to, from + i * kChannelPitch);
    }
  }
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int index_2 = lane + 32 * i;
    const int single = index_2 % 4;
    const int row = index_2 / 4 % 8;
    const int of_turn = index_2 / 32;
    const int element = single < 1 ? 3 + single : 15 + single;
    const int ox = (tile.m_x + first_column(first)) * 2 - 1 + element - 3;
    const int oy_2 = (tile.m_y + first_row(first) + row) * 2 + phase_h - 1;
    if (ox >= 0 && ox < 32 && oy_2 >= 0 && oy_2 < 32) {
      const long long plane = (static_cast<long long>(tile.image) * 16 + (channel + of_turn)) * 16 + tile.plane;
      y[(plane * 32 + oy_2) * 32 + ox] = place[of_turn * kChannelPitch + row * kOutputRowPitch + element];
    }
  }
}

// Stores a warp's outputs. `first` is its first position in the block's tile, `channel` its first channel of the
// block's, `y` the block's first channel of the first image.
__device__ __forceinline__ void store_planes(const Accumulators& acc, float* __restrict__ y, float* place,
                                             const float* bias, const Tile& tile, int first, int lane, int channel) {
  Stored stored;
  find_stored(stored, tile, first, lane, channel);
  #pragma unroll
  for (int phase_h = 0; phase_h < 2; ++phase_h) {
    put_outputs(place, acc, bias + (channel + lane % 4 * 2), lane, phase_h);
    __syncwarp();
    store_turn(y, place, stored, tile, first, lane, channel, phase_h);
    // Between tiles blocks meet.
    __syncwarp();
  }
}

// ---- Kernel ----

// What a block stages next.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
  int tap;      // of a volume's depth
  int plane;    // of a volume's input, which the depth tap reads
};

// What the depth tap reads for a plane of the output, times the stride.
__device__ __forceinline__ int depth_reach(int tap, int plane) {
  return plane + (1 - tap);
}

// The first depth tap from `tap` on that reads a plane of the input for a plane of the output; none: kernel_d.
__device__ __forceinline__ int depth_tap_from(int tap, int plane) {
  int found = tap;
  while (found < 3) {
    const int reach = depth_reach(found, plane);
    if (reach >= 0 && reach % 2 == 0 && reach / 2 < 8) {
      break;
    }
    ++found;
  }
  return found;
}

// After the k-blocks of a depth tap: goes on to the tile's next one or, after its last one, to the next tile that has
// any, and finds its places.
__device__ __forceinline__ void next_depth_tap(Next& next, Places& places, int thread, int tiles, int next_tile) {
  const int index = next.index;
  int plane = index / 3 % 16;
  next.tap = depth_tap_from(next.tap + 1, plane);
  while (next.tap == 3 && next.index < tiles) {
    next.index += next_tile;
    plane = next.index / 3 % 16;
    next.tap = depth_tap_from(0, plane);
  }
  next.plane = depth_reach(next.tap, plane) / 2;
  if (next.index != index) {
    find_places(places, staged_tile_2(next.index), thread);
  }
}

// x, or a channel of it, from a plane on.
__device__ __forceinline__ const float* from_plane(const float* x, int plane) {
  return x + static_cast<long long>(plane) * 256;
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_gemm_forward_01e6d16f98f1a70d(const float* __restrict__ x, const unsigned char* __restrict__ packed,
                                               const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const int tiles = batch * 48;

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  for (int i = thread; i < 16; i += kThreads) {
    biases[i] = bias[i];
  }
  __syncthreads();  // a tile without depth taps waits for nothing else
  stage_weights(shared, packed);

  // The lane's pixel of its warp's first tile, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 4;
  const int warp_n = thread / 128;
  const int place = warp_m * kWarpRows;
  const int pixel =
      (first_row(place) + rows_to(0, lane % 16)) * kStagedColumns + (first_column(place) + columns_to(lane % 16));
  const int input_offset = pixel * kPixelPitch + lane / 16 * 16;
  const int lane_weights = warp_n * 256 + lane * 8;

  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Places places;
  find_places(places, staged_tile(first_tile), thread);
  next.tap = -1;
  next_depth_tap(next, places, thread, tiles, next_tile);
  Words words;
  if (next.index < tiles) {
    async_copy_commit();
    load_batch(words, from_plane(x, next.plane), places, 0, thread);
    store_batch(stages, words, thread);
    if (++next.k_block == 2) {
      next.k_block = 0;
      next_depth_tap(next, places, thread, tiles, next_tile);
    }
  }

  int stage = 0;
  #pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators acc = {};
    const int plane = index / 3 % 16;
    #pragma unroll 1
    for (int kd = depth_tap_from(0, plane); kd < 3; kd = depth_tap_from(kd + 1, plane)) {
      #pragma unroll 1
      for (int k_block = 0; k_block < 2; ++k_block) {
        const unsigned char* from = stages + stage * kStageBytes;
        async_copy_wait(0);
        __syncthreads();  // the stage has come, and all have read the one that is staged now
        const int staged = stage == 0 ? 1 : stage - 1;
        unsigned char* to = stages + staged * kStageBytes;
        const bool more = next.index < tiles;
        if (more) {
          load_batch(words, from_plane(x, next.plane), places, next.k_block * 16, thread);
          if (++next.k_block == 2) {
            next.k_block = 0;
            next_depth_tap(next, places, thread, tiles, next_tile);
          }
        }
        multiply_k_block(acc, from + input_offset, shared + (kd * 2 + k_block) * kKBlockWeightBytes + lane_weights);
        async_copy_commit();
        if (more) {
          store_batch(to, words, thread);
        }
        stage = stage + 1 == 2 ? 0 : stage + 1;
      }
    }
    const Tile tile = square_tile(index);
    store_planes(acc, y, reinterpret_cast<float*>(shared + kOutputOffset + thread / 32 * kWarpOutputBytes), biases,
                 tile, place, lane, warp_n * 8);
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

// K = 8, tf32.
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A float as products of tf32 read it, rounded to nearest, ties away from zero, as cvt.rna.tf32 does.
//
// A product ignores the 13 low bits. What is added is half of the last bit that it reads: the value's sign and exponent
// times 2^-11. Infinities stay, and a NaN is NaN in the bits that are read, whatever its payload. What rounds to 2^128
// becomes infinite; denormals, which have no exponent, are truncated. Two instructions.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  return __float_as_uint(fmaf(__uint_as_float(__float_as_uint(value) & 0xff800000u), 0.00048828125f, value));
}

#endif

}  // namespace convtgen_mma_gemm_forward_01e6d16f98f1a70d_source
using convtgen_mma_gemm_forward_01e6d16f98f1a70d_source::convtgen_mma_gemm_forward_01e6d16f98f1a70d_pack;
using convtgen_mma_gemm_forward_01e6d16f98f1a70d_source::convtgen_mma_gemm_forward_01e6d16f98f1a70d;
