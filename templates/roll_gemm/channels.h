// Part of the template `roll_gemm`: which channels the places of products are, with channels last.
#pragma once

#include "device/thread_channels.h"

// The input channel at a place of a k-step's channels: a half, a word of its 16 bytes, and a part of that. A thread
// reads 16 bytes of a pixel, for two k-steps; 8 for the last one of an odd number.
__device__ __forceinline__ int in_channel_at(int k_step, int half, int word, int part) {
  const bool is_alone = kKSteps % 2 == 1 && k_step == kKSteps - 1;
  const int from = is_alone ? k_step * kInstructionK + word * (kVector / 2)
                            : k_step / 2 * (2 * kInstructionK) + word * kVector + k_step % 2 * (kVector / 2);
  return from + half * (4 / kBytes) + part;
}
