// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f32; compute f32x3; layout nchw; directions grad_input
// grad_input for sm_90a. Template mma_grad_input: a block makes 32x32 inputs of 64 channels; 16 taps; 135.8 KiB shared.
// Launch
//   sizes: batch 128, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 8388608 elements, written, 16-byte aligned
//     shape (N 128, Cin 64, H 32, W 32), contiguous
//   tensor grad_y: 1572864 elements, read, 16-byte aligned
//     shape (N 128, Cout 3, H 64, W 64), contiguous
//   tensor weight: 3072 elements, read, 4-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   kernel convtgen_mma_grad_input_grad_input_bf23671a32965f0a
//     arguments const float* grad_y, const float* weight, float* grad_x, int batch
//     grid 128; block 256; shared 139008
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 139008)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 139008)

namespace convtgen_mma_grad_input_grad_input_bf23671a32965f0a_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kWarpPositions = 32;
constexpr int kItems = 64;  // of a tile, each for a warp
constexpr int kRows = 66;
constexpr int kPitch = 72;
constexpr int kRowUnits = 18;
constexpr int kFullWords = 48;
constexpr int kWords = 48;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kBufferBytes = 57024;
constexpr long long kWeightOffset = 114048ll;
constexpr long long kPlaceOffset = 138624ll;
constexpr long long kWeightPlaceOffset = 138816ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);

#endif

__device__ __forceinline__ unsigned int high_part(unsigned int word) {
  return word & 0xffffe000u;
}

// What is left of a value without its high part.
__device__ __forceinline__ unsigned int rest_of(unsigned int word, unsigned int high) {
  const float value = __uint_as_float(word);
  const float rest = fmaf(value, 2.3283064e-10f, value - __uint_as_float(high));
  return (word & 0x7fffffff) == 0x7f800000 ? word : __float_as_uint(rest);
}

// The nearest high part, with which the product of low parts, which is left out, is at most 2^-22 of the whole one: for
// sums of few terms. A value that would round to infinity has its high bits.
__device__ __forceinline__ unsigned int nearest_part(unsigned int word) {
  const unsigned int rounded = word + 4096;
  return high_part((rounded & 0x7f800000) == 0x7f800000 ? word : rounded);
}

// ---- Staging ----

// Copies a tile's window to shared memory: zeros where the image ends. `y` is the image's first element of the group;
// row and column are the first of the window.
__device__ __forceinline__ void stage_window(float* __restrict__ window, const float* __restrict__ y) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 3564; i += kThreads) {
    const int row = i / kRowUnits;
    const int element = i % kRowUnits * 4;
    const int oy = row % kRows - 1;
    bool is_inside = oy >= 0 && oy < 64;
    int at;
    const int in_row = element - 4;
    const int plane = row / kRows;
    is_inside = is_inside && in_row >= 0 && in_row < 64;
    at = (plane * 64 + oy) * 64 + in_row;
    const float* from = y + (is_inside ? at : 0);
    float* to = window + (row * kPitch + element);
    async_copy_16(to, from, is_inside ? 16 : 0);
  }
}

// ---- Words of K ----

// Finds of each word where it lies in the window and where its weights lie, from those of an input channel; -1 for an
// element that the layer does not have.
__device__ __forceinline__ void find_words(int* __restrict__ places, int* __restrict__ weight_places) {
  #pragma unroll 1
  for (int word = threadIdx.x; word < 48; word += kThreads) {
    const bool has_taps = word < kWords;
    const int run = has_taps ? word < kFullWords ? word / 4 : (word - kFullWords) % 12 : 0;
    const int first = has_taps ? word < kFullWords ? word % 4 : word < 48 ? 0 : 3 : 0;
    const int kh = run % 4;
    const int plane = run / 4;
    const int element = (plane * kRows + kh) * kPitch + first;
    // A lane reads two words for a step: the words of its products' halves of K lie together.
    const int to = word / 8 * 8 + word % 4 * 2 + word / 4 % 2;
    places[to] = element;
    const int tap = kh * 4 + first;
    weight_places[word] = has_taps && first >= 0 ? plane * 16 + tap : -1;
  }
}

// ---- Weights ----

