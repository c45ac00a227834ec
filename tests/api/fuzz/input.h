// A fuzzer's bytes as numbers, choices and texts; zeros where they have come to their end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), left_(size) {}

  [[nodiscard]] bool empty() const { return left_ == 0; }

  std::uint64_t any(std::size_t width = sizeof(std::uint64_t)) {
    std::uint64_t value = 0;
    const std::size_t taken = std::min(left_, width);
    if (taken > 0) {
      std::memcpy(&value, bytes_, taken);
    }
    bytes_ += taken;
    left_ -= taken;
    return value;
  }
  bool yes() { return any(1) % 2 == 1; }
  /// Of few numbers: one byte of the input.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(any(1) % static_cast<std::uint64_t>(most - least + 1));
  }
  std::string text(std::size_t most) {
    const std::size_t size = std::min({left_, most, static_cast<std::size_t>(any(2))});
    const std::size_t taken = std::min(size, left_);
    std::string text(reinterpret_cast<const char*>(bytes_), taken);
    bytes_ += taken;
    left_ -= taken;
    return text;
  }

 private:
  const std::uint8_t* bytes_;
  std::size_t left_;
};
