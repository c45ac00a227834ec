// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_80. Template mma_grad_weight: a block makes 4x4 taps of 128 by 8 channels; 13 slices; 136.5 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_weight: 131072 elements, written, 2-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor grad_bias: 64 elements, written, 2-byte aligned
//     shape (Cout 64), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, H 16, W 16, Cin 128), contiguous
//   tensor grad_y: 8388608 elements, read, 16-byte aligned
//     shape (N 128, H 32, W 32, Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 6815744 bytes, sums of slices of the positions
//   region partial_bias: 3328 bytes, sums of slices of grad_y's positions
//   kernel convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, float* partial_bias, int batch
//     grid 104; block 256; shared 139744
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 139744)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 139744)
//   kernel convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 513; block 256; shared 0

namespace convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_source {

// ---- Constants ----

constexpr int kGroupOut = 64;
constexpr long long kWeights = 131072ll;
constexpr int kThreads = 256;
constexpr int kWarpIn = 32;
constexpr int kPlanePixels = 153;
constexpr int kInputPixelPitch = 272;
constexpr int kPlaneSpans = 153;
constexpr int kInputSpans = 128;
constexpr int kSpans = 740;
constexpr int kChannelPitch = 168;
constexpr unsigned long long kOutside = 0xfffffff0ull;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kStageBytes = 44608;
constexpr int kTableBytes = 2960;
constexpr int kTableOffset = 133824;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x2_transposed(unsigned int (&values)[2], const void* row);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);

#endif

// ---- Tiles ----

// What a block makes.
struct Target {
  int slice;  // of the positions
  int first_out;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int out_tile = block % 8;
  Target target;
  target.slice = block / 8;
  target.first_out = out_tile * 8;
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
  const long long row = of_column * 16;
  Tile tile;
  tile.image = static_cast<int>(row / 17);
  tile.row = static_cast<int>(row % 17);
  tile.column = static_cast<int>(index / row_tiles) * 8;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 16;
  tile.image += row / 17;
  tile.row = row % 17;
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
};

__device__ __forceinline__ Source source_of(const unsigned short* __restrict__ x,
                                            const unsigned short* __restrict__ grad_y, const Target& target) {
  const int first_co = target.first_out;
  return {x, grad_y + first_co};
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
  return turn * 256 + static_cast<unsigned int>(thread);
}

__device__ __forceinline__ unsigned int piece_of(int thread) {
  return static_cast<unsigned int>(thread) % 16;
}

// Whether there is such a piece, where threads have so many turns.
__device__ __forceinline__ bool is_piece(int turn, int thread) {
  return turn * kThreads + thread < 612;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch + piece * 16;
}

__device__ __forceinline__ int window_place(int pixel) {
  return pixel * 16 + 34816;
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
  return row >= 17 ? 1 : 0;
}

__device__ __forceinline__ Pixel input_pixel(unsigned int span, const Tile& tile, int planes) {
  const int row = tile.row + static_cast<int>(span / 8);
  Pixel place;
  place.image = images_before(row);
  place.row = row - place.image * 17;
  place.column = tile.column + static_cast<int>(span % 8);
  place.is_inside = tile.image + place.image < planes && place.row < 16 && place.column < 16;
  return place;
}

// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int span, const Tile& tile, int planes) {
  const int plane_index = static_cast<int>(span / kPlaneSpans);
  const unsigned int of_plane = span % kPlaneSpans;
  const int row = tile.row + static_cast<int>(of_plane / 9);
  const int column = static_cast<int>(of_plane % 9);
  Pixel place;
  place.image = images_before(row);
  place.row = (row - place.image * 17) * 2 + plane_index / 2 - 1;
  place.column = (tile.column + column) * 2 + plane_index % 2 - 1;
  place.is_inside = tile.image + place.image < planes && static_cast<unsigned int>(place.row) < 32 &&
                    static_cast<unsigned int>(place.column) < 32;
  return place;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of(const Pixel& pixel) {
  return pixel.image * 32768 + (pixel.row * 16 + pixel.column) * 128;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of_2(const Pixel& pixel) {
  return pixel.image * 65536 + (pixel.row * 32 + pixel.column) * 64;
}

// ---- Tables of pixels ----

// The table of a stage, which is this one of the slice.
__device__ __forceinline__ unsigned char* table_of(unsigned char* shared, int stage) {
  return shared + (kTableOffset + stage % 2 * kTableBytes);
}

// Finds the pixels of a stage: those of x, then those of the window. All threads share them. An offset is odd where a
// row ends within the span.
__device__ __forceinline__ void find_pixels(unsigned char* table, const Tile& tile, int thread, int planes) {
  #pragma unroll 1
  for (int span = thread; span < kSpans; span += kThreads) {
    const bool is_input = span < kInputSpans;
    const Pixel place = is_input ? input_pixel(span, tile, planes) : window_pixel(span - kInputSpans, tile, planes);
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
  return source.x + image * 32768ll;
}

__device__ __forceinline__ const unsigned short* window_of(const Source& source, int image) {
  return source.grad_y + image * 65536ll;
}

// ---- Asynchronous copies ----

// Issues a batch of the thread's copies of a stage: zeros where the images or the channels end.
__device__ __forceinline__ void copy_batch(unsigned char* to, const Source& source, int image,
                                           const unsigned char* table, int thread) {
  const unsigned short* x = input_of(source, image);
  const unsigned short* grad_y = window_of(source, image);
  // All offsets come from shared memory first, so that no copy waits for its own.
  unsigned long long offsets[11];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int turn = i;
    offsets[i] = pixel_offset(table, pixel_of(turn, thread));
  }
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int turn = i;
    if (is_piece(turn, thread)) {
      offsets[8 + i] = pixel_offset(table, kInputSpans + pixel_of_2(turn, thread));
    }
  }
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int turn = i;
    const int piece = piece_of(thread);
    const unsigned int span = pixel_of(turn, thread);
    const bool any = offsets[i] != kOutside;
    async_copy_16(to + input_place(span, piece), at_pixel(x + piece * 8, offsets[i]), any ? 16 : 0);
  }
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int turn = i;
    if (is_piece(turn, thread)) {
      const unsigned long long offset = offsets[8 + i];
      const unsigned int span = pixel_of_2(turn, thread);
      const bool any = offset != kOutside;
      async_copy_16(to + window_place(span), at_pixel(grad_y, offset), any ? 16 : 0);
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tap of its warp, tile of 16 input channels and tile of 8 output channels. Values
// that are split have those of products of high parts, and of products of a high with a low part.
using PartAccumulators = float[16][2][1][4];
using Accumulators = PartAccumulators[1];
// A thread's sums of grad_y, of the warp's output channels: of tf32 of one channel of each tile, else products with
// ones. And their totals, of one strip after the other.
using BiasAccumulators = float[1][1][4];
using BiasTotals = float[1][2];

struct Places {
  int input;
  int window[4];
  bool sums;
};

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place(int lane) {
  const int position = lane % 8 + lane / 16 * 8;
  const int pixel = position / 8 * 64 + position % 8;
  return pixel * 272 + lane / 8 % 2 * 16;
}

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place_2(int lane) {
  const int position = lane % 16;
  const int pixel = position / 8 * 72 + position % 8;
  return pixel * 16 + lane / 16 * 16;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in) {
  Places places;
  places.input = lane_place(lane) + warp_in * 64;
  const int window = lane_place_2(lane) + 34816;
  places.sums = warp_in == 0;
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    places.window[column] = window + (column % 2 * kPlanePixels + column / 2) * 16;
  }
  return places;
}

// Loads two B fragments, one after the other: eight output channels each. A warp may have the first alone.
__device__ __forceinline__ void load_columns(unsigned int (&b)[4], const unsigned char* from) {
  unsigned int one[2];
  matrix_load_x2_transposed(one, from);
  b[0] = one[0];
  b[1] = one[1];
}

// Whether the sums of grad_y take what a load of the strip brings, by its number among those of an outer tap: the rows
// of the kernel from the padding on, as many as the stride, read each row of grad_y once.
__device__ bool is_summed_row(int load) {
  const int plane = load / 5;
  const int row = plane + (2 - plane) / 2 * 2;
  const int step = load % 5 - row / 2;
  return step >= 0 && step < 4;
}

// The same of the kernel's columns.
__device__ __forceinline__ bool is_summed_column(int kw) {
  return kw >= 1 && kw < 3;
}

