// The packing of weights: for each N tile and k-block of input channels, by steps, taps and columns.
#pragma once

#include "layout.h"

// Where the weights of a k-step and a tap of the kernel begin in those of the first phase rows.
__device__ inline long long packed_offset(int k_step, int tap) {
  const int kd = P::kernel_d == 1 ? 0 : tap / (P::kernel_h * P::kernel_w);
  const int kh = P::kernel_d == 1 ? tap / P::kernel_w : tap / P::kernel_w % P::kernel_h;
  return static_cast<long long>(phase_group_of(kh)) * (kChannelTiles * kPackedTileBytes) +
         (kd * kKBlocks + k_step / kKSteps) * kKBlockWeightBytes +
         (k_step % kKSteps * kTaps + row_of_kernel_row(kh) * P::kernel_w + tap % P::kernel_w) * kTapBytes;
}

#include "split/pack.h"

constexpr int kPackedRows = kSplitRows;

extern "C" __global__ void __launch_bounds__(kPackers)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  pack_split(weight, packed);
}
