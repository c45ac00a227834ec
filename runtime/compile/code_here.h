// Which code this machine's NVRTC makes for a chip.
#pragma once

#include <expected>

#include "generator/planner/chip_code.h"
#include "runtime/compile/nvrtc_search.h"

namespace convtgen {

/// It refers to the NVRTC's own list of architectures.
[[nodiscard]] CodeCompiler code_compiler(const Nvrtc& nvrtc);

/// code_for_chip() by the NVRTC of this machine; where there is none, by one that knows all chips.
[[nodiscard]] std::expected<CodeTarget, NoCode> code_here(const Chip& chip);

/// What people are told of code that is planned or made for another chip than it runs on; empty where it is not.
[[nodiscard]] std::string note_of_code(const Chip& chip, const CodeTarget& code, const std::string& compiler);

}  // namespace convtgen
