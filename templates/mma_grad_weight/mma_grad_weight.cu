// Gradient of the weights on tensor cores by products of warps (mma.sync): products over positions.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are input channels, its columns output channels
// of one tap. A stage has a tile of positions of x, and the planes of grad_y that the taps reach. A tap moves the
// address from which a warp loads fragments of grad_y by whole positions; those of x serve all taps, and those of
// grad_y serve a kernel row for one row of positions and the kernel row before it for the next. Positions are cut into
// slices. A block computes some channels and taps over one slice; a second kernel adds the slices in their order, so
// that results have the same bits in each call. With three axes images are planes of volumes; a tap along the depth
// reads grad_y of another plane, and is a block's own.
//
// fp32 values may be split (f32x3), for results as accurate as fp32, as in grad_weight_gemm: each value of x and
// grad_y, with a scale for its channel, is a high and a low part in f16. Three products are made of these.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/printed.h"
#include "device/split.h"
#include "device/template.h"
#include "layout.h"

// ---- Elements ----
#include "device/element.h"

using WeightIndex = long long;

#include "device/weight_order.h"

// ---- Tiles ----
#include "grad_weight/tile_walk.h"

// ---- Staging ----
#include "staging.h"

// ---- Products ----
#include "products.h"

// ---- Epilogue ----
#include "epilogue.h"
#include "grad_weight/warp_totals.h"

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

// Whether each stage finds again where a thread's pixels are, since ptxas would spill it: where offsets of 64 bits are
// found while accumulators, totals and what is on its way take nearly all registers.
constexpr bool kFindsThread = kSplit && !kShort && 3 * kAccumulators + 2 * kBatchWords >= 216;

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_grad_weight(const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ partial,
                    float* totals, const float* __restrict__ maxima, float* __restrict__ partial_bias,
                    Element* __restrict__ grad_weight, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int planes = batch * in_d;
  const long long row_tiles = (static_cast<long long>(planes) * (in_h + kHaloH) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = (in_w + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = row_tiles * column_tiles;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const int kd = P::kernel_d == 1 ? 0 : block / kPlaneBlocks % P::kernel_d;
  const int out_d = output_depth(in_d);
  const Source source = source_of(x, grad_y, target, in_d * in_h, in_w, out_d * out_h, out_w);
  const long long first_tile = first_tile_of(target.slice, tiles);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles) - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  // Unsigned divisions take fewer registers; split values spill with them.
  const int lane = kSplit ? thread % 32 : threadIdx.x % 32;
  const int warp = kSplit ? thread / 32 : threadIdx.x / 32;
  const int warp_k = warp % P::warps_k;
  const int warp_taps = warp / P::warps_k % P::warps_taps;
  const int warp_out = warp / (P::warps_k * P::warps_taps) % P::warps_out;
  const int warp_in = warp / (P::warps_k * P::warps_taps * P::warps_out);
  const bool sums_bias = P::sums_bias && target.first_in == 0 && kd >= P::padding_d && kd < P::padding_d + P::stride_d;
  const Places places = places_of(lane, warp_in, warp_out, warp_taps, sums_bias);
  float* own_totals = totals + block * kTotals + thread;

  // The tile whose pixels are found next, and the first image of that which is brought next.
  Tile next;
  int image = 0;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles, in_h);
    if (!kDeep) {
      image = next.image;
    }
    find_pixels(shared + kTableOffset, source, next, kd, thread, planes, in_d, in_h, in_w, out_d, out_h, out_w);
    move_on(next, row_tiles, in_h);
  }
  float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
  if constexpr (kSplit) {
    find_scales(scales, maxima, target.group * kGroupIn + target.first_in, kGroupIn - target.first_in,
                target.group * kGroupOut + target.first_out, kGroupOut - target.first_out, thread);
  }
  int issued = 0;
  Words words;
  // The first stages. What goes through registers comes as a whole.
