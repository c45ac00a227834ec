// Division and rounding that go one way for numbers of either sign. `b` is positive.
#pragma once

#include <cstdint>

namespace convtgen {

/// The greatest integer that is at most a / b, and what is left: 0 to b - 1.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return a - b * floor_div(a, b);
}
/// The least integer that is at least a / b.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return -floor_div(-a, b);
}
/// The nearest multiple of b that is not below a, or not above it.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_div(a, b) * b;
}
[[nodiscard]] constexpr std::int64_t round_down(std::int64_t a, std::int64_t b) {
  return floor_div(a, b) * b;
}

}  // namespace convtgen
