// Forward transposed convolution on tensor cores (wgmma), 16 bits: taps as columns of one product, then overlap-add.
//
// M is pixels of the input, N taps by output channels, K input channels. So no pixel is read twice, and input and
// weights are operands as they lie in memory: tensor copies bring both. The products go to shared memory, where each
// output adds up those of its taps in a fixed order. A tile has whole images where these are small; else its rows or
// columns have a halo, whose products are made twice. Small weights whose rows are no whole vectors come through
// registers, once for all tiles of a block.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/ring.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Producer ----

// Issues the copies of a k-block to a stage: the tile's pixels and weights.
__device__ __forceinline__ void copy_stage(unsigned char* shared, const TensorMap& x_map, const TensorMap& weight_map,
                                           unsigned long long* full, int image, int row, int column, int channel,
                                           int k_block, int stage) {
  unsigned char* to = shared + stage * kStageBytes;
  unsigned long long* barrier = &full[stage];
  const int first = k_block * P::block_k;  // input channel
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  if (P::channels_last) {
    tensor_load_4d(to, x_map, barrier, first, column, row, image);
  } else {
    tensor_load_4d(to, x_map, barrier, 0, first, row * P::width / kRowPixels, image);
  }
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

#include "forward_gemm/resident_weights.h"
#include "forward_gemm/stage_tails.h"

// ---- Products ----

#include "device/accumulators.h"

// Issues the products of a stage of a warpgroup, and waits for those of the stage before if it is copied to again.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* input,
                                               const unsigned char* weights, int warpgroup, int accumulate) {
  const unsigned char* rows = input + warpgroup * (64 * kPixelBytes);
  const unsigned long long a = P::channels_last ? wgmma_descriptor(rows, 0, 8 * kInputRowBytes, kInputSwizzle)
                               : kInputSwizzle > 0
                                   ? wgmma_descriptor(rows, kInputBoxBytes, 8 * kInputRowBytes, kInputSwizzle)
                                   : wgmma_descriptor(rows, 8 * kInputRowBytes, kInputBoxBytes, 0);
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
    for (int tile = 0; tile < kMTiles; ++tile) {
      wgmma_ss(P::type, kInputMajor, kWgmmaMajorMn, acc[tile],
               wgmma_descriptor_move(a, tile * (64 * P::warpgroups * kPixelBytes) + k_step * kInputStep),
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
#include "device/tiles.h"

// Tiles that have adjacent numbers have the same pixels.
__device__ __forceinline__ Tile tile_at(int index, const CallSizes& sizes) {
  const int place = index / kNTiles;
  const int place_w = column_of_tile(place, sizes);
  const int place_h = row_of_tile(place, sizes);
  Tile tile;
  tile.image = image_of_tile(place, sizes) * P::tile_n;
  tile.channel = index % kNTiles * P::block_c;
  tile.out_row = kWholeH ? 0 : (place_h * kStepH + kFirstH) * P::stride_h - P::padding_h;
  tile.out_column = kWholeW ? 0 : (place_w * kStepW + kFirstW) * P::stride_w - P::padding_w;
  tile.row = kWholeH ? 0 : place_h * kStepH + (kFirstH - (kReachH - 1));
  tile.column = kWholeW ? 0 : place_w * kStepW + (kFirstW - (kReachW - 1));
  return tile;
}

// The first stage of a block's tile of this number.
__device__ __forceinline__ int first_stage(int number) {
  return kLoops ? number % kTilesAhead * kKBlocks : 0;
}

// Issues the first copies of a tile, by one thread.
__device__ __forceinline__ void begin_tile(const Pipeline& pipeline, const TensorMap& x_map,
                                           const TensorMap& weight_map, const Tile& tile, int number) {
  for (int k_block = 0; k_block < (kUsesAgain ? P::stages : kKBlocks); ++k_block) {
    copy_stage(pipeline.shared, x_map, weight_map, pipeline.full, tile.image, tile.row, tile.column, tile.channel,
               k_block, first_stage(number) + k_block);
  }
}

// The products of a tile whose first copies are issued: the block's tile of this number.
__device__ __forceinline__ void multiply_tile(Accumulators& acc, const Pipeline& pipeline, const TensorMap& x_map,
                                              const TensorMap& weight_map, const Tile& tile, int number) {
  unsigned char* shared = pipeline.shared;
  const int thread = threadIdx.x;
  const int warpgroup = warp_uniform(thread / 128);
  pin(acc);
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    if (kUsesAgain) {
      // A stage is copied again some stages after this warp has read it: other warps may be slower.
      const int next = k_block - kIssueLag + P::stages;
      if (thread == 0 && k_block >= kIssueLag && next < kKBlocks) {
        mbarrier_wait(&pipeline.empty[stage_of(next)], refill_parity(next));
        copy_stage(shared, x_map, weight_map, pipeline.full, tile.image, tile.row, tile.column, tile.channel, next,
                   stage_of(next));
      }
    }
    __syncwarp();
    const int of_stage = kLoops ? first_stage(number) + k_block : stage_of(k_block);
    mbarrier_wait(&pipeline.full[of_stage], kLoops ? number / kTilesAhead % 2 : full_parity(k_block));
    const unsigned char* stage = shared + of_stage * kStageBytes;
    multiply_stage(acc, stage,
                   P::copied_weights ? stage + kInputBytes : shared + kResidentOffset + k_block * kWeightBytes,
                   warpgroup, k_block > 0 ? 1 : 0);
    if (kUsesAgain && k_block > 0 && thread % 32 == 0) {
      mbarrier_arrive(&pipeline.empty[stage_of(k_block - 1)]);
    }
  }
  wgmma_wait(0);
  pin(acc);
}

// Makes the outputs of a tile of its products.
__device__ __forceinline__ void store_tile(const Accumulators& acc, unsigned char* shared, const Tile& tile,
                                           const Element* __restrict__ bias, Element* __restrict__ y,
                                           const CallSizes& sizes) {
  const int thread = threadIdx.x;
  float* products = reinterpret_cast<float*>(shared + kProductsOffset);
  put_products(products, acc, warp_uniform(thread / 128), thread);
  __syncthreads();
  if (!P::channels_last) {
    store_planes(y, products, bias, tile, sizes.batch, sizes.out_h, sizes.out_w);
  } else if (kOfPixel) {
    store_pixels(y, products, bias, tile, sizes.batch, sizes.out_h, sizes.out_w);
  } else {
    store_rows(y, products, bias, tile, sizes.batch, sizes.out_h, sizes.out_w);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    overlap_gemm(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap weight_map,
                 const Element* __restrict__ weight, const Element* __restrict__ bias, Element* __restrict__ y,
                 int batch, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  CallSizes sizes;
  sizes.batch = batch;
  sizes.out_h = output_rows(in_h);
  sizes.out_w = output_columns(in_w);
  sizes.tiles_h = kWholeH ? 1 : (in_h + (kBeyondH - kFirstH + kStepH - 1)) / kStepH;
  sizes.tiles_w = kWholeW ? 1 : (in_w + (kBeyondW - kFirstW + kStepW - 1)) / kStepW;
  const int tiles = ((batch - 1) / P::tile_n + 1) * sizes.tiles_h * sizes.tiles_w;  // of all pixels

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + P::stages;
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    if (P::copied_weights) {
      tensor_prefetch(weight_map);
    }
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&pipeline.full[stage], 1);
      if (kUsesAgain) {
        mbarrier_init(&pipeline.empty[stage], kThreads / 32);
      }
    }
    fence_mbarrier_init();
#pragma unroll 1
    for (int number = 0; number < kTilesAhead; ++number) {
      const unsigned int index = blockIdx.x + number * gridDim.x;
      if (kTilesAhead == 1 || index < static_cast<unsigned int>(tiles)) {
        begin_tile(pipeline, x_map, weight_map, tile_at(static_cast<int>(index), sizes), number);
      }
    }
  }
  if (kPixels < kBlockM) {
    zero_tails(pipeline.shared, kCopiedInputBytes, (kBlockM - kPixels) * kPixelBytes, kThreads);
    if (P::copied_weights) {
      fence_proxy_async();
    }
  }
  if (!P::copied_weights) {
    load_weights(pipeline.shared + kResidentOffset, weight);
  }
  __syncthreads();

  if (kLoops) {
    int number = 0;
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      const Tile tile = tile_at(index, sizes);
      Accumulators acc = {};
      multiply_tile(acc, pipeline, x_map, weight_map, tile, number);
      __syncthreads();  // all warpgroups have read the stages, and the products of the tile before
      const unsigned int next = index + kTilesAhead * gridDim.x;
      if (threadIdx.x == 0 && next < static_cast<unsigned int>(tiles)) {
        begin_tile(pipeline, x_map, weight_map, tile_at(static_cast<int>(next), sizes), number + kTilesAhead);
      }
      store_tile(acc, pipeline.shared, tile, bias, y, sizes);
      ++number;
    }
  } else {
    const Tile tile = tile_at(blockIdx.x, sizes);
    Accumulators acc = {};
    multiply_tile(acc, pipeline, x_map, weight_map, tile, 0);
    __syncthreads();  // all warpgroups have read the stages
    store_tile(acc, pipeline.shared, tile, bias, y, sizes);
  }
}
