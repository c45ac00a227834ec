// Which sources take NVRTC long.
#pragma once

#include <optional>
#include <string>

#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// About the seconds that NVRTC takes for a source, on one core of a server: good for its order of magnitude.
[[nodiscard]] double expected_compile_seconds(const KernelSource& source);

/// What users are told before a compile that will take long ("this source has 5592 lines: NVRTC may take about 3
/// minutes"); nothing for a source that does not.
[[nodiscard]] std::optional<std::string> slow_compile_note(const KernelSource& source);

}  // namespace convtgen
