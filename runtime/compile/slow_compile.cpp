#include "runtime/compile/slow_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convtgen {
namespace {

constexpr double kSlowSeconds = 20;
// Taps are written out, so lines are products, and those of a thread are one basic block, which the compiler takes
// quadratic time for: 12 s for 1,484 lines, 27 s for 1,272 of another kind, 166 s for 5,592.
constexpr double kSecondsPerSquaredLine = 8e-6;

double lines_of(const KernelSource& source) {
  return static_cast<double>(std::ranges::count(source.text, '\n'));
}

}  // namespace

double expected_compile_seconds(const KernelSource& source) {
  return kSecondsPerSquaredLine * lines_of(source) * lines_of(source);
}

std::optional<std::string> slow_compile_note(const KernelSource& source) {
  const double seconds = expected_compile_seconds(source);
  if (seconds < kSlowSeconds) {
    return std::nullopt;
  }
  const std::string time = seconds < 90 ? fmt::format("{:.0f} seconds", 10 * std::ceil(seconds / 10))
                                        : fmt::format("{:.0f} minutes", std::ceil(seconds / 60));
  return fmt::format("this source has {:.0f} lines: NVRTC may take about {}", lines_of(source), time);
}

}  // namespace convtgen
