// conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; dtype f32; compute f32; layout nchw; directions grad_weight
// grad_weight for sm_75. Template thin_grad_weight: a block makes 1x16 taps of 1 by 1 channels from 8x32 positions at a time; 2 slices; 17.0 KiB shared.
// Launch
//   sizes: batch 8, in_height 64, in_width 64; out_height 512, out_width 512
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor grad_weight: 5376 elements, written, 4-byte aligned
//     shape (Cin 21, Cout / groups 1, KH 16, KW 16), contiguous
//   tensor x: 688128 elements, read, 16-byte aligned
//     shape (N 8, Cin 21, H 64, W 64), contiguous
//   tensor grad_y: 44040192 elements, read, 16-byte aligned
//     shape (N 8, Cout 21, H 512, W 512), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 43008 bytes, sums of slices of the positions
//   kernel convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db
//     arguments const float* x, const float* grad_y, float* partial, int batch
//     grid 672; block 256; shared 17408
//   kernel convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_add
//     arguments const float* partial, float* grad_weight
//     grid 21; block 256; shared 0

namespace convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_source {

// ---- Constants ----

constexpr int kSlotTiles = 21;
constexpr int kTileColumns = 32;
constexpr int kThreads = 256;  // the last ones may have nothing to do
constexpr long long kWeights = 5376ll;
constexpr int kSliceBlocks = 336;
constexpr int kLanes = 256;  // threads of a slot

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);

#endif

// ---- Elements ----

// The place of a thread in its block.
struct Worker {
  int slot;
  int row;
  int column;  // the first one
};

__device__ __forceinline__ Worker worker_of(int thread) {
  Worker worker;
  worker.column = thread % 32;
  worker.row = thread / 32 % 8;
  worker.slot = thread / 256;
  return worker;
}

// Element k of a vector.
__device__ __forceinline__ float element_of(const unsigned int (&words)[4], int k) {
  return __uint_as_float(words[k]);
}

// Reads a window: zeros where the row ends. `row` is its first element, `first` the window's, which lies before the row
// where it is negative, and `end` is one past the row's last; 0 for a row that is not there.
__device__ __forceinline__ void load_window(float (&window)[16], const float* __restrict__ row, int first, int end) {
  #pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int at = first + v * 4;
    const bool is_inside = at >= 0 && at < end;
    const uint4 elements = load_constant_16(row + (is_inside ? at : 0));
    const unsigned int words[4] = {is_inside ? elements.x : 0, is_inside ? elements.y : 0, is_inside ? elements.z : 0,
                                   is_inside ? elements.w : 0};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      window[v * 4 + k] = element_of(words, k);
    }
  }
}

// ---- Products ----

// One thread's x: its channels at its columns.
using Inputs = float[1][1];

// Reads x: zeros where the row or the group ends, for which the first element is read. `x` is the slot's first channel
// at the thread's first column; what is inside are so many channels and columns.
__device__ __forceinline__ void load_inputs(Inputs& inputs, const float* __restrict__ x) {
  const float value = x[0];
  inputs[0][0] = value;
}

// Some taps of a kernel row: each element of the window times x of each channel.
__device__ __forceinline__ void multiply_add(float (&acc)[16], const Inputs& inputs, const float (&window)[16]) {
  #pragma unroll
  for (int kw = 0; kw < 16; ++kw) {
    const float value = window[kw];
    acc[kw] = fma(inputs[0][0], value, acc[kw]);
  }
}

// ---- Epilogue ----

// Which weights a block makes: its first slot, and the first taps and output channel.
struct Made {
  int slice;
  int first_slot;
  int first_kh;
};

// Adds some sums of the threads of each slot, in a fixed order, and stores them. `totals` are those of the threads.
__device__ __forceinline__ void store_sums(const float* __restrict__ totals, float* __restrict__ parts,
                                           const Made& made, float* __restrict__ partial) {
  for (int i = threadIdx.x; i < 256; i += kThreads) {
    // Adjacent threads read adjacent sums.
    const int part = i % 16;
    const int index = i / 16;
    float sum = 0;
    #pragma unroll 4
    for (int lane = part; lane < kLanes; lane += 16) {
      sum += totals[index * kThreads + lane];
    }
    parts[index * 16 + part] = sum;
  }
  __syncthreads();  // all parts are there
  for (int i = threadIdx.x; i < 16; i += kThreads) {
    const int slot = made.first_slot;
    const int index = i;
    const int kw = index % 16;
    const int kh = made.first_kh + index / 16;
    float sum = 0;
    #pragma unroll 8
    for (int part = 0; part < 16; ++part) {
      sum += parts[i * 16 + part];
    }
    const long long weight = (static_cast<long long>(slot) * 16 + kh) * 16 + kw;
    partial[made.slice * kWeights + weight] = sum;
  }
}

// ---- Kernels ----

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_add(const float* __restrict__ partial,
                                                               float* __restrict__ grad_weight) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 5376) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 2; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = sum;
  }
}

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db(const float* __restrict__ x,
                                                           const float* __restrict__ grad_y,
                                                           float* __restrict__ partial, int batch) {
  const long long tiles = static_cast<long long>(batch) * 16;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  Made made;
  made.slice = block / kSliceBlocks;
  made.first_slot = block % kSlotTiles;
  made.first_kh = block / kSlotTiles % 16;

  // The thread's place in the block.
  const int thread = threadIdx.x;
  const Worker worker = worker_of(thread);
  const int slot = made.first_slot + worker.slot;

  // Bases are 64-bit; every offset from them fits its type.
  const float* x_slot = x + slot * 4096ll;
  const float* y_channel = grad_y + slot * 262144ll;

  // The tile, and how it moves on.
  const long long begin = tiles * made.slice / 2;
  const long long end = tiles * (made.slice + 1) / 2;
  int tile_x = static_cast<int>(begin % 2);
  int tile_y = static_cast<int>(begin / 2 % 8);
  long long image = begin / 16;

  float acc[16] = {};
  #pragma unroll 1
  for (long long tile = begin; tile < end; ++tile) {
    const int iy = tile_y * 8 + worker.row;
    const int ix = tile_x * kTileColumns + worker.column;
    if (iy < 64 && ix < 64) {
      Inputs inputs;
      load_inputs(inputs, x_slot + image * 86016 + (iy * 64 + ix));
      const float* y_plane = y_channel + image * 5505024;
      const int first_column = ix * 8 - 4;
      const int oy = iy * 8 + (made.first_kh - 4);
      const bool is_there = oy >= 0 && oy < 512;
      float window[16];
      load_window(window, y_plane + (is_there ? oy * 512 : 0), first_column, is_there ? 512 : 0);
      multiply_add(acc, inputs, window);
    }
    if (++tile_x == 2) {
      tile_x = 0;
      if (++tile_y == 8) {
        tile_y = 0;
        ++image;
      }
    }
  }

  float* totals = static_cast<float*>(shared_memory());
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    totals[i * kThreads + thread] = acc[i];
  }
  __syncthreads();  // all threads' sums are there
  store_sums(totals, totals + 4096, made, partial);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

#endif

}  // namespace convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_source
using convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_source::convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_add;
using convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db_source::convtgen_thin_grad_weight_grad_weight_9ff30e28dc2394db;
