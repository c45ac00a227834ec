// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_80. Template mma_grad_weight: a block makes 2x4 taps of 64 by 64 channels; 27 slices; 141.8 KiB shared.
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
//   region partial: 14155776 bytes, sums of slices of the positions
//   region partial_bias: 55296 bytes, sums of slices of grad_y's positions
//   kernel convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, int batch
//     grid 108; block 256; shared 145152
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 145152)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 145152)
//   kernel convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_channels
//     arguments const unsigned short* grad_y, float* partial_bias, int batch
//     grid 432; block 256; shared 1024
//   kernel convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 513; block 256; shared 0

namespace convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_source {

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

__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
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

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kGroupIn = 128;
constexpr int kGroupOut = 64;
constexpr long long kWeights = 131072ll;
constexpr int kWarpIn = 32;
constexpr int kWindowPitch = 17;
constexpr int kPlanePixels = 68;
constexpr int kInputPixelPitch = 144;
constexpr int kWindowPixelPitch = 144;
constexpr int kTapPitch = 68;
constexpr int kChannelPitch = 552;
constexpr int kBiasThreads = 256;
constexpr int kBiasChannels = 32;
constexpr int kBiasPiece = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 9216;
constexpr int kStageBytes = 48384;

// ---- Tiles ----

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
  const long long row = of_column * 4;
  Tile tile;
  tile.image = static_cast<int>(row / 16);
  tile.row = static_cast<int>(row % 16);
  tile.column = static_cast<int>(index / row_tiles) * 16;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 4;
  tile.image += row / 16;
  tile.row = row % 16;
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += 16;
    tile.left = row_tiles - 1;
  }
}

// What a block reads: its first channels of x and grad_y, how many there are, and the origin of its taps.
struct Source {
  const unsigned short* x;
  const unsigned short* grad_y;
  int origin_h;
  int origin_w;
};

// ---- Places ----

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of(int turn, int thread) {
  return turn * 32 + static_cast<unsigned int>(thread) / 8;
}

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of_2(int turn, int thread) {
  return turn * 32 + static_cast<unsigned int>(thread) / 8;
}

__device__ __forceinline__ unsigned int piece_of(int thread) {
  return static_cast<unsigned int>(thread) % 8;
}

__device__ __forceinline__ unsigned int piece_of_2(int thread) {
  return static_cast<unsigned int>(thread) % 8;
}

// Whether there is such a piece.
__device__ __forceinline__ bool is_piece() {
  return true;
}

// Whether there is such a piece.
__device__ __forceinline__ bool is_piece_2(int turn, int thread) {
  return turn * kThreads + thread < 2176;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch + piece * 16;
}

__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * kWindowPixelPitch + piece * 16;
}

// Where a pixel lies: how many images behind the first one of its tile, its row and column; and whether there is one.
struct Pixel {
  int image;
  int row;
  int column;
  bool is_inside;
};

// How many images behind the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row) {
  return row >= 16 ? 1 : 0;
}

__device__ __forceinline__ Pixel input_pixel(unsigned int pixel, const Tile& tile, int batch) {
  const int row = tile.row + static_cast<int>(pixel / 16);
  Pixel place;
  place.image = images_before(row);
  place.row = row - place.image * 16;
  place.column = tile.column + static_cast<int>(pixel % 16);
  place.is_inside = tile.image + place.image < batch && place.column < 16;
  return place;
}

// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int pixel, const Source& source, const Tile& tile, int batch) {
  const int plane_index = static_cast<int>(pixel / kPlanePixels);
  const unsigned int of_plane = pixel % kPlanePixels;
  const int row = tile.row + static_cast<int>(of_plane / kWindowPitch);
  Pixel place;
  place.image = images_before(row);
  place.row = (row - place.image * 16) * 2 + plane_index / 2 + source.origin_h;
  place.column = (tile.column + static_cast<int>(of_plane % kWindowPitch)) * 2 + plane_index % 2 + source.origin_w;
  place.is_inside = tile.image + place.image < batch && static_cast<unsigned int>(place.row) < 32 &&
                    static_cast<unsigned int>(place.column) < 32;
  return place;
}

