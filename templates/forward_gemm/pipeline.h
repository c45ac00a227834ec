// The ring of stages between producers and consumers.
// Needs: P
#pragma once

#include "device/barrier.h"
#include "layout.h"

// Goes on to the next stage; the parity changes when the ring begins anew.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == P::stages - 1 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Lane 0 arrives for its warp if `is_done`: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}
