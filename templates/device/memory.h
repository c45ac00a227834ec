// Device primitives: shared memory. On the host device, runtime/device/host brings functions of the same names.
#pragma once

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}
