// conv_transpose2d 128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_75. Template mma_grad_weight: a block makes 1x1 taps of 128 by 64 channels; 18 slices; 53.0 KiB shared.
// Launch
//   sizes: batch 8, in_height 256, in_width 256; out_height 512, out_width 512
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor grad_weight: 32768 elements, written, 2-byte aligned
//     shape (Cin 128, Cout 64, KH 2, KW 2), contiguous
//   tensor x: 67108864 elements, read, 16-byte aligned
//     shape (N 8, H 256, W 256, Cin 128), contiguous
//   tensor grad_y: 134217728 elements, read, 16-byte aligned
//     shape (N 8, H 512, W 512, Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 2359296 bytes, sums of slices of the positions
//   kernel convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, int batch
//     grid 72; block 256; shared 54272
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 54272)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 54272)
//   kernel convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_add
//     arguments const float* partial, unsigned short* grad_weight
//     grid 128; block 256; shared 0

namespace convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_source {

// ---- Constants ----

constexpr int kGroupOut = 64;
constexpr long long kWeights = 32768ll;
constexpr int kThreads = 256;
constexpr int kWarpIn = 64;
constexpr int kInputPixelPitch = 272;
constexpr int kWindowPixelPitch = 144;
constexpr int kPlaneSpans = 64;
constexpr int kInputSpans = 64;
constexpr int kSpans = 128;
constexpr int kChannelPitch = 72;
constexpr unsigned long long kOutside = 0xfffffff0ull;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 17408;
constexpr int kStageBytes = 26624;
constexpr int kTableBytes = 512;
constexpr int kTableOffset = 53248;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);

#endif

// ---- Tiles ----

// What a block makes.
struct Target {
  int slice;     // of the positions
  int first_kh;  // of its taps
  int first_kw;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int tap_group = block % 4;
  Target target;
  target.slice = block / 4;
  target.first_kh = tap_group / 2;
  target.first_kw = tap_group % 2;
  return target;
}

// A stage's place: the image and row of its first row, and its first column; and how many tiles follow in its column of
// tiles.
struct Tile {
  int image;
  int row;
  int column;
  long long left;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, long long row_tiles) {
  const long long of_column = index % row_tiles;
  const long long row = of_column * 8;
  Tile tile;
  tile.image = static_cast<int>(row / 256);
  tile.row = static_cast<int>(row % 256);
  tile.column = static_cast<int>(index / row_tiles) * 8;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 8;
  tile.image += row / 256;
  tile.row = row % 256;
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += 8;
    tile.left = row_tiles - 1;
  }
}

// What a block reads.
struct Source {
  const unsigned short* x;       // its first channel
  const unsigned short* grad_y;  // the same
  int origin_h;                  // of its taps
  int origin_w;
};

__device__ __forceinline__ Source source_of(const unsigned short* __restrict__ x,
                                            const unsigned short* __restrict__ grad_y, const Target& target) {
  return {x, grad_y, target.first_kh, target.first_kw};
}

// ---- Places ----

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of(int turn, int thread) {
  return turn * 16 + static_cast<unsigned int>(thread) / 16;
}

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of_2(int turn, int thread) {
  return turn * 32 + static_cast<unsigned int>(thread) / 8;
}

__device__ __forceinline__ unsigned int piece_of(int thread) {
  return static_cast<unsigned int>(thread) % 16;
}

__device__ __forceinline__ unsigned int piece_of_2(int thread) {
  return static_cast<unsigned int>(thread) % 8;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch + piece * 16;
}

__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * kWindowPixelPitch + piece * 16;
}

// Where a pixel lies: how many images after the first one of its tile, its row and column; and whether there is one.
// A span's first pixel has the others next to it.
struct Pixel {
  int image;
  int row;
  int column;
  bool is_inside;
};

// How many images after the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row) {
  return row >= 256 ? 1 : 0;
}

__device__ __forceinline__ Pixel input_pixel(unsigned int span, const Tile& tile, int planes) {
  const int row = tile.row + static_cast<int>(span / 8);
  Pixel place;
  place.image = images_before(row);
  place.row = row - place.image * 256;
  place.column = tile.column + static_cast<int>(span % 8);
  place.is_inside = tile.image + place.image < planes && place.column < 256;
  return place;
}

// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int span, const Source& source, const Tile& tile, int planes) {
  const int plane_index = static_cast<int>(span / kPlaneSpans);
  const unsigned int of_plane = span % kPlaneSpans;
  const int row = tile.row + static_cast<int>(of_plane / 8);
  const int column = static_cast<int>(of_plane % 8);
  Pixel place;
  place.image = images_before(row);
  place.row = (row - place.image * 256) * 2 + plane_index + source.origin_h;
  place.column = (tile.column + column) * 2 + source.origin_w;
  place.is_inside = tile.image + place.image < planes && static_cast<unsigned int>(place.row) < 512 &&
                    static_cast<unsigned int>(place.column) < 512;
  return place;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of(const Pixel& pixel) {
  return pixel.image * 8388608 + (pixel.row * 256 + pixel.column) * 128;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of_2(const Pixel& pixel) {
  return pixel.image * 16777216 + (pixel.row * 512 + pixel.column) * 64;
}

// ---- Tables of pixels ----

// The table of a stage, which is this one of the slice.
__device__ __forceinline__ unsigned char* table_of(unsigned char* shared, int stage) {
  return shared + (kTableOffset + stage % 2 * kTableBytes);
}

// Finds the pixels of a stage: those of x, then those of the window. All threads share them. An offset is odd where a
// row ends within the span.
__device__ __forceinline__ void find_pixels(unsigned char* table, const Source& source, const Tile& tile, int thread,
                                            int planes) {
  #pragma unroll 1
  for (int span = thread; span < kSpans; span += kThreads) {
    const bool is_input = span < kInputSpans;
    const Pixel place =
        is_input ? input_pixel(span, tile, planes) : window_pixel(span - kInputSpans, source, tile, planes);
    bool is_inside = place.is_inside;
    const long long offset = is_input ? offset_of(place) : offset_of_2(place);
    unsigned long long found = is_inside ? static_cast<unsigned long long>(offset) * 2 : kOutside;
    *reinterpret_cast<unsigned int*>(table + span * 4) = static_cast<unsigned int>(found);
  }
}

// What was found, in bytes.
__device__ __forceinline__ unsigned long long pixel_offset(const unsigned char* table, int span) {
  return *reinterpret_cast<const unsigned int*>(table + span * 4);
}

// The elements of a pixel.
__device__ __forceinline__ const unsigned short* at_pixel(const unsigned short* first, unsigned long long offset) {
  return reinterpret_cast<const unsigned short*>(reinterpret_cast<const unsigned char*>(first) + offset);
}

// What a stage is read from: its first image.
__device__ __forceinline__ const unsigned short* input_of(const Source& source, int image) {
  return source.x + image * 8388608ll;
}

__device__ __forceinline__ const unsigned short* window_of(const Source& source, int image) {
  return source.grad_y + image * 16777216ll;
}

// ---- Through registers ----

// A batch in registers, on its way to shared memory: the words of each position of a turn. Of two elements of 16 bits
// that were loaded together the first position has both.
using Words = unsigned int[6][1][8];

// The same of whole units as they lie.
__device__ __forceinline__ void load_wide(unsigned int (&words)[8], const unsigned short* __restrict__ from,
                                          bool is_there) {
  const uint4 vector = is_there ? load_constant_16(from) : make_uint4(0, 0, 0, 0);
  words[0] = vector.x;
  words[1] = vector.y;
  words[2] = vector.z;
  words[3] = vector.w;
}

// Loads a turn: a unit, or two of adjacent positions. `offset` is what was found of its pixel.
__device__ __forceinline__ void load_turn(unsigned int (&words)[1][8], const unsigned short* __restrict__ first,
                                          unsigned long long offset) {
  const bool is_inside = offset != kOutside;
  load_wide(words[0], at_pixel(first, offset), is_inside);
}

// Loads a batch of a stage.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, int image, const unsigned char* table,
                                           int thread) {
  const unsigned short* x = input_of(source, image);
  const unsigned short* grad_y = window_of(source, image);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int turn = i;
    const int channel = piece_of(thread) * 8;
    const unsigned long long offset = pixel_offset(table, pixel_of(turn, thread));
    load_turn(words[i], x + channel, offset);
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int turn = i;
    const int channel = piece_of_2(thread) * 8;
    const unsigned long long offset = pixel_offset(table, kInputSpans + pixel_of_2(turn, thread));
    load_turn(words[4 + i], grad_y + channel, offset);
  }
}

