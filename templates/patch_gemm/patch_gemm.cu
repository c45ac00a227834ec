// Forward transposed convolution on tensor cores (wgmma), 16 bits, channels last, whose kernel is as large as its
// strides: each pixel of the input makes a patch of outputs of its own, and nothing is added up.
//
// So all pixels of all images are rows of one matrix product: M is pixels, N taps by output channels, K input channels.
// Tensor copies bring input and weights as they lie in memory. A block keeps the weights of some output channels and
// goes on to other pixels; it arranges the weights' columns once, so that threads have adjacent channels of outputs and
// store them from registers. Two warpgroups have tiles in turn: one stores its outputs while the other multiplies.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Stages ----
#include "device/ring.h"

// The barriers of a k-block's weights, as they come and as they are arranged.
struct WeightBarriers {
  unsigned long long* landed;
  unsigned long long* arranged;
};

// ---- Producer ----

// Issues the copies of a k-block's weights, of the block's output channels.
__device__ __forceinline__ void copy_weights(unsigned char* shared, unsigned long long* landed,
                                             const TensorMap& weight_map, int first_out, int k_block) {
  unsigned char* to = shared + k_block * kWeightBytes;
  unsigned long long* barrier = &landed[k_block];
  mbarrier_arrive_expect(barrier, kWeightBytes);
  if (kTurned) {
    tensor_load_3d(to, weight_map, barrier, first_out, k_block * P::block_k, 0);
  } else {
#pragma unroll
    for (int box = 0; box < kWeightBoxes; ++box) {
      tensor_load_2d(to + box * kWeightBoxBytes, weight_map, barrier, first_out * kTaps + box * kBoxColumns,
                     k_block * P::block_k);
    }
  }
}

// Issues all copies of a block, by one thread: of its tiles' pixels, and with those of the first tile the weights.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, unsigned long long* landed, const TensorMap& x_map,
                                           const TensorMap& weight_map, int first_tile, int next_tile, int tiles,
                                           int first_out) {
  unsigned int number = 0;  // of the block's k-blocks
#pragma unroll 1
  for (int tile = first_tile; tile < tiles; tile += next_tile) {
#pragma unroll 1
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      const unsigned int stage = number % P::stages;
      unsigned long long* barrier = &pipeline.full[stage];
      mbarrier_wait(&pipeline.empty[stage], number / P::stages % 2 ^ 1);
      mbarrier_arrive_expect(barrier, kStageBytes);
      tensor_load_2d(pipeline.shared + kStagesOffset + stage * kStageBytes, x_map, barrier, k_block * P::block_k,
                     tile * kTilePixels);
      if (tile == first_tile) {
        copy_weights(pipeline.shared, landed, weight_map, first_out, k_block);
      }
      ++number;
    }
  }
}

// ---- Weights ----
#include "weights.h"

// Arranges the block's weights as they come, by a warpgroup.
__device__ __forceinline__ void arrange_all_weights(unsigned char* shared, const WeightBarriers& barriers) {
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    mbarrier_wait(&barriers.landed[k_block], 0);
    arrange_weights(shared + k_block * kWeightBytes);
    warp_arrive(&barriers.arranged[k_block], true);
  }
}

// ---- Epilogue ----
#include "epilogue.h"

// ---- Products ----

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Issues the products of a k-block.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* pixels,
                                                 const unsigned char* weights, int accumulate) {
  const unsigned long long a = wgmma_descriptor(pixels, 0, 8 * kPixelBytes, kPixelBytes);
  const unsigned long long b = wgmma_descriptor(weights, kWeightBoxBytes, 8 * kRowBytes, kRowBytes);
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  wgmma_fence();
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorMn, acc, wgmma_descriptor_move(a, k_step * (kInstructionK * kBytes)),
             wgmma_descriptor_move(b, k_step * (kInstructionK * kRowBytes)), k_step > 0 ? 1 : accumulate);
  }
  wgmma_commit();
}

// The products of a tile, whose first k-block is of this number among the block's. The k-block before is read when only
// one group of products is in flight: its stage is released.
__device__ __forceinline__ void multiply_tile(Accumulators& acc, const Pipeline& pipeline, unsigned long long* arranged,
                                              unsigned int number) {
  pin(acc);
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    const unsigned int stage = number % P::stages;
    mbarrier_wait(&pipeline.full[stage], number / P::stages % 2);
    mbarrier_wait(&arranged[k_block], 0);
    multiply_k_block(acc, pipeline.shared + kStagesOffset + stage * kStageBytes,
                     pipeline.shared + k_block * kWeightBytes, k_block > 0 ? 1 : 0);
    if (k_block > 0) {
      wgmma_wait(1);
      warp_arrive(&pipeline.empty[(number - 1) % P::stages], true);
    }
    ++number;
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    patch_gemm(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap weight_map,
               const Element* __restrict__ bias, Element* __restrict__ y, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int pixels = batch * in_d * in_h * in_w;  // of all images
  const int tiles = (pixels - 1) / kTilePixels + 1;
  // The block's output channels. Blocks that read the same pixels run together.
  const int first_out = blockIdx.x % kNTiles * P::block_c;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + P::stages;
  unsigned long long* landed = pipeline.empty + P::stages;
  const WeightBarriers of_weights = {landed, landed + kKBlocks};
  unsigned long long* turn = landed + 2 * kKBlocks;  // of a warpgroup, to multiply
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    tensor_prefetch(weight_map);
    init_stages(pipeline.full, pipeline.empty, 1, 4);
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      mbarrier_init(&of_weights.landed[k_block], 1);
      mbarrier_init(&of_weights.arranged[k_block], 4);
    }
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup) {
      mbarrier_init(&turn[warpgroup], 4);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (is_producer(warp)) {
    setmaxnreg_decrease(kProducerRegisters);
    if (warp == kConsumers / 32 && elect_one()) {
      copy_tiles(pipeline, landed, x_map, weight_map, first_tile, next_tile, tiles, first_out);
    }
  } else {
    setmaxnreg_increase(kConsumerRegisters);
    const int warpgroup = warp / 4;
    Biases biases;
    load_biases(biases, bias, first_out, threadIdx.x % 4);
    if (warpgroup == 1) {  // whose turn comes later
      arrange_all_weights(pipeline.shared, of_weights);
    }
    unsigned int number = warpgroup;  // of the block's tiles
#pragma unroll 1
    for (int tile = first_tile + warpgroup * next_tile; tile < tiles; tile += kWarpgroups * next_tile) {
      // The first tile's waits end at once: a new barrier's phase before is complete.
      mbarrier_wait(&turn[warpgroup], (number - 1) / kWarpgroups % 2);
      Accumulators acc = {};
      multiply_tile(acc, pipeline, of_weights.arranged, number * kKBlocks);
      warp_arrive(&turn[1 - warpgroup], true);
      wgmma_wait(0);
      pin(acc);
      warp_arrive(&pipeline.empty[(number * kKBlocks + (kKBlocks - 1)) % P::stages], true);
      store_outputs(y, acc, biases, tile * kTilePixels, pixels, first_out, in_h, in_w, out_h, out_w);
      number += kWarpgroups;
    }
  }
}
