// Products of a stage, by the consumer warpgroups, for gradients of weights whose values are split: of high parts, and
// of high with low parts, each with accumulators of its own.
//
// The template's products.h has what depends on how a stage lies in shared memory: a thread's Place in the window of
// grad_y for 16 rows, load_fragment() of a part from there, input_descriptor() of the high parts of the input of a
// stage's first step, and the bytes from there: input_of_step() to another step's, kInputPartBytes to the low parts.
// Needs: input_descriptor(), input_of_step(), kInputPartBytes, kKSteps, kLastRow, load_fragment(), Place
#pragma once

#include "device/split.h"
#include "device/warpgroup.h"
#include "grad_weight/problem.h"
#include "products.h"

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using PartFragments = unsigned int[2 * kOwnTiles][4];

// All products of a stage, of a warpgroup that has so many tiles.{with offset:  The stage is `offset`
// bytes into `shared`.} `places` are the thread's own in the window.
__device__ __forceinline__ void multiply_parts(Accumulators (&high)[kOwnTiles], Accumulators (&low)[kOwnTiles],
                                               const int tiles, const unsigned char* shared, int offset,
                                               const Place (&places)[kOwnTiles]) {
  const unsigned long long input = input_descriptor(shared + offset);
  PartFragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        load_fragment(fragments[step % 2][2 * tile + part], shared, offset, part, step, places[tile]);
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          wgmma_pin_operand(fragments[step % 2][2 * tile + part][word]);
        }
      }
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, input_of_step(step));
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputPartBytes + input_of_step(step));
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