// From the first channel of the tile's first image to that of a pixel. An int where the images are known and small.
__device__ __forceinline__ long long pixel_offset(const Pixel& pixel) {
  return pixel.image * 32768 + (pixel.row * 16 + pixel.column) * 128;
}

// From the first channel of the tile's first image to that of a pixel. An int where the images are known and small.
__device__ __forceinline__ long long pixel_offset_2(const Pixel& pixel) {
  return pixel.image * 65536 + (pixel.row * 32 + pixel.column) * 64;
}

// What a tile is read from: its first image.
__device__ __forceinline__ const unsigned short* input_of(const Source& source, const Tile& tile) {
  return source.x + tile.image * 32768ll;
}

__device__ __forceinline__ const unsigned short* window_of(const Source& source, const Tile& tile) {
  return source.grad_y + tile.image * 65536ll;
}

// ---- Asynchronous copies ----

// One asynchronous copy: `bytes` from memory, and zeros for the rest of it.
__device__ __forceinline__ void copy(void* to, const unsigned short* from, int bytes) {
  async_copy_16(to, from, bytes);
}

// Issues a batch of the thread's copies of a stage: zeros where the images or the channels end.
__device__ __forceinline__ void copy_batch(unsigned char* to, const Source& source, const Tile& tile, int thread,
                                           int batch) {
  const unsigned short* x = input_of(source, tile);
  const unsigned short* grad_y = window_of(source, tile);
  #pragma unroll 2
  for (int i = 0; i < 11; ++i) {
    if (i < 2) {
      if (is_piece()) {
        const int pixel = pixel_of(i, thread);
        const int piece = piece_of(thread);
        const Pixel place = input_pixel(pixel, tile, batch);
        const bool any = place.is_inside;
        copy(to + input_place(pixel, piece), x + (pixel_offset(place) + piece * 8), any ? 16 : 0);
      }
    } else if (i < 11 && is_piece_2(i - 2, thread)) {
      const int pixel = pixel_of_2(i - 2, thread);
      const int piece = piece_of_2(thread);
      const Pixel place = window_pixel(pixel, source, tile, batch);
      const bool any = place.is_inside;
      copy(to + window_place(pixel, piece), grad_y + (pixel_offset_2(place) + piece * 8), any ? 16 : 0);
    }
  }
}

// ---- Through registers ----

// Brings a batch on its way: by copies, or to registers.
__device__ __forceinline__ void bring_batch(unsigned char* to, const Source& source, const Tile& tile, int thread,
                                            int batch) {
  copy_batch(to, source, tile, thread, batch);
}

// ---- Products ----

// One thread's accumulators: of each tap of its warp, tile of 16 input channels and tile of 8 output channels.
using Accumulators = float[8][2][2][4];

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  mma_k16_f16(acc, a, b);
}

struct Places {
  int input;
  int window[4];
};

// A lane's place in the first product of a stage, whose positions have rows of `pitch`. 16 bits: the row of 8x8
// matrices that it points to, of two units of channels by halves of the positions. Those of A are the units of a half,
// then of the other one; those of B the halves of a unit, then of the other one. tf32: its first word, of channel
// lane / 4.
__device__ __forceinline__ int lane_place(int lane) {
  const int position = lane % 8 + lane / 16 * 8;
  const int pixel = position / 16 * 64 + position % 16;
  return pixel * 144 + lane / 8 % 2 * 16;
}

// A lane's place in the first product of a stage, whose positions have rows of `pitch`. 16 bits: the row of 8x8
// matrices that it points to, of two units of channels by halves of the positions. Those of A are the units of a half,
// then of the other one; those of B the halves of a unit, then of the other one. tf32: its first word, of channel
// lane / 4.
__device__ __forceinline__ int lane_place_2(int lane) {
  const int position = lane % 16;
  return position * 144 + lane / 16 * 16;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in, int warp_out) {
  Places places;
  places.input = lane_place(lane) + warp_in * 64;
  const int window = kInputBytes + lane_place_2(lane) + warp_out * 32;
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    places.window[column] = window + (column % 2 * kPlanePixels + column / 2) * kWindowPixelPitch;
  }
  return places;
}

