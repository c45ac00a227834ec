// conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_90a. Template mma_taps_grad_weight: a block makes 4x4 taps of 64 by 3 channels; 264 slices; 86.6 KiB shared.
// Launch
//   sizes: batch 128, in_height 32, in_width 32; out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 3072 elements, written, 2-byte aligned
//     shape (Cin 64, Cout 3, KH 4, KW 4), contiguous
//   tensor grad_bias: 3 elements, written, 2-byte aligned
//     shape (Cout 3), contiguous
//   tensor x: 8388608 elements, read, 16-byte aligned
//     shape (N 128, H 32, W 32, Cin 64), contiguous
//   tensor grad_y: 1572864 elements, read, 16-byte aligned
//     shape (N 128, H 64, W 64, Cout 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 3244032 bytes, sums of slices of the positions
//   region partial_bias: 3168 bytes, sums of slices of grad_y's positions
//   kernel convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, float* partial_bias, int batch
//     grid 264; block 256; shared 88704
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 88704)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 88704)
//   kernel convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 193; block 256; shared 1024
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_source {

// ---- Constants ----

constexpr long long kWeights = 3072ll;
constexpr int kThreads = 256;
constexpr int kRunVectors = 26;
constexpr int kRunPitch = 208;
constexpr int kRowPitch = 208;
constexpr int kWindowRows = 18;
constexpr int kPlanePitch = 3744;
constexpr int kInputPitch = 144;
constexpr int kResultPitch = 80;
constexpr int kSummingThreads = 255;
constexpr int kHalfPlace = 96;
constexpr int kAddThreads = 256;
constexpr long long kAdded = 3072ll;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 36864;
constexpr int kStageBytes = 44352;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);
__device__ __forceinline__ void grid_dependency_wait();

#endif

// ---- Elements ----

// The low or the high halves of two words in one.
__device__ __forceinline__ unsigned int low_halves(unsigned int a, unsigned int b) {
  return (a & 0xffff) | (b << 16);
}

__device__ __forceinline__ unsigned int high_halves(unsigned int a, unsigned int b) {
  return (a >> 16) | (b & 0xffff0000u);
}

// ---- Staging ----

// Copies some adjacent elements, or zeros.
__device__ __forceinline__ void copy(unsigned char* to, const unsigned short* from, bool is_inside) {
  async_copy_16(to, from, is_inside ? 16 : 0);
}

// What a block reads: the first channel that it has of x and of grad_y, in the first image, and how many channels are
// left there.
struct Source {
  const unsigned short* x;
  const unsigned short* grad_y;
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
  return thread % 26;
}

__device__ __forceinline__ int row_of(int turn, int thread) {
  return turn * 32 + thread / 8;
}

__device__ __forceinline__ int row_of_2(int turn, int thread) {
  return turn * 9 + thread / 26;
}

// Whether a thread has a copy in a turn.
__device__ __forceinline__ bool has_copy(int thread) {
  return thread < 234;
}

// Issues the thread's copies of x: zeros where the image or the channels end.
__device__ __forceinline__ void copy_input(unsigned char* to, const Source& source, const Tile& tile, int thread) {
  const unsigned short* x = source.x + tile.image * 65536;
  #pragma unroll 4
  for (int turn = 0; turn < 8; ++turn) {
    const int vector = vector_of(thread);
    const int rest = row_of(turn, thread);  // position, or row of a channel
    const int channel = vector * 8;
    const int row = rest / 32;
    const int column = rest % 32;
    const int iy = tile.row + row;
    const int ix = tile.column + column;
    const int from = (iy * 32 + ix) * 64 + channel;
    const int place = rest * kInputPitch + channel * 2;
    copy(to + place, x + from, true);
  }
}

