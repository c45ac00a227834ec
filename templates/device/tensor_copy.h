// Device primitives: TMA, copies between global and shared memory by the asynchronous proxy. sm_90 and later.
//
// One thread asks. A load reports its bytes to an mbarrier of this block, which must expect them in the current phase
// (mbarrier_arrive_expect(); the bytes of the whole box, those out of bounds included); who waits for that phase sees
// them. A store reads shared memory until bulk_wait_read() of the thread that committed it, and its bytes are in global
// memory after bulk_wait(). What threads wrote to shared memory by plain stores is seen by TMA (and wgmma) only after
// fence_proxy_async() of the writers and then a barrier; shared memory that threads have read may be overwritten by a
// load after a barrier with the readers.
// Coordinates count elements, innermost dimension first, and may lie outside: such elements are loaded as the map's
// fill and not stored. The innermost must be a multiple of 16 bytes, negative or not, and a store's may not be
// negative in any dimension: anything else is an illegal instruction (seen on an H200; no manual says so). The tf32
// element type rounds to nearest, ties to even (likewise). `to` and `from` in shared memory are multiples of 128 bytes
// (for swizzle 128: of 1024 where the box is to lie as wgmma reads it; the pattern follows the address). Sizes are the
// box of the map.
#pragma once

#include "device/memory.h"

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

// Loads the box at these coordinates of a 1-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_1d(void* to, const TensorMap& map, unsigned long long* barrier, int c0) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0)
      : "memory");
}

// Loads the box at these coordinates of a 2-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1)
      : "memory");
}

// Loads the box at these coordinates of a 3-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_3d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

// Loads the box at these coordinates of a 4-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// Loads the box at these coordinates of a 5-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_5d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
      "%7}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// The same to every block of the cluster whose bit (1 << rank) is set in `blocks`, at the same place of its shared
// memory; each block's barrier at the same place gets the bytes, so each must expect the whole box. None may have
// ended.
__device__ __forceinline__ void tensor_load_multicast_1d(void* to, const TensorMap& map, unsigned long long* barrier,
                                                         unsigned short blocks, int c0) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%4}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "h"(blocks), "r"(c0)
      : "memory");
}

// The same for a 2-dimensional map.
__device__ __forceinline__ void tensor_load_multicast_2d(void* to, const TensorMap& map, unsigned long long* barrier,
                                                         unsigned short blocks, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%4, %5}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "h"(blocks), "r"(c0), "r"(c1)
      : "memory");
}

// The same for a 3-dimensional map.
__device__ __forceinline__ void tensor_load_multicast_3d(void* to, const TensorMap& map, unsigned long long* barrier,
                                                         unsigned short blocks, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%4, %5, %6}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "h"(blocks), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

// The same for a 4-dimensional map.
__device__ __forceinline__ void tensor_load_multicast_4d(void* to, const TensorMap& map, unsigned long long* barrier,
                                                         unsigned short blocks, int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%4, %5, %6, %7}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// The same for a 5-dimensional map.
__device__ __forceinline__ void tensor_load_multicast_5d(void* to, const TensorMap& map, unsigned long long* barrier,
                                                         unsigned short blocks, int c0, int c1, int c2, int c3,
                                                         int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// Stores a box from shared memory at these coordinates of a 1-dimensional map, into the open bulk group.
__device__ __forceinline__ void tensor_store_1d(const TensorMap& map, const void* from, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(c0)
               : "memory");
}

// Stores a box from shared memory at these coordinates of a 2-dimensional map, into the open bulk group.
__device__ __forceinline__ void tensor_store_2d(const TensorMap& map, const void* from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(c0), "r"(c1)
               : "memory");
}

// Stores a box from shared memory at these coordinates of a 3-dimensional map, into the open bulk group.
__device__ __forceinline__ void tensor_store_3d(const TensorMap& map, const void* from, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}

// Stores a box from shared memory at these coordinates of a 4-dimensional map, into the open bulk group.
__device__ __forceinline__ void tensor_store_4d(const TensorMap& map, const void* from, int c0, int c1, int c2,
                                                int c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}

// Stores a box from shared memory at these coordinates of a 5-dimensional map, into the open bulk group.
__device__ __forceinline__ void tensor_store_5d(const TensorMap& map, const void* from, int c0, int c1, int c2, int c3,
                                                int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&map),
      "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// Fetches the map itself ahead of its first use. A hint: no effect that could be seen.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies `bytes` (a multiple of 16) from global to shared memory, both aligned to 16; reports to an mbarrier.
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// The same to the blocks of the cluster in `blocks`, as tensor_load_multicast_1d() does it.
__device__ __forceinline__ void bulk_load_multicast(void* to, const void* from, unsigned int bytes,
                                                    unsigned long long* barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}

// Copies `bytes` (a multiple of 16) from shared to global memory, both aligned to 16, into the open bulk group.
__device__ __forceinline__ void bulk_store(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}

// Closes a group: all stores of this thread since the last one.
__device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the `pending` (a constant, 0 to 7) newest groups of this thread have read their shared memory,
// which may be written again then.
__device__ __forceinline__ void bulk_wait_read(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
      break;
    case 3:
      asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
      break;
    case 4:
      asm volatile("cp.async.bulk.wait_group.read 4;" ::: "memory");
      break;
    case 5:
      asm volatile("cp.async.bulk.wait_group.read 5;" ::: "memory");
      break;
    case 6:
      asm volatile("cp.async.bulk.wait_group.read 6;" ::: "memory");
      break;
    case 7:
      asm volatile("cp.async.bulk.wait_group.read 7;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// Waits until all but the `pending` (a constant, 0 to 7) newest groups of this thread are complete: their bytes are
// written.
__device__ __forceinline__ void bulk_wait(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.bulk.wait_group 2;" ::: "memory");
      break;
    case 3:
      asm volatile("cp.async.bulk.wait_group 3;" ::: "memory");
      break;
    case 4:
      asm volatile("cp.async.bulk.wait_group 4;" ::: "memory");
      break;
    case 5:
      asm volatile("cp.async.bulk.wait_group 5;" ::: "memory");
      break;
    case 6:
      asm volatile("cp.async.bulk.wait_group 6;" ::: "memory");
      break;
    case 7:
      asm volatile("cp.async.bulk.wait_group 7;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// Orders this thread's accesses to shared memory before those of TMA and wgmma after the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
