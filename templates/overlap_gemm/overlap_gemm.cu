// Forward transposed convolution on tensor cores (wgmma), 16 bits, channels last: taps as columns of one product, then
// overlap-add.
//
// M is pixels of the input, N taps by output channels, K input channels. So no pixel is read twice, and the weights are
// the B operand as they lie in memory: tensor copies bring both. The products go to shared memory, where each output
// adds up those of its taps in a fixed order. A tile has whole images where these are small; else its rows or columns
// have a halo, whose products are made twice.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Producer ----

// Issues the copies of a stage: the tile's pixels and weights.
__device__ __forceinline__ void copy_stage(unsigned char* shared, const TensorMap& x_map, const TensorMap& weight_map,
                                           unsigned long long* full, int image, int row, int column, int channel,
                                           int k_block) {
  unsigned char* to = shared + k_block % P::stages * kStageBytes;
  unsigned long long* barrier = &full[k_block % P::stages];
  const int first = k_block * P::block_k;  // input channel
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  tensor_load_4d(to, x_map, barrier, first, column, row, image);
  if (P::copied_weights && kTapBoxes) {
    tensor_load_3d(to + kInputBytes, weight_map, barrier, channel, first, 0);
  } else if (P::copied_weights) {
#pragma unroll
    for (int box = 0; box < kWeightBoxes; ++box) {
      tensor_load_2d(to + kInputBytes + box * kWeightBoxBytes, weight_map, barrier, channel * kTaps + box * kBoxColumns,
                     first);
    }
  }
}

// Puts all weights, which follow one another, to shared memory as copies would lie there, with zeros behind the last
// input channel and the last column.
__device__ __forceinline__ void load_weights(unsigned char* to, const Element* __restrict__ weight) {
  if (P::in_channels % P::block_k != 0 || kColumns % 8 != 0) {
    for (int i = threadIdx.x; i < kKBlocks * kWeightBytes / 16; i += kThreads) {
      *reinterpret_cast<uint4*>(to + i * 16) = make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
  }
#pragma unroll 4
  for (unsigned int i = threadIdx.x; i < P::in_channels * kColumns / 8; i += kThreads) {
    const uint4 vector = load_constant_16(weight + i * 8);
    const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (unsigned int v = 0; v < 8; ++v) {
      const unsigned int n = (i * 8 + v) % kColumns;
      const unsigned int ci = (i * 8 + v) / kColumns;
      const unsigned int place =
          n / kBoxColumns * kWeightBoxBytes + ci % P::block_k * kRowBytes + n % kBoxColumns * kBytes;
      *reinterpret_cast<Element*>(to + ci / P::block_k * kWeightBytes + (place ^ (place >> 3 & 112))) =
          static_cast<Element>(words[v / 2] >> v % 2 * 16);
    }
  }
}

// ---- Products ----

using Accumulators = float[P::thread_tiles][kInstructionN / 2];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
#pragma unroll
  for (int i = 0; i < P::thread_tiles * (kInstructionN / 2); ++i) {
    wgmma_pin(acc[i / (kInstructionN / 2)][i % (kInstructionN / 2)]);
  }
}

// Issues the products of a stage of a warpgroup, and waits for those of the stage before if it is copied to again.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* input,
                                               const unsigned char* weights, int warpgroup, int accumulate) {
  const unsigned long long a = wgmma_descriptor(input + warpgroup * (64 * kSwizzle), 0, 8 * kSwizzle, kSwizzle);
  const unsigned long long b = kWeightSwizzle > 0
                                   ? wgmma_descriptor(weights, kWeightBoxBytes, 8 * kRowBytes, kWeightSwizzle)
                                   : wgmma_descriptor(weights, 8 * kRowBytes, kWeightBoxBytes, 0);
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  wgmma_fence();
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
#pragma unroll
    for (int tile = 0; tile < P::thread_tiles; ++tile) {
      wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorMn, acc[tile],
               wgmma_descriptor_move(a, tile * (64 * P::warpgroups * kSwizzle) + k_step * 32),
               wgmma_descriptor_move(b, k_step * (kInstructionK * kRowBytes)), k_step > 0 ? 1 : accumulate);
    }
  }
  wgmma_commit();
  if (kUsesAgain) {
    wgmma_wait(1);
  }
}

