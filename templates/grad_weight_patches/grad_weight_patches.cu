// Gradient of the weights on tensor cores (wgmma), 16 bits, channels last, of layers whose kernel is as large as their
// strides: each position of the input has a patch of grad_y of its own.
//
// So the gradient is one product over positions: its rows are taps by output channels, its columns input channels. A
// row of a patch is contiguous in memory, and patches of a row of positions are as far apart. Tensor copies bring both
// operands as they lie, MN-major. Positions are cut into slices. A block computes some channels and taps over one
// slice; a last kernel adds the slices in a fixed order, so that results have the same bits in each call. Two warps of
// a block sum up the same stages of grad_y for the gradient of the bias.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/grid.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"

// ---- Tiles and stages ----
#include "layout.h"

#include "grad_weight/pipeline.h"

#include "grad_weight/elements.h"

// ---- Producer ----
#include "copies.h"

// ---- Products ----

// Issues the products of a stage, of a warpgroup that has so many tiles of 64 rows.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[kOwnTiles], const int tiles,
                                               const unsigned char* stage, int warpgroup) {
  const unsigned long long rows =
      wgmma_descriptor(stage + (kInputBytes + warpgroup * kProductBytes), kRowBoxBytes, 8 * kRowSwizzle, kRowSwizzle);
  const unsigned long long columns = wgmma_descriptor(stage, kInputBoxBytes, 8 * kInSwizzle, kInSwizzle);
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  wgmma_fence();
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_ss(P::type, kWgmmaMajorMn, kWgmmaMajorMn, acc[tile],
               wgmma_descriptor_move(
                   rows, tile * (P::consumer_groups * kProductBytes) + step * (kInstructionK * kRowSwizzle)),
               wgmma_descriptor_move(columns, step * (kInstructionK * kInSwizzle)), 1);
    }
  }
  wgmma_commit();
}

using WeightIndex = long long;
#include "grad_weight/epilogue.h"

// ---- Consumers ----

// Multiplies so many stages. Without promotions a stage is released when the products of the next one are issued.
__device__ __forceinline__ void consume_stages(Accumulators (&acc)[kOwnTiles], float* totals,
                                               const unsigned char* shared, unsigned long long* full,
                                               unsigned long long* empty, int count, int warpgroup, int lane) {
  const bool has_all_tiles = warpgroup < kMTiles - (kOwnTiles - 1) * P::consumer_groups;  // others have one less
  pin(acc);
  for (int consumed = 0; consumed < count; ++consumed) {
    const int stage = stage_of(consumed);
    mbarrier_wait(&full[stage], full_parity(consumed));
    if (kEvenTiles || has_all_tiles) {
      multiply_stage(acc, kOwnTiles, shared + stage * kStageBytes, warpgroup);
    } else if constexpr (kOwnTiles > 1) {
      multiply_stage(acc, kOwnTiles - 1, shared + stage * kStageBytes, warpgroup);
    }
    if constexpr (P::promote_stages > 0) {
      wgmma_wait(0);
      pin(acc);
      release_stage(&empty[stage], lane);
      if ((consumed + 1) % P::promote_stages == 0) {
        promote(acc, totals, consumed < P::promote_stages);
      }
    } else {
      wgmma_wait(1);
      if (consumed > 0) {
        release_stage(&empty[stage_of(consumed - 1)], lane);
      }
    }
  }
  wgmma_wait(0);
  pin(acc);
  if (P::promote_stages > 0 && count >= P::promote_stages) {
    add_totals(acc, totals);
  }
}

// ---- Kernels ----
#include "row_sums.h"

constexpr bool kAddWaits = true;

#include "grad_weight/add_parts.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    grad_weight_patches(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                        float* __restrict__ partial, float* __restrict__ partial_bias, float* totals,
                        Element* __restrict__ grad_weight, int batch, int depth, int height, int width) {
  const int block = blockIdx.x;
  Target target = target_of(block);
  const int kd = P::kernel_d == 1 ? 0 : block / kPlaneBlocks % P::kernel_d;
  const Tiles tiles = tiles_of(batch, depth, height, width);
  const long long first_tile = first_tile_of(target.slice, tiles.all);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles.all) - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if (threadIdx.x == 0) {
    init_stages(full, empty, 1, kConsumers / 32 + (P::has_bias ? kSumWarps : 0));
    fence_mbarrier_init();
  }
  if (kHasTails) {
    zero_tails(shared);
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  if (warp >= kConsumers / 32) {
    if (warp == kConsumers / 32 && elect_one()) {
      Place place = place_of(first_tile, tiles);
      for (int issued = 0; issued < count; ++issued) {
        const int stage = stage_of(issued);
        mbarrier_wait(&empty[stage], empty_parity(issued));
        copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], target, kd, place);
        move_on(place, tiles);
      }
    }
    if (P::has_bias && warp >= kFirstSumWarp) {
      const int part = (target.slice * P::kernel_d + kd) * (kInTiles * kTapGroups) + block % (kInTiles * kTapGroups);
      sum_rows(shared, full, empty, partial_bias, target, count, target.first_in / P::block_in, part,
               threadIdx.x - kFirstSumWarp * 32);
    }
  } else {
    const int warpgroup = warp / 4;
    float* own_totals = totals + block * kTotals + threadIdx.x;
    Accumulators acc[kOwnTiles] = {};
    consume_stages(acc, own_totals, shared, full, empty, count, warpgroup, lane);
    if (P::has_bias) {
      named_barrier_sync(kSummedBarrier, kConsumers + kSumWarps * 32);
    }
    target.first_kh += kd * P::kernel_h;  // the weights' rows of all planes of taps
    store_block(acc, reinterpret_cast<float*>(shared), target, partial, grad_weight, false, warpgroup, threadIdx.x);
  }
}