// Adds up loaded B fragments.
__device__ __forceinline__ void sum_columns(BiasAccumulators& sums, const unsigned int (&b)[1][1][4]) {
  const unsigned int words[2] = {b[0][0][0], b[0][0][1]};
  const unsigned int ones[4] = {0x3c003c00u, 0x3c003c00u, 0x3c003c00u, 0x3c003c00u};
  mma_k16_f16(sums[0][0], ones, words);
}

// Adds a strip's sums to the totals.
__device__ __forceinline__ void add_sums(BiasTotals& totals, const BiasAccumulators& sums) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    totals[0][i] += sums[0][0][i];
  }
}

// Adds the products of a tap at one step.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, int tap, const unsigned int (&a)[1][2][4],
                                             const unsigned int (&b)[1][1][4]) {
  const unsigned int high[2] = {b[0][0][0], b[0][0][1]};
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    mma_k16_f16(acc[0][tap][tile][0], a[0][tile], high);
  }
}

// Adds the products of a strip of a stage, which begins at `stage`.
__device__ __forceinline__ void multiply_strip(Accumulators& acc, BiasTotals& bias_totals, const unsigned char* stage,
                                               const Places& places, int strip) {
  const int row = strip * 4;
  const unsigned char* input = stage + places.input + row * 2176;
  const unsigned char* window = stage + row * 144;
  // taps (0 to 3, 0 to 3)
  unsigned int a[4][1][2][4];
  BiasAccumulators sums = {};
  #pragma unroll
  for (int outer = 0; outer < 4; ++outer) {
    unsigned int b[10][1][1][4];
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
      if (outer == 0) {
        #pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          matrix_load_x4_transposed(a[step][0][tile], input + (step * 2176 + tile * 32));
        }
      }
      #pragma unroll
      for (int inner = 0; inner < 4; ++inner) {
        const int load = inner % 2 * 5 + step + inner / 2;
        if (step < 1 || inner + 2 >= 4) {
          load_columns(b[load][0][0], window + places.window[outer] + (inner % 2 * 306 + (step + inner / 2) * 9) * 16);
          if (is_summed_row(load) && places.sums && is_summed_column(outer)) {
            sum_columns(sums, b[load]);
          }
        }
        const int tap = inner * 4 + outer;
        multiply_tap(acc, tap, a[step], b[load]);
      }
    }
  }
  add_sums(bias_totals, sums);
}

// ---- Epilogue ----

