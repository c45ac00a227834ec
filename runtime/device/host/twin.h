// The host device's side of an emitted kernel: CUDA's names and the device primitives, in C++ for the CPU.
//
// The system's compiler compiles it before every emitted source, so it includes nothing and stays small. Memory
// accesses of the kernel reach the runtime through the calls that -fsanitize=thread makes: one for every read and every
// write (-fsanitize=kernel-address leaves out those that it thinks redundant, a write after a read of the same place
// among them). Everything else goes through the table of abi.h. Needs GCC 11 or Clang 14.
#ifndef CONVTGEN_HOST_TWIN_H
#define CONVTGEN_HOST_TWIN_H

#define CONVTGEN_HOST_UNCHECKED __attribute__((no_sanitize_thread, noinline, visibility("hidden")))

// The compiler's calls. The return address identifies the line of the kernel.
#define CONVTGEN_HOST_PC __builtin_return_address(0)
extern "C" {
__attribute__((visibility("hidden"))) ConvtgenHostTable convtgen_host_table;

#define CONVTGEN_HOST_ACCESS(size)                                                          \
  CONVTGEN_HOST_UNCHECKED void __tsan_read##size(void* address) {                           \
    return convtgen_host_table.read[CONVTGEN_HOST_LOG2_##size](address, CONVTGEN_HOST_PC);  \
  }                                                                                         \
  CONVTGEN_HOST_UNCHECKED void __tsan_write##size(void* address) {                          \
    return convtgen_host_table.write[CONVTGEN_HOST_LOG2_##size](address, CONVTGEN_HOST_PC); \
  }                                                                                         \
  CONVTGEN_HOST_UNCHECKED void __tsan_unaligned_read##size(void* address) {                 \
    return convtgen_host_table.read_range(address, size, CONVTGEN_HOST_PC);                 \
  }                                                                                         \
  CONVTGEN_HOST_UNCHECKED void __tsan_unaligned_write##size(void* address) {                \
    return convtgen_host_table.write_range(address, size, CONVTGEN_HOST_PC);                \
  }
