// conv_transpose1d 256 -> 1; kernel 40; stride 20; input 8x3199; dtype f32; compute tf32; layout nchw; directions grad_weight
// grad_weight for sm_80. Template mma_taps_grad_weight: a block makes 1x40 taps of 128 by 1 channels; 108 slices; 59.7 KiB shared.
// Launch
//   sizes: batch 8, in_width 3199; out_width 64000
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_weight: 10240 elements, written, 4-byte aligned
//     shape (Cin 256, Cout 1, KW 40), contiguous
//   tensor x: 6551552 elements, read, 16-byte aligned
//     shape (N 8, Cin 256, W 3199), contiguous
//   tensor grad_y: 512000 elements, read, 16-byte aligned
//     shape (N 8, Cout 1, W 64000), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 4423680 bytes, sums of slices of the positions
//   kernel convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226
//     arguments const float* x, const float* grad_y, float* partial, int batch
//     grid 216; block 256; shared 61088
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 61088)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 61088)
//   kernel convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_add
//     arguments const float* partial, float* grad_weight
//     grid 320; block 256; shared 1024

namespace convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_source {

// ---- Constants ----

constexpr long long kWeights = 10240ll;
constexpr int kThreads = 256;
constexpr int kRowColumns = 40;
constexpr int kRunStep = 20;
constexpr int kRunVectors = 245;
constexpr int kRunPitch = 980;
constexpr int kPositionPitch = 20;
constexpr int kPlanePitch = 980;
constexpr int kInputPitch = 208;
constexpr int kResultPitch = 40;
constexpr int kHalfPlace = 320;
constexpr int kAddThreads = 256;
constexpr int kAddedSums = 32;  // of a block
constexpr long long kAdded = 10240ll;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 26624;
constexpr int kStageBytes = 30544;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int float_to_tf32(float value);

#endif

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// ---- Staging ----

// Copies some adjacent elements, or zeros.
__device__ __forceinline__ void copy(unsigned char* to, const float* from, bool is_inside) {
  async_copy_4(to, from, is_inside ? 4 : 0);
}

// Copies some adjacent elements, or zeros.
__device__ __forceinline__ void copy_2(unsigned char* to, const float* from, bool is_inside) {
  async_copy_16(to, from, is_inside ? 16 : 0);
}

// What a block reads: the first channel that it has of x and of grad_y, in the first image, and how many channels are
// left there.
struct Source {
  const float* x;
  const float* grad_y;
};

// A tile of positions.
struct Tile {
  long long image;
  int row;
  int column;
};

__device__ __forceinline__ int vector_of(int thread) {
  return thread % 48;
}

__device__ __forceinline__ int vector_of_2(int thread) {
  return thread % 245;
}

__device__ __forceinline__ int row_of(int turn, int thread) {
  return turn * 5 + thread / 48;
}

__device__ __forceinline__ int row_of_2(int thread) {
  return thread / 245;
}

// Whether a thread has a copy in a turn.
__device__ __forceinline__ bool has_copy(int turn, int thread) {
  return thread < 240 && turn * 240 + thread < 6144;
}

// Whether a thread has a copy in a turn.
__device__ __forceinline__ bool has_copy_2(int thread) {
  return thread < 245;
}

// Issues the thread's copies of x: zeros where the image or the channels end.
__device__ __forceinline__ void copy_input(unsigned char* to, const Source& source, const Tile& tile, int thread) {
  const float* x = source.x + tile.image * 818944;
  #pragma unroll 4
  for (int turn = 0; turn < 26; ++turn) {
    if (has_copy(turn, thread)) {
      const int vector = vector_of(thread);
      const int rest = row_of(turn, thread);  // position, or row of a channel
      const int iy = tile.row;
      const int ix = tile.column + vector;
      const bool is_inside = ix < 3199;
      const int from = (rest + iy) * 3199 + ix;
      const int place = rest * kInputPitch + vector * 4;
      copy(to + place, x + (is_inside ? from : 0), is_inside);
    }
  }
}

// The same of the window of grad_y, whose first row and first element of a row are those of the tile's first position.
__device__ __forceinline__ void copy_window(unsigned char* to, const Source& source, const Tile& tile, int thread) {
  const float* grad_y = source.grad_y + tile.image * 64000;
  const int first_row = tile.row;
  const int first_column = tile.column * 20;
  if (has_copy_2(thread)) {
    const int of_row = vector_of_2(thread);
    const int rest = row_of_2(thread);
    const int vector = of_row % kRunVectors;
    const int run = of_row / kRunVectors;
    bool is_inside = true;
    const int element = first_column + run * kRunStep + vector * 4;
    is_inside = is_inside && element >= 0 && element < 64000;
    const int from = (rest + first_row) * 64000 + element;
    copy_2(to + (rest * kPlanePitch + run * kRunPitch + vector * 4) * 4, grad_y + (is_inside ? from : 0), is_inside);
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 input channels and of 8 columns of its warp.
using PartAccumulators = float[2][5][4];

// ---- Places ----

struct Places {
  int input;
  int columns[5];
};

// Bytes of the window from the first position of a product to another one of it.
__device__ int window_place(int position) {
  return (position / 8 * 980 + position % 8 * kPositionPitch) * 4;
}

// Bytes of the window from a position's first tap to a column of the products.
__device__ __forceinline__ int column_place(int column) {
  const int row = column / kRowColumns;
  const int of_row = column % kRowColumns;
  return (row * kPlanePitch + of_row) * 4;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in) {
  Places places;
  const int first_channel = warp_in * 32;
  places.input = (first_channel + lane / 4) * kInputPitch + lane % 4 * 4;
  const int position = window_place(lane % 4);
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    const int column = i * 8 + lane / 4;
    places.columns[i] = kInputBytes + position + column_place(min(column, 39));
  }
  return places;
}

// ---- Fragments ----

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// A value, rounded as products take it; of those that are split, as it is.
__device__ __forceinline__ unsigned int word_of_tf32(const unsigned char* from) {
  return operand(shared_word(from));
}

// Loads an A fragment: 16 input channels by the positions of a product.
__device__ __forceinline__ void load_rows(unsigned int (&a)[4], const unsigned char* from) {
  a[0] = word_of_tf32(from);
  a[1] = word_of_tf32(from + 1664);
  a[2] = word_of_tf32(from + 16);
  a[3] = word_of_tf32(from + 1680);
}

// Loads the B fragments of 8 columns, or of the even and the odd ones of 16.
__device__ __forceinline__ void load_columns(unsigned int (&b)[2], const unsigned char* from) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    b[half] = word_of_tf32(from + half * kHalfPlace);
  }
}

