// Part of the template `grad_weight_gemm`: products of a stage, by the consumer warpgroups.
#pragma once

#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

// One thread's A fragments of one product of each of its tiles.
using Fragments = unsigned int[kOwnTiles][4];

constexpr int kPixelBytes = P::type == kWgmmaTf32 ? 4 : 16;                     // of a position in the window
constexpr int kStepBytes = P::type == kWgmmaTf32 ? 2 * kQuadPitch : 256;        // from the input of a product to the next

// The thread's own place in the window for 16 rows, in bytes.
__device__ __forceinline__ int fragment_place(int rows, int lane) {
  const int pixel = pixel_of_tap(tap_of_rows(rows));
  const int channel = channel_of_rows(rows);
  if (P::type == kWgmmaTf32) {
    return (channel + lane / 4) * kChannelPitch + (pixel + lane % 4) * 4;
  }
  return (channel / kPack + lane / 8 % 2) * kWindowUnitPitch + (pixel + lane % 8 + lane / 16 * 8) * 16;
}

// Loads an A fragment: 16 rows of the warp by the positions of a product.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* from) {
  if constexpr (P::type == kWgmmaTf32) {
    fragment[0] = *reinterpret_cast<const unsigned int*>(from);
    fragment[1] = *reinterpret_cast<const unsigned int*>(from + 8 * kChannelPitch);
    fragment[2] = *reinterpret_cast<const unsigned int*>(from + 16);
    fragment[3] = *reinterpret_cast<const unsigned int*>(from + 8 * kChannelPitch + 16);
  } else {
    matrix_load_x4_transposed(fragment, from);
  }
}

// All products of a stage, of a warpgroup that has so many tiles. `places` are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[kOwnTiles], const int tiles,
                                               const unsigned char* stage, const int (&places)[kOwnTiles]) {
  const unsigned long long input = P::type == kWgmmaTf32 ? wgmma_descriptor(stage, kQuadPitch, 128, 0)
                                                         : wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
  const unsigned char* window = stage + kInputBytes;
  Fragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    const int pixel = step / kRunSteps * kRowPitch + step % kRunSteps * kInstructionK;
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      load_fragment(fragments[step % 2][tile], window + places[tile] + pixel * kPixelBytes);
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        wgmma_pin_operand(fragments[step % 2][tile][word]);
      }
    }
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_rs(P::type, P::type == kWgmmaTf32 ? kWgmmaMajorK : kWgmmaMajorMn, acc[tile], fragments[step % 2][tile],
               wgmma_descriptor_move(input, step * kStepBytes), 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}