// Loads an A fragment: 16 input channels by the positions of a product.
__device__ __forceinline__ void load_rows(unsigned int (&a)[4], const unsigned char* from) {
  matrix_load_x4_transposed(a, from);
}

// Loads two B fragments, one behind the other: eight output channels each. A warp may have the first alone.
__device__ __forceinline__ void load_columns(unsigned int (&b)[4], const unsigned char* from) {
  matrix_load_x4_transposed(b, from);
}

// Adds the products of a strip of a stage, which begins at `stage`.
__device__ __forceinline__ void multiply_strip(Accumulators& acc, const unsigned char* stage, const Places& places) {
  const unsigned char* input = stage + places.input;
  // taps (0 to 3, 0 to 3)
  unsigned int a[4][2][4];
  #pragma unroll
  for (int outer = 0; outer < 4; ++outer) {
    unsigned int b[8][1][4];
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
      if (outer == 0) {
        #pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          load_rows(a[step][tile], input + (step * 2304 + tile * 32));
        }
      }
      #pragma unroll
      for (int inner = 0; inner < 2; ++inner) {
        const int load = inner * 4 + step;
        load_columns(b[load][0],
                     stage + places.window[outer] + (inner * 136 + step * kWindowPitch) * kWindowPixelPitch);
        const int tap = inner * 4 + outer;
        #pragma unroll
        for (int out_tile = 0; out_tile < 2; ++out_tile) {
          const unsigned int of_tile[2] = {b[load][0][out_tile * 2], b[load][0][out_tile * 2 + 1]};
          #pragma unroll
          for (int tile = 0; tile < 2; ++tile) {
            multiply_add(acc[tap][tile][out_tile], a[step][tile], of_tile);
          }
        }
      }
    }
  }
}

// ---- Epilogue ----

// What a block makes: its slice of the positions, its group, its first channels in the group and its first taps.
struct Target {
  int slice;
  int group;
  int first_in;
  int first_out;
  int first_kh;
  int first_kw;
};

