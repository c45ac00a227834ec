// Which sources take NVRTC long.
#pragma once

#include <optional>
#include <string>

#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// Estimated seconds of NVRTC for the source of a plan, on one core of a server that does nothing else; within a factor
/// of three for those that take seconds.
[[nodiscard]] double expected_compile_seconds(const Plan& plan, const KernelSource& source);

/// The message before a long compile ("this source has 489 lines: NVRTC may take about 10 seconds"); nullopt for a
/// fast one.
[[nodiscard]] std::optional<std::string> slow_compile_note(const Plan& plan, const KernelSource& source);

}  // namespace convtgen
