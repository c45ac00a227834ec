// Part of the template `grad_weight_pixels`: products of a stage, by the consumer warpgroups.
#pragma once

#include "device/matrix_load.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

// One thread's A fragments of one product of each of its tiles.
using Fragments = unsigned int[kOwnTiles][4];

// A thread's own place in a stage's window for 16 rows of a tap, in bytes before the swizzle.
using Place = int;

__device__ __forceinline__ Place place_of_rows(int rows, int lane) {
  const int tap = tap_of_rows(rows);
  const int kh = tap / P::taps_w;
  const int kw = tap % P::taps_w;
  const int plane = kh % kPeriodH * kPlanesW + kw % kPeriodW;
  const int pixel = kh / kPeriodH * kStepH * kWindowPitch + kw / kPeriodW * kStepW + lane % 8 + lane / 16 * 8;
  const int channel = channel_of_rows(rows) + lane / 8 % 2 * 8;
  return (plane * kOutBoxes + channel / kOutBox) * kPlaneBoxBytes + pixel * kOutSwizzle + channel % kOutBox * kBytes;
}

// Where copies put what has this place without a swizzle: bits 4.. are exclusive-or'ed with bits 7...
__device__ __forceinline__ int swizzled(int place) {
  return place ^ (place >> 3 & (kOutSwizzle - 16));
}

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`, whole
// patterns of swizzles; `places` are the thread's own in the window.
//
// A swizzle is found from a place in shared memory, not in the stage. The compiler would keep places in all rows of a
// stage in registers otherwise, since no stage would change them.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[kOwnTiles], const int tiles,
                                               const unsigned char* shared, int offset,
                                               const Place (&places)[kOwnTiles]) {
  const unsigned long long input = wgmma_descriptor(shared + offset, kInputBoxBytes, 8 * kInSwizzle, kInSwizzle);
  Fragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    // Steps of a run are whole patterns of the swizzle apart; its rows need not be.
    const int run = step / kRunSteps * kWindowPitch * kOutSwizzle;
    const int part = step % kRunSteps * kInstructionK * kOutSwizzle;
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      matrix_load_x4_transposed(fragments[step % 2][tile],
                                shared + swizzled(offset + places[tile] + (kInputBytes + run)) + part);
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        wgmma_pin_operand(fragments[step % 2][tile][word]);
      }
    }
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_rs(P::type, kWgmmaMajorMn, acc[tile], fragments[step % 2][tile],
               wgmma_descriptor_move(input, step * kInstructionK * kInSwizzle), 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}