// ---- Stages ----

// Adds the products of a step, whose words begin at `input` and, for each tile of columns, at its place in `window`.
__device__ __forceinline__ void multiply_step(PartAccumulators& acc, const unsigned char* input,
                                              const unsigned char* window, const Places& places) {
  unsigned int a[2][4];
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    load_rows(a[tile], input + tile * 3328);
  }
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    unsigned int b[2];
    load_columns(b, window + places.columns[i]);
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      mma_k8_tf32(acc[tile][i], a[tile], b);
    }
  }
}

// Adds the products of the warp's positions of a stage.
__device__ __forceinline__ void multiply_stage(PartAccumulators& acc, const unsigned char* stage, const Places& places,
                                               int warp_k) {
  // taps (0 to 0, 0 to 39)
  #pragma unroll 1
  for (int first = 0; first < 3; ++first) {
    const int step = first * 2 + warp_k;
    const int row = step / 6;
    const int column = step % 6 * 8;
    multiply_step(acc, stage + places.input + step * 32, stage + (row * 980 + column * kPositionPitch) * 4, places);
  }
}

// ---- Epilogue ----

// What a block makes.
struct Target {
  int slice;     // of the positions
  int first_in;  // of its channels in the group
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int in_tile = block % 2;
  Target target;
  target.slice = block / 2;
  target.first_in = in_tile * 128;
  return target;
}

__device__ __forceinline__ void put_two(float* to, const float2& sums, bool adds) {
  float2 all = sums;
  if (adds) {
    const float2 before = *reinterpret_cast<const float2*>(to);
    all = make_float2(before.x + sums.x, before.y + sums.y);
  }
  *reinterpret_cast<float2*>(to) = all;
}