// Stores the sums of eight input channels of each warp, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_channels(const float* sums, int first_channel, const Target& target,
                                               float* __restrict__ partial, int thread) {
  #pragma unroll 2
  for (int i = thread; i < 8192; i += kThreads) {
    const int stored = i / 512;
    const int of_channel = i % 512;
    const int tap = of_channel % 8;
    const int out = of_channel / 8;
    const int ci = target.first_in + stored / 8 * kWarpIn + first_channel + stored % 8;
    const int co = target.first_out + out;
    const int kh = target.first_kh + tap / 4;
    const int kw = target.first_kw + tap % 4;
    const float sum = sums[stored * kChannelPitch + tap * kTapPitch + out];
    const long long weight =
        (((static_cast<long long>(target.group) * kGroupIn + ci) * kGroupOut + co) * 4 + kh) * 4 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const Accumulators& acc, float* sums, const Target& target,
                                            float* __restrict__ partial, int warp_in, int warp_out, int thread) {
  const int lane = thread % 32;
  float* own = sums + (warp_in * 8 + lane / 4) * kChannelPitch + warp_out * 16 + lane % 4 * 2;
  #pragma unroll
  for (int half = 0; half < 4; ++half) {
    // of a tile of 16 input channels
    __syncthreads();  // the stages, or the channels before, have been read, or the warps before have added theirs
    #pragma unroll
    for (int tap = 0; tap < 8; ++tap) {
      #pragma unroll
      for (int column = 0; column < 2; ++column) {
        float2* to = reinterpret_cast<float2*>(own + (tap / 4 * 4 + tap % 4) * kTapPitch + column * 8);
        float2 sum =
            make_float2(acc[tap][half / 2][column][half % 2 * 2], acc[tap][half / 2][column][half % 2 * 2 + 1]);
        *to = sum;
      }
    }
    __syncthreads();
    store_channels(sums, half * 8, target, partial, thread);
  }
}

// ---- Kernels ----

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_channels(const unsigned short* __restrict__ grad_y,
                                                                   float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / 2;
  const int channel = blockIdx.x % 2 * kBiasChannels + thread % kBiasChannels;
  float total = 0;
  if (channel < 64) {
    const long long end = batch * 16ll * (slice + 1) / 216;
    for (long long piece = batch * 16ll * slice / 216; piece < end; ++piece) {
      const long long image = piece / 16;
      const long long first = piece % 16 * kBiasPiece + thread / kBiasChannels;
      float sum = 0;
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        const long long position = first + i * 8;
        if (position < 1024) {
          sum += half_to_float(grad_y[(image * 1024 + position) * 64 + channel]);
        }
      }
      total += sum;
    }
  }
  // The threads of a channel add their totals in a tree.
  float* totals = static_cast<float*>(shared_memory());
  totals[thread] = total;
  #pragma unroll 1
  for (int step = 128; step >= kBiasChannels; step /= 2) {
    __syncthreads();
    if (thread < step) {
      totals[thread] += totals[thread + step];
    }
  }
  if (thread < kBiasChannels && channel < 64) {
    partial_bias[slice * 64 + channel] = totals[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 216; ++slice) {
    sum += partial_bias[slice * 64 + channel];
  }
  return sum;
}

// Adds the slices in their order: a thread a weight, then a thread a channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_add(const float* __restrict__ partial,
                                                              const float* __restrict__ partial_bias,
                                                              unsigned short* __restrict__ grad_weight,
                                                              unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 131072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 27; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = accumulator_to_half(sum);
  } else if (i - 131072 < 64) {
    grad_bias[i - 131072] = accumulator_to_half(channel_sum(partial_bias, static_cast<int>(i - 131072)));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8(const unsigned short* __restrict__ x,
                                                          const unsigned short* __restrict__ grad_y,
                                                          float* __restrict__ partial, int batch) {
  const long long row_tiles = (static_cast<long long>(batch) * 16 + 3) / 4;

  // What the block makes. Weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  const int tap_group = block % 2;
  const int in_tile = block / 2 % 2;
  Target target;
  target.slice = block / 4;
  target.group = 0;
  target.first_in = in_tile * 64;
  target.first_out = 0;
  target.first_kh = tap_group * 2;
  target.first_kw = 0;
  const int first_ci = target.group * kGroupIn + target.first_in;
  const int first_co = target.group * kGroupOut + target.first_out;
  const Source source = {x + first_ci, grad_y + first_co, target.first_kh - 1, target.first_kw - 1};
  const long long first_tile = row_tiles * target.slice / 27;
  const int count = static_cast<int>(row_tiles * (target.slice + 1) / 27 - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int warp_out = warp % 4;
  const int warp_in = warp / 4;
  const Places places = places_of(lane, warp_in, warp_out);

  Tile next;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles);
  }
  int issued = 0;
  // The first stages. One through registers comes as a whole.
  #pragma unroll 1
  for (; issued < 2; ++issued) {
    if (issued < count) {
      bring_batch(shared + issued * kStageBytes, source, next, thread, batch);
      move_on(next, row_tiles);
    }
    async_copy_commit();
  }

  Accumulators acc = {};
  int stage = 0;
  #pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? 2 : stage - 1) * kStageBytes;
    async_copy_wait(1);
    __syncthreads();  // the stage has come, and all have read the one that is staged now
    const bool more = issued < count;
    if (more) {
      bring_batch(to, source, next, thread, batch);
    }
    multiply_strip(acc, from, places);
    async_copy_commit();
    if (more) {
      move_on(next, row_tiles);
      ++issued;
    }
    stage = stage + 1 == 3 ? 0 : stage + 1;
  }
  store_block(acc, reinterpret_cast<float*>(shared), target, partial, warp_in, warp_out, thread);
}

}  // namespace convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_source
using convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_source::convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_channels;
using convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_source::convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_add;
using convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8_source::convtgen_mma_grad_weight_grad_weight_7f9fb61541de34e8;
