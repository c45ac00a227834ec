// The part of CUDA C++ that templates may use, so that Clang parses them with no CUDA installed.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__ __attribute__((annotate("grid_constant")))  // Clang 19 has none of its own
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))

typedef unsigned long size_t;
struct uint3 {
  unsigned int x, y, z;
};
typedef uint3 dim3;
struct __align__(8) float2 {
  float x, y;
};
struct __align__(16) float4 {
  float x, y, z, w;
};
struct __align__(16) double2 {
  double x, y;
};
struct __align__(8) int2 {
  int x, y;
};
struct __align__(16) int4 {
  int x, y, z, w;
};
struct __align__(8) uint2 {
  unsigned int x, y;
};
struct __align__(16) uint4 {
  unsigned int x, y, z, w;
};
__device__ float2 make_float2(float x, float y);
__device__ float4 make_float4(float x, float y, float z, float w);
__device__ double2 make_double2(double x, double y);
__device__ uint2 make_uint2(unsigned int x, unsigned int y);
__device__ uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w);

extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;

__device__ void __syncthreads();
__device__ void __syncwarp(unsigned int mask = 0xffffffffu);
__device__ unsigned int __ballot_sync(unsigned int mask, int predicate);
__device__ unsigned int __reduce_max_sync(unsigned int mask, unsigned int value);
__device__ int __popc(unsigned int bits);
__device__ void __trap();
__device__ size_t __cvta_generic_to_shared(const void* pointer);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ unsigned int __float_as_uint(float value);
__device__ float __uint_as_float(unsigned int bits);
__device__ int __float_as_int(float value);
__device__ float __int_as_float(int bits);

#define CONVTGEN_FOR_EACH_TYPE(declare) \
  declare(int) declare(unsigned int) declare(long long) declare(unsigned long long) declare(float) declare(double)
#define CONVTGEN_DECLARE(T)                                                                   \
  __device__ T __shfl_sync(unsigned int mask, T value, int lane, int width = 32);             \
  __device__ T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32);   \
  __device__ T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32); \
  __device__ T __shfl_xor_sync(unsigned int mask, T value, int lane, int width = 32);         \
  __device__ T __ldg(const T* address);                                                       \
  __device__ T min(T a, T b);                                                                 \
  __device__ T max(T a, T b);
CONVTGEN_FOR_EACH_TYPE(CONVTGEN_DECLARE)
#undef CONVTGEN_DECLARE
#undef CONVTGEN_FOR_EACH_TYPE

#define CONVTGEN_DECLARE(T)        \
  __device__ T fma(T a, T b, T c); \
  __device__ T fabs(T x);          \
  __device__ T fmin(T a, T b);     \
  __device__ T fmax(T a, T b);     \
  __device__ T sqrt(T x);          \
  __device__ T exp(T x);           \
  __device__ T expm1(T x);         \
  __device__ T log(T x);           \
  __device__ T log1p(T x);         \
  __device__ T tanh(T x);          \
  __device__ T erf(T x);
CONVTGEN_DECLARE(float)
CONVTGEN_DECLARE(double)
#undef CONVTGEN_DECLARE
__device__ float fmaf(float a, float b, float c);
__device__ float fabsf(float x);
__device__ float fminf(float a, float b);
__device__ float fmaxf(float a, float b);
__device__ float expf(float x);
__device__ float tanhf(float x);
