// Random numbers of the host device: equal seeds give equal numbers on every machine.
#pragma once

#include <cstdint>

namespace convtgen::host {

/// The last step of splitmix64: neighbouring values give unrelated ones.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// xorshift64*, seeded through splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed) | 1) {}
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dULL >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace convtgen::host
