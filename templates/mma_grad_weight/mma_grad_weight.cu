// Gradient of the weights on tensor cores by products of warps (mma.sync): products over positions.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are input channels, its columns output channels
// of one tap. A stage has a tile of positions of x, and the planes of grad_y that the taps reach. A tap moves the
// address from which a warp loads fragments of grad_y by whole positions; those of x serve all taps, and those of
// grad_y serve a kernel row for one row of positions and the kernel row before it for the next. Positions are cut into
// slices. A block computes some channels and taps over one slice; a second kernel adds the slices in their order, so
// that results have the same bits in each call.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/printed.h"
#include "device/template.h"
#include "layout.h"

// ---- Elements ----
#include "device/element.h"

using WeightIndex = long long;

#include "device/weight_order.h"

// ---- Tiles ----

// A stage's place: the image and row of its first row, and its first column; and how many tiles follow in its column of
// tiles.
struct Tile {
  int image;
  int row;
  int column;
  long long left;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, const long long row_tiles, const int in_h) {
  const long long of_column = index % row_tiles;
  const long long row = of_column * P::tile_rows;
  Tile tile;
  tile.image = static_cast<int>(row / (in_h + kHaloH));
  tile.row = static_cast<int>(row % (in_h + kHaloH));
  tile.column = static_cast<int>(index / row_tiles) * P::tile_columns;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, const long long row_tiles, const int in_h) {
  const int row = tile.row + P::tile_rows;
  tile.image += row / (in_h + kHaloH);
  tile.row = row % (in_h + kHaloH);
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += P::tile_columns;
    tile.left = row_tiles - 1;
  }
}

// What a block reads: its first channels of x and grad_y, how many there are, and the origin of its taps.
struct Source {
  const Element* x;
  const Element* grad_y;
  int ins;
  int outs;
  int origin_h;
  int origin_w;
};

// ---- Staging ----
#include "staging.h"

// ---- Products ----
#include "products.h"

// ---- Epilogue ----
#include "epilogue.h"

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_grad_weight(const Element* __restrict__ x, const Element* __restrict__ grad_y, float* __restrict__ partial,
                    float* totals, Element* __restrict__ grad_weight, int batch, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const long long row_tiles = (static_cast<long long>(batch) * (in_h + kHaloH) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = (in_w + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = row_tiles * column_tiles;

  // What the block makes. Weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  const int tap_group = block % kTapGroups;
  const int in_tile = block / kTapGroups % kInTiles;
  const int out_tile = block / (kTapGroups * kInTiles) % kOutTiles;
  Target target;
  target.slice = P::slices == 1 ? 0 : block / kSliceBlocks;
  target.group = P::groups == 1 ? 0 : block / (kTapGroups * kInTiles * kOutTiles) % P::groups;
  target.first_in = in_tile * P::block_in;
  target.first_out = out_tile * P::block_out;
  target.first_kh = tap_group / kTapGroupsW * P::taps_h;
  target.first_kw = tap_group % kTapGroupsW * P::taps_w;
  const int first_ci = target.group * kGroupIn + target.first_in;
  const int first_co = target.group * kGroupOut + target.first_out;
  const Source source = {x + (P::channels_last ? first_ci : first_ci * (static_cast<long long>(in_h) * in_w)),
                         grad_y + (P::channels_last ? first_co : first_co * (static_cast<long long>(out_h) * out_w)),
                         kGroupIn - target.first_in,
                         kGroupOut - target.first_out,
                         target.first_kh * P::dilation_h - P::padding_h,
                         target.first_kw * P::dilation_w - P::padding_w};
  const long long first_tile = tiles * target.slice / P::slices;
  const int count = static_cast<int>(tiles * (target.slice + 1) / P::slices - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int warp_k = warp % P::warps_k;
  const int warp_taps = warp / P::warps_k % P::warps_taps;
  const int warp_out = warp / (P::warps_k * P::warps_taps) % P::warps_out;
  const int warp_in = warp / (P::warps_k * P::warps_taps * P::warps_out);
  const Places places = places_of(lane, warp_in, warp_out, warp_taps);
  float* own_totals = totals + block * kTotals + thread;

  Tile next;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles, in_h);
  }
  int issued = 0;
  Words words;
  // The first stages. One through registers comes as a whole.
#pragma unroll 1
  for (; issued < P::stages - 1; ++issued) {
    if (issued < count) {
#pragma unroll 1
      for (int part = 0; part < kBatches; ++part) {
        bring_batch(shared + issued * kStageBytes, words, source, next, part, thread, batch, in_h, in_w, out_h, out_w);
        if (P::copy_bytes == 0) {
          store_batch(shared, words, part, thread);
        }
      }
      move_on(next, row_tiles, in_h);
    }
    if (P::copy_bytes > 0) {
      async_copy_commit();
    }
  }

  Accumulators acc = {};
  int stage = 0;
#pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? P::stages - 1 : stage - 1) * kStageBytes;
    if (P::copy_bytes > 0) {
      async_copy_wait(P::stages - 2);
      if (P::type == kWgmmaTf32) {
        round_stage(shared + stage * kStageBytes, thread);
      }
    }
    __syncthreads();  // the stage has come, and all have read the one that is staged now
    const bool more = issued < count;
#pragma unroll 1
    for (int strip = 0; strip < kOwnStrips; ++strip) {
      if (more && (P::copy_bytes == 0 || strip < kBatches)) {
        bring_batch(to, words, source, next, strip, thread, batch, in_h, in_w, out_h, out_w);
      }
      multiply_strip(acc, from, places, strip * P::warps_k + warp_k);
      if (P::copy_bytes == 0 && more) {
        store_batch(to, words, strip, thread);
      }
    }
    if (P::copy_bytes > 0) {
      async_copy_commit();
    }
    if (more) {
      move_on(next, row_tiles, in_h);
      ++issued;
    }
    stage = stage + 1 == P::stages ? 0 : stage + 1;
    if constexpr (P::promote_stages > 0) {
      if ((consumed + 1) % P::promote_stages == 0) {
        promote(acc, own_totals, consumed < P::promote_stages);
      }
    }
  }
  if (P::promote_stages > 0 && count >= P::promote_stages) {
    add_totals(acc, own_totals);
  }
  store_block(acc, reinterpret_cast<float*>(shared), target, partial, grad_weight, warp_in, warp_out, warp_taps, warp_k,
              thread);
}
