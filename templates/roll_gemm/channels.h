// Part of the template `roll_gemm`: which channels the places of products are, with channels last.
#pragma once

// The input channel at a place of a step's depth: a half, a word of its 16 bytes, and a part of that. A thread reads 16
// bytes of a pixel, for two steps; 8 for the last one of an odd number.
__device__ __forceinline__ int in_channel_at(int step, int half, int word, int part) {
  const bool is_alone = kSteps % 2 == 1 && step == kSteps - 1;
  const int from =
      is_alone ? step * kDepth + word * (kPack / 2) : step / 2 * (2 * kDepth) + word * kPack + step % 2 * (kPack / 2);
  return from + half * (4 / kBytes) + part;
}

// The output channel of the block that stands at column n of a kernel row: a thread's columns are adjacent channels.
__device__ __forceinline__ int out_channel_at(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / kAdjacentChannels * (4 * kAdjacentChannels) + thread * kAdjacentChannels + i % kAdjacentChannels;
}
