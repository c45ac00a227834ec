// The roles of warps: consumers come first in a block, whole warpgroups, then producers.
// Needs, above its line, kConsumers and kProducers (threads), kConsumerRegisters and kProducerRegisters (of a thread).
#pragma once

constexpr int kThreads = kConsumers + kProducers;

// A block starts with as many registers for each thread, in eights. Producers give some up, and consumers wait until
// these are there.
constexpr int kFirstRegisters = 65536 / kThreads / 8 * 8;
static_assert(kProducers * kProducerRegisters + kConsumers * kConsumerRegisters <= kThreads * kFirstRegisters,
              "warps that ask for more wait forever");

__device__ inline bool is_producer(int warp) {
  return warp >= kConsumers / 32;
}
