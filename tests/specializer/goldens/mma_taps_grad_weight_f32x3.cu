// conv_transpose2d 48 -> 3; kernel 4x4; stride 2x2; padding 1x1; dtype f32; compute f32x3; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template mma_taps_grad_weight: a block makes 4x4 taps of 48 by 3 channels; 396 slices; 65.4 KiB shared.
// Launch
//   sizes: batch, in_height, in_width; out_height = 2 * in_height, out_width = 2 * in_width
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 2304 elements, written, 4-byte aligned
//     shape (Cin 48, Cout 3, KH 4, KW 4), contiguous
//   tensor x: 48 * batch * in_height * in_width elements, read, 4-byte aligned
//     shape (N batch, Cin 48, H in_height, W in_width), contiguous
//   tensor grad_y: 3 * batch * out_height * out_width elements, read, 4-byte aligned
//     shape (N batch, Cout 3, H out_height, W out_width), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 3649536 bytes, sums of slices of the positions
//   region totals: 7299072 bytes, fp32 totals of the blocks
//   kernel convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933
//     arguments const float* x, const float* grad_y, float* partial, float* totals, int batch, int in_height,
//       int in_width
//     grid 396; block 128; shared 67008
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 67008)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 67008)
//     at most in_height 1073741805, in_width 1073741813
//   kernel convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_add
//     arguments const float* partial, float* grad_weight
//     grid 144; block 256; shared 1024
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_source {

// ---- Constants ----

constexpr long long kWeights = 2304ll;
constexpr int kThreads = 128;
constexpr int kAccumulators = 36;  // of a thread
constexpr long long kTotals = 4608ll;
constexpr int kRunVectors = 18;
constexpr int kRunPitch = 18;
constexpr int kRowPitch = 20;
constexpr int kWindowRows = 34;
constexpr int kPlanePitch = 680;
constexpr int kInputPitch = 528;
constexpr int kResultPitch = 72;
constexpr int kHalfPlace = 32;
constexpr int kAddThreads = 256;
constexpr long long kAdded = 2304ll;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 25344;
constexpr int kStageBytes = 33504;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ void grid_dependency_wait();

#endif

// ---- Staging ----

// Copies some adjacent elements, or zeros.
__device__ __forceinline__ void copy(unsigned char* to, const float* from, bool is_inside) {
  async_copy_4(to, from, is_inside ? 4 : 0);
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
  return thread % 8;
}

__device__ __forceinline__ int vector_of_2(int thread) {
  return thread % 18;
}

__device__ __forceinline__ int row_of(int turn, int thread) {
  return turn * 16 + thread / 8;
}

__device__ __forceinline__ int row_of_2(int turn, int thread) {
  return turn * 7 + thread / 18;
}

// Whether a thread has a copy in a turn.
__device__ __forceinline__ bool has_copy(int turn, int thread) {
  return thread < 126 && turn * 126 + thread < 1836;
}

// Issues the thread's copies of x: zeros where the image or the channels end.
__device__ __forceinline__ void copy_input(unsigned char* to, const Source& source, const Tile& tile, int in_h,
                                           int in_w, int thread) {
  const float* x = source.x + tile.image * 48 * (static_cast<long long>(in_h) * in_w);
  #pragma unroll 4
  for (int turn = 0; turn < 48; ++turn) {
    const int vector = vector_of(thread);
    const int rest = row_of(turn, thread);  // position, or row of a channel
    const int channel = rest / 16;
    const int row = rest % 16;
    const int iy = tile.row + row;
    const int ix = tile.column + vector;
    const bool is_inside = iy < in_h && ix < in_w;
    const long long from = (static_cast<long long>(channel) * in_h + iy) * in_w + ix;
    const int place = channel * kInputPitch + (row * 8 + vector) * 4;
    copy(to + place, x + (is_inside ? from : 0), is_inside);
  }
}

// The same of the window of grad_y, whose first row and first element of a row are those of the tile's first position.
__device__ __forceinline__ void copy_window(unsigned char* to, const Source& source, const Tile& tile, int out_h,
                                            int out_w, int thread) {
  const float* grad_y = source.grad_y + tile.image * 3 * (static_cast<long long>(out_h) * out_w);
  const int first_row = tile.row * 2 - 1;
  const int first_column = tile.column * 2 - 1;
  #pragma unroll 4
  for (int turn = 0; turn < 15; ++turn) {
    if (has_copy(turn, thread)) {
      const int of_row = vector_of_2(thread);
      const int rest = row_of_2(turn, thread);
      const int vector = of_row % kRunVectors;
      const int run = of_row / kRunVectors;
      const int row = rest % kWindowRows;
      const int plane = rest / kWindowRows;
      const int oy = first_row + row;
      bool is_inside = oy >= 0 && oy < out_h;
      const long long element = static_cast<long long>(first_column) + run * 2 + vector;
      is_inside = is_inside && element >= 0 && element < static_cast<long long>(out_w);
      const long long from = (static_cast<long long>(plane) * out_h + oy) * out_w + element;
      copy(to + (plane * kPlanePitch + row * kRowPitch + run * kRunPitch + vector) * 4, grad_y + (is_inside ? from : 0),
           is_inside);
    }
  }
}

// ---- Products ----

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

// One thread's accumulators: of each tile of 16 input channels and of 8 columns of its warp.
using PartAccumulators = float[3][3][4];

// The thread's accumulator of this number.
__device__ __forceinline__ float& acc_at(PartAccumulators& acc, int i) {
  return acc[i / 12][i / 4 % 3][i % 4];
}

// ---- Places ----

struct Places {
  int input;
  int columns[3];
};

// Bytes of the window from the first position of a product to another one of it.
__device__ int window_place(int position) {
  return (position / 8 * 40 + position % 8 * 2) * 4;
}

// Bytes of the window from a position's first tap to a column of the products.
__device__ __forceinline__ int column_place(int column) {
  const int row = column / 4;
  const int of_row = column % 4;
  const int plane = row / 4;
  return (plane * kPlanePitch + row % 4 * 20 + of_row) * 4;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in, int warp_columns) {
  Places places;
  const int first_channel = warp_in * 48;
  places.input = (first_channel + lane / 4) * kInputPitch + lane % 4 * 4;
  const int position = window_place(lane % 4);
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int column = (warp_columns * 3 + i) * 8 + lane / 4;
    places.columns[i] = kInputBytes + position + column_place(min(column, 47));
  }
  return places;
}

