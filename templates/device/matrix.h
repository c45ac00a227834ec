// Device primitives: mma.sync, matrix products of a warp. Collective: all 32 lanes of the warp call together.
//
// d (16x8, f32) += a (16xK) * b (Kx8). Lane l = 4 * g + t, g = l / 4. d: rows g (values 0, 1) and g + 8 (2, 3), columns
// 2t and 2t + 1. 16-bit elements lie two in a register, the lower index in the low half; a[0]: row g, k = 2t, 2t + 1;
// a[1]: row g + 8, the same k; a[2] and a[3]: the same rows with k + 8. b[0]: column g, k = 2t, 2t + 1; b[1]: k + 8.
// tf32 lies one in a register, as an f32 whose 13 low bits are not read; a[0]: row g, k = t; a[1]: row g + 8; a[2] and
// a[3]: k + 4; b[0]: k = t, column g; b[1]: k + 4. Products are exact, the order and the rounding of their sum are the
// chip's. They are ordinary instructions of the thread: results are there when the call returns.
#pragma once

// sm_75 and later.
__device__ __forceinline__ void mma_m16n8k8_f16(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

// sm_80 and later.
__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const unsigned int (&a)[4],
                                                 const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// sm_80 and later.
__device__ __forceinline__ void mma_m16n8k8_bf16(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

// sm_80 and later.
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned int (&a)[4],
                                                  const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// sm_80 and later.
__device__ __forceinline__ void mma_m16n8k4_tf32(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

// sm_80 and later.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned int (&a)[4],
                                                 const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
