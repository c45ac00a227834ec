// What takes the place of device primitives on chips that lack them: copies through registers, and products of half the
// depth.
#include <algorithm>
#include <array>

#include "generator/planner/chip/target.h"
#include "generator/specializer/primitives.h"

namespace convtgen {
namespace {

struct Substitute {
  std::string_view name;
  Feature without;  // the feature that the chip lacks
  Features needs = {};
  std::string_view text;
};

constexpr std::array kSubstitutes = {
    Substitute{"floats_to_half2",
               Feature::kPackedConvert,
               {},
               R"(// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("{\n\t.reg .b16 first, second;\n\tcvt.rn.f16.f32 first, %1;\n\tcvt.rn.f16.f32 second, %2;\n\t"
      "mov.b32 %0, {first, second};\n\t}"
      : "=r"(bits)
      : "f"(low), "f"(high));
  return bits;
})"},
    Substitute{"float_to_tf32",
               Feature::kTf32Convert,
               {},
               R"(// A float as products of tf32 read it, rounded to nearest, ties away from zero, as cvt.rna.tf32 does.
//
// A product ignores the 13 low bits. What is added is half of the last bit that it reads: the value's sign and exponent
// times 2^-11. Infinities stay, and a NaN is NaN in the bits that are read, whatever its payload. What rounds to 2^128
// becomes infinite; denormals, which have no exponent, are truncated. Two instructions.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  return __float_as_uint(fmaf(__uint_as_float(__float_as_uint(value) & 0xff800000u), 0.00048828125f, value));
})"},
    Substitute{"mma_k16_f16",
               Feature::kMmaF16,
               {Feature::kMmaF16K8},
               R"(// K = 16, f16: two products of K = 8.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%8}, {%0, %1, %2, %3};\n\t"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%6, %7}, {%9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"},
    Substitute{
        "async_copy_16",
        Feature::kCpAsync,
        {},
        R"(// Copies `bytes` (0 to 16) from global to shared memory, through registers, and writes zeros for the rest of
// 16; aligned to 16.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  uint4 value = make_uint4(0, 0, 0, 0);
  if (bytes == 16) {
    value = *static_cast<const uint4*>(from);
  } else {
    for (unsigned int i = 0; i < bytes; ++i) {
      const unsigned int byte = static_cast<unsigned int>(static_cast<const unsigned char*>(from)[i]) << i % 4 * 8;
      value.x |= i / 4 == 0 ? byte : 0;
      value.y |= i / 4 == 1 ? byte : 0;
      value.z |= i / 4 == 2 ? byte : 0;
      value.w |= i / 4 == 3 ? byte : 0;
    }
  }
  *static_cast<uint4*>(to) = value;
})"},
    Substitute{"async_copy_commit",
               Feature::kCpAsync,
               {},
               R"(// Nothing: copies are done when the thread goes on.
__device__ __forceinline__ void async_copy_commit() {})"},
    Substitute{"async_copy_wait",
               Feature::kCpAsync,
               {},
               R"(// Nothing: copies are done when the thread goes on.
__device__ __forceinline__ void async_copy_wait(int /*pending*/) {})"},
};

}  // namespace

std::optional<std::string_view> substitute_of(std::string_view name, std::string_view architecture) {
  const auto* found = std::ranges::find(kSubstitutes, name, &Substitute::name);
  if (found == kSubstitutes.end()) {
    return std::nullopt;
  }
  const Result<Target> target = target_named(architecture);
  return target && !target->features.has(found->without) && target->features.has_all(found->needs)
             ? std::optional(found->text)
             : std::nullopt;
}

}  // namespace convtgen
