// The numbers of each dtype, as bits and as doubles. Written apart from the kernels' own conversions.
#pragma once

#include <cstdint>

#include "generator/layer/layer.h"

namespace convtgen {

/// f16 and bf16 as bits. Encoding rounds to nearest even straight from the double, overflows to infinity and keeps NaN
/// (as a quiet NaN with the sign).
[[nodiscard]] double decode_f16(std::uint16_t bits);
[[nodiscard]] double decode_bf16(std::uint16_t bits);
[[nodiscard]] std::uint16_t encode_f16(double value);
[[nodiscard]] std::uint16_t encode_bf16(double value);

/// The nearest value of the dtype, ties to even; infinity beyond the largest.
[[nodiscard]] double round_to(Dtype dtype, double value);

/// Half the distance of two neighbours just below 1: the largest relative error of one rounding to nearest.
[[nodiscard]] double unit_roundoff(Dtype dtype);
/// The least positive value, a subnormal.
[[nodiscard]] double least_subnormal(Dtype dtype);
/// The least positive normal value.
[[nodiscard]] double least_normal(Dtype dtype);

}  // namespace convtgen
