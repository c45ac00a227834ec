// Device primitives: clusters of blocks and their shared memory. sm_90 and later. Without a cluster launch, a block is
// a cluster of 1. A block's shared memory may be used by others only between a cluster barrier after its start and one
// before its end.
#pragma once

#include "device/memory.h"

// This block's number in its cluster.
__device__ __forceinline__ unsigned int cluster_rank() {
  unsigned int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// How many blocks the cluster has.
__device__ __forceinline__ unsigned int cluster_size() {
  unsigned int size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

// Arrives at the cluster's barrier. What this thread wrote before is visible to threads after their cluster_wait().
//
// All threads of all blocks of the cluster come, once a phase; whole warps. Every arrival is followed by its
// cluster_wait().
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// The same without making anything visible, as where a fence has done so, or at the kernel's end.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Waits until all threads of the cluster have arrived in this phase; acquires.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same place in the shared memory of block `rank`: a generic pointer, for ordinary loads, stores and atomics.
__device__ __forceinline__ void* cluster_pointer(void* local, unsigned int rank) {
  void* remote;
  asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(local), "r"(rank));
  return remote;
}

// Reads 4 bytes (aligned to 4) at the place of `local` in the shared memory of block `rank`.
__device__ __forceinline__ unsigned int cluster_load_4(const void* local, unsigned int rank) {
  unsigned int value;
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %1, %2; ld.shared::cluster.b32 %0, [a]; }"
               : "=r"(value)
               : "r"(shared_address(local)), "r"(rank)
               : "memory");
  return value;
}

// Reads 16 bytes (aligned to 16) at the place of `local` in the shared memory of block `rank`.
__device__ __forceinline__ uint4 cluster_load_16(const void* local, unsigned int rank) {
  uint4 value;
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %4, %5; ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [a]; }"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(shared_address(local)), "r"(rank)
               : "memory");
  return value;
}

// Writes 4 bytes (aligned to 4) at the place of `local` in the shared memory of block `rank`.
__device__ __forceinline__ void cluster_store_4(void* local, unsigned int rank, unsigned int value) {
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; st.shared::cluster.b32 [a], %2; }" ::"r"(
                   shared_address(local)),
               "r"(rank), "r"(value)
               : "memory");
}

// Writes 16 bytes (aligned to 16) at the place of `local` in the shared memory of block `rank`.
__device__ __forceinline__ void cluster_store_16(void* local, unsigned int rank, uint4 value) {
  asm volatile(
      "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; st.shared::cluster.v4.b32 [a], {%2, %3, %4, %5}; }" ::"r"(
          shared_address(local)),
      "r"(rank), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
      : "memory");
}
