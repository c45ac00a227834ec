// Printed primitives: instructions whose operand lists or constants depend on static values. They are declared here and
// printed into the emitted source (generator/specializer/primitives.h says under which names), so a template that calls
// them is compiled as it stands by nothing but the host device. Their `const` parameters must be static.
#pragma once

// In the order of convtgen::WgmmaType.
enum WgmmaType { kWgmmaF16, kWgmmaBf16, kWgmmaTf32 };
// How an operand lies in shared memory (wgmma_descriptor()). tf32 ones are K-major.
enum WgmmaMajor { kWgmmaMajorK, kWgmmaMajorMn };

// d (64 x N, f32) = a (64 x K) * b (K x N), added to d where `accumulate` is not 0. d has N / 2 elements, which says
// what N is: 8 to 256 in steps of 8; K is 16, of tf32 8. By a warpgroup, while its threads go on until wgmma_wait()
// (device/warpgroup.h). sm_90a.
template <int kAccumulators>
__device__ void wgmma_ss(const int type, const int a_major, const int b_major, float (&d)[kAccumulators],
                         unsigned long long a, unsigned long long b, int accumulate);

// The same with A in registers: of the 16-bit types two in each word, of tf32 one.
template <int kAccumulators>
__device__ void wgmma_rs(const int type, const int b_major, float (&d)[kAccumulators], const unsigned int (&a)[4],
                         unsigned long long b, int accumulate);

// Takes or releases registers, so that each thread of this warpgroup has as many: 24 to 256 in steps of 8.
// Collective. An increase waits until the block has released enough. sm_90a.
__device__ void setmaxnreg_increase(const int registers);
__device__ void setmaxnreg_decrease(const int registers);
