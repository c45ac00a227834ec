// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; compute f16; layout nhwc; directions grad_input
// grad_input for sm_90a. Template mma_grad_input: a block makes 32x32 inputs of 64 channels; 16 taps; 62.0 KiB shared.
// Launch
//   sizes: batch 128, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 8388608 elements, written, 16-byte aligned
//     shape (N 128, H 32, W 32, Cin 64), contiguous
//   tensor grad_y: 1572864 elements, read, 16-byte aligned
//     shape (N 128, H 64, W 64, Cout 3), contiguous
//   tensor weight: 3072 elements, read, 2-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   kernel convtgen_mma_grad_input_grad_input_f170e944b1e361ba
//     arguments const unsigned short* grad_y, const unsigned short* weight, unsigned short* grad_x, int batch
//     grid 128; block 256; shared 63488
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 63488)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 63488)

namespace convtgen_mma_grad_input_grad_input_f170e944b1e361ba_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kWarpPositions = 32;
constexpr int kItems = 32;  // of a tile, each for a warp
constexpr int kPitch = 208;
constexpr int kRowUnits = 26;
constexpr int kFullWords = 20;
constexpr int kWords = 28;
constexpr int kCopyWords = 6864;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kBufferBytes = 27456;
constexpr long long kWeightOffset = 54912ll;
constexpr long long kPlaceOffset = 63104ll;
constexpr long long kWeightPlaceOffset = 63232ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);

#endif

// An element's bits.
__device__ __forceinline__ unsigned int bits_of(unsigned short value) {
  return value;
}

// ---- Staging ----

// Copies a tile's window to shared memory: zeros where the image ends. `y` is the image's first element of the group;
// row and column are the first of the window.
__device__ __forceinline__ void stage_window(unsigned short* __restrict__ window,
                                             const unsigned short* __restrict__ y) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 1716; i += kThreads) {
    const int row = i / kRowUnits;
    const int element = i % kRowUnits * 8;
    const int oy = row - 1;
    bool is_inside = oy >= 0 && oy < 64;
    int at;
    const int in_row = element - 8;
    is_inside = is_inside && in_row >= 0 && in_row < 192;
    at = oy * 192 + in_row;
    const unsigned short* from = y + (is_inside ? at : 0);
    unsigned short* to = window + (row * kPitch + element);
    async_copy_16(to, from, is_inside ? 16 : 0);
  }
}

// ---- Words of K ----

// Finds of each word where it lies in the window and where its weights lie, from those of an input channel; -1 for an
// element that the layer does not have.
__device__ __forceinline__ void find_words(int* __restrict__ places, int* __restrict__ weight_places) {
  #pragma unroll 1
  for (int word = threadIdx.x; word < 32; word += kThreads) {
    const bool has_taps = word < kWords;
    const int run = has_taps ? word < kFullWords ? word / 5 : (word - kFullWords) % 4 : 0;
    const int first = has_taps ? (word < kFullWords ? 1 + word % 5 : word < 24 ? 0 : 6) * 2 : 0;
    const int element = run * kPitch + first;
    // A lane reads two words for a step: the words of its products' halves of K lie together.
    const int to = word / 8 * 8 + word % 4 * 2 + word / 4 % 2;
    places[to] = element / 2 + element % 2 * kCopyWords;
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int in_run = first - 1 + i;
      const int tap = run * 4 + in_run / 3;
      const int out = in_run % 3;
      weight_places[word * 2 + i] = has_taps && in_run >= 0 && in_run < 12 ? out * 16 + tap : -1;
    }
  }
}

// ---- Weights ----

// The tile's channel of a product's column.
__device__ __forceinline__ int channel_of(int tile, int column) {
  return (tile / 4 * 8 + column / 2 * 2) * 4 + tile % 4 * 2 + column % 2;
}

// Puts the tile's weights to shared memory as B fragments: by steps, products, lanes and halves of K. `weight` is the
// first of the tile's first channel.
__device__ __forceinline__ void stage_weights(unsigned int* __restrict__ to, const unsigned short* __restrict__ weight,
                                              const int* __restrict__ weight_places) {
  #pragma unroll 8
  for (int i = threadIdx.x; i < 2048; i += kThreads) {
    const int lane = i / 2 % 32;
    const int word = i / 512 * 8 + i % 2 * 4 + lane % 4;
    const int channel = channel_of(i / 64 % 8, lane / 4);
    const unsigned short* from = weight + channel * 48;
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
using Accumulators = float[2][8][4];

// From a position to another one of its tile, that many after it, in elements of the window. Where `positions` is not
// constant, of the tile's first one.
__device__ int window_place(int positions) {
  return positions / 32 * 416 + positions % 32 * 6;
}

// The elements of a word that the layer has, as a mask.
__device__ __forceinline__ unsigned int elements_of(int word) {
  return word >= kWords ? 0u : word < kFullWords ? 0xffffffffu : word < 24 ? 0xffff0000u : 0xffffu;
}

// Where a lane reads.
struct LanePlaces {
  const unsigned int* window[2];  // of the words of its positions of either half
  const int* places[2];           // where words of K lie from there
  const uint2* weights;
};

// A step of K. Words that lack elements are masked: there may be an infinity in their place.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const LanePlaces& from, int step) {
  unsigned int a[2][4];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * 8);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        const unsigned int word = words[window_place(16 * tile) / 2];
        a[tile][half + 2 * k] = word;
      }
    }
  }
  #pragma unroll
  for (int n = 0; n < 8; ++n) {
    const uint2* weights = from.weights + (step * 8 + n) * 32;
    const uint2 words = *weights;
    const unsigned int b[2] = {words.x, words.y};
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      mma_k16_f16(acc[tile][n], a[tile], b);
    }
  }
}