// Puts a warp's accumulators to shared memory. Of columns that were read together those of two tiles alternate.
__device__ __forceinline__ void put_results(const PartAccumulators& acc, float* results, int lane, int warp_in,
                                            bool adds) {
  #pragma unroll
  for (int half = 0; half < 4; ++half) {
    // eight input channels
    float* row = results + (warp_in * 32 + half * 8 + lane / 4) * kResultPitch + lane % 4 * 2;
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
      const int low = half % 2 * 2;
      put_two(row + i * 8, make_float2(acc[half / 2][i][low], acc[half / 2][i][low + 1]), adds);
    }
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* results, const Target& target,
                                            float* __restrict__ partial, int warp_in, int warp_k, int thread) {
  #pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    __syncthreads();  // the stages have been read, or the warps before have added theirs
    if (warp_k == k) {
      put_results(acc, results, thread % 32, warp_in, k > 0);
    }
  }
  __syncthreads();
  #pragma unroll 2
  for (int i = thread; i < 5120; i += kThreads) {
    const int row = i / 40;
    const int of_channel = i % 40;
    const int ci = target.first_in + row;
    const float sum = results[row * kResultPitch + of_channel];
    const long long weight = static_cast<long long>(ci) * 40 + of_channel;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// ---- Kernels ----

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part(const float* __restrict__ sums, int part) {
  const int last = 108 * (part + 1) / 8;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 108 * part / 8; slice < last; ++slice) {
    sum += sums[slice * 10240ll];
  }
  return sum;
}

// Adds the slices: of a weight, then of a channel of the bias.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_add(const float* __restrict__ partial,
                                                                   float* __restrict__ grad_weight) {
  const int part = threadIdx.x / kAddedSums;
  const long long i = static_cast<long long>(blockIdx.x) * kAddedSums + threadIdx.x % kAddedSums;
  const bool is_weight = i < kAdded;
  float sum = 0;
  if (is_weight) {
    sum = add_part(partial + i, part);
  }
  float* sums = static_cast<float*>(shared_memory());
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  #pragma unroll
  for (int each = 0; each < 8; ++each) {
    sum += sums[each * kAddedSums + threadIdx.x % kAddedSums];
  }
  if (part == 0) {
    if (is_weight) {
      grad_weight[i] = sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226(const float* __restrict__ x,
                                                               const float* __restrict__ grad_y,
                                                               float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 67;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 108;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 108 - first_tile);
  const long long first_in = target.first_in;
  Source source;
  source.x = x + first_in * 3199;
  source.grad_y = grad_y;

  // The tile that is copied next.
  Tile next;
  next.column = static_cast<int>(first_tile % 67) * 48;
  next.row = 0;
  next.image = first_tile / 67;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int warp_k = warp % 2;
  const int warp_in = warp / 2;
  const Places places = places_of(thread % 32, warp_in);

  PartAccumulators acc = {};
  int stage = 0;
  // The first turns issue copies alone.
  #pragma unroll 1
  for (int issued = 0; issued < count + 1; ++issued) {
    const int consumed = issued - 1;
    async_copy_wait(0);
    __syncthreads();  // the stage has come, and all have read the one that is copied next
    if (issued < count) {
      unsigned char* to = shared + stage * kStageBytes;
      copy_input(to, source, next, thread);
      copy_window(to + kInputBytes, source, next, thread);
      next.column += 48;
      if (next.column >= 3199) {
        next.column = 0;
        ++next.row;
        next.row = 0;
        ++next.image;
      }
    }
    async_copy_commit();
    stage = stage + 1 == 2 ? 0 : stage + 1;
    if (consumed >= 0) {
      multiply_stage(acc, shared + stage * kStageBytes, places, warp_k);
    }
  }
  store_block(acc, static_cast<float*>(shared_memory()), target, partial, warp_in, warp_k, thread);
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

// Copies `bytes` (0 to 4) from global to shared memory and writes zeros for the rest of 4.
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
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

}  // namespace convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_source
using convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_source::convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_add;
using convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226_source::convtgen_mma_taps_grad_weight_grad_weight_190c8c035ec39226;
