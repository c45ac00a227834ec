// Which of a product's channels a thread has: of four threads that share eight columns, kAdjacentChannels adjacent ones
// each in turn.
// Needs, above its line, kAdjacentChannels.
#pragma once

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / kAdjacentChannels * (4 * kAdjacentChannels) + i % kAdjacentChannels;
}
// How far it is from the first.
__host__ __device__ constexpr int channels_before(int i) {
  return i / kAdjacentChannels * (4 * kAdjacentChannels) + i % kAdjacentChannels;
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / kAdjacentChannels * (4 * kAdjacentChannels) + thread * kAdjacentChannels + i % kAdjacentChannels;
}
// The column where the weights of a channel of the block stand: a thread's columns are its own channels.
__device__ __forceinline__ int column_of_channel(int channel) {
  const int i = channel / (4 * kAdjacentChannels) * kAdjacentChannels + channel % kAdjacentChannels;
  const int thread = channel / kAdjacentChannels % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}
