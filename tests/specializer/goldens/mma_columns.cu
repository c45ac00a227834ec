// conv_transpose2d 640 -> 2; kernel 4x4; stride 2x2; padding 1x1; input 8x96x112; bias; fuse relu; dtype f32; compute f32x3; layout nchw
// forward for sm_90a. Template mma_columns: a block makes 256 pixels' products with 32 of 32 columns; 16 taps; 123.0 KiB shared.
// Launch
//   sizes: batch 8, in_height 96, in_width 112; out_height 192, out_width 224
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 688128 elements, written, 16-byte aligned
//     shape (N 8, Cout 2, H 192, W 224), contiguous
//   tensor x: 55050240 elements, read, 16-byte aligned
//     shape (N 8, Cin 640, H 96, W 112), contiguous
//   tensor weight: 20480 elements, read, 4-byte aligned
//     shape (Cin 640, Cout 2, KH 4, KW 4), contiguous
//   tensor bias: 2 elements, read, 4-byte aligned
//     shape (Cout 2), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 163840 bytes, a packed copy of the weights; kept for later calls
//   region products: 11010048 bytes, what each pixel gives each tap
//   kernel convtgen_mma_columns_forward_9f55d32b3868e94d_pack
//     arguments const float* weight, unsigned char* packed
//     grid 40; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_columns_forward_9f55d32b3868e94d
//     arguments const float* x, const unsigned char* packed, float* products
//     grid 336; block 256; shared 125952
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 125952)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 125952)
//   kernel convtgen_mma_columns_forward_9f55d32b3868e94d_add
//     arguments const float* products, const float* bias, float* y, int batch
//     grid 2688; block 256; shared 0

namespace convtgen_mma_columns_forward_9f55d32b3868e94d_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kAdders = 256;   // threads of a block that adds columns to outputs
constexpr int kPixels = 256;   // of a block
constexpr int kKBlocks = 20;
constexpr int kRowPitch = 264;  // in words
constexpr int kRowUnits = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 33792;
constexpr int kFragmentBytes = 512;
constexpr int kStepBytes = 2048;
constexpr int kKBlockWeightBytes = 8192;
constexpr int kStageBytes = 41984;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);

#endif

// ---- Elements ----

// A value as the sum of two that products of tf32 read: the 11 high bits, and the rest, rounded to as many. Products
// ignore the 13 low bits of a word. An infinity is infinite in `high`, a NaN is NaN.
struct Split {
  unsigned int high;
  unsigned int low;
};

__device__ __forceinline__ Split split(float value) {
  const unsigned int high = __float_as_uint(value) & 0xffffe000u;
  return {high, __float_as_uint(value - __uint_as_float(high)) + 4096};
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// ---- Packing ----

// Packs the weights as blocks take them: for each tile of columns and k-block, by k-steps, eight columns and lanes. A
// thread packs what a lane holds of a k-step and eight columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_columns_forward_9f55d32b3868e94d_pack(const float* __restrict__ weight,
                                                       unsigned char* __restrict__ packed) {
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  const int lane = static_cast<int>(i % 32);
  const int eight = static_cast<int>(i / 32 % 4);
  const int k_step = static_cast<int>(i / 128 % 80);
  const int n_tile = static_cast<int>(i / 10240);
  const int column = n_tile * 32 + eight * 8 + lane / 4;
  const int ci = k_step * 8 + lane % 4;
  const Split first = split(weight[(static_cast<long long>(ci) * 2 + column / 16) * 16 + column % 16]);
  const Split next = split(weight[(static_cast<long long>(ci + 4) * 2 + column / 16) * 16 + column % 16]);
  reinterpret_cast<uint4*>(packed)[i] = make_uint4(first.high, next.high, first.low, next.low);
}

// ---- Staging ----

// What a thread copies of each stage: a unit of a channel's row, and the same of channels at a distance.
struct Place {
  const float* from;  // in the first k-block
  int channel;
  int to;  // in a stage, in bytes
};

__device__ __forceinline__ void copy_unit(unsigned char* to, const float* from) {
  async_copy_16(to, from, 16);
}