// The same of the window of grad_y, whose first row and first element of a row are those of the tile's first position.
__device__ __forceinline__ void copy_window(unsigned char* to, const Source& source, const Tile& tile, int thread) {
  const unsigned short* grad_y = source.grad_y + tile.image * 12288;
  const int first_row = tile.row * 2 - 1;
  const int first_column = tile.column * 2 - 1;
  #pragma unroll 4
  for (int turn = 0; turn < 2; ++turn) {
    if (has_copy(thread)) {
      const int of_row = vector_of_2(thread);
      const int rest = row_of_2(turn, thread);
      const int vector = of_row % kRunVectors;
      const int run = of_row / kRunVectors;
      const int row = rest % kWindowRows;
      const int plane = rest / kWindowRows;
      const int oy = first_row + row;
      bool is_inside = oy >= 0 && oy < 64;
      const int element = first_column * 3 - 5 + run * 6 + vector * 8;
      is_inside = is_inside && element >= 0 && element < 192;
      const int from = oy * 192 + element;
      copy(to + (plane * kPlanePitch + row * kRowPitch + run * kRunPitch + vector * 8) * 2,
           grad_y + (is_inside ? from : 0), is_inside);
    }
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 input channels and of 8 columns of its warp.
using PartAccumulators = float[1][8][4];

// ---- Places ----

struct Places {
  int input;
  int columns[4];
};

// Bytes of the window from the first position of a product to another one of it.
__device__ int window_place(int position) {
  return (position / 16 * 416 + position % 16 * 6) * 2;
}

// Bytes of the window from a position's first tap to a column of the products.
__device__ __forceinline__ int column_place(int column) {
  const int row = column / 14;
  const int of_row = column % 14;
  const int plane = row / 4;
  const int of_tap = of_row - 1;
  return (plane * kPlanePitch + row % 4 * 208 + 5 + of_tap) * 2;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in) {
  Places places;
  const int first_channel = warp_in * 16;
  places.input = (lane % 8 + lane / 16 * 8) * kInputPitch + (first_channel + lane / 8 % 2 * 8) * 2;
  const int position = window_place(lane % 4 * 2);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int column = (i * 8 + lane / 4) * 2;
    places.columns[i] = kInputBytes + position + column_place(min(column, 54));
  }
  return places;
}

// ---- Fragments ----

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// Loads the B fragments of 8 columns, or of the even and the odd ones of 16.
__device__ __forceinline__ void load_columns(unsigned int (&b)[2][2], const unsigned char* from) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned int first = shared_word(from + half * kHalfPlace);
    const unsigned int second = shared_word(from + (half * kHalfPlace + 12));
    b[0][half] = low_halves(first, second);
    b[1][half] = high_halves(first, second);
  }
}

// ---- Stages ----

// Adds the products of a step, whose words begin at `input` and, for each tile of columns, at its place in `window`.
__device__ __forceinline__ void multiply_step(PartAccumulators& acc, const unsigned char* input,
                                              const unsigned char* window, const Places& places) {
  unsigned int a[4];
  matrix_load_x4_transposed(a, input);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned int b[2][2];
    load_columns(b, window + places.columns[i]);
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
      mma_k16_f16(acc[0][i * 2 + each], a, b[each]);
    }
  }
}

