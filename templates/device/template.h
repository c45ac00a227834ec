// What every template may use besides CUDA C++ itself.
#pragma once

// Before a loop: templatec unrolls it in the source. Where the template is compiled as it stands, nvcc unrolls it.
#if defined(CONVTGEN_TEMPLATEC)
#define CONVTGEN_UNROLL _Pragma("convtgen unroll")
#elif defined(__CUDACC__)
#define CONVTGEN_UNROLL _Pragma("unroll")
#else
#define CONVTGEN_UNROLL
#endif

__host__ __device__ constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}
__host__ __device__ constexpr int larger(int a, int b) {
  return a > b ? a : b;
}
__host__ __device__ constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}
__host__ __device__ constexpr int floor_div(int a, int b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}
__host__ __device__ constexpr int floor_mod(int a, int b) {
  return a - b * floor_div(a, b);
}
__host__ __device__ constexpr int greatest_common_divisor(int a, int b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}
// The numbers of the lowest and the highest bit, from 0, of bits that aren't all 0.
__host__ __device__ constexpr int lowest_bit(unsigned int bits) {
  return bits % 2 == 1 ? 0 : 1 + lowest_bit(bits / 2);
}
__host__ __device__ constexpr int highest_bit(unsigned int bits) {
  return bits < 2 ? 0 : 1 + highest_bit(bits / 2);
}

// Phases of an axis (generator/layer/phases.h): a tap makes the outputs of one phase, o = stride * m + phase, from the
// input at m + offset.
__host__ __device__ constexpr int phase_of_tap(int k, int stride, int padding, int dilation) {
  return floor_mod(dilation * k - padding, stride);
}
__host__ __device__ constexpr int offset_of_tap(int k, int stride, int padding, int dilation) {
  return -floor_div(dilation * k - padding, stride);
}
