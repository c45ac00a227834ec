// What the orders of packed weights have in common.
//
// A block's weights are B operands: for each k-block, product and k-step two columns of 16-byte rows, a row for each of
// the product's kInstructionN channels. That is K-major without swizzle.
// Needs: kKBlocks, kKSteps, kRowBlocks, kTaps, P
#pragma once

#include "layout.h"

using WeightIndex = long long;

#include "device/exchanged_weights.h"
#include "device/thread_channels.h"

constexpr int kAllKSteps = kKBlocks / kRowBlocks * kKSteps;  // of a tap
constexpr long long kGroupWeights = static_cast<long long>(P::in_channels) * P::out_channels * kTaps;

// The k-block of a k-step, counted over all channels, and of a kernel row.
__device__ inline int k_block_of(int k_step, int kh) {
  return kRowBlocks == 1 ? k_step / kKSteps : k_step / kKSteps * kRowBlocks + kh;
}