#define CONVTGEN_HOST_LOG2_1 0
#define CONVTGEN_HOST_LOG2_2 1
#define CONVTGEN_HOST_LOG2_4 2
#define CONVTGEN_HOST_LOG2_8 3
#define CONVTGEN_HOST_LOG2_16 4
CONVTGEN_HOST_ACCESS(1)
CONVTGEN_HOST_ACCESS(2)
CONVTGEN_HOST_ACCESS(4)
CONVTGEN_HOST_ACCESS(8)
CONVTGEN_HOST_ACCESS(16)
CONVTGEN_HOST_UNCHECKED void __tsan_read_range(void* address, unsigned long bytes) {
  return convtgen_host_table.read_range(address, bytes, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_UNCHECKED void __tsan_write_range(void* address, unsigned long bytes) {
  return convtgen_host_table.write_range(address, bytes, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_UNCHECKED void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  convtgen_host_table.read_range(const_cast<void*>(from), bytes, CONVTGEN_HOST_PC);
  convtgen_host_table.write_range(to, bytes, CONVTGEN_HOST_PC);
  return __builtin_memcpy(to, from, bytes);
}
CONVTGEN_HOST_UNCHECKED void* __tsan_memset(void* to, int value, unsigned long bytes) {
  convtgen_host_table.write_range(to, bytes, CONVTGEN_HOST_PC);
  return __builtin_memset(to, value, bytes);
}
CONVTGEN_HOST_UNCHECKED void __tsan_init() {}
CONVTGEN_HOST_UNCHECKED void __tsan_func_entry(void*) {}
CONVTGEN_HOST_UNCHECKED void __tsan_func_exit() {}
}

// CUDA's keywords.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

struct uint3 {
  unsigned int x, y, z;
};
struct dim3 {
  unsigned int x, y, z;
};

// A thread's indices never change: `const` lets the compiler call once.
CONVTGEN_HOST_UNCHECKED __attribute__((const)) inline uint3 convtgen_thread_index() {
  return {convtgen_host_table.thread_index(), 0, 0};
}
CONVTGEN_HOST_UNCHECKED __attribute__((const)) inline uint3 convtgen_block_index() {
  return {convtgen_host_table.block_index(), 0, 0};
}
CONVTGEN_HOST_UNCHECKED __attribute__((const)) inline dim3 convtgen_block_dim() {
  return {convtgen_host_table.block_threads(), 1, 1};
}
CONVTGEN_HOST_UNCHECKED __attribute__((const)) inline dim3 convtgen_grid_dim() {
  return {convtgen_host_table.grid_blocks(), 1, 1};
}
#define threadIdx (convtgen_thread_index())
#define blockIdx (convtgen_block_index())
#define blockDim (convtgen_block_dim())
#define gridDim (convtgen_grid_dim())
constexpr int warpSize = 32;

// Vector types. A copy is one access of the whole vector, as it is on the chip, so that its alignment is checked.
#define CONVTGEN_HOST_VECTOR(type, scalar, bytes, count, members, list, inits)  \
  struct __attribute__((aligned(bytes))) type {                                 \
    typedef scalar Whole __attribute__((vector_size(bytes), may_alias));        \
    scalar members;                                                             \
    type() = default;                                                           \
    constexpr type list : inits {}                                              \
    __forceinline__ type(const type& from) {                                    \
      *reinterpret_cast<Whole*>(this) = *reinterpret_cast<const Whole*>(&from); \
    }                                                                           \
    __forceinline__ type& operator=(const type& from) {                         \
      *reinterpret_cast<Whole*>(this) = *reinterpret_cast<const Whole*>(&from); \
      return *this;                                                             \
    }                                                                           \
  };                                                                            \
  __forceinline__ type make_##type list {                                       \
    return type(CONVTGEN_HOST_NAMES_##count);                                   \
  }
#define CONVTGEN_HOST_NAMES_2 x_, y_
#define CONVTGEN_HOST_NAMES_4 x_, y_, z_, w_
#define CONVTGEN_HOST_SINGLE(...) __VA_ARGS__
#define CONVTGEN_HOST_PAIR(type, scalar)                                                                        \
  CONVTGEN_HOST_VECTOR(type, scalar, 2 * sizeof(scalar), 2, CONVTGEN_HOST_SINGLE(x, y), (scalar x_, scalar y_), \
                       CONVTGEN_HOST_SINGLE(x(x_), y(y_)))
#define CONVTGEN_HOST_QUAD(type, scalar)                                                      \
  CONVTGEN_HOST_VECTOR(type, scalar, 4 * sizeof(scalar), 4, CONVTGEN_HOST_SINGLE(x, y, z, w), \
                       (scalar x_, scalar y_, scalar z_, scalar w_), CONVTGEN_HOST_SINGLE(x(x_), y(y_), z(z_), w(w_)))
CONVTGEN_HOST_PAIR(float2, float)
CONVTGEN_HOST_QUAD(float4, float)
CONVTGEN_HOST_PAIR(int2, int)
CONVTGEN_HOST_QUAD(int4, int)
CONVTGEN_HOST_PAIR(uint2, unsigned int)
CONVTGEN_HOST_QUAD(uint4, unsigned int)
CONVTGEN_HOST_PAIR(short2, short)
CONVTGEN_HOST_QUAD(short4, short)
CONVTGEN_HOST_PAIR(ushort2, unsigned short)
CONVTGEN_HOST_QUAD(ushort4, unsigned short)
CONVTGEN_HOST_PAIR(double2, double)
CONVTGEN_HOST_PAIR(longlong2, long long)
CONVTGEN_HOST_PAIR(ulonglong2, unsigned long long)

// Arithmetic: CUDA's overloads for float, double and the integers.
#define CONVTGEN_HOST_UNARY(name)          \
  __forceinline__ float name(float a) {    \
    return __builtin_##name##f(a);         \
  }                                        \
  __forceinline__ double name(double a) {  \
    return __builtin_##name(a);            \
  }                                        \
  __forceinline__ float name##f(float a) { \
    return __builtin_##name##f(a);         \
  }
#define CONVTGEN_HOST_BINARY(name)                  \
  __forceinline__ float name(float a, float b) {    \
    return __builtin_##name##f(a, b);               \
  }                                                 \
  __forceinline__ double name(double a, double b) { \
    return __builtin_##name(a, b);                  \
  }                                                 \
  __forceinline__ float name##f(float a, float b) { \
    return __builtin_##name##f(a, b);               \
  }
