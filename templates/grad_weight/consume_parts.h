// What the consumer warpgroups do, for gradients of weights whose values are split: stage by stage, and at last.
// Needs: kStageBytes, Place
#pragma once

#include "device/barrier.h"
#include "grad_weight/epilogue.h"
#include "grad_weight/multiply_parts.h"
#include "grad_weight/pipeline.h"
#include "grad_weight/scales.h"
#include "grad_weight/totals.h"

// Undoes the scales of a thread's totals, of its rows' and columns' channels.
__device__ __forceinline__ void unscale(Accumulators (&totals)[kOwnTiles], const float* scales, int warpgroup,
                                        int thread) {
  const int lane = thread % 32;
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
    const int rows = rows_of_tile(tile, warpgroup, thread);
    const float* of_rows = scales + (P::block_in + channel_of_rows(rows) + lane / 4);
#pragma unroll
    for (int i = 0; i < P::block_in / 2; ++i) {
      totals[tile][i] = scaled_by(totals[tile][i], -exponent_of(of_rows[i / 2 % 2 * 8]) -
                                                       exponent_of(scales[i / 4 * 8 + lane % 4 * 2 + i % 2]));
    }
  }
}

// ---- Consumers ----

// Multiplies what the stage of this number brought, and releases it. Promotes accumulators to the thread's totals where
// that is due.
__device__ __forceinline__ void consume_parts(Accumulators (&totals)[kOwnTiles], float4* own_totals,
                                              Accumulators (&high)[kOwnTiles], Accumulators (&low)[kOwnTiles],
                                              const Place (&places)[kOwnTiles], const unsigned char* shared,
                                              unsigned long long* full, unsigned long long* empty, int consumed,
                                              int warpgroup, int lane) {
  const int stage = stage_of(consumed);
  mbarrier_wait(&full[stage], full_parity(consumed));
  pin(high);
  pin(low);
  const bool has_all_tiles = warpgroup < kMTiles - (kOwnTiles - 1) * P::consumer_groups;  // others have one less
  if (kEvenTiles || has_all_tiles) {
    multiply_parts(high, low, kOwnTiles, shared, stage * kStageBytes, places);
  } else if constexpr (kOwnTiles > 1) {
    multiply_parts(high, low, kOwnTiles - 1, shared, stage * kStageBytes, places);
  }
  pin(high);
  pin(low);
  release_stage(&empty[stage], lane);
  if ((consumed + 1) % kPromoteStages == 0) {
    promote_high(totals, own_totals, high);
    if ((consumed + 1) % (kPromoteLow * kPromoteStages) == 0) {
      promote_low(totals, own_totals, low);
    }
  }
}

// Stores what a warpgroup has summed up.
__device__ __forceinline__ void store_parts(Accumulators (&totals)[kOwnTiles], float4* own_totals,
                                            Accumulators (&high)[kOwnTiles], Accumulators (&low)[kOwnTiles],
                                            const float* scales, float* columns, const Target& target,
                                            float* __restrict__ partial, Element* __restrict__ grad_weight, bool adds,
                                            int warpgroup, int thread) {
  promote_high(totals, own_totals, high);
  promote_low(totals, own_totals, low);
  if (P::shared_totals) {
    fetch_totals(totals, own_totals);
  }
  unscale(totals, scales, warpgroup, thread);
  store_block(totals, columns, target, partial, grad_weight, adds, warpgroup, thread);
}
