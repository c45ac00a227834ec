// A consumer thread's way through the stages of its block, to the results.
// Needs, above its line, what a template's own products are: the type Place and multiply_stage().
#pragma once

#include "device/barrier.h"
#include "device/warpgroup.h"
#include "layout.h"
#include "pixel_gemm/epilogue.h"
#include "pixel_gemm/pipeline.h"

// ---- Consumer ----

// Multiplies `count` stages, which lie in `shared`, and stores the block's results. `places` are the thread's own.
__device__ __forceinline__ void consume_stages(const Place (&places)[kOwnTiles], unsigned char* shared,
                                               unsigned long long* full, unsigned long long* empty, int count,
                                               const Target& target, int block, float* __restrict__ partial,
                                               float* totals, Element* __restrict__ grad_weight, int warpgroup) {
  const int thread = threadIdx.x;
  const bool has_all_tiles = warpgroup < kMTiles - (kOwnTiles - 1) * P::consumer_groups;
  float* own_totals = totals + block * kTotals + thread;
  Accumulators acc[kOwnTiles] = {};
  int since = 0;  // stages since the accumulators were promoted
  bool is_first = true;
  for (int consumed = 0; consumed < count; ++consumed) {
    const int stage = consumed % P::stages;
    mbarrier_wait(&full[stage], consumed / P::stages % 2);
    pin(acc);
    if (kEvenTiles || has_all_tiles) {
      multiply_stage(acc, kOwnTiles, shared + stage * kStageBytes, places);
    } else {
      multiply_stage(acc, kOwnTiles - 1, shared + stage * kStageBytes, places);
    }
    pin(acc);
    release_stage(&empty[stage], thread % 32);
    if (P::promote_stages > 0) {
      ++since;
      if (since == P::promote_stages) {
        promote(acc, own_totals, is_first);
        since = 0;
        is_first = false;
      }
    }
  }
  if (P::promote_stages > 0 && !is_first) {
    add_totals(acc, own_totals);
  }
  store_block(acc, reinterpret_cast<float*>(shared), target, partial, grad_weight, warpgroup, thread);
}
