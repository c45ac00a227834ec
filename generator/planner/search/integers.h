// Integers: division and rounding that go one way for numbers of either sign, where `b` is positive; even parts; powers
// of two.
#pragma once

#include <bit>
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

/// The size of each part when `total` is cut into as few even parts of at most `most` as possible.
[[nodiscard]] constexpr std::int64_t even_part(std::int64_t total, std::int64_t most) {
  return ceil_div(total, ceil_div(total, most));
}
[[nodiscard]] constexpr std::int64_t power_of_two_at_least(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}
[[nodiscard]] constexpr std::int64_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}
/// `most` or, where it does not hold for that, the first of its halves for which it does; 1 where it holds for none.
template <typename F>
[[nodiscard]] constexpr std::int64_t halved_until(std::int64_t most, F holds) {
  while (most > 1 && !holds(most)) {
    most /= 2;
  }
  return most;
}

}  // namespace convtgen
