// A compiled kernel: bytes, and what they are for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generator/specializer/kernel_source.h"
#include "runtime/support/compile_error.h"

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
  std::optional<PackingKernel> packing = {};  // that is in the bytes too
};

/// The same bytes for the sake of their packing kernel, as Device::load() takes them; `packing` must be there.
[[nodiscard]] inline Binary for_packing(const Binary& binary) {
  Binary other = binary;
  other.symbol = binary.packing->symbol;
  other.threads = binary.packing->threads;
  other.shared_bytes = 0;
  other.packing.reset();
  return other;
}

}  // namespace convtgen