// ---- Epilogue ----
#include "epilogue.h"

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    overlap_gemm(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap weight_map,
                 const Element* __restrict__ weight, const Element* __restrict__ bias, Element* __restrict__ y,
                 int batch, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_h = kWholeH ? 1 : (in_h + (kBeyondH - kFirstH + kStepH - 1)) / kStepH;
  const int tiles_w = kWholeW ? 1 : (in_w + (kBeyondW - kFirstW + kStepW - 1)) / kStepW;
  // Blocks that have adjacent numbers have the same pixels.
  const int place = blockIdx.x / kNTiles;
  const int place_w = place % tiles_w;
  const int place_h = place / tiles_w % tiles_h;
  Tile tile;
  tile.image = place / tiles_w / tiles_h * P::tile_n;
  tile.channel = blockIdx.x % kNTiles * P::block_c;
  tile.out_row = kWholeH ? 0 : (place_h * kStepH + kFirstH) * P::stride_h - P::padding_h;
  tile.out_column = kWholeW ? 0 : (place_w * kStepW + kFirstW) * P::stride_w - P::padding_w;
  tile.row = kWholeH ? 0 : place_h * kStepH + (kFirstH - (kReachH - 1));
  tile.column = kWholeW ? 0 : place_w * kStepW + (kFirstW - (kReachW - 1));

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    if (P::copied_weights) {
      tensor_prefetch(weight_map);
    }
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&full[stage], 1);
      if (kUsesAgain) {
        mbarrier_init(&empty[stage], kThreads / 32);
      }
    }
    fence_mbarrier_init();
    for (int k_block = 0; k_block < (kUsesAgain ? P::stages : kKBlocks); ++k_block) {
      copy_stage(shared, x_map, weight_map, full, tile.image, tile.row, tile.column, tile.channel, k_block);
    }
  }
  if (kPixels < kBlockM) {
    // Rows behind the tile's pixels, which no copy brings.
    constexpr int kTail = (kBlockM - kPixels) * (kSwizzle / 16);
    for (int i = threadIdx.x; i < P::stages * kTail; i += kThreads) {
      *reinterpret_cast<uint4*>(shared + i / kTail * kStageBytes + kCopiedInputBytes + i % kTail * 16) =
          make_uint4(0, 0, 0, 0);
    }
    if (P::copied_weights) {
      fence_proxy_async();
    }
  }
  if (!P::copied_weights) {
    load_weights(shared + kResidentOffset, weight);
    fence_proxy_async();
  }
  __syncthreads();

  const int thread = threadIdx.x;
  const int lane = thread % 32;
  const int warpgroup = __shfl_sync(0xffffffffu, thread / 128, 0);
  Accumulators acc = {};
  pin(acc);
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    if (kUsesAgain) {
      // A stage is copied again some stages after this warp has read it: other warps may lag behind it.
      const int next = k_block - kIssueLag + P::stages;
      if (thread == 0 && k_block >= kIssueLag && next < kKBlocks) {
        mbarrier_wait(&empty[next % P::stages], (next / P::stages - 1) % 2);
        copy_stage(shared, x_map, weight_map, full, tile.image, tile.row, tile.column, tile.channel, next);
      }
    }
    __syncwarp();
    mbarrier_wait(&full[k_block % P::stages], k_block / P::stages % 2);
    const unsigned char* stage = shared + k_block % P::stages * kStageBytes;
    multiply_stage(acc, stage,
                   P::copied_weights ? stage + kInputBytes : shared + kResidentOffset + k_block * kWeightBytes,
                   warpgroup, k_block > 0 ? 1 : 0);
    if (kUsesAgain && k_block > 0 && lane == 0) {
      mbarrier_arrive(&empty[(k_block - 1) % P::stages]);
    }
  }
  wgmma_wait(0);
  pin(acc);
  __syncthreads();  // all warpgroups have read the stages
  float* products = reinterpret_cast<float*>(shared);
  put_products(products, acc, warpgroup, thread);
  __syncthreads();
  if (kOfPixel) {
    store_pixels(y, products, bias, tile, batch, out_h, out_w);
  } else {
    store_rows(y, products, bias, tile, batch, out_h, out_w);
  }
}