CONVTGEN_HOST_UNARY(exp)
CONVTGEN_HOST_UNARY(exp2)
CONVTGEN_HOST_UNARY(expm1)
CONVTGEN_HOST_UNARY(log)
CONVTGEN_HOST_UNARY(log2)
CONVTGEN_HOST_UNARY(log1p)
CONVTGEN_HOST_UNARY(tanh)
CONVTGEN_HOST_UNARY(erf)
CONVTGEN_HOST_UNARY(sqrt)
CONVTGEN_HOST_UNARY(fabs)
CONVTGEN_HOST_UNARY(floor)
CONVTGEN_HOST_UNARY(ceil)
CONVTGEN_HOST_UNARY(rint)
CONVTGEN_HOST_UNARY(trunc)
CONVTGEN_HOST_BINARY(fmin)
CONVTGEN_HOST_BINARY(fmax)
CONVTGEN_HOST_BINARY(copysign)
__forceinline__ float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__forceinline__ double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
__forceinline__ float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__forceinline__ float abs(float a) {
  return __builtin_fabsf(a);
}
__forceinline__ double abs(double a) {
  return __builtin_fabs(a);
}
__forceinline__ int abs(int a) {
  return a < 0 ? -a : a;
}
__forceinline__ bool isnan(float a) {
  return a != a;
}
__forceinline__ bool isnan(double a) {
  return a != a;
}

// min and max of floats are fmin and fmax: of a NaN and a number they return the number.
#define CONVTGEN_HOST_MIN_MAX(type)          \
  __forceinline__ type min(type a, type b) { \
    return b < a ? b : a;                    \
  }                                          \
  __forceinline__ type max(type a, type b) { \
    return a < b ? b : a;                    \
  }
CONVTGEN_HOST_MIN_MAX(int)
CONVTGEN_HOST_MIN_MAX(unsigned int)
CONVTGEN_HOST_MIN_MAX(long long)
CONVTGEN_HOST_MIN_MAX(unsigned long long)
__forceinline__ float min(float a, float b) {
  return __builtin_fminf(a, b);
}
__forceinline__ float max(float a, float b) {
  return __builtin_fmaxf(a, b);
}
__forceinline__ double min(double a, double b) {
  return __builtin_fmin(a, b);
}
__forceinline__ double max(double a, double b) {
  return __builtin_fmax(a, b);
}

// Bits.
#define CONVTGEN_HOST_BITS(name, from, to) \
  __forceinline__ to name(from a) {        \
    return __builtin_bit_cast(to, a);      \
  }
CONVTGEN_HOST_BITS(__float_as_uint, float, unsigned int)
CONVTGEN_HOST_BITS(__uint_as_float, unsigned int, float)
CONVTGEN_HOST_BITS(__float_as_int, float, int)
CONVTGEN_HOST_BITS(__int_as_float, int, float)
CONVTGEN_HOST_BITS(__double_as_longlong, double, long long)
CONVTGEN_HOST_BITS(__longlong_as_double, long long, double)
__forceinline__ int __popc(unsigned int a) {
  return __builtin_popcount(a);
}
__forceinline__ int __clz(int a) {
  return a == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(a));
}
__forceinline__ int __ffs(int a) {
  return __builtin_ffs(a);
}
template <typename T>
__forceinline__ T __ldg(const T* address) {
  return *address;
}