#pragma unroll 1
  for (; issued < P::stages - 1; ++issued) {
    __syncthreads();  // the stage's pixels have been found
    if (issued < count) {
      unsigned char* to = shared + issued * kStageBytes;
      if (P::copy_bytes > 0) {
#pragma unroll 1
        for (int part = 0; part < kCopyBatches; ++part) {
          copy_batch(to, source, image, table_of(shared, issued), part, thread, in_d, in_h, in_w, out_d, out_h, out_w);
        }
      }
      if (kLoads) {
#pragma unroll 1
        for (int part = 0; part < kLoadBatches; ++part) {
          load_batch(words, source, image, table_of(shared, issued), part, thread, in_d, in_h, in_w, out_d, out_h,
                     out_w);
          store_batch(to, words, scales, part, thread);
        }
      }
      if (issued + 1 < count) {
        if (!kDeep) {
          image = next.image;
        }
        find_pixels(table_of(shared, issued + 1), source, next, kd, thread, planes, in_d, in_h, in_w, out_d, out_h,
                    out_w);
        move_on(next, row_tiles, in_h);
      }
    }
    if (P::copy_bytes > 0) {
      async_copy_commit();
    }
  }

  Accumulators acc = {};
  PartAccumulators sums = {};  // fp32 totals of values that are split
  BiasTotals bias_totals = {};
  int stage = 0;
#pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? P::stages - 1 : stage - 1) * kStageBytes;
    if (P::copy_bytes > 0) {
      async_copy_wait(P::stages - 2);
      if (P::type == kWgmmaTf32 && !kPlanar) {
        round_stage(shared + stage * kStageBytes, thread);
      }
    }
    // The stage has come, all have read the one that is brought now, and its pixels have been found.
    __syncthreads();
    const bool more = issued < count;
#pragma unroll 1
    for (int strip = 0; strip < kOwnStrips; ++strip) {
      if (kLoads && more && (P::copy_bytes == 0 || strip < kLoadBatches)) {
        load_batch(words, source, image, table_of(shared, issued), strip, thread, in_d, in_h, in_w, out_d, out_h,
                   out_w);
      }
      if (P::copy_bytes > 0 && !kCopiesLast && more && strip < kCopyBatches) {
        copy_batch(to, source, image, table_of(shared, issued), strip, thread, in_d, in_h, in_w, out_d, out_h, out_w);
      }
      multiply_strip(acc, bias_totals, from, places, strip * P::warps_k + warp_k);
      if (kCopiesLast && more) {
        copy_batch(to, source, image, table_of(shared, issued), strip, thread, in_d, in_h, in_w, out_d, out_h, out_w);
      }
      // With copies, what was loaded before the first strip is written after the last one.
      if (kLoads && more && (P::copy_bytes == 0 || strip == kOwnStrips - 1)) {
        store_batch(to, words, scales, P::copy_bytes == 0 ? strip : 0, thread);
      }
      // Warps find pixels after different strips, so that others multiply meanwhile.
      if (issued + 1 < count && strip == warp % kOwnStrips) {
        const int none = kFindsThread ? batch >> 31 & issued : 0;  // which the compiler doesn't know to be 0
        find_pixels(table_of(shared, issued + 1), source, next, kd, thread + none, planes, in_d, in_h, in_w, out_d,
                    out_h, out_w);
      }
    }
    if (P::copy_bytes > 0) {
      async_copy_commit();
    }
    if (more) {
      if (!kDeep) {
        image = next.image;
      }
      move_on(next, row_tiles, in_h);
      ++issued;
    }
    stage = stage + 1 == P::stages ? 0 : stage + 1;
    if constexpr (kSplit) {
      if ((consumed + 1) % kPromoteStages == 0) {
        promote_high(sums, acc[0]);
        if ((consumed + 1) % (kPromoteLow * kPromoteStages) == 0) {
          promote_low(sums, acc[kParts - 1]);
        }
      }
    } else if constexpr (P::promote_stages > 0) {
      if ((consumed + 1) % P::promote_stages == 0) {
        promote(acc[0], own_totals, consumed < P::promote_stages);
      }
    }
  }
  float* results = reinterpret_cast<float*>(shared);
  if constexpr (kSplit) {
    promote_high(sums, acc[0]);
    promote_low(sums, acc[kParts - 1]);
    unscale(sums, scales, warp_in, warp_out, lane);
    if constexpr (P::sums_bias) {
      unscale_bias(bias_totals, scales, warp_out, lane);
    }
    store_block(sums, results, target, kd, partial, grad_weight, warp_in, warp_out, warp_taps, warp_k, thread);
  } else {
    if (P::promote_stages > 0 && count >= P::promote_stages) {
      add_totals(acc[0], own_totals);
    }
    store_block(acc[0], results, target, kd, partial, grad_weight, warp_in, warp_out, warp_taps, warp_k, thread);
  }
  if constexpr (P::sums_bias) {
    if (target.first_in == 0) {
      store_bias(bias_totals, results, target, kd, partial_bias, warp_in, warp_out, warp_k * P::warps_taps + warp_taps,
                 thread);
    }
  }
}
