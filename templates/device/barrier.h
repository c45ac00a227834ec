// Device primitives: mbarriers and named barriers. mbarriers from sm_80; transactions, try_wait and remote arrivals
// from sm_90.
//
// An mbarrier is 8 bytes of shared memory, aligned to 8. It counts through phases, from parity 0 on: a
// phase completes when as many threads have arrived as the barrier was initialised for, and the transaction bytes
// expected in it are all copied; the next begins at once. Undefined on the chip: use before mbarrier_init() is visible
// to the thread, plain accesses to its bytes while it lives, more arrivals in a phase than its count, and waiting with
// the parity of a phase before the last one.
#pragma once

#include "device/memory.h"

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
//
// One thread does it; others see it after a block barrier, TMA, wgmma and the other blocks of a cluster after
// fence_mbarrier_init() and then a block or cluster barrier.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Ends the barrier's life; its bytes may be used for something else then. Nothing may be waiting or in flight.
__device__ __forceinline__ void mbarrier_invalidate(unsigned long long* barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once. What this thread wrote before is visible to threads that wait for the phase (release, in the block).
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Adds `bytes` to what the current phase expects of asynchronous copies, then arrives once.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes) : "memory");
}

// Adds `bytes` to what the current phase expects, without arriving.
//
// At most 2^20 - 1 are outstanding. The phase must not be able to complete before, so somebody's arrival has still to
// come.
__device__ __forceinline__ void mbarrier_expect(unsigned long long* barrier, unsigned int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// Arrives at the barrier at the same place in the shared memory of block `rank` of the cluster, which may be this one.
//
// Release at cluster scope: the one who waits uses mbarrier_wait_cluster() to see what was written before. The other
// block must not have ended.
__device__ __forceinline__ void mbarrier_arrive_remote(unsigned long long* barrier, unsigned int rank) {
  asm volatile(
      "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; "
      "}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

// The same to say that this thread is done reading: it makes nothing visible to other blocks, so it needs no fence of
// the whole chip, which costs about a microsecond.
__device__ __forceinline__ void mbarrier_release_remote(unsigned long long* barrier, unsigned int rank) {
  asm volatile(
      "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cta.shared::cluster.b64 _, [a]; }" ::
          "r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

// Whether the phase of this parity is complete: true for the current phase's predecessor. Does not wait.
//
// A true answer acquires, in the block, what those who arrived wrote before, and the bytes of the phase's transactions.
__device__ __forceinline__ bool mbarrier_test(unsigned long long* barrier, unsigned int parity) {
  unsigned int complete;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(complete)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return complete != 0;
}

// Whether the phase of this parity is complete; may wait a while, as long as the chip likes, before it says no.
__device__ __forceinline__ bool mbarrier_try_wait(unsigned long long* barrier, unsigned int parity) {
  unsigned int complete;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(complete)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return complete != 0;
}

// Returns when the phase of this parity is complete, and sees what those who arrived wrote before.
//
// It acquires what mbarrier_test() does. From sm_90.
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity) {
  for (unsigned int complete = 0; complete == 0;) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
}

// mbarrier_wait() for sm_80 and later: asks again and again.
__device__ __forceinline__ void mbarrier_poll(unsigned long long* barrier, unsigned int parity) {
  while (!mbarrier_test(barrier, parity)) {
  }
}

// mbarrier_wait() that acquires at cluster scope: what other blocks wrote before mbarrier_arrive_remote() too.
__device__ __forceinline__ void mbarrier_wait_cluster(unsigned long long* barrier, unsigned int parity) {
  unsigned int complete;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(complete)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  } while (complete == 0);
}

// Waits at barrier `id` until `threads` threads of the block have come to it; what they wrote before is visible after.
//
// `id` is 1 to 15 (0 is __syncthreads's), `threads` a multiple of 32: whole warps only, which come through this or
// named_barrier_arrive().
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Comes to barrier `id` without waiting; the `threads` of all who meet there must be equal.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
