// Device primitives: ldmatrix (sm_75 and later) and stmatrix (sm_90 and later): 8x8 matrices of 16-bit elements between
// shared memory and a warp's registers. Collective: all 32 lanes of the warp call together, else undefined.
//
// Matrix i has its row j (8 elements, 16 bytes, aligned to 16) where lane 8 * i + j's `row` points; the pointers of
// lanes beyond the matrices are not used. Lane l holds elements 2 * (l % 4) (low half) and 2 * (l % 4) + 1 of row l / 4
// of matrix i in value i; transposed, element (l / 4) of rows 2 * (l % 4) and 2 * (l % 4) + 1. They are ordinary
// accesses of the thread: plain shared stores need only a __syncwarp() or barrier between.
#pragma once

#include "device/memory.h"

// Reads one matrix.
__device__ __forceinline__ void matrix_load_x1(unsigned int& value, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(value)
               : "r"(shared_address(row))
               : "memory");
}

// Reads one matrix, transposed.
__device__ __forceinline__ void matrix_load_x1_transposed(unsigned int& value, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(value)
               : "r"(shared_address(row))
               : "memory");
}

// Reads two matrices.
__device__ __forceinline__ void matrix_load_x2(unsigned int (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

// Reads two matrices, transposed.
__device__ __forceinline__ void matrix_load_x2_transposed(unsigned int (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// Writes one matrix.
__device__ __forceinline__ void matrix_store_x1(void* row, unsigned int value) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(shared_address(row)), "r"(value)
               : "memory");
}

// Writes one matrix, transposed.
__device__ __forceinline__ void matrix_store_x1_transposed(void* row, unsigned int value) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(shared_address(row)), "r"(value)
               : "memory");
}

// Writes two matrices.
__device__ __forceinline__ void matrix_store_x2(void* row, const unsigned int (&values)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(values[0]),
               "r"(values[1])
               : "memory");
}

// Writes two matrices, transposed.
__device__ __forceinline__ void matrix_store_x2_transposed(void* row, const unsigned int (&values)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1])
               : "memory");
}

// Writes four matrices.
__device__ __forceinline__ void matrix_store_x4(void* row, const unsigned int (&values)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
               : "memory");
}

// Writes four matrices, transposed.
__device__ __forceinline__ void matrix_store_x4_transposed(void* row, const unsigned int (&values)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
               : "memory");
}