// Collectives. Each waits for its threads; it is an error if some of them can't reach it.
CONVTGEN_HOST_UNCHECKED inline void __syncthreads() {
  return convtgen_host_table.sync_threads(CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_UNCHECKED inline void __syncwarp(unsigned int mask = 0xffffffffu) {
  return convtgen_host_table.sync_warp(mask, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_UNCHECKED inline unsigned long long convtgen_shuffle(unsigned int mask, unsigned long long bits,
                                                                   unsigned int kind, unsigned int operand,
                                                                   unsigned int width) {
  return convtgen_host_table.shuffle(mask, bits, kind, operand, width, CONVTGEN_HOST_PC);
}
#define CONVTGEN_HOST_SHUFFLE(name, kind)                                                    \
  template <typename T>                                                                      \
  __forceinline__ T name(unsigned int mask, T value, unsigned int operand, int width = 32) { \
    static_assert(sizeof(T) <= 8, "a shuffle moves a scalar of at most 8 bytes");            \
    unsigned long long bits = 0;                                                             \
    __builtin_memcpy(&bits, &value, sizeof(T));                                              \
    bits = convtgen_shuffle(mask, bits, kind, operand, static_cast<unsigned int>(width));    \
    __builtin_memcpy(&value, &bits, sizeof(T));                                              \
    return value;                                                                            \
  }
CONVTGEN_HOST_SHUFFLE(__shfl_sync, 0)
CONVTGEN_HOST_SHUFFLE(__shfl_up_sync, 1)
CONVTGEN_HOST_SHUFFLE(__shfl_down_sync, 2)
CONVTGEN_HOST_SHUFFLE(__shfl_xor_sync, 3)
CONVTGEN_HOST_UNCHECKED inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return convtgen_host_table.ballot(mask, predicate != 0, CONVTGEN_HOST_PC);
}
__forceinline__ int __any_sync(unsigned int mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
__forceinline__ int __all_sync(unsigned int mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}

// templates/device/memory.h
CONVTGEN_HOST_UNCHECKED __attribute__((const)) inline void* shared_memory() {
  return convtgen_host_table.shared_memory();
}

// The block's dynamic shared memory lies at this address of the window, as on the chip only a multiple of 16.
constexpr unsigned int convtgen_shared_start = 1040;

__forceinline__ unsigned int shared_address(const void* pointer) {
  return static_cast<unsigned int>(static_cast<const char*>(pointer) - static_cast<const char*>(shared_memory())) +
         convtgen_shared_start;
}

__forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  return static_cast<unsigned char*>(pointer) + (alignment - shared_address(pointer) % alignment) % alignment;
}

// The caches are not imitated. One access of the whole, so that its alignment is checked.
typedef unsigned int ConvtgenWord __attribute__((may_alias));
__forceinline__ uint4 load_constant_16(const void* from) {
  return *static_cast<const uint4*>(from);
}
__forceinline__ void store_global_4(void* to, unsigned int value) {
  *static_cast<ConvtgenWord*>(to) = value;
}
__forceinline__ void store_global_8(void* to, uint2 value) {
  *static_cast<uint2*>(to) = value;
}
__forceinline__ void store_global_16(void* to, uint4 value) {
  *static_cast<uint4*>(to) = value;
}

// templates/device/convert.h; every NaN becomes the one that the instruction makes.
__forceinline__ float half_to_float(unsigned short bits) {
  const unsigned int sign = (bits & 0x8000u) << 16;
  const unsigned int magnitude = bits & 0x7fffu;
  if (magnitude > 0x7c00u) {
    return __uint_as_float(0x7fffffffu);
  }
  if (magnitude == 0x7c00u) {
    return __uint_as_float(sign | 0x7f800000u);
  }
  // 2^112 moves the exponent from f16's bias to f32's; subnormals come out normal, and exact.
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude << 13) * 0x1p112f));
}

__forceinline__ unsigned short float_to_half(float value) {
  const unsigned int bits = __float_as_uint(value);
  const unsigned int sign = (bits >> 16) & 0x8000u;
  const unsigned int magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return 0x7fff;
  }
  if (magnitude >= 0x477ff000u) {  // 65520, halfway to the next power, and above: infinity
    return static_cast<unsigned short>(sign | 0x7c00u);
  }
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves a multiple of 2^-24 in the low bits, rounded to even
    return static_cast<unsigned short>(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
  }
  const unsigned int rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
}

__forceinline__ unsigned short accumulator_to_half(float value) {
  return float_to_half(value);
}

__forceinline__ float bfloat16_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned int>(bits) << 16);
}

__forceinline__ unsigned short float_to_bfloat16(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

__forceinline__ void halves_of(unsigned int word, unsigned short& low, unsigned short& high) {
  low = static_cast<unsigned short>(word);
  high = static_cast<unsigned short>(word >> 16);
}

__forceinline__ unsigned int floats_to_half2(float low, float high) {
  return float_to_half(low) | static_cast<unsigned int>(float_to_half(high)) << 16;
}

__forceinline__ unsigned int floats_to_bfloat162(float low, float high) {
  return float_to_bfloat16(low) | static_cast<unsigned int>(float_to_bfloat16(high)) << 16;
}

// To nearest even; every NaN becomes 0x7fffffff.
__forceinline__ unsigned int float_to_tf32(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fffffffu;
  }
  return (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;
}

// templates/device/warp.h
__forceinline__ unsigned int lane_id() {
  return threadIdx.x % 32;
}

__forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// The chip does not define which lane it is. Here it is not lane 0, so that a kernel that relies on lane 0 fails.
__forceinline__ bool elect_one() {
  return __ballot_sync(0xffffffffu, 1) != 0 && lane_id() == 19;
}

__forceinline__ unsigned int __reduce_max_sync(unsigned int mask, unsigned int value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(mask, value, distance));
  }
  return value;
}

#endif
