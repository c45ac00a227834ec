// A compiled kernel: bytes, and what they are for.
#pragma once

#include <cstdint>
#include <string>

namespace convtgen {

enum class BinaryKind { kCubin, kPtx, kHostLibrary };

struct Binary {
  BinaryKind kind = BinaryKind::kCubin;
  std::string architecture;  // "sm_90a"; empty for a host library
  std::string symbol;        // the kernel's name
  std::string bytes;
  std::string log;  // the compiler's, as it came
  int threads = 0;
  std::int64_t shared_bytes = 0;
};

}  // namespace convtgen