// Issues the thread's copies of a stage.
__device__ __forceinline__ void stage_k_block(unsigned char* to, const Place& place, const unsigned char* weights,
                                              int k_block, int thread) {
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int ci = k_block * 32 + i * 4;
    copy_unit(to + place.to + i * 4224, place.from + ci * 10752ll);
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = (i * kThreads + thread) * 16;
    async_copy_16(to + kInputBytes + at, weights + static_cast<long long>(k_block) * kKBlockWeightBytes + at, 16);
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 pixels and 8 columns.
using Accumulators = float[2][4][4];

// The products of a stage. `pixels` is the lane's first pixel of its first channel, `weights` the lane's.
__device__ __forceinline__ void multiply_stage(Accumulators& high, Accumulators& low, const float* pixels,
                                               const unsigned char* weights) {
  #pragma unroll
  for (int k_step = 0; k_step < 4; ++k_step) {
    unsigned int a[2][4];
    unsigned int rest[2][4];
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Split parts = split(pixels[(k_step * 8 + i / 2 * 4) * kRowPitch + tile * 16 + i % 2 * 8]);
        a[tile][i] = parts.high;
        rest[tile][i] = parts.low;
      }
    }
    #pragma unroll
    for (int eight = 0; eight < 4; ++eight) {
      const uint4 words = *reinterpret_cast<const uint4*>(weights + k_step * kStepBytes + eight * kFragmentBytes);
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int rest_of_b[2] = {words.z, words.w};
      #pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        mma_k8_tf32(high[tile][eight], a[tile], b);
        mma_k8_tf32(low[tile][eight], a[tile], rest_of_b);
        mma_k8_tf32(low[tile][eight], rest[tile], b);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_columns_forward_9f55d32b3868e94d(const float* __restrict__ x, const unsigned char* __restrict__ packed,
                                                  float* __restrict__ products) {
  // Blocks that read the same pixels have adjacent indices.
  const long long image = blockIdx.x / 42;
  const long long first = static_cast<long long>(blockIdx.x % 42) * kPixels;
  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  Place place;
  place.channel = thread / kRowUnits;
  place.to = place.channel * 1056 + thread % kRowUnits * 16;
  const long long own = first + thread % kRowUnits * 4;
  place.from = x + (image * 640 + place.channel) * 10752 + own;
  #pragma unroll 1
  for (int stage = 0; stage < 2; ++stage) {
    if (stage < kKBlocks) {
      stage_k_block(shared + stage * kStageBytes, place, packed, stage, thread);
    }
    async_copy_commit();
  }
  Accumulators totals = {};
  Accumulators low = {};
  const int pixel = thread / 32 * 32 + lane / 4;
  int stage = 0;
  #pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    async_copy_wait(1);
    __syncthreads();  // the stage has come, and all have read the one before it, whose place is that of the newest
    if (k_block + 2 < kKBlocks) {
      stage_k_block(shared + (stage == 0 ? 2 : stage - 1) * kStageBytes, place, packed, k_block + 2, thread);
    }
    async_copy_commit();
    const unsigned char* from = shared + stage * kStageBytes;
    Accumulators high = {};
    multiply_stage(high, low, reinterpret_cast<const float*>(from) + lane % 4 * kRowPitch + pixel,
                   from + kInputBytes + lane * 16);
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        totals[tile][i / 4][i % 4] += high[tile][i / 4][i % 4];
      }
    }
    stage = stage + 1 == 3 ? 0 : stage + 1;
  }
  // Of each column a plane of products. Infinities have no low parts: a total that isn't finite is the result.
  float* to = products + image * 344064;
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const long long at = first + pixel + tile * 16 + i % 4 / 2 * 8;
      if (at < 10752) {
        const float total = totals[tile][i / 4][i % 4];
        to[column * 10752ll + at] = is_finite(total) ? total + low[tile][i / 4][i % 4] : total;
      }
    }
  }
}

// ---- Adding ----

// Every step of the chain in its order.
__device__ __forceinline__ float activate(float value) {
  value = value < 0 ? 0 : value;  // relu
  return value;
}

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = acc + bias;
  return activate(value);
}

// A thread adds the products of an output's taps.
extern "C" __global__ void __launch_bounds__(kAdders)
    convtgen_mma_columns_forward_9f55d32b3868e94d_add(const float* __restrict__ products,
                                                      const float* __restrict__ bias, float* __restrict__ y,
                                                      int batch) {
  const long long i = static_cast<long long>(blockIdx.x) * kAdders + threadIdx.x;
  const long long row = i / 224;
  const long long channel = row / 192;  // of all images
  if (channel < static_cast<long long>(batch) * 2) {
    const int end_w = static_cast<int>(i % 224) + 1;
    const int end_h = static_cast<int>(row % 192) + 1;
    const int co = static_cast<int>(channel % 2);
    const float* from = products + channel * 172032;
    float sum = 0;
    // Those of the output's phase, of taps (0 to 3, 0 to 3).
    for (int kh = end_h % 2; kh < 4; kh += 2) {
      const int iy = (end_h - kh) / 2;
      if (kh <= end_h && iy < 96) {
        for (int kw = end_w % 2; kw < 4; kw += 2) {
          const int ix = (end_w - kw) / 2;
          if (kw <= end_w && ix < 112) {
            sum += from[(kh * 4 + kw) * 10752ll + static_cast<long long>(iy) * 112 + ix];
          }
        }
      }
    }
    y[i] = epilogue(sum, bias[co]);
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

}  // namespace convtgen_mma_columns_forward_9f55d32b3868e94d_source
using convtgen_mma_columns_forward_9f55d32b3868e94d_source::convtgen_mma_columns_forward_9f55d32b3868e94d_pack;
using convtgen_mma_columns_forward_9f55d32b3868e94d_source::convtgen_mma_columns_forward_9f55d32b3868e94d;
using convtgen_mma_columns_forward_9f55d32b3868e94d_source::convtgen_mma_columns_forward_9f55d32b3868e94d_add;
