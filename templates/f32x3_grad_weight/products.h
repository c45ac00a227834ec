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

// Adds accumulators of high parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_high(Accumulators (&totals)[kOwnTiles], Accumulators (&high)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_in / 2; ++i) {
      totals[tile][i] += high[tile][i];
      high[tile][i] = 0;
    }
  }
}

// The same of low parts. Infinities have none: a total of high parts that isn't finite is the result.
__device__ __forceinline__ void promote_low(Accumulators (&totals)[kOwnTiles], Accumulators (&low)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_in / 2; ++i) {
      const float sum = fmaf(low[tile][i], 1 / kLowScale, totals[tile][i]);
      totals[tile][i] = is_finite(totals[tile][i]) ? sum : totals[tile][i];
      low[tile][i] = 0;
    }
  }
}
