// Products of a stage whose values are split in parts of tf32, by the consumer warpgroups, for gradients of weights: of
// both high parts, and of each high with the other low part. Fragments are split when they are loaded; of the input the
// low parts lie kInputPartBytes after the high ones.
//
// Tensor cores truncate each sum. So after at most kMostSteps k-steps, three products each, accumulators are promoted
// to fp32 totals (terms.h has the error of 16 products).
// Needs: input_descriptor(), input_of_step(), kInputMajor, kInputPartBytes, kKSteps, kLastRow, kStageBytes, kSumsRows,
//   load_fragment(), Place
#pragma once

#include "device/barrier.h"
#include "device/warpgroup.h"
#include "grad_weight/epilogue.h"
#include "grad_weight/fragment_sums.h"
#include "device/parts.h"
#include "grad_weight/pipeline.h"
#include "products.h"

constexpr int kMostSteps = 4;
constexpr int kPromoteSteps = ceil_div(kKSteps, ceil_div(kKSteps, kMostSteps));

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using SplitFragments = unsigned int[2 * kOwnTiles][4];

// Loads the fragments of a step, and makes their parts.
__device__ __forceinline__ void load_parts(SplitFragments& fragments, RowSums& row_sums, const int tiles,
                                           const unsigned char* shared, int offset, const int step,
                                           const Place (&places)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile) {
    load_fragment(fragments[2 * tile], shared, offset, 0, step, places[tile]);
    if constexpr (kSumsRows) {
      add_fragment(row_sums[tile], fragments[2 * tile]);
    }
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      fragments[2 * tile + 1][word] = low_part(fragments[2 * tile][word]);
      fragments[2 * tile][word] = high_part(fragments[2 * tile][word]);
      wgmma_pin_operand(fragments[2 * tile][word]);
      wgmma_pin_operand(fragments[2 * tile + 1][word]);
    }
  }
}

// Adds the accumulators of so many tiles to the totals. Their products are done.
__device__ __forceinline__ void promote_products(Accumulators (&totals)[kOwnTiles], Accumulators (&acc)[kOwnTiles],
                                                 const int tiles) {
  pin(acc);
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      totals[tile][i] += acc[tile][i];
    }
  }
  pin(acc);
}

// All products of a stage, of a warpgroup that has so many tiles.{with offset:  The stage is `offset`
// bytes into `shared`.} `places` are the thread's own in the window. The first product of some steps begins its
// accumulators anew.
__device__ __forceinline__ void multiply_split(Accumulators (&totals)[kOwnTiles], Accumulators (&acc)[kOwnTiles],
                                               RowSums& row_sums, const int tiles, const unsigned char* shared,
                                               int offset, const Place (&places)[kOwnTiles]) {
  const unsigned long long input = input_descriptor(shared + offset);
  SplitFragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    load_parts(fragments[step % 2], row_sums, tiles, shared, offset, step, places);
    if (step > 0 && step % kPromoteSteps == 0) {
      wgmma_wait(0);
      promote_products(totals, acc, tiles);
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, input_of_step(step));
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputPartBytes + input_of_step(step));
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_rs(P::type, kInputMajor, acc[tile], fragments[step % 2][2 * tile + 1], high_input,
               step % kPromoteSteps == 0 ? 0 : 1);
      wgmma_rs(P::type, kInputMajor, acc[tile], fragments[step % 2][2 * tile], low_input, 1);
      wgmma_rs(P::type, kInputMajor, acc[tile], fragments[step % 2][2 * tile], high_input, 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// Multiplies what the stage of this number brought, releases it, and promotes the accumulators. Promotes the totals to
// those in memory where that is due: a total that takes too many promotions loses as much as accumulators would.
__device__ __forceinline__ void consume_split(Accumulators (&totals)[kOwnTiles], Accumulators (&acc)[kOwnTiles],
                                              RowSums& row_sums, const Place (&places)[kOwnTiles], float* in_memory,
                                              const unsigned char* shared, unsigned long long* full,
                                              unsigned long long* empty, int consumed, int warpgroup, int lane) {
  const int stage = stage_of(consumed);
  mbarrier_wait(&full[stage], full_parity(consumed));
  pin(acc);
  const bool has_all_tiles = warpgroup < kMTiles - (kOwnTiles - 1) * P::consumer_groups;  // others have one less
  if (kEvenTiles || has_all_tiles) {
    multiply_split(totals, acc, row_sums, kOwnTiles, shared, stage * kStageBytes, places);
    release_stage(&empty[stage], lane);
    promote_products(totals, acc, kOwnTiles);
  } else {
    if constexpr (kOwnTiles > 1) {
      multiply_split(totals, acc, row_sums, kOwnTiles - 1, shared, stage * kStageBytes, places);
    }
    release_stage(&empty[stage], lane);
    if constexpr (kOwnTiles > 1) {
      promote_products(totals, acc, kOwnTiles - 1);
    }
  }
  if constexpr (P::promote_stages > 0) {
    if ((consumed + 1) % P::promote_stages == 0) {
      promote(totals, in_memory, consumed < P::promote_stages);
    }
  }
}
