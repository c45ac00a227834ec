// Small kernels: each breaks one rule of templates/device/ or keeps close to it.
#pragma once

#include <string>
#include <vector>

#include "tests/primitives/case.h"

namespace convtgen::testing {

/// Found whatever the order of threads is.
struct WrongUse {
  /// The error is in a line that ends in "// here", in one of them if there are several.
  Case kernel;
  std::vector<std::string> words;  // that the message has
};

enum class MapOf { kNothing, kInput, kOutput };

/// What a kernel runs with.
struct Frame {
  std::string name;
  int threads = 32;
  int blocks = 1;
  int cluster = 1;
  MapOf map = MapOf::kNothing;  // a parameter `map`, 1-dimensional, of words; boxes are 32 of them
};

/// A kernel that copies a word of x to `out` for each thread of the grid, if it is right. What is there before `body`:
/// `base`, 8192 bytes of shared memory aligned to 1024, `staged`, the same as words, `barrier` with room for eight
/// after them, and `t`, the thread. After those eight lie at most 1024 bytes more.
[[nodiscard]] Case use_case(const Frame& frame, const std::string& body);

[[nodiscard]] std::vector<WrongUse> wrong_barriers();
[[nodiscard]] std::vector<WrongUse> wrong_clusters();
[[nodiscard]] std::vector<WrongUse> wrong_copies();
[[nodiscard]] std::vector<WrongUse> wrong_tensor_copies();
[[nodiscard]] std::vector<WrongUse> wrong_products();
[[nodiscard]] std::vector<WrongUse> wrong_uses();  // all of them

/// These must run without an error and be right.
[[nodiscard]] std::vector<Case> right_uses();

/// Statements that more than one kernel begins with. One that makes `barrier` for one arrival, seen by TMA; ...
inline constexpr const char* kMakeBarrier = R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
)";
/// ... that fill the operands of a product, m64n8k16 of f16, with zeros, ...
inline constexpr const char* kFillOperands = R"(  for (int i = t; i < 1024; i += 128) {
    staged[i] = 0;
  }
)";
/// ... and that describe them, with accumulators.
inline constexpr const char* kDescribeOperands = R"(  const unsigned long long a = wgmma_descriptor(base, 1024, 128, 0);
  const unsigned long long b = wgmma_descriptor(base + 2048, 128, 128, 0);
  float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
)";

}  // namespace convtgen::testing