// Puts the tile's weights to shared memory as B fragments: by steps, products, lanes, parts and halves of K. `weight`
// is the first of the tile's first channel.
__device__ __forceinline__ void stage_weights(unsigned int* __restrict__ to, const float* __restrict__ weight,
                                              const int* __restrict__ weight_places) {
  #pragma unroll 8
  for (int i = threadIdx.x; i < 3072; i += kThreads) {
    const int lane = i / 2 % 32;
    const int word = i / 512 * 8 + i % 2 * 4 + lane % 4;
    const int channel = i / 64 % 8 * 8 + lane / 4;
    const float* from = weight + channel * 48;
    unsigned int value = 0;
    const int place = weight_places[word];
    if (place >= 0) {
      value |= __float_as_uint(from[place]);
    }
    unsigned int* parts = to + (i / 2 * 4 + i % 2);
    parts[0] = nearest_part(value);
    parts[2] = rest_of(value, parts[0]);
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[2][4][4];

// From a position to another one of its tile, that many after it, in elements of the window. Where `positions` is not
// constant, of the tile's first one.
__device__ int window_place(int positions) {
  return positions / 32 * 144 + positions % 32 * 2;
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
  unsigned int low[2][4];
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * 8);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        const unsigned int word = words[window_place(2 * tile)];
        a[tile][half + 2 * k] = nearest_part(word);
        low[tile][half + 2 * k] = rest_of(word, a[tile][half + 2 * k]);
      }
    }
  }
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    const uint2* weights = from.weights + (step * 8 + n) * 64;
    const uint4 words = *reinterpret_cast<const uint4*>(weights);
    const unsigned int b[2] = {words.x, words.y};
    const unsigned int low_b[2] = {words.z, words.w};
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      mma_k8_tf32(acc[tile][n], low[tile], b);
      mma_k8_tf32(acc[tile][n], a[tile], low_b);
      mma_k8_tf32(acc[tile][n], a[tile], b);
    }
  }
}

// Adds the accumulators of values that are split to their totals.
__device__ __forceinline__ void add_to_totals(Accumulators& acc, Accumulators& totals) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        totals[tile][n][i] += acc[tile][n][i];
        acc[tile][n][i] = 0;
      }
    }
  }
}

// ---- Epilogue ----

// The same with planes of channels.
__device__ __forceinline__ void store_rows(const Accumulators& acc, float* __restrict__ grad_x, int first, int lane) {
  const int position = first + lane / 4 * 4;
  const int row = position / 32;
  const int column = position % 32;
  if (row < 32) {
    float* to = grad_x + (row * 32 + column);
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int channel = i / 2 * 8 + (lane % 4 * 2 + i % 2);
      float values[4];
      #pragma unroll
      for (int v = 0; v < 4; ++v) {
        values[v] = acc[v / 2][i / 2][v % 2 * 2 + i % 2];
      }
      store_global_16(to + channel * 1024, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                                      __float_as_uint(values[2]), __float_as_uint(values[3])));
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
__device__ __forceinline__ void stage_tile(float* __restrict__ window, const float* __restrict__ grad_y,
                                           const Tile& tile) {
  const long long plane = static_cast<long long>(tile.image) * 3;
  stage_window(window, grad_y + plane * 4096);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_input_grad_input_bf23671a32965f0a(const float* __restrict__ grad_y,
                                                        const float* __restrict__ weight, float* __restrict__ grad_x,
                                                        int batch) {
  // The block's place: channels vary fastest, so that blocks which read the same window run together.
  const int first_tile = blockIdx.x;
  const int tile_step = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned int* weights = reinterpret_cast<unsigned int*>(shared + kWeightOffset);
  int* places = reinterpret_cast<int*>(shared + kPlaceOffset);
  int* weight_places = reinterpret_cast<int*>(shared + kWeightPlaceOffset);
  stage_tile(reinterpret_cast<float*>(shared), grad_y, tile_at(first_tile));
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
      stage_tile(reinterpret_cast<float*>(shared + (1 - buffer) * kBufferBytes), grad_y, tile_at(index + tile_step));
    }
    async_copy_commit();
    async_copy_wait(1);
    __syncthreads();  // the tile is staged, and so are the weights
    unsigned char* window = shared + buffer * kBufferBytes;
    const Tile tile = tile_at(index);
    float* x_tile = grad_x + static_cast<long long>(tile.image) * 65536;
    #pragma unroll 1
    for (int item = warp; item < kItems; item += 8) {
      const int first = item / 2 * kWarpPositions;
      const int part = item % 2;
      LanePlaces from;
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int element = window_place(first + (lane / 4 * 4 + half)) + 3;
        from.window[half] = reinterpret_cast<const unsigned int*>(window) + element;
        from.places[half] = places + lane % 4 * 2;
      }
      from.weights = reinterpret_cast<const uint2*>(weights) + (part * 128 + lane) * 2;
      Accumulators acc = {};
      Accumulators totals = {};  // of values that are split
      #pragma unroll 2
      for (int step = 0; step < 6; ++step) {
        multiply_step(acc, from, step);
        if (step % 4 == 3) {
          add_to_totals(acc, totals);
        }
      }
      add_to_totals(acc, totals);
      const int first_of_part = part * 32;
      store_rows(totals, x_tile + first_of_part * 1024, first, lane);
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

// K = 8, tf32.
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

}  // namespace convtgen_mma_grad_input_grad_input_bf23671a32965f0a_source
using convtgen_mma_grad_input_grad_input_bf23671a32965f0a_source::convtgen_mma_grad_input_grad_input_bf23671a32965f0a;
