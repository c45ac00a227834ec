// conv_transpose2d 48 -> 3; kernel 9x9; stride 3x3; padding 4x4; input ?x54x96; dtype bf16; compute bf16; layout nchw; directions grad_input
// grad_input for sm_80. Template mma_grad_input: a block makes 16x32 inputs of 48 channels; 81 taps; 159.2 KiB shared.
// Launch
//   sizes: batch, in_height 54, in_width 96; out_height 160, out_width 286
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_x: 248832 * batch elements, written, 16-byte aligned
//     shape (N batch, Cin 48, H 54, W 96), contiguous
//   tensor grad_y: 137280 * batch elements, read, 16-byte aligned
//     shape (N batch, Cout 3, H 160, W 286), contiguous
//   tensor weight: 11664 elements, read, 2-byte aligned
//     shape (Cin 48, Cout 3, KH 9, KW 9), contiguous
//   kernel convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9
//     arguments const unsigned short* grad_y, const unsigned short* weight, unsigned short* grad_x, int batch
//     grid min(108, 12 * batch); block 256; shared 163072
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 163072)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 163072)

namespace convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTaps = 81;
constexpr int kWarpPositions = 64;
constexpr int kRows = 54;
constexpr int kPitch = 104;
constexpr int kRowUnits = 52;
constexpr int kRuns = 27;
constexpr int kFullWords = 108;
constexpr int kWords = 135;
constexpr int kSteps = 17;
constexpr int kCopyWords = 8424;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kWindowBytes = 33696;
constexpr int kBufferBytes = 67392;
constexpr long long kWeightOffset = 134784ll;
constexpr long long kPlaceOffset = 160896ll;
constexpr long long kWeightPlaceOffset = 161984ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ unsigned int floats_to_bfloat162(float low, float high);
__device__ __forceinline__ void mma_k16_bf16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);

#endif

// An element's bits.
__device__ __forceinline__ unsigned int bits_of(unsigned short value) {
  return value;
}

// ---- Staging ----

// Copies a tile's window to shared memory: zeros where the image ends. `y` is the image's first element of the group;
// row and column are the first of the window.
__device__ __forceinline__ void stage_window(unsigned short* __restrict__ window, const unsigned short* __restrict__ y,
                                             int first_row, int first_column) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 8424; i += kThreads) {
    const int row = i / kRowUnits;
    const int element = i % kRowUnits * 2;
    const int oy = first_row + row % kRows;
    bool is_inside = oy >= 0 && oy < 160;
    int at;
    const int in_row = first_column + element;
    const int plane = row / kRows;
    is_inside = is_inside && in_row >= 0 && in_row < 286;
    at = (plane * 160 + oy) * 286 + in_row;
    const unsigned short* from = y + (is_inside ? at : 0);
    unsigned short* to = window + (row * kPitch + element);
    async_copy_4(to, from, is_inside ? 4 : 0);
  }
}

// Copies the window, shifted by an element, so that odd ones begin words.
__device__ __forceinline__ void shift_window(unsigned char* window) {
  unsigned char* shifted = window + kWindowBytes;
  #pragma unroll 2
  for (int i = threadIdx.x; i < 2106; i += kThreads) {
    const uint4 words = *reinterpret_cast<const uint4*>(window + 16 * i);
    const int next = i + 1 < 2106 ? i + 1 : i;
    const unsigned int last = *reinterpret_cast<const unsigned int*>(window + 16 * next);
    *reinterpret_cast<uint4*>(shifted + 16 * i) = make_uint4((words.x >> 16) | (words.y << 16),
                                                             (words.y >> 16) | (words.z << 16),
                                                             (words.z >> 16) | (words.w << 16),
                                                             (words.w >> 16) | (last << 16));
  }
}

// ---- Words of K ----

