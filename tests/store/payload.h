// Entries that the test and its worker processes make alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/store/format.h"
#include "runtime/store/key.h"

namespace convtgen::testing {

inline Key worker_key(unsigned index) {
  return kernel_key(EntryKind::kCubin, "source of " + std::to_string(index), "sm_90a", "nvrtc", {});
}

/// 1 to 40 KiB, different for each index and each format of the store.
inline std::string worker_payload(unsigned index) {
  constexpr std::uint64_t kFormat = std::string_view(CONVTGEN_STORE_FORMAT).front();
  std::uint64_t state = index * 0x9e3779b97f4a7c15U + kFormat;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  std::string bytes(1024 + next() % (39 << 10), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(next());
  }
  return bytes;
}

}  // namespace convtgen::testing
