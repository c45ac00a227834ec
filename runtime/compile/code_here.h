// Which code this machine's NVRTC makes for a chip.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "generator/planner/chip/chip_code.h"
#include "runtime/compile/nvrtc_search.h"

namespace convtgen {

/// It refers to the NVRTC's own list of architectures.
[[nodiscard]] CodeCompiler code_compiler(const Nvrtc& nvrtc);

/// The environment variable that names the architecture whose kernels a device runs.
inline constexpr const char* kArchitectureVariable = "CONVTGEN_ARCHITECTURE";

/// The chip as it runs kernels here: those of the architecture that is given, else of $CONVTGEN_ARCHITECTURE, else its
/// own. Errors: chip_as()'s, with the variable's name where that is the origin.
[[nodiscard]] Result<Chip> chip_here(Chip chip, std::string_view given = {});

/// Whose kernels the host device runs: the architecture that is given, else $CONVTGEN_ARCHITECTURE, else `otherwise`.
/// Errors: an unknown one; the message lists the known ones.
[[nodiscard]] Result<Target> host_target_here(std::string_view given, std::string_view otherwise);

/// code_for_chip() by the NVRTC of this machine; without an NVRTC, by one that knows all chips.
[[nodiscard]] std::expected<CodeTarget, NoCode> code_here(const Chip& chip);

/// The message about code that is planned or made for another chip than it runs on; empty where it is not, or
/// where they asked for it.
[[nodiscard]] std::string note_of_code(const Chip& chip, const CodeTarget& code, const std::string& compiler);

}  // namespace convtgen
