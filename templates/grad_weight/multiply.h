// Products of a stage, by the consumer warpgroups, for gradients of weights by products over positions.
//
// The template's products.h has what depends on how a stage lies in shared memory: a thread's Place in the window of
// grad_y for 16 rows, load_fragment() of a part of the values from there, input_descriptor() of the input of a stage's
// first step, and input_of_step(), the bytes from there to another step's; kInputMajor, the order of that operand; and
// kOtherRegisters, which a thread needs besides accumulators and fragments. Needs: input_descriptor(), input_of_step(),
// kInputMajor, kKSteps, kLastRow, kOtherRegisters, kThreads,
//   load_fragment(), Place
// Needs: input_descriptor(), input_of_step(), kInputMajor, kKSteps, kLastRow, kOtherRegisters, kSumsRows, kThreads,
//   load_fragment(), Place
#pragma once

#include "device/warpgroup.h"
#include "grad_weight/fragment_sums.h"
#include "grad_weight/problem.h"
#include "products.h"

// Products are issued by steps, of all tiles at once, while the fragments of the next step are loaded. Where a thread
// has no registers for these, and for the rest, products are issued one by one.
constexpr int kThreadRegisters = kThreads > 384 ? 128 : kThreads > 256 ? 168 : 255;
constexpr bool kOneByOne = kOwnTiles > 1 && kAccumulators + 8 * kOwnTiles + kOtherRegisters > kThreadRegisters;

// One thread's A fragments of what is issued at once.
using Fragments = unsigned int[kOneByOne ? 1 : kOwnTiles][4];

// All products of a stage, of a warpgroup that has so many tiles.{with offset:  The stage is `offset`
// bytes into `shared`.} `places` are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[kOwnTiles], RowSums& row_sums, const int tiles,
                                               const unsigned char* shared, int offset,
                                               const Place (&places)[kOwnTiles]) {
  const unsigned long long input = input_descriptor(shared + offset);
  Fragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    if constexpr (kOneByOne) {
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        const int set = (step * tiles + tile) % 2;
        load_fragment(fragments[set][0], shared, offset, 0, step, places[tile]);
        if constexpr (kSumsRows) {
          add_fragment(row_sums[tile], fragments[set][0]);
        }
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          wgmma_pin_operand(fragments[set][0][word]);
        }
        wgmma_fence();
        wgmma_rs(P::type, kInputMajor, acc[tile], fragments[set][0], wgmma_descriptor_move(input, input_of_step(step)),
                 1);
        wgmma_commit();
        wgmma_wait(1);  // the product before, whose fragment the next one overwrites
      }
    } else {
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        load_fragment(fragments[step % 2][tile], shared, offset, 0, step, places[tile]);
        if constexpr (kSumsRows) {
          add_fragment(row_sums[tile], fragments[step % 2][tile]);
        }
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          wgmma_pin_operand(fragments[step % 2][tile][word]);
        }
      }
      wgmma_fence();
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        wgmma_rs(P::type, kInputMajor, acc[tile], fragments[step % 2][tile],
                 wgmma_descriptor_move(input, input_of_step(step)), 1);
      }
      wgmma_commit();
      wgmma_wait(1);  // the step before, whose fragments the next one overwrites
    }
  }
  wgmma_wait(0);
}
