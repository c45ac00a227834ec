#include "runtime/reference/numbers.h"

#include <bit>
#include <cmath>
#include <limits>

namespace convtgen {
namespace {

/// A binary format of at most 16 bits: sign, exponent, mantissa.
struct Format {
  int mantissa_bits;
  int exponent_bits;
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr int least_exponent() const { return 1 - bias(); }  // of a normal number
};

constexpr Format kF16Format{10, 5};
constexpr Format kBf16Format{7, 8};

double decode(Format format, std::uint16_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, format.least_exponent() - format.mantissa_bits);
  }
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - format.bias() - format.mantissa_bits);
}

std::uint16_t encode(Format format, double value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = ((1 << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | 1 << (format.mantissa_bits - 1));
  }
  const double magnitude = std::abs(value);
  if (magnitude == 0) {
    return static_cast<std::uint16_t>(sign);
  }
  if (std::isinf(magnitude)) {
    return static_cast<std::uint16_t>(sign | infinity);
  }
  int exponent = std::ilogb(magnitude);
  exponent = exponent < format.least_exponent() ? format.least_exponent() : exponent;
  if (exponent > format.bias()) {
    return static_cast<std::uint16_t>(sign | infinity);
  }
  // Units of the last place: exact, since only the exponent changes; nearbyint rounds ties to even.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // A subnormal has no hidden bit, and a carry out of the mantissa steps the exponent: both fall out of this sum.
  const int code = ((exponent - format.least_exponent()) << format.mantissa_bits) + static_cast<int>(units);
  return static_cast<std::uint16_t>(sign | (code > infinity ? infinity : code));
}

}  // namespace

double decode_f16(std::uint16_t bits) {
  return decode(kF16Format, bits);
}
double decode_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t encode_f16(double value) {
  return encode(kF16Format, value);
}
std::uint16_t encode_bf16(double value) {
  return encode(kBf16Format, value);
}

double round_to(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::kF64:
      return value;
    case Dtype::kF32:
      return static_cast<float>(value);
    case Dtype::kF16:
      return decode_f16(encode_f16(value));
    case Dtype::kBf16:
      return decode_bf16(encode_bf16(value));
  }
  return value;
}

double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 0x1p-53;
    case Dtype::kF32:
      return 0x1p-24;
    case Dtype::kF16:
      return 0x1p-11;
    case Dtype::kBf16:
      return 0x1p-8;
  }
  return 0;
}

double least_subnormal(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 0x1p-1074;
    case Dtype::kF32:
      return 0x1p-149;
    case Dtype::kF16:
      return 0x1p-24;
    case Dtype::kBf16:
      return 0x1p-133;
  }
  return 0;
}

double least_normal(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 0x1p-1022;
    case Dtype::kF32:
    case Dtype::kBf16:
      return 0x1p-126;
    case Dtype::kF16:
      return 0x1p-14;
  }
  return 0;
}

}  // namespace convtgen