// Adds the products of the warp's positions of a stage.
__device__ __forceinline__ void multiply_stage(PartAccumulators& acc, const unsigned char* stage, const Places& places,
                                               int warp_k) {
  // taps (0 to 3, 0 to 3)
  #pragma unroll 1
  for (int first = 0; first < 8; first += 2) {
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
      const int step = (first + each) * 2 + warp_k;
      const int row = step / 2;
      const int column = step % 2 * 16;
      multiply_step(acc, stage + places.input + step * 2304, stage + (row * 416 + column * 6) * 2, places);
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

// A thread's sum of the values of its channel which a tile's positions read by the taps from the padding on, as many as
// the stride: a window has each value of grad_y for one tile.
__device__ __forceinline__ float sum_window(const unsigned char* window, int thread) {
  const int channel = thread % 3;
  const unsigned char* of_channel = window + (216 + channel) * 2;
  float sum = 0;
  #pragma unroll 4
  for (int pixel = thread / 3; pixel < 1024; pixel += 85) {
    const int place = pixel / 64 * kRowPitch + pixel % 64 * 3;
    sum += half_to_float(*reinterpret_cast<const unsigned short*>(of_channel + place * 2));
  }
  return thread < kSummingThreads ? sum : 0;
}

// Stores the sums of a block's channels, which its threads have: in parts, then these, in order.
__device__ __forceinline__ void store_bias(float sum, float* shared, const Target& target,
                                           float* __restrict__ partial_bias, int thread) {
  __syncthreads();  // the results before have been stored
  shared[thread] = sum;
  __syncthreads();
  if (thread < 48) {
    float part = 0;
    #pragma unroll 4
    for (int i = thread; i < kSummingThreads; i += 48) {
      part += shared[i];
    }
    shared[thread] = part;
  }
  __syncthreads();
  if (thread < 3) {
    float all = 0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      all += shared[i * 3 + thread];
    }
    partial_bias[target.slice * 3 + thread] = all;
  }
}

// Puts four sums to shared memory, or adds them to what lies there.
__device__ __forceinline__ void put_four(float* to, const float4& sums, bool adds) {
  float4 all = sums;
  if (adds) {
    const float4 before = *reinterpret_cast<const float4*>(to);
    all = make_float4(before.x + sums.x, before.y + sums.y, before.z + sums.z, before.w + sums.w);
  }
  *reinterpret_cast<float4*>(to) = all;
}

// Puts a warp's accumulators to shared memory. Of columns that were read together those of two tiles alternate.
__device__ __forceinline__ void put_results(const PartAccumulators& acc, float* results, int lane, int warp_in,
                                            bool adds) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    // eight input channels
    float* row = results + (warp_in * 16 + half * 8 + lane / 4) * kResultPitch + lane % 4 * 4;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int first = i * 2;
      const int second = first + 1;
      const int low = half * 2;
      put_four(row + i * 16, make_float4(acc[0][first][low], acc[0][second][low], acc[0][first][low + 1],
                                         acc[0][second][low + 1]), adds);
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
  for (int i = thread; i < 3072; i += kThreads) {
    const int row = i / 48;
    const int of_channel = i % 48;
    const int tap = of_channel % 16;
    const int out = of_channel / 16;
    const int kh = tap / 4;
    const int kw = tap % 4;
    const int of_taps = tap / 4;
    const int column = of_taps * 14 + 1 + tap % 4 * 3 + out;
    const float sum = results[row * kResultPitch + column];
    const long long weight = ((static_cast<long long>(row) * 3 + out) * 4 + kh) * 4 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// ---- Kernels ----

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part(const float* __restrict__ sums, int part) {
  const int last = 264 * (part + 1) / 16;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 264 * part / 16; slice < last; ++slice) {
    sum += sums[slice * 3072ll];
  }
  return sum;
}

// Adds a part of a sum's slices, in their order.
__device__ __forceinline__ float add_part_2(const float* __restrict__ sums, int part) {
  const int last = 264 * (part + 1) / 16;
  float sum = 0;
  #pragma unroll 8
  for (int slice = 264 * part / 16; slice < last; ++slice) {
    sum += sums[slice * 3ll];
  }
  return sum;
}

// Adds the slices: of a weight, then of a channel of the bias.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_add(const float* __restrict__ partial,
                                                                   const float* __restrict__ partial_bias,
                                                                   unsigned short* __restrict__ grad_weight,
                                                                   unsigned short* __restrict__ grad_bias) {
  const int part = threadIdx.x / 16;
  const long long i = static_cast<long long>(blockIdx.x) * 16 + threadIdx.x % 16;
  const bool is_weight = i < kAdded;
  const bool is_channel = !is_weight && i - kAdded < 3;
  grid_dependency_wait();
  float sum = 0;
  if (is_weight) {
    sum = add_part(partial + i, part);
  } else if (is_channel) {
    sum = add_part_2(partial_bias + (i - kAdded), part);
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
      grad_weight[i] = accumulator_to_half(sum);
    } else if (is_channel) {
      grad_bias[i - kAdded] = accumulator_to_half(sum);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b(const unsigned short* __restrict__ x,
                                                               const unsigned short* __restrict__ grad_y,
                                                               float* __restrict__ partial,
                                                               float* __restrict__ partial_bias, int batch) {
  const long long tiles = static_cast<long long>(batch) * 4;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 264;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 264 - first_tile);
  Source source;
  source.x = x;
  source.grad_y = grad_y;

  // The tile that is copied next.
  Tile next;
  next.column = 0;
  next.row = static_cast<int>(first_tile % 4) * 8;
  next.image = first_tile / 4;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int warp_k = warp % 2;
  const int warp_in = warp / 2;
  const Places places = places_of(thread % 32, warp_in);

  PartAccumulators acc = {};
  float bias_sum = 0;
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
      next.column += 32;
      if (next.column >= 32) {
        next.column = 0;
        next.row += 8;
        if (next.row >= 32) {
          next.row = 0;
          ++next.image;
        }
      }
    }
    async_copy_commit();
    stage = stage + 1 == 2 ? 0 : stage + 1;
    if (consumed >= 0) {
      bias_sum += sum_window(shared + (stage * kStageBytes + kInputBytes), thread);
      multiply_stage(acc, shared + stage * kStageBytes, places, warp_k);
    }
  }
  store_block(acc, static_cast<float*>(shared_memory()), target, partial, warp_in, warp_k, thread);
  store_bias(bias_sum, static_cast<float*>(shared_memory()), target, partial_bias, thread);
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
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
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

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

#endif

}  // namespace convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_source
using convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_source::convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_add;
using convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b_source::convtgen_mma_taps_grad_weight_grad_weight_1e29407687a5409b;
