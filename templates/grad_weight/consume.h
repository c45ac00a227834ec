// What the consumer warpgroups do, for gradients of weights by products over positions: stage by stage, and at last.
// Needs: kStageBytes, Place
#pragma once

#include "device/barrier.h"
#include "grad_weight/epilogue.h"
#include "grad_weight/multiply.h"
#include "grad_weight/pipeline.h"

// ---- Consumers ----

// Multiplies what the stage of this number brought, and releases it. {with totals: Promotes the accumulators to the
// thread's totals in memory where that is due.}
__device__ __forceinline__ void consume_stage(Accumulators (&acc)[kOwnTiles], RowSums& row_sums,
                                              const Place (&places)[kOwnTiles], float* totals,
                                              const unsigned char* shared, unsigned long long* full,
                                              unsigned long long* empty, int consumed, int warpgroup, int lane) {
  const int stage = stage_of(consumed);
  mbarrier_wait(&full[stage], full_parity(consumed));
  pin(acc);
  const bool has_all_tiles = warpgroup < kMTiles - (kOwnTiles - 1) * P::consumer_groups;  // others have one less
  if (kEvenTiles || has_all_tiles) {
    multiply_stage(acc, row_sums, kOwnTiles, shared, stage * kStageBytes, places);
  } else if constexpr (kOwnTiles > 1) {
    multiply_stage(acc, row_sums, kOwnTiles - 1, shared, stage * kStageBytes, places);
  }
  pin(acc);
  release_stage(&empty[stage], lane);
  if constexpr (P::promote_stages > 0) {
    if ((consumed + 1) % P::promote_stages == 0) {
      promote(acc, totals, consumed < P::promote_stages);
    }
  }
}

// Stores what a warpgroup has summed up over so many stages.
__device__ __forceinline__ void store_sums(Accumulators (&acc)[kOwnTiles], const float* totals, int stages,
                                           float* columns, const Target& target, float* __restrict__ partial,
                                           Element* __restrict__ grad_weight, int warpgroup, int thread) {
  if (P::promote_stages > 0 && stages >= P::promote_stages) {
    add_totals(acc, totals);
  }
  store_block(acc, columns, target, partial, grad_weight, false, warpgroup, thread);
}
