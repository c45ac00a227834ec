// The number formats of tensor cores, rounded as the chip does it. PTX ISA (cvt; tf32).
#pragma once

#include <bit>
#include <cstdint>

namespace convtgen::host {

/// The value that a tensor core reads from a tf32 operand: the 13 low bits are ignored.
[[nodiscard]] inline float truncate_tf32(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0xffffe000U);
}

/// TMA's tf32 element type: nearest, ties to even (seen on an H200).
[[nodiscard]] inline std::uint32_t round_tf32_even(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    return (bits & 0x007fffffU) != 0 ? 0x7fffe000U : bits;
  }
  return (bits + 0xfffU + ((bits >> 13) & 1U)) & 0xffffe000U;
}

[[nodiscard]] inline float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Exact; subnormals included. Without a branch, so that loops over it become vector instructions.
[[nodiscard]] inline float f16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t rest = bits & 0x7fffU;
  // The exponent is read with f32's bias and corrected by an exact multiplication; infinities and NaNs keep an exponent
  // of ones.
  const auto magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112F);
  return std::bit_cast<float>(sign | magnitude | (rest >= 0x7c00U ? 0x7f800000U : 0U));
}

}  // namespace convtgen::host
