// Device primitives: cp.async, copies from global to shared memory that run while the thread goes on. sm_80 and later.
//
// The bytes are in shared memory, for the thread that asked, after async_copy_wait() or async_copy_wait_all() of that
// thread; for other threads after a barrier that follows that wait (or the phase that async_copy_arrive() completes).
// Until then the destination is undefined, and neither it nor the source may be written.
#pragma once

#include "device/memory.h"

// Copies `bytes` (0 to 4) from global to shared memory and writes zeros for the rest of 4.
//
// `from` is not read where `bytes` is 0, but must be aligned. Both addresses are multiples of 4.
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Copies `bytes` (0 to 8) from global to shared memory and writes zeros for the rest of 8; aligned to 8.
__device__ __forceinline__ void async_copy_8(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Closes a group: all copies of this thread since the last one. An empty group is legal.
__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 to 7) newest groups of this thread are still in flight.
//
// Copies that are in no group yet are not waited for.
__device__ __forceinline__ void async_copy_wait(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      break;
    case 3:
      asm volatile("cp.async.wait_group 3;" ::: "memory");
      break;
    case 4:
      asm volatile("cp.async.wait_group 4;" ::: "memory");
      break;
    case 5:
      asm volatile("cp.async.wait_group 5;" ::: "memory");
      break;
    case 6:
      asm volatile("cp.async.wait_group 6;" ::: "memory");
      break;
    case 7:
      asm volatile("cp.async.wait_group 7;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// Waits for all copies of this thread, in groups or not.
__device__ __forceinline__ void async_copy_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Arrives at an mbarrier once all copies that this thread has asked for so far are in shared memory; does not wait.
//
// The arrival is one of those the barrier was initialised for (.noinc).
__device__ __forceinline__ void async_copy_arrive(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
