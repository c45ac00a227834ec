// Gradient of the weights of layers whose groups have few output channels, on tensor cores by products of warps
// (mma.sync): columns are taps.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product; its rows are input channels, its columns the taps of all
// output channels of a block. A stage has a tile of positions of x, and the window of grad_y that the taps reach, as
// both lie in memory. Operands of a product are read from the window element by element, or by two adjacent columns,
// for the positions of a lane: nothing is unfolded. Positions are cut into slices. A block goes over the tiles of one
// slice, and its warps share the positions of a tile; a second kernel adds the slices in their order, so that results
// have the same bits in each call.
//
// fp32 values may be split (f32x3), for results as accurate as fp32: a value is a high and a low part of tf32, and
// three products are made of these.
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
#include "device/template.h"
#include "layout.h"

// ---- Elements ----
#include "device/element.h"

using WeightIndex = long long;
using Offset = P::Offset;

#include "device/weight_order.h"

// ---- Staging ----
#include "staging.h"

// ---- Products ----
#include "products.h"

// ---- Epilogue ----
#include "bias.h"
#include "epilogue.h"
#include "grad_weight/warp_totals.h"

// ---- Kernels ----
#include "device/channel_sums.h"

constexpr bool kAddWaits = P::add_waits;

#include "grad_weight/add_parts.h"

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_taps_grad_weight(const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ partial,
                         float* totals, float* __restrict__ partial_bias, Element* __restrict__ grad_weight, int batch,
                         int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int row_tiles = (in_h + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = (in_w + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = static_cast<long long>(batch) * row_tiles * column_tiles;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = first_tile_of(target.slice, tiles);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles) - first_tile);
  const long long first_in = target.group * kGroupIn + target.first_in;
  const long long first_out = target.group * kGroupOut + target.first_out;
  Source source;
  source.x = x + first_in * (P::channels_last ? 1 : static_cast<long long>(in_h) * in_w);
  source.grad_y = grad_y + first_out * (P::channels_last ? 1 : static_cast<long long>(out_h) * out_w);
  source.ins = kGroupIn - target.first_in;
  source.outs = kGroupOut - target.first_out;

  // The tile that is copied next.
  Tile next;
  next.column = static_cast<int>(first_tile % column_tiles) * P::tile_columns;
  next.row = static_cast<int>(first_tile / column_tiles % row_tiles) * P::tile_rows;
  next.image = first_tile / column_tiles / row_tiles;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int warp_k = warp % P::warps_k;
  const int warp_columns = warp / P::warps_k % P::warps_columns;
  const int warp_in = warp / (P::warps_k * P::warps_columns);
  const Places places = places_of(thread % 32, warp_in, warp_columns);
  float* own_totals = totals + block * kTotals + thread;

  if (kCopiedIn < P::block_in) {
    zero_inputs(shared, thread);
  }
  PartAccumulators acc = {};
  float bias_sum = 0;
  PartAccumulators sums = {};  // fp32 totals of values that are split
  int stage = 0;
  // The first turns issue copies alone.
#pragma unroll 1
  for (int issued = 0; issued < count + (P::stages - 1); ++issued) {
    const int consumed = issued - (P::stages - 1);
    async_copy_wait(P::stages - 2);
    __syncthreads();  // the stage has come, and all have read the one that is copied next
    if (issued < count) {
      unsigned char* to = shared + stage * kStageBytes;
      copy_input(to, source, next, in_h, in_w, thread);
      copy_window(to + kInputBytes, source, next, target.first_kh, target.first_kw, out_h, out_w, thread);
      next.column += P::tile_columns;
      if (next.column >= in_w) {
        next.column = 0;
        next.row += P::tile_rows;
        if (kOneRowTile || next.row >= in_h) {
          next.row = 0;
          ++next.image;
        }
      }
    }
    async_copy_commit();
    stage = stage + 1 == P::stages ? 0 : stage + 1;
    if (consumed >= 0) {
      if constexpr (P::sums_bias) {
        if (target.first_in == 0) {
          bias_sum += sum_window(shared + (stage * kStageBytes + kInputBytes), thread);
        }
      }
      multiply_stage(acc, sums, shared + stage * kStageBytes, places, warp_k);
      if constexpr (P::promote_stages > 0) {
        if ((consumed + 1) % P::promote_stages == 0) {
          promote(P::splits ? sums : acc, own_totals, consumed < P::promote_stages);
        }
      }
    }
  }
  if (P::promote_stages > 0 && count >= P::promote_stages) {
    add_totals(P::splits ? sums : acc, own_totals);
  }
  store_block(P::splits ? sums : acc, static_cast<float*>(shared_memory()), target, partial, grad_weight, warp_in,
              warp_columns, warp_k, thread);
  if constexpr (P::sums_bias) {
    if (target.first_in == 0) {
      store_bias(bias_sum, static_cast<float*>(shared_memory()), target, partial_bias, thread);
    }
  }
}