// Finds of each word where it lies in the window and where its weights lie, from those of an input channel; -1 for an
// element that the layer does not have.
__device__ __forceinline__ void find_words(int* __restrict__ places, int* __restrict__ weight_places) {
  #pragma unroll 1
  for (int word = threadIdx.x; word < 136; word += kThreads) {
    const bool has_taps = word < kWords;
    const int run = has_taps ? word < kFullWords ? word / 4 : (word - kFullWords) % kRuns : 0;
    const int first = has_taps ? (word < kFullWords ? word % 4 : word < 108 ? 0 : 4) * 2 : 0;
    const int kh = run % 9;
    const int plane = run / 9;
    const int element = (plane * kRows + kh) * kPitch + first;
    // A lane reads two words for a step: the words of its products' halves of K lie together.
    const int to = word / 8 * 8 + word % 4 * 2 + word / 4 % 2;
    #pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      places[odd * 136 + to] = (element + odd) / 2 + (element + odd) % 2 * kCopyWords;
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int in_run = first + i;
      const int tap = kh * 9 + in_run;
      weight_places[word * 2 + i] = has_taps && in_run >= 0 && in_run < 9 ? plane * kTaps + tap : -1;
    }
  }
}

// ---- Weights ----

// Puts the tile's weights to shared memory as B fragments: by steps, products, lanes and halves of K. `weight` is the
// first of the tile's first channel.
__device__ __forceinline__ void stage_weights(unsigned int* __restrict__ to, const unsigned short* __restrict__ weight,
                                              const int* __restrict__ weight_places) {
  #pragma unroll 8
  for (int i = threadIdx.x; i < 6528; i += kThreads) {
    const int lane = i / 2 % 32;
    const int word = i / 384 * 8 + i % 2 * 4 + lane % 4;
    const int channel = i / 64 % 6 * 8 + lane / 4;
    const unsigned short* from = weight + channel * 243;
    unsigned int value = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int place = weight_places[word * 2 + k];
      if (place >= 0) {
        value |= bits_of(from[place]) << (k * 16);
      }
    }
    to[i] = value;
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[4][6][4];

// From a position to another one of its tile, that many after it, in elements of the window. Where `positions` is not
// constant, of the tile's first one.
__device__ int window_place(int positions) {
  return positions / 32 * 312 + positions % 32 * 3;
}

// The elements of a word that the layer has, as a mask.
__device__ __forceinline__ unsigned int elements_of(int word) {
  return word >= kWords ? 0u : word < kFullWords ? 0xffffffffu : word < 108 ? 0xffff0000u : 0xffffu;
}

// Where a lane reads.
struct LanePlaces {
  const unsigned int* window[2];  // of the words of its positions of either half
  const int* places[2];           // where words of K lie from there
  const uint2* weights;
};

// A step of K. Words that lack elements are masked: there may be an infinity in their place.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const LanePlaces& from, int step) {
  unsigned int a[4][4];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * 8);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      #pragma unroll
      for (int tile = 0; tile < 4; ++tile) {
        const unsigned int word = words[window_place(2 * tile) / 2];
        a[tile][half + 2 * k] = word;
      }
    }
  }
  #pragma unroll
  for (int n = 0; n < 6; ++n) {
    const uint2* weights = from.weights + (step * 6 + n) * 32;
    const uint2 words = *weights;
    const unsigned int b[2] = {words.x, words.y};
    #pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      mma_k16_bf16(acc[tile][n], a[tile], b);
    }
  }
}

// A step of K. Words that lack elements are masked: there may be an infinity in their place.
__device__ __forceinline__ void multiply_step_2(Accumulators& acc, const LanePlaces& from, int step, int lane) {
  unsigned int a[4][4];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * 8);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      const unsigned int mask = elements_of(step * 8 + k * 4 + lane % 4);
      #pragma unroll
      for (int tile = 0; tile < 4; ++tile) {
        const unsigned int word = words[window_place(2 * tile) / 2];
        const unsigned int kept = word & mask;
        a[tile][half + 2 * k] = kept;
      }
    }
  }
  #pragma unroll
  for (int n = 0; n < 6; ++n) {
    const uint2* weights = from.weights + (step * 6 + n) * 32;
    const uint2 words = *weights;
    const unsigned int b[2] = {words.x, words.y};
    #pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      mma_k16_bf16(acc[tile][n], a[tile], b);
    }
  }
}

// ---- Epilogue ----