// Writes a unit to its place.
__device__ __forceinline__ void store_unit(unsigned char* to, const unsigned int (&words)[8]) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

// Writes a unit to its place.
__device__ __forceinline__ void store_unit_2(unsigned char* to, const unsigned int (&words)[8]) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int thread) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int turn = i;
    const int unit = piece_of(thread);
    const unsigned int span = pixel_of(turn, thread);
    store_unit(to + input_place(span, unit), words[i][0]);
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int turn = i;
    const int unit = piece_of_2(thread);
    const unsigned int span = pixel_of_2(turn, thread);
    store_unit_2(to + window_place(span, unit), words[4 + i][0]);
  }
}

// ---- Products ----

// One thread's accumulators: of each tap of its warp, tile of 16 input channels and tile of 8 output channels. Values
// that are split have those of products of high parts, and of products of a high with a low part.
using PartAccumulators = float[1][4][8][4];
using Accumulators = PartAccumulators[1];

struct Places {
  int input;
  int window[1];
  int first_kw;  // of a warp that adds up grad_y, if it is one
};

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place(int lane) {
  const int position = lane % 8 + lane / 16 * 8;
  const int pixel = position / 8 * 32 + position % 8;
  return pixel * 272 + lane / 8 % 2 * 16;
}

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place_2(int lane) {
  const int position = lane % 16;
  const int pixel = position / 8 * 32 + position % 8;
  return pixel * 144 + lane / 16 * 16;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in) {
  Places places;
  places.input = lane_place(lane) + warp_in * 128;
  const int window = lane_place_2(lane) + 17408;
  places.window[0] = window;
  return places;
}

// Adds the products of a tap at one step.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, const unsigned int (&a)[4][4],
                                             const unsigned int (&b)[4][4]) {
  #pragma unroll
  for (int out_tile = 0; out_tile < 8; ++out_tile) {
    const unsigned int high[2] = {b[out_tile / 2][out_tile % 2 * 2], b[out_tile / 2][out_tile % 2 * 2 + 1]};
    #pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      mma_k16_f16(acc[0][0][tile][out_tile], a[tile], high);
    }
  }
}

// Adds the products of a strip of a stage, which begins at `stage`.
__device__ __forceinline__ void multiply_strip(Accumulators& acc, const unsigned char* stage, const Places& places,
                                               int strip) {
  const unsigned char* input = stage + places.input + strip * 2176;
  const unsigned char* window = stage + strip * 1152;
  // taps (0 to 1, 0 to 1)
  unsigned int a[4][4];
  unsigned int b[4][4];
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4_transposed(a[tile], input + tile * 32);
  }
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    matrix_load_x4_transposed(b[two], window + places.window[0] + two * 32);
  }
  multiply_tap(acc, a, b);
}

// ---- Epilogue ----