// ---- Fragments ----

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// Loads an A fragment: 16 input channels by the positions of a product.
__device__ __forceinline__ void load_rows(unsigned int (&a)[4], const unsigned char* from) {
  a[0] = shared_word(from);
  a[1] = shared_word(from + 4224);
  a[2] = shared_word(from + 16);
  a[3] = shared_word(from + 4240);
}

// Loads the B fragments of 8 columns, or of the even and the odd ones of 16.
__device__ __forceinline__ void load_columns(unsigned int (&b)[2], const unsigned char* from) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    b[half] = shared_word(from + half * kHalfPlace);
  }
}

// ---- Stages ----

// Splits the words of a fragment in their parts.
__device__ __forceinline__ void split_words(unsigned int (&high)[4], unsigned int (&low)[4]) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned int word = high[i];
    high[i] = nearest_part(word);
    low[i] = rest_of(word, high[i]);
  }
}

// Adds the products of a step, whose words begin at `input` and, for each tile of columns, at its place in `window`.
__device__ __forceinline__ void multiply_step(PartAccumulators& acc, const unsigned char* input,
                                              const unsigned char* window, const Places& places) {
  unsigned int a[3][4];
  unsigned int low_a[3][4];
  #pragma unroll
  for (int tile = 0; tile < 3; ++tile) {
    load_rows(a[tile], input + tile * 8448);
    split_words(a[tile], low_a[tile]);
  }
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    unsigned int b[2];
    load_columns(b, window + places.columns[i]);
    const unsigned int high[2] = {nearest_part(b[0]), nearest_part(b[1])};
    const unsigned int low[2] = {rest_of(b[0], high[0]), rest_of(b[1], high[1])};
    #pragma unroll
    for (int tile = 0; tile < 3; ++tile) {
      mma_k8_tf32(acc[tile][i], low_a[tile], high);
      mma_k8_tf32(acc[tile][i], a[tile], low);
      mma_k8_tf32(acc[tile][i], a[tile], high);
    }
  }
}

// Adds the products of the warp's positions of a stage, to the totals.
__device__ __forceinline__ void multiply_stage(PartAccumulators& acc, PartAccumulators& totals,
                                               const unsigned char* stage, const Places& places, int warp_k) {
  // taps (0 to 3, 0 to 3)
  #pragma unroll 1
  for (int first = 0; first < 8; first += 4) {
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
      const int step = (first + each) * 2 + warp_k;
      multiply_step(acc, stage + places.input + step * 32, stage + step * 160, places);
    }
    #pragma unroll
    for (int i = 0; i < kAccumulators; ++i) {
      acc_at(totals, i) += acc_at(acc, i);
      acc_at(acc, i) = 0;
    }
  }
}

// ---- Epilogue ----

