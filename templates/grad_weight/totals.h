// fp32 totals of accumulators of products of high parts, and of those with a low part, for gradients of weights whose
// values are split.
// Needs: Accumulators, kAccumulators, kConsumers, kKSteps, kOwnTiles, kSplit, kThreads, P
#pragma once

#include "device/memory.h"
#include "device/split.h"
#include "grad_weight/terms.h"
#include "layout.h"

constexpr int kPromoteStages = kSplit ? kMostTerms / kKSteps : 1;  // stages after which high parts are promoted

static_assert(!kSplit || kKSteps <= kMostTerms, "a stage has no more products than one promotion");
static_assert(!kSplit || (P::shared_totals ? 2 : 3) * kAccumulators <= (kThreads > 256 ? 144 : 208),
              "accumulators and totals fit the registers");

// A thread's totals: in {with place: shared memory at `place`}{with totals: registers}.
__device__ __forceinline__ float4 load_totals(const Accumulators (&totals)[kOwnTiles], const float4* place,
                                              const int tile, const int i) {
  return P::shared_totals ? place[(tile * (P::block_in / 2) + i) / 4 * kConsumers]
                          : make_float4(totals[tile][i], totals[tile][i + 1], totals[tile][i + 2], totals[tile][i + 3]);
}
__device__ __forceinline__ void store_totals(Accumulators (&totals)[kOwnTiles], float4* place, const int tile,
                                             const int i, const float4& four) {
  if (P::shared_totals) {
    place[(tile * (P::block_in / 2) + i) / 4 * kConsumers] = four;
  } else {
    totals[tile][i] = four.x;
    totals[tile][i + 1] = four.y;
    totals[tile][i + 2] = four.z;
    totals[tile][i + 3] = four.w;
  }
}

// Adds accumulators of high parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_high(Accumulators (&totals)[kOwnTiles], float4* place,
                                             Accumulators (&high)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_in / 2; i += 4) {
      float4 four = load_totals(totals, place, tile, i);
      four.x += high[tile][i];
      four.y += high[tile][i + 1];
      four.z += high[tile][i + 2];
      four.w += high[tile][i + 3];
      store_totals(totals, place, tile, i, four);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        high[tile][i + k] = 0;
      }
    }
  }
}

// Adds accumulators of low parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_low(Accumulators (&totals)[kOwnTiles], float4* place,
                                            Accumulators (&low)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_in / 2; i += 4) {
      float4 four = load_totals(totals, place, tile, i);
      four.x = with_low(four.x, low[tile][i]);
      four.y = with_low(four.y, low[tile][i + 1]);
      four.z = with_low(four.z, low[tile][i + 2]);
      four.w = with_low(four.w, low[tile][i + 3]);
      store_totals(totals, place, tile, i, four);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        low[tile][i + k] = 0;
      }
    }
  }
}

// Totals in shared memory, at first.
__device__ __forceinline__ void clear_totals(float4* place) {
#pragma unroll
  for (int i = 0; i < kAccumulators; i += 4) {
    place[i / 4 * kConsumers] = make_float4(0, 0, 0, 0);
  }
}

// Totals in shared memory, at last.
__device__ __forceinline__ void fetch_totals(Accumulators (&totals)[kOwnTiles], const float4* place) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_in / 2; i += 4) {
      const float4 four = place[(tile * (P::block_in / 2) + i) / 4 * kConsumers];
      totals[tile][i] = four.x;
      totals[tile][i + 1] = four.y;
      totals[tile][i + 2] = four.z;
      totals[tile][i + 3] = four.w;
    }
  }
}
