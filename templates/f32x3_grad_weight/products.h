// Part of the template `f32x3_grad_weight`: products of a stage, by the consumer warpgroups, and their promotion.
#pragma once

#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/split.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using Fragments = unsigned int[2 * kOwnTiles][4];

// The thread's own place in the window for 16 rows, in bytes.
__device__ __forceinline__ int fragment_place(int rows, int lane) {
  return (channel_of_rows(rows) / kPack + lane / 8 % 2) * kWindowUnitPitch +
         (pixel_of_tap(tap_of_rows(rows)) + lane % 8 + lane / 16 * 8) * 16;
}

// All products of a stage, of a warpgroup that has so many tiles: of high parts, and of high with low parts.
//
// `places` are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&high)[kOwnTiles], Accumulators (&low)[kOwnTiles],
                                               const int tiles, const unsigned char* stage,
                                               const int (&places)[kOwnTiles]) {
  const unsigned long long input = wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
  const unsigned char* window = stage + kWindowOffset;
  Fragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    const int pixel = step / kRunSteps * kRowPitch + step % kRunSteps * kInstructionK;
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        matrix_load_x4_transposed(fragments[step % 2][2 * tile + part],
                                  window + places[tile] + (part * kWindowBytes + pixel * 16));
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          wgmma_pin_operand(fragments[step % 2][2 * tile + part][word]);
        }
      }
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, step * 256);
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputBytes + step * 256);
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_rs(kWgmmaF16, kWgmmaMajorMn, low[tile], fragments[step % 2][2 * tile + 1], high_input, 1);
      wgmma_rs(kWgmmaF16, kWgmmaMajorMn, high[tile], fragments[step % 2][2 * tile], high_input, 1);
      wgmma_rs(kWgmmaF16, kWgmmaMajorMn, low[tile], fragments[step % 2][2 * tile], low_input, 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// A thread's totals: in registers, or in shared memory at `place`.
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

// A total with an accumulator of low parts. Infinities have none: a total that isn't finite is the result.
__device__ __forceinline__ float with_low(float total, float low) {
  return is_finite(total) ? fmaf(low, 1 / kLowScale, total) : total;
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
