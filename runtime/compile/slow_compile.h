// Which sources take NVRTC long.
#pragma once

#include <optional>
#include <string>

#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// Estimated seconds of NVRTC for a source, on one core of a server; only the order of magnitude is reliable.
[[nodiscard]] double expected_compile_seconds(const KernelSource& source);

/// The message before a long compile ("this source has 1853 lines: NVRTC may take about 30 seconds"); nullopt for a
/// fast one.
[[nodiscard]] std::optional<std::string> slow_compile_note(const KernelSource& source);

}  // namespace convtgen
