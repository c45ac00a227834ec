// Device primitives: wgmma, matrix products of a warpgroup (4 warps, the first a multiple of 4) that run while it
// goes on. sm_90a.
//
// The products themselves have names such as wgmma_m64n96k16_f16_ss and are printed
// (generator/specializer/primitives.h). All of these are collective in the warpgroup. Order: wgmma_fence(); products;
// wgmma_commit(); wgmma_wait(). Until the wait that covers a product, its accumulators and A registers may be neither
// read nor written by the threads (further products of the same shape on the same accumulators are in order), nor its
// shared memory by anybody.
#pragma once

#include "device/memory.h"

// Orders earlier accesses of registers (accumulators, A) before the products that follow.
//
// Needed before the first product and whenever threads have touched these registers since.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group: all products of this warpgroup since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 or 1) newest groups are still in flight.
__device__ __forceinline__ void wgmma_wait(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
}

// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
//
// Over all accumulators.
__device__ __forceinline__ void wgmma_pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}

// The same for a word of an A operand, before wgmma_fence(): what makes it is not put off until the product.
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word) {
  asm volatile("" : "+r"(word)::"memory");
}

// Keeps the registers of an A operand for products in flight, up to here: after the wait for them. `zero` is 0.
//
// The assembler keeps them in straight code only, not from one turn of a loop to the next. A store that is never done
// reads them all, in one instruction; the compiler doesn't know that `zero` is 0.
__device__ __forceinline__ void wgmma_keep_operand(const unsigned int (&operand)[4], unsigned int zero) {
  asm volatile(
      "{\n\t.reg .pred kept;\n\t.reg .b32 nowhere;\n\tmov.b32 nowhere, 0;\n\tsetp.ne.u32 kept, %4, 0;\n\t"
      "@kept st.shared.v4.b32 [nowhere], {%0, %1, %2, %3};\n\t}" ::"r"(operand[0]),
      "r"(operand[1]), "r"(operand[2]), "r"(operand[3]), "r"(zero)
      : "memory");
}

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
//
// The first byte is a multiple of 16, the pitches are multiples of 16 below 2^18, the swizzle is 0, 32, 64 or 128. T =
// 16 bytes' worth of elements. Element (row, k) of a K-major operand (rows are of A or columns of B) has its byte at
//   no swizzle:   row / 8 * stride + row % 8 * 16 + k / T * leading + k % T * size
//   swizzle S:    row / 8 * stride + row % 8 * S  + k * size           (leading not used)
// and of an MN-major one (16-bit types only):
//   no swizzle:   row / 8 * stride + row % 8 * 2 + k % 8 * 16 + k / 8 * leading
//   swizzle S:    row / (S / 2) * leading + row % (S / 2) * 2 + k % 8 * S + k / 8 * stride
// after the start; with a swizzle, bits 4.. of the resulting address in the shared window are then exclusive-or'ed
// with bits 7.. (1 bit for 32, 2 for 64, 3 for 128). The pattern follows addresses, so a start may be moved by whole
// rows (16 bytes without, S with a swizzle) or along K (32 bytes) as long as the memory read is laid out by the same
// formula. base_offset is 0. The whole operand must lie in the block's shared memory.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}
