// Gradient of the weights on tensor cores (wgmma): products over positions.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are output channels by taps, its columns input
// channels. Producers bring a stage of positions of x and the planes of grad_y that the taps reach to shared memory. A
// tap moves the address from which consumers load the rows' A fragments by whole positions; x is the B operand of all
// taps. Positions are cut into slices. A block computes some channels and taps over one slice; a last kernel adds the
// slices in their order, so that results have the same bits in each call.
//
// fp32 values may be split (f32x3), for results as accurate as fp32: each value of x and grad_y, with a scale for its
// channel that is a power of two, is a high and a low part in f16. Of two values three products are made: of both high
// parts, and of each high with the other low part. Accumulators of these are promoted to fp32 totals. A kernel before
// the products finds the largest magnitude of each channel. Producers split what they bring.
// Of values down to 2^-28 of their channel's largest 22 bits are kept; of those below, at most 2^-50 of that largest is
// lost. An infinity or a NaN makes all sums that it is a term of infinite or NaN, as the definition has them, except
// that an infinity times a value below 2^-39 of its channel's largest, or times the zeros around an image, makes NaN.
// Or the parts are of tf32, without scales: producers split x, and consumers the fragments that they load. Of values
// below 2^-103 at most 2^-136 is lost.
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

// ---- Producer ----
#include "staging.h"

#include "grad_weight/pipeline.h"

#include "grad_weight/staging.h"

#include "grad_weight/row_staging.h"

#include "grad_weight/multiply.h"

#include "grad_weight/multiply_parts.h"

#include "grad_weight/totals.h"

#include "grad_weight/elements.h"

using WeightIndex = long long;
#include "grad_weight/epilogue.h"

#include "grad_weight/consume.h"

#include "grad_weight/consume_parts.h"

#include "device/parts.h"

#include "grad_weight/multiply_split.h"

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    grad_weight_gemm(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                     const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ partial,
                     float* totals, const float* __restrict__ maxima, Element* __restrict__ grad_weight, int batch,
                     int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const long long row_tiles = (static_cast<long long>(batch) * (in_h + kHaloH) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = P::flat ? 1 : (in_w + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = row_tiles * column_tiles;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = first_tile_of(target.slice, tiles);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles) - first_tile);

  unsigned char* shared = shared_align(shared_memory(), kSharedAlignment);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
  if constexpr (kSplit) {
    find_scales(scales, maxima, target.group * kGroupIn + target.first_in, kGroupIn - target.first_in,
                target.group * kGroupOut + target.first_out, kGroupOut - target.first_out, threadIdx.x);
  }
  if (threadIdx.x == 0) {
    init_stages(full, empty, kByRows ? P::producers / 32 : P::producers, kConsumers / 32);
    if (kByRows) {
      unsigned long long* brought = reinterpret_cast<unsigned long long*>(shared + kRowsBarrierOffset);
      for (int slot = 0; slot < kRowSlots; ++slot) {
        mbarrier_init(&brought[slot], 1);
      }
      fence_mbarrier_init();
    }
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= P::consumer_groups) {
    if constexpr (kByRows) {
      turn_stages(shared, full, empty, x_map, grad_y_map, target, first_tile, count, row_tiles,
                  threadIdx.x - kConsumers, batch);
    } else {
      bring_stages(shared, full, empty, x, grad_y, target, first_tile, count, row_tiles, threadIdx.x - kConsumers,
                   batch, in_h, in_w, out_h, out_w);
    }
  } else {
    const int thread = threadIdx.x;
    Place places[kOwnTiles];
    if constexpr (kSplit) {
      const int lane = thread % 32;
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
        consume_parts(sums, own_totals, high, low, places, shared, full, empty, consumed, warpgroup, lane);
      }
      store_parts(sums, own_totals, high, low, scales, reinterpret_cast<float*>(shared), target, partial, grad_weight,
                  false, warpgroup, thread);
    } else {
#pragma unroll
      for (int tile = 0; tile < kOwnTiles; ++tile) {
        const int rows = rows_of_tile(tile, warpgroup, thread);
        places[tile] = place_of_rows(rows, thread % 32);
      }
      float* own_totals = totals + block * kTotals + thread;
      Accumulators acc[kOwnTiles] = {};
      Accumulators sums[kOwnTiles] = {};  // of products of split values
      RowSums row_sums = {};
      for (int consumed = 0; consumed < count; ++consumed) {
        if constexpr (P::splits) {
          consume_split(sums, acc, row_sums, places, own_totals, shared, full, empty, consumed, warpgroup, thread % 32);
        } else {
          consume_stage(acc, row_sums, places, own_totals, shared, full, empty, consumed, warpgroup, thread % 32);
        }
      }
      if constexpr (P::splits) {
        store_sums(sums, own_totals, count, reinterpret_cast<float*>(shared), target, partial, grad_weight, warpgroup,
                   thread);
      } else {
        store_sums(acc, own_totals, count, reinterpret_cast<float*>(shared), target, partial, grad_weight, warpgroup,
                   thread);
      }
    }
  }
}
