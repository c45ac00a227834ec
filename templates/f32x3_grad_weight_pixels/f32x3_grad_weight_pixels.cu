// Gradient of the weights as accurate as fp32, on tensor cores (wgmma): products over positions of values that are
// split once, before the products.
//
// Each value of x and grad_y, with a scale for its channel that is a power of two, is a high and a low part in f16. Of
// two values three products are made: of both high parts, and of each high with the other low part. Accumulators of
// these are promoted to fp32 totals.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are output channels by taps, its columns input
// channels. A first kernel finds the largest magnitude of each channel; a second one writes both parts of all values
// with channels last. Where these are many, images are split and multiplied in chunks. Tensor copies bring positions of
// x, which are MN-major B operands, and the planes of grad_y that the taps reach, with zeros where the images end. A
// tap moves the address from which consumers load the rows' A fragments by whole positions. Positions are cut into
// slices. A block computes some channels and taps over one slice of a chunk, and adds what those of the chunks before
// have; a last kernel adds the slices in their order, so that results have the same bits in each call.
//
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
#include "grad_weight/floats.h"

// ---- Tiles and stages ----
#include "layout.h"

// ---- Scales ----
#include "grad_weight/scales.h"

// ---- Split copies ----
#include "split_copies.h"

#include "grad_weight/pipeline.h"

#include "grad_weight/multiply_parts.h"

#include "grad_weight/totals.h"

using WeightIndex = long long;
#include "grad_weight/epilogue.h"

#include "grad_weight/consume_parts.h"

// ---- Producer ----
#include "grad_weight/box_copies.h"

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    f32x3_grad_weight_pixels(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                             float* __restrict__ partial, const float* __restrict__ maxima,
                             Element* __restrict__ grad_weight, int height, int width, int first_image) {
  const int block = blockIdx.x;
  const Target target = target_of(block);
  const Tiles tiles = tiles_of(P::chunk_images, height, width);
  const long long first_tile = first_tile_of(target.slice, tiles.all);
  const int count = static_cast<int>(first_tile_of(target.slice + 1, tiles.all) - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
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
  Accumulators sums[kOwnTiles] = {};  // where they are not in shared memory
  float4* own_totals = reinterpret_cast<float4*>(shared + kTotalsOffset) + thread;
  if (P::shared_totals) {
    clear_totals(own_totals);
  }
  for (int consumed = 0; consumed < count; ++consumed) {
    if (thread == 0) {
      copy_next(shared, x_map, grad_y_map, full, empty, source, count, consumed);
    }
    __syncwarp();
    consume_stage(sums, own_totals, high, low, places, shared, full, empty, consumed, warpgroup, lane);
  }
  promote_high(sums, own_totals, high);
  promote_low(sums, own_totals, low);
  if (P::shared_totals) {
    fetch_totals(sums, own_totals);
  }
  unscale(sums, scales, warpgroup, thread);
  store_block(sums, reinterpret_cast<float*>(shared), target, partial, grad_weight, P::chunks > 1 && first_image > 0,
              warpgroup, thread);
}