// Stores the sums of eight input channels of each warp, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_channels(const float* sums, int first_channel, const Target& target,
                                               float* __restrict__ partial, int thread) {
  #pragma unroll 2
  for (int i = thread; i < 1024; i += kThreads) {
    const int stored = i / 64;
    const int of_channel = i % 64;
    const int ci = stored / 8 * kWarpIn + first_channel + stored % 8;
    const int kh = target.first_kh;
    const int kw = target.first_kw;
    const float sum = sums[stored * kChannelPitch + of_channel];
    const long long weight = ((static_cast<long long>(ci) * kGroupOut + of_channel) * 2 + kh) * 2 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* sums, const Target& target,
                                            float* __restrict__ partial, int warp_in, int warp_k, int thread) {
  const int lane = thread % 32;
  float* own = sums + (warp_in * 8 + lane / 4) * kChannelPitch + lane % 4 * 2;
  #pragma unroll
  for (int half = 0; half < 8; ++half) {
    // of a tile of 16 input channels
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
      __syncthreads();  // the stages, or the channels before, have been read, or the warps before have added theirs
      if (warp_k == k) {
        #pragma unroll
        for (int column = 0; column < 8; ++column) {
          float2* to = reinterpret_cast<float2*>(own + column * 8);
          float2 sum = make_float2(acc[0][half / 2][column][half % 2 * 2], acc[0][half / 2][column][half % 2 * 2 + 1]);
          if (k > 0) {
            const float2 before = *to;
            sum.x = before.x + sum.x;
            sum.y = before.y + sum.y;
          }
          *to = sum;
        }
      }
    }
    __syncthreads();
    store_channels(sums, half * 8, target, partial, thread);
  }
}

// ---- Kernels ----

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_add(const float* __restrict__ partial,
                                                              unsigned short* __restrict__ grad_weight) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 32768) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 18; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = accumulator_to_half(sum);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27(const unsigned short* __restrict__ x,
                                                          const unsigned short* __restrict__ grad_y,
                                                          float* __restrict__ partial, int batch) {
  const long long row_tiles = (static_cast<long long>(batch) * 256 + 7) / 8;
  const long long tiles = row_tiles * 32;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const Source source = source_of(x, grad_y, target);
  const long long first_tile = tiles * target.slice / 18;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 18 - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  // Unsigned divisions take fewer registers; split values spill with them.
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_k = warp % 4;
  const int warp_in = warp / 4;
  const Places places = places_of(lane, warp_in);

  // The tile whose pixels are found next, and the first image of that which is brought next.
  Tile next;
  int image = 0;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles);
    image = next.image;
    find_pixels(shared + kTableOffset, source, next, thread, batch);
    move_on(next, row_tiles);
  }
  int issued = 0;
  Words words;
  // The first stages. What goes through registers comes as a whole.
  #pragma unroll 1
  for (; issued < 1; ++issued) {
    __syncthreads();  // the stage's pixels have been found
    if (issued < count) {
      unsigned char* to = shared + issued * kStageBytes;
      load_batch(words, source, image, table_of(shared, issued), thread);
      store_batch(to, words, thread);
      if (issued + 1 < count) {
        image = next.image;
        find_pixels(table_of(shared, issued + 1), source, next, thread, batch);
        move_on(next, row_tiles);
      }
    }
  }

  Accumulators acc = {};
  int stage = 0;
  #pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? 1 : stage - 1) * kStageBytes;
    // The stage has come, all have read the one that is brought now, and its pixels have been found.
    __syncthreads();
    const bool more = issued < count;
    if (more) {
      load_batch(words, source, image, table_of(shared, issued), thread);
    }
    multiply_strip(acc, from, places, warp_k);
    // With copies, what was loaded before the first strip is written after the last one.
    if (more) {
      store_batch(to, words, thread);
    }
    // Warps find pixels after different strips, so that others multiply meanwhile.
    if (issued + 1 < count) {
      find_pixels(table_of(shared, issued + 1), source, next, thread, batch);
    }
    if (more) {
      image = next.image;
      move_on(next, row_tiles);
      ++issued;
    }
    stage = stage + 1 == 2 ? 0 : stage + 1;
  }
  float* results = reinterpret_cast<float*>(shared);
  store_block(acc[0], results, target, partial, warp_in, warp_k, thread);
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

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

// Rounds an accumulator of asynchronous products to f16. Adding -0 keeps the conversion after the wait for them.
__device__ __forceinline__ unsigned short accumulator_to_half(float value) {
  unsigned short bits;
  asm("{\n\t.reg .f32 same;\n\tadd.rn.f32 same, %1, 0f80000000;\n\tcvt.rn.f16.f32 %0, same;\n\t}"
      : "=h"(bits)
      : "f"(value));
  return bits;
}

#endif

}  // namespace convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_source
using convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_source::convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_add;
using convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27_source::convtgen_mma_grad_weight_grad_weight_883f9a36312c5f27;
