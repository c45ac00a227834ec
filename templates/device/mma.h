// Device primitives: mma.sync, matrix products of one warp in its registers. sm_80 and later. Collective: all 32 lanes
// of the warp call together, else undefined.
//
// d (16 x 8, f32) += a (16 x K) * b (K x 8). With g = lane / 4 and t = lane % 4, a lane holds
//   d[i]:  row g + i / 2 * 8, column 2 * t + i % 2
//   a[i]:  row g + i % 2 * 8, k = 2 * t + i / 2 * 8 (low half) and the next one
//   b[i]:  column g, k = 2 * t + i * 8 (low half) and the next one
// and of tf32, whose operands are words with 13 low bits that are ignored,
//   a[i]:  row g + i % 2 * 8, k = t + i / 2 * 4
//   b[i]:  column g, k = t + i * 4
// So matrix_load_x4() of rows of `a` by halves of 8 rows, then of 8 k, gives `a`.
#pragma once

// K = 16, f16.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// K = 16, bf16.
__device__ __forceinline__ void mma_k16_bf16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// K = 8, f16.
__device__ __forceinline__ void mma_k8_f16(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

// K = 8, bf16.
__device__ __forceinline__ void mma_k8_bf16(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

// K = 8, tf32.
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
