#include "runtime/compile/slow_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <variant>

#include "generator/planner/table/templates.h"
#include "generator/program/constants.h"

namespace convtgen {
namespace {

// Measured with NVRTC 13: a template's lines take about a millisecond each (1,852 lines: 2.3 s; 995: 0.8 s).
constexpr double kSecondsPerLine = 1e-3;
// Where taps are written out, the compiler unrolls a tap's multiply-adds of a thread besides: 8,192 of them take 6 to
// 10 s, 2,048 one second.
constexpr double kSecondsPerMultiplyAdd = 1e-3;
constexpr double kSlowSeconds = 5;

double lines_of(const KernelSource& source) {
  return static_cast<double>(std::ranges::count(source.text, '\n'));
}

/// Of a thread, in all taps that the source writes out; 0 of a template without such taps.
double written_multiply_adds(const Plan& plan) {
  constexpr std::array<std::string_view, 1> kWrittenTaps = {"kWrittenTaps"};
  const auto program = ConstantProgram::read(template_of(plan).program());
  const auto taps = program ? constants_of(*program, plan.parameters, kWrittenTaps) : std::unexpected(program.error());
  if (!taps) {
    return 0;
  }
  auto all = static_cast<double>(taps->front());
  for (const char* part : {"rows_per_thread", "columns_per_thread", "channels_per_thread"}) {
    all *= static_cast<double>(std::get<std::int64_t>(plan.parameters.at(part)));
  }
  return all;
}

}  // namespace

double expected_compile_seconds(const Plan& plan, const KernelSource& source) {
  return kSecondsPerLine * lines_of(source) + kSecondsPerMultiplyAdd * written_multiply_adds(plan);
}

std::optional<std::string> slow_compile_note(const Plan& plan, const KernelSource& source) {
  const double seconds = expected_compile_seconds(plan, source);
  if (seconds < kSlowSeconds) {
    return std::nullopt;
  }
  return fmt::format("this source has {:.0f} lines: NVRTC may take about {:.0f} seconds", lines_of(source),
                     10 * std::ceil(seconds / 10));
}

}  // namespace convtgen
