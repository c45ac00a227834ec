// A compiled kernel: bytes, and what they are for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/specializer/kernel_source.h"
#include "runtime/support/compile_error.h"

namespace convtgen {

enum class BinaryKind { kCubin, kPtx, kHostLibrary };

/// What a loader needs about a kernel in a binary.
struct BinaryKernel {
  std::string symbol;
  int threads = 0;                // of a block
  std::int64_t shared_bytes = 0;  // dynamic, of a block
  bool operator==(const BinaryKernel&) const = default;
};

struct Binary {
  BinaryKind kind = BinaryKind::kCubin;
  std::string architecture;  // "sm_90a"; empty for a host library
  std::string symbol;        // the main kernel's name
  std::string bytes;
  std::string log;                         // the compiler's, unchanged
  std::vector<BinaryKernel> kernels = {};  // that are in the bytes, in the recipe's order
};

/// The main kernel, whose name is the binary's symbol.
[[nodiscard]] inline BinaryKernel main_kernel(const Binary& binary) {
  const auto found = std::ranges::find(binary.kernels, binary.symbol, &BinaryKernel::symbol);
  return found != binary.kernels.end() ? *found : BinaryKernel{.symbol = binary.symbol};
}

/// The kernels of a source, as its binary has them.
[[nodiscard]] inline std::vector<BinaryKernel> kernels_in(const KernelSource& source) {
  std::vector<BinaryKernel> kernels;
  for (const RecipeKernel& kernel : source.recipe.kernels) {
    kernels.push_back({kernel.symbol, kernel.threads, kernel.shared_bytes});
  }
  return kernels;
}

}  // namespace convtgen