// The same with planes of channels.
__device__ __forceinline__ void store_rows(const Accumulators& acc, unsigned short* __restrict__ grad_x, int first,
                                           int rows, int columns, int lane) {
  const int position = first + lane / 4 * 8;
  const int row = position / 32;
  const int column = position % 32;
  if (row < rows) {
    unsigned short* to = grad_x + (row * 96 + column);
    #pragma unroll
    for (int i = 0; i < 12; ++i) {
      const int channel = i / 2 * 8 + (lane % 4 * 2 + i % 2);
      if (column < columns) {
        float values[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
          values[v] = acc[v / 2][i / 2][v % 2 * 2 + i % 2];
        }
        store_global_16(to + channel * 5184,
                        make_uint4(floats_to_bfloat162(values[0], values[1]), floats_to_bfloat162(values[2], values[3]),
                                   floats_to_bfloat162(values[4], values[5]),
                                   floats_to_bfloat162(values[6], values[7])));
      }
    }
  }
}

// ---- Kernel ----

// A tile: its image, and its first position.
struct Tile {
  int image;
  int row;
  int column;
};

__device__ __forceinline__ Tile tile_at(int index) {
  return {index / 12, index / 3 % 4 * 16, index % 3 * 32};
}

// Issues the copies of a tile's window, of the block's group.
__device__ __forceinline__ void stage_tile(unsigned short* __restrict__ window,
                                           const unsigned short* __restrict__ grad_y, const Tile& tile) {
  const long long plane = static_cast<long long>(tile.image) * 3;
  stage_window(window, grad_y + plane * 45760, tile.row * 3 - 4, tile.column * 3 - 4);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9(const unsigned short* __restrict__ grad_y,
                                                        const unsigned short* __restrict__ weight,
                                                        unsigned short* __restrict__ grad_x, int batch) {
  const int tiles = batch * 12;

  // The block's place: channels vary fastest, so that blocks which read the same window run together.
  const int first_tile = blockIdx.x;
  const int tile_step = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned int* weights = reinterpret_cast<unsigned int*>(shared + kWeightOffset);
  int* places = reinterpret_cast<int*>(shared + kPlaceOffset);
  int* weight_places = reinterpret_cast<int*>(shared + kWeightPlaceOffset);
  stage_tile(reinterpret_cast<unsigned short*>(shared), grad_y, tile_at(first_tile));
  async_copy_commit();
  find_words(places, weight_places);
  __syncthreads();  // the words of K are found
  stage_weights(weights, weight, weight_places);

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  int buffer = 0;
  #pragma unroll 1
  for (int index = first_tile; index < tiles; index += tile_step) {
    if (index + tile_step < tiles) {
      stage_tile(reinterpret_cast<unsigned short*>(shared + (1 - buffer) * kBufferBytes), grad_y,
                 tile_at(index + tile_step));
    }
    async_copy_commit();
    async_copy_wait(1);
    __syncthreads();  // the tile is staged, and so are the weights
    unsigned char* window = shared + buffer * kBufferBytes;
    shift_window(window);
    __syncthreads();  // the shifted copy is there
    const Tile tile = tile_at(index);
    unsigned short* x_tile = grad_x + (static_cast<long long>(tile.image) * 248832 + (tile.row * 96 + tile.column));
    #pragma unroll 1
    for (int item = warp; item < 8; item += 8) {
      const int first = item * kWarpPositions;
      LanePlaces from;
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int element = window_place(first + (lane / 4 * 8 + half));
        from.window[half] = reinterpret_cast<const unsigned int*>(window) + element / 2;
        from.places[half] = places + (lane % 4 * 2 + element % 2 * 136);
      }
      from.weights = reinterpret_cast<const uint2*>(weights) + lane;
      Accumulators acc = {};
      #pragma unroll 2
      for (int step = 0; step < 13; ++step) {
        multiply_step(acc, from, step);
      }
      #pragma unroll 2
      for (int step = 13; step < kSteps; ++step) {
        multiply_step_2(acc, from, step, lane);
      }
      store_rows(acc, x_tile, first, 54 - tile.row, 96 - tile.column, lane);
    }
    __syncthreads();  // all have read the window, whose place is that of the one after the next
    buffer = 1 - buffer;
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

// Copies `bytes` (0 to 4) from global to shared memory and writes zeros for the rest of 4.
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
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

// The same to bf16. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_bfloat162(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// K = 16, bf16.
__device__ __forceinline__ void mma_k16_bf16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

}  // namespace convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9_source
using convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9_source::convtgen_mma_grad_input_grad_input_8b8a92ad78a6d5a9;