// What a block makes.
struct Target {
  int slice;  // of the positions
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  Target target;
  target.slice = block;
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
                                            int warp_columns, bool adds) {
  #pragma unroll
  for (int half = 0; half < 6; ++half) {
    // eight input channels
    float* row = results + (warp_in * 48 + half * 8 + lane / 4) * kResultPitch + warp_columns * 24 + lane % 4 * 2;
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
      const int low = half % 2 * 2;
      put_two(row + i * 8, make_float2(acc[half / 2][i][low], acc[half / 2][i][low + 1]), adds);
    }
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* results, const Target& target,
                                            float* __restrict__ partial, int warp_in, int warp_columns, int warp_k,
                                            int thread) {
  #pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    __syncthreads();  // the stages have been read, or the warps before have added theirs
    if (warp_k == k) {
      put_results(acc, results, thread % 32, warp_in, warp_columns, k > 0);
    }
  }
  __syncthreads();
  #pragma unroll 2
  for (int i = thread; i < 2304; i += kThreads) {
    const int row = i / 48;
    const int of_channel = i % 48;
    const int tap = of_channel % 16;
    const int out = of_channel / 16;
    const int kh = tap / 4;
    const int kw = tap % 4;
    const int of_taps = out * 4 + tap / 4;
    const int column = of_taps * 4 + tap % 4;
    const float sum = results[row * kResultPitch + column];
    const long long weight = ((static_cast<long long>(row) * 3 + out) * 4 + kh) * 4 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// Adds the accumulators to the thread's totals in memory, and zeroes them. The first time, it sets the totals.
__device__ __forceinline__ void promote(PartAccumulators& acc, float* totals, bool is_first) {
  #pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    float* total = totals + i * kThreads;
    *total = is_first ? acc_at(acc, i) : *total + acc_at(acc, i);
    acc_at(acc, i) = 0;
  }
}

// The accumulators with the thread's totals.
__device__ __forceinline__ void add_totals(PartAccumulators& acc, const float* totals) {
  #pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(acc, i) += totals[i * kThreads];
  }
}

// ---- Kernels ----

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part(const float* __restrict__ sums, int part) {
  const int last = 396 * (part + 1) / 16;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 396 * part / 16; slice < last; ++slice) {
    sum += sums[slice * 2304ll];
  }
  return sum;
}

// Adds the slices: of a weight, then of a channel of the bias.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_add(const float* __restrict__ partial,
                                                                   float* __restrict__ grad_weight) {
  const int part = threadIdx.x / 16;
  const long long i = static_cast<long long>(blockIdx.x) * 16 + threadIdx.x % 16;
  const bool is_weight = i < kAdded;
  grid_dependency_wait();
  float sum = 0;
  if (is_weight) {
    sum = add_part(partial + i, part);
  }
  float* sums = static_cast<float*>(shared_memory());
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  #pragma unroll
  for (int each = 0; each < 16; ++each) {
    sum += sums[each * 16 + threadIdx.x % 16];
  }
  if (part == 0) {
    if (is_weight) {
      grad_weight[i] = sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933(const float* __restrict__ x,
                                                               const float* __restrict__ grad_y,
                                                               float* __restrict__ partial, float* totals, int batch,
                                                               int height, int width) {
  const int out_h = (height - 1) * 2 + 2;
  const int out_w = (width - 1) * 2 + 2;
  const int row_tiles = (height + 15) / 16;
  const int column_tiles = (width + 7) / 8;
  const long long tiles = static_cast<long long>(batch) * row_tiles * column_tiles;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 396;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 396 - first_tile);
  Source source;
  source.x = x;
  source.grad_y = grad_y;

  // The tile that is copied next.
  Tile next;
  next.column = static_cast<int>(first_tile % column_tiles) * 8;
  next.row = static_cast<int>(first_tile / column_tiles % row_tiles) * 16;
  next.image = first_tile / column_tiles / row_tiles;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int warp_k = warp % 2;
  const int warp_columns = warp / 2 % 2;
  const int warp_in = warp / 4;
  const Places places = places_of(thread % 32, warp_in, warp_columns);
  float* own_totals = totals + block * kTotals + thread;

  PartAccumulators acc = {};
  PartAccumulators sums = {};  // fp32 totals of values that are split
  int stage = 0;
  // The first turns issue copies alone.
  #pragma unroll 1
  for (int issued = 0; issued < count + 1; ++issued) {
    const int consumed = issued - 1;
    async_copy_wait(0);
    __syncthreads();  // the stage has come, and all have read the one that is copied next
    if (issued < count) {
      unsigned char* to = shared + stage * kStageBytes;
      copy_input(to, source, next, height, width, thread);
      copy_window(to + kInputBytes, source, next, out_h, out_w, thread);
      next.column += 8;
      if (next.column >= width) {
        next.column = 0;
        next.row += 16;
        if (next.row >= height) {
          next.row = 0;
          ++next.image;
        }
      }
    }
    async_copy_commit();
    stage = stage + 1 == 2 ? 0 : stage + 1;
    if (consumed >= 0) {
      multiply_stage(acc, sums, shared + stage * kStageBytes, places, warp_k);
      if ((consumed + 1) % 256 == 0) {
        promote(sums, own_totals, consumed < 256);
      }
    }
  }
  if (count >= 256) {
    add_totals(sums, own_totals);
  }
  store_block(sums, static_cast<float*>(shared_memory()), target, partial, warp_in, warp_columns, warp_k, thread);
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

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

#endif

}  // namespace convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_source
using convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_source::convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_add;
using convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933_source::convtgen_mma_taps_grad_weight_grad_weight_004bb5b312177933;
