// Device primitives: shared memory, and global memory with cache hints. On the host device, runtime/device/host brings
// functions of the same names.
#pragma once

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
//
// The value is good for computing alignment and descriptors; it stays the same for the block's life.
__device__ __forceinline__ unsigned int shared_address(const void* to) {
  return __cvta_generic_to_shared(to);
}

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
//
// Swizzles count from the window. `pointer` lies in the block's own shared memory.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
}

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Writes 4 bytes (aligned to 4) to global memory in one instruction.
__device__ __forceinline__ void store_global_4(void* to, unsigned int value) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// Writes 8 bytes (aligned to 8) to global memory in one instruction.
__device__ __forceinline__ void store_global_8(void* to, uint2 value) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y) : "memory");
}

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}