// A step of K. Words that lack elements are masked: there may be an infinity in their place.
__device__ __forceinline__ void multiply_step_2(Accumulators& acc, const LanePlaces& from, int step, int lane) {
  unsigned int a[2][4];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * 8);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      const unsigned int mask = elements_of(step * 8 + k * 4 + lane % 4);
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        const unsigned int word = words[window_place(16 * tile) / 2];
        const unsigned int kept = word & mask;
        a[tile][half + 2 * k] = kept;
      }
    }
  }
  #pragma unroll
  for (int n = 0; n < 8; ++n) {
    const uint2* weights = from.weights + (step * 8 + n) * 32;
    const uint2 words = *weights;
    const unsigned int b[2] = {words.x, words.y};
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      mma_k16_f16(acc[tile][n], a[tile], b);
    }
  }
}

// ---- Epilogue ----

// Stores a lane's gradients with channels last. `grad_x` is the tile's first position and the first of the warp's
// channels.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, unsigned short* __restrict__ grad_x, int first,
                                             int lane) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int position = first + 16 * (i / 2) + (lane / 4 + 8 * (i % 2));
    const int row = position / 32;
    const int column = position % 32;
    if (row < 32) {
      unsigned short* to = grad_x + (row * 32 + column) * 64;
      #pragma unroll
      for (int tile = 0; tile < 8; tile += 4) {
        const int channel = channel_of(tile, lane % 4 * 2);
        float values[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
          values[v] = acc[i / 2][tile + v / 2][i % 2 * 2 + v % 2];
        }
        store_global_16(to + channel,
                        make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                   floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
      }
    }
  }
}

// ---- Kernel ----

// A tile: its image, and its first position.
struct Tile {
  int image;
};

__device__ __forceinline__ Tile tile_at(int index) {
  return {index};
}

// Issues the copies of a tile's window, of the block's group.
__device__ __forceinline__ void stage_tile(unsigned short* __restrict__ window,
                                           const unsigned short* __restrict__ grad_y, const Tile& tile) {
  const long long plane = static_cast<long long>(tile.image) * 3;
  stage_window(window, grad_y + plane * 4096);
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_grad_input_grad_input_f170e944b1e361ba(const unsigned short* __restrict__ grad_y,
                                                        const unsigned short* __restrict__ weight,
                                                        unsigned short* __restrict__ grad_x, int batch) {
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
  for (int index = first_tile; index < batch; index += tile_step) {
    if (index + tile_step < batch) {
      stage_tile(reinterpret_cast<unsigned short*>(shared + (1 - buffer) * kBufferBytes), grad_y,
                 tile_at(index + tile_step));
    }
    async_copy_commit();
    async_copy_wait(1);
    __syncthreads();  // the tile is staged, and so are the weights
    unsigned char* window = shared + buffer * kBufferBytes;
    const Tile tile = tile_at(index);
    unsigned short* x_tile = grad_x + static_cast<long long>(tile.image) * 65536;
    #pragma unroll 1
    for (int item = warp; item < kItems; item += 8) {
      const int first = item * kWarpPositions;
      LanePlaces from;
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int element = window_place(first + (lane / 4 + 8 * half)) + 4;
        from.window[half] = reinterpret_cast<const unsigned int*>(window) + element / 2;
        from.places[half] = places + lane % 4 * 2;
      }
      from.weights = reinterpret_cast<const uint2*>(weights) + lane;
      Accumulators acc = {};
      #pragma unroll 2
      for (int step = 0; step < 2; ++step) {
        multiply_step(acc, from, step);
      }
      #pragma unroll 2
      for (int step = 2; step < 4; ++step) {
        multiply_step_2(acc, from, step, lane);
      }
      store_pixels(acc, x_tile, first, lane);
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

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// K = 16, f16.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

}  // namespace convtgen_mma_grad_input_grad_input_f170e944b1e361ba_source
using convtgen_mma_grad_input_grad_input_f170e944b1e361ba_source::convtgen_mma_grad_input_grad_input_f170e944b1e361ba;
