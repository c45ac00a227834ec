// The ring of stages between producers and consumers.
//
// A stage has two mbarriers: a phase of `full` completes when producers have filled it, one of `empty` when consumers
// have released it. The phase before a new barrier's first one counts as complete. So of fills counted from 0, number
// i is of stage i % stages. Consumers wait for `full` with the parity of i / stages, producers for `empty` with the
// other parity, where the first fill of each stage finds it empty. A thread counts fills, or keeps a stage and its
// parity, which is 1 at first if it waits for empty stages.
// Needs `Parameters` with stages.
#pragma once

#include "device/barrier.h"
#include "device/static_parameters.h"

// Shared memory from its first stage on, and the stages' barriers.
struct Pipeline {
  unsigned char* shared;
  unsigned long long* full;
  unsigned long long* empty;
};

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty, const int filling,
                                            const int releasing) {
  for (int stage = 0; stage < Parameters::stages; ++stage) {
    mbarrier_init(&full[stage], filling);
    mbarrier_init(&empty[stage], releasing);
  }
}

// Of fill number i: its stage, the parity with which consumers wait for it, and that with which producers wait before
// it: refill_parity() where they don't wait before the first fill of a stage. It is the same one, but compiles to other
// instructions.
__device__ inline int stage_of(int i) {
  return i % Parameters::stages;
}
__device__ inline int full_parity(int i) {
  return i / Parameters::stages % 2;
}
__device__ inline int empty_parity(int i) {
  return i / Parameters::stages % 2 ^ 1;
}
__device__ inline int refill_parity(int i) {
  return (i / Parameters::stages - 1) % 2;
}

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == Parameters::stages - 1 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Lane 0 arrives for its warp{with is_done:  if `is_done`}: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// Lane 0 arrives for its warp, all of whose lanes have read a stage, or filled it.
__device__ __forceinline__ void release_stage(unsigned long long* barrier, int lane) {
  __syncwarp();
  if (lane == 0) {
    mbarrier_arrive(barrier);
  }
}