// Stores the sums of eight input channels of each warp, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_channels(const float* sums, int first_channel, const Target& target,
                                               float* __restrict__ partial, int thread) {
  #pragma unroll 2
  for (int i = thread; i < 4096; i += kThreads) {
    const int stored = i / 128;
    const int of_channel = i % 128;
    const int tap = of_channel % 16;
    const int out = of_channel / 16;
    const int ci = stored / 8 * kWarpIn + first_channel + stored % 8;
    const int co = target.first_out + out;
    const int kh = tap / 4;
    const int kw = tap % 4;
    const float sum = sums[stored * kChannelPitch + tap * 10 + out];
    const long long weight = ((static_cast<long long>(ci) * kGroupOut + co) * 4 + kh) * 4 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* sums, const Target& target,
                                            float* __restrict__ partial, int warp_in, int warp_k, int thread) {
  const int lane = thread % 32;
  float* own = sums + (warp_in * 8 + lane / 4) * kChannelPitch + lane % 4 * 2;
  #pragma unroll
  for (int half = 0; half < 4; ++half) {
    // of a tile of 16 input channels
    #pragma unroll 1
    for (int k = 0; k < 2; ++k) {
      __syncthreads();  // the stages, or the channels before, have been read, or the warps before have added theirs
      if (warp_k == k) {
        #pragma unroll
        for (int tap = 0; tap < 16; ++tap) {
          float2* to = reinterpret_cast<float2*>(own + tap * 10);
          float2 sum = make_float2(acc[tap][half / 2][0][half % 2 * 2], acc[tap][half / 2][0][half % 2 * 2 + 1]);
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

// Stores the block's sums of grad_y, of the plane tap's share: those of its warps are added in their order.
__device__ __forceinline__ void store_bias(const BiasTotals& totals, float* shared, const Target& target,
                                           float* __restrict__ partial_bias, int warp_in, int warp_share, int thread) {
  const int lane = thread % 32;
  float* own = shared + warp_share * 8;
  __syncthreads();  // the results before have been stored
  if (warp_in == 0 && lane < 4) {
    own[lane * 2] = totals[0][0];
    own[lane * 2 + 1] = totals[0][1];
  }
  __syncthreads();
  if (thread < 8) {
    float sum = 0;
    #pragma unroll 4
    for (int i = 0; i < 2; ++i) {
      sum += shared[i * 8 + thread];
    }
    partial_bias[target.slice * 64 + target.first_out + thread] = sum;
  }
}

// ---- Kernels ----

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 13; ++slice) {
    sum += partial_bias[slice * 64 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_add(const float* __restrict__ partial,
                                                              const float* __restrict__ partial_bias,
                                                              unsigned short* __restrict__ grad_weight,
                                                              unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 131072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 13; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = accumulator_to_half(sum);
  } else if (i - 131072 < 64) {
    grad_bias[i - 131072] = accumulator_to_half(channel_sum(partial_bias, static_cast<int>(i - 131072)));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a(const unsigned short* __restrict__ x,
                                                          const unsigned short* __restrict__ grad_y,
                                                          float* __restrict__ partial, float* __restrict__ partial_bias,
                                                          int batch) {
  const long long row_tiles = (static_cast<long long>(batch) * 17 + 15) / 16;
  const long long tiles = row_tiles * 2;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const Source source = source_of(x, grad_y, target);
  const long long first_tile = tiles * target.slice / 13;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 13 - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  // Unsigned divisions take fewer registers; split values spill with them.
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_k = warp % 2;
  const int warp_in = warp / 2;
  const Places places = places_of(lane, warp_in);

  // The tile whose pixels are found next, and the first image of that which is brought next.
  Tile next;
  int image = 0;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles);
    image = next.image;
    find_pixels(shared + kTableOffset, next, thread, batch);
    move_on(next, row_tiles);
  }
  int issued = 0;
  // The first stages. What goes through registers comes as a whole.
  #pragma unroll 1
  for (; issued < 2; ++issued) {
    __syncthreads();  // the stage's pixels have been found
    if (issued < count) {
      unsigned char* to = shared + issued * kStageBytes;
      copy_batch(to, source, image, table_of(shared, issued), thread);
      if (issued + 1 < count) {
        image = next.image;
        find_pixels(table_of(shared, issued + 1), next, thread, batch);
        move_on(next, row_tiles);
      }
    }
    async_copy_commit();
  }

  Accumulators acc = {};
  BiasTotals bias_totals = {};
  int stage = 0;
  #pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? 2 : stage - 1) * kStageBytes;
    async_copy_wait(1);
    // The stage has come, all have read the one that is brought now, and its pixels have been found.
    __syncthreads();
    const bool more = issued < count;
    multiply_strip(acc, bias_totals, from, places, warp_k);
    if (more) {
      copy_batch(to, source, image, table_of(shared, issued), thread);
    }
    // Warps find pixels after different strips, so that others multiply meanwhile.
    if (issued + 1 < count) {
      find_pixels(table_of(shared, issued + 1), next, thread, batch);
    }
    async_copy_commit();
    if (more) {
      image = next.image;
      move_on(next, row_tiles);
      ++issued;
    }
    stage = stage + 1 == 3 ? 0 : stage + 1;
  }
  float* results = reinterpret_cast<float*>(shared);
  store_block(acc[0], results, target, partial, warp_in, warp_k, thread);
  store_bias(bias_totals, results, target, partial_bias, warp_in, warp_k, thread);
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
    case 1:
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// Reads two matrices, transposed.
__device__ __forceinline__ void matrix_load_x2_transposed(unsigned int (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

// Rounds an accumulator of asynchronous products to f16. Adding -0 keeps the conversion after the wait for them.
__device__ __forceinline__ unsigned short accumulator_to_half(float value) {
  unsigned short bits;
  asm("{\n\t.reg .f32 same;\n\tadd.rn.f32 same, %1, 0f80000000;\n\tcvt.rn.f16.f32 %0, same;\n\t}"
      : "=h"(bits)
      : "f"(value));
  return bits;
}

#endif

}  // namespace convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_source
using convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_source::convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_add;
using convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a_source::convtgen_mma_grad_weight_grad_weight_2ed5bf36bd653b6a;
