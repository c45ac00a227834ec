// Gradient of the weights on tensor cores (wgmma), NCHW: products over positions, whose rows are copied as they lie.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are output channels by taps, its columns input
// channels. Tensor copies bring parts of rows of x, which are K-major B operands, and the rows of grad_y that the taps
// reach, with zeros where the images end. Consumers load the rows' A fragments from these: a tap moves them by
// elements. With rows_in_columns a product's columns are some kernel rows by input channels, and its rows those of one
// kernel row: where the stride is 1, kernel rows read successive rows of x for a row of grad_y, which are one operand.
// So A fragments are loaded once for all of them. Where the kernel is as large as its strides, a load brings two
// adjacent taps of a patch, and fragments are summed up for the gradient of the bias. Positions are cut into slices. A
// block computes some channels and taps over one slice; a second kernel adds the slices in their order, so that results
// have the same bits in each call.
//
// fp32 values may be split (f32x3), for results as accurate as fp32: each is a high and a low part in tf32, which
// together keep 22 bits. Of two values three products are made: of both high parts, and of each high with the other low
// part. Consumers split the fragments that they load; x is split in shared memory, or on its way there. Of values below
// 2^-103 less is kept: what is lost is at most 2^-136 of each.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
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

#include "grad_weight/multiply.h"

#include "grad_weight/elements.h"

using WeightIndex = long long;
#include "grad_weight/epilogue.h"

#include "grad_weight/consume.h"

#include "device/parts.h"

#include "grad_weight/multiply_split.h"

// ---- Producer ----
#include "staging.h"

#include "split_boxes.h"

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    grad_weight_rows(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                     const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ partial,
                     float* __restrict__ partial_bias, float* totals, Element* __restrict__ grad_weight, int batch,
                     int height) {
  const int in_h = input_rows(height);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(P::width);
  const int row_tiles = ((P::rows_in_columns ? out_h : in_h) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = (P::width + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = static_cast<long long>(batch) * row_tiles * column_tiles;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = first_tile_of(target.slice, tiles);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles) - first_tile);
  const int origin_w = target.first_kw * P::dilation_w - P::padding_w;
  const int skew = P::taps_w == P::kernel_w ? floor_mod(-P::padding_w, kSkews) : origin_w & (kSkews - 1);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if (threadIdx.x == 0) {
    init_stages(full, empty,
                (kHasCopies ? 1 : 0) + (kBatches > 0 ? P::producers : 0) + (kSplitsBoxes ? kSplitterWarps : 0),
                kConsumers / 32);
    if (kSplitsBoxes) {
      unsigned long long* raw = reinterpret_cast<unsigned long long*>(shared + kRawBarrierOffset);
      for (int stage = 0; stage < P::stages; ++stage) {
        mbarrier_init(&raw[stage], 1);
      }
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= P::consumer_groups) {
    const int thread = threadIdx.x - kConsumers;
    const Source source = {target.group * kGroupIn + target.first_in,
                           target.group * kGroupOut + target.first_out,
                           kGroupIn - target.first_in,
                           kGroupOut - target.first_out,
                           P::rows_in_columns ? P::padding_h - target.first_kh - (P::taps_h - 1) : 0,
                           P::rows_in_columns ? 0 : target.first_kh * P::dilation_h - P::padding_h,
                           origin_w - skew};
    if constexpr (kSplitsBoxes) {
      bring_boxes(shared, full, empty, x_map, grad_y_map, source, first_tile, count, row_tiles, column_tiles, thread);
    } else if (kBatches > 0 || thread == 0) {
      Words words;
      if (kBatches > 0 && count > 0) {
        load_batch(words, x, grad_y, source, tile_at(first_tile, row_tiles, column_tiles), 0, thread, in_h, out_h,
                   out_w);
      }
      for (int issued = 0; issued < count; ++issued) {
        const int stage = stage_of(issued);
        if (issued >= P::stages) {
          mbarrier_wait(&empty[stage], refill_parity(issued));
        }
        Tile tile = tile_at(first_tile + issued, row_tiles, column_tiles);
        if (kHasCopies && thread == 0) {
          copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], &full[stage], source, tile);
        }
        if (kBatches > 0) {
          // The next batch comes while others are multiplied.
#pragma unroll 1
          for (int part = 0; part < kBatches; ++part) {
            store_batch(shared + stage * kStageBytes, words, part, thread);
            if (part + 1 == kBatches) {
              tile = tile_at(first_tile + issued + 1, row_tiles, column_tiles);
            }
            if (part + 1 < kBatches || issued + 1 < count) {
              load_batch(words, x, grad_y, source, tile, part + 1 == kBatches ? 0 : part + 1, thread, in_h, out_h,
                         out_w);
            }
          }
          fence_proxy_async();
          mbarrier_arrive(&full[stage]);
        }
      }
    }
  } else {
    const int thread = threadIdx.x;
    Place places[kOwnTiles];
#pragma unroll
    for (int tile = 0; tile < kOwnTiles; ++tile) {
      const int rows = rows_of_tile(tile, warpgroup, thread);
      places[tile] = place_of_rows(rows, thread % 32, skew);
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
    if constexpr (kSumsRows) {
      store_row_sums(row_sums, reinterpret_cast<float*>(shared), target, target.slice * kBiasParts + block % kTapGroups,
                     partial_bias, warpgroup, thread);
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
