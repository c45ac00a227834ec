// Gradient of the weights on tensor cores (wgmma), 16 bits or split values: products over positions, whose channels are
// copied as they lie with channels last. Small tensors of NCHW are brought to channels last before.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are output channels by taps, its columns input
// channels. Tensor copies bring positions of x, which are MN-major B operands, and the planes of grad_y that the taps
// reach, with zeros where the images end. A tap moves the address from which consumers load the rows' A fragments by
// whole positions. Positions are cut into slices. A block computes some channels and taps over one slice; a last
// kernel adds the slices in their order, so that results have the same bits in each call.
//
// fp32 values may be split (f32x3), for results as accurate as fp32: each value of x and grad_y, with a scale for its
// channel that is a power of two, is a high and a low part in f16. Of two values three products are made: of both high
// parts, and of each high with the other low part. Accumulators of these are promoted to fp32 totals. A kernel before
// the products finds the largest magnitude of each channel. A second one writes both parts of all values with channels
// last. Where these are many, images are split and multiplied in chunks: a block adds what the blocks of the chunks
// before have.
// Of values down to 2^-28 of their channel's largest 22 bits are kept; of those below, at most 2^-50 of that largest is
// lost. An infinity or a NaN makes all sums that it is a term of infinite or NaN, as the definition has them, except
// that an infinity times a value below 2^-39 of its channel's largest, or times the zeros around an image, makes NaN.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/split.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"

// ---- Tiles and stages ----
#include "layout.h"

#include "grad_weight/scales.h"

#include "grad_weight/pipeline.h"

#include "grad_weight/multiply.h"

#include "grad_weight/multiply_parts.h"

#include "grad_weight/totals.h"

#include "grad_weight/elements.h"

using WeightIndex = long long;
#include "grad_weight/epilogue.h"

#include "grad_weight/consume.h"

#include "grad_weight/consume_parts.h"

// ---- Producer ----
#include "grad_weight/box_copies.h"

// ---- Kernels ----
#include "copies.h"

#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    grad_weight_pixels(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                       float* __restrict__ partial, float* totals, const float* __restrict__ maxima,
                       Element* __restrict__ grad_weight, int batch, int height, int width, int first_image) {
  const int block = blockIdx.x;
  const Target target = target_of(block);
  const Tiles tiles = tiles_of(kSplit ? P::chunk_images : batch, height, width);
  const long long first_tile = first_tile_of(target.slice, tiles.all);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles.all) - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if constexpr (kSplit) {
    float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
    const Source source = source_of(target, tiles, first_tile);
    if (threadIdx.x == 0) {
      init_stages(full, empty, 1, kConsumers / 32);
      fence_mbarrier_init();
      copy_first(shared, x_map, grad_y_map, full, source, count);
    }
    if (P::flat) {
      zero_stage_tails(shared);
    }
    find_scales(scales, maxima, target.group * kGroupIn + target.first_in, kGroupIn - target.first_in,
                target.group * kGroupOut + target.first_out, kGroupOut - target.first_out, threadIdx.x);
    __syncthreads();

    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warpgroup = warp_uniform(thread / 128);
    Place places[kOwnTiles];
#pragma unroll
    for (int tile = 0; tile < kOwnTiles; ++tile) {
      places[tile] = place_of_rows(rows_of_tile(tile, warpgroup, thread), lane);
    }
    Accumulators high[kOwnTiles] = {};
    Accumulators low[kOwnTiles] = {};
    Accumulators sums[kOwnTiles] = {};  // totals, unless these are in shared memory
    float4* own_totals = reinterpret_cast<float4*>(shared + kTotalsOffset) + thread;
    if (P::shared_totals) {
      clear_totals(own_totals);
    }
    for (int consumed = 0; consumed < count; ++consumed) {
      if (thread == 0) {
        copy_next(shared, x_map, grad_y_map, full, empty, source, count, consumed);
      }
      __syncwarp();
      consume_parts(sums, own_totals, high, low, places, shared, full, empty, consumed, warpgroup, lane);
    }
    store_parts(sums, own_totals, high, low, scales, reinterpret_cast<float*>(shared), target, partial, grad_weight,
                P::chunks > 1 && first_image > 0, warpgroup, thread);
  } else {
    if (threadIdx.x == 0) {
      init_stages(full, empty, 1, kConsumers / 32);
      fence_mbarrier_init();
    }
    if (P::flat) {
      zero_stage_tails(shared);
    }
    __syncthreads();

    const Source source = source_of(target, tiles, first_tile);
    if (threadIdx.x == 0) {
      copy_first(shared, x_map, grad_y_map, full, source, count);
    }

    const int thread = threadIdx.x;
    const int warpgroup = warp_uniform(thread / 128);
    Place places[kOwnTiles];
#pragma unroll
    for (int tile = 0; tile < kOwnTiles; ++tile) {
      const int rows = rows_of_tile(tile, warpgroup, thread);
      places[tile] = place_of_rows(rows, thread % 32);
    }
    float* own_totals = totals + block * kTotals + thread;
    Accumulators acc[kOwnTiles] = {};
    RowSums row_sums = {};
    for (int consumed = 0; consumed < count; ++consumed) {
      if (thread == 0) {
        copy_next(shared, x_map, grad_y_map, full, empty, source, count, consumed);
      }
      __syncwarp();
      consume_stage(acc, row_sums, places, own_totals, shared, full, empty, consumed, warpgroup, thread % 32);
    }
    store_sums(acc, own_totals, count, reinterpret_cast<float*>(shared), target, partial, grad_weight, warpgroup,
               thread);
  }
}
