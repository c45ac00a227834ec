#include "runtime/compile/code_here.h"

#include <fmt/format.h>

#include <optional>

namespace convtgen {

CodeCompiler code_compiler(const Nvrtc& nvrtc) {
  return {1000 * nvrtc.major + 10 * nvrtc.minor, nvrtc.architectures};
}

std::expected<CodeTarget, NoCode> code_here(const Chip& chip) {
  const NvrtcSearch search = find_nvrtc();
  const auto nvrtc = search.found() ? open_nvrtc(search.path) : fail(std::string());
  return code_for_chip(chip, nvrtc ? std::optional(code_compiler(*nvrtc)) : std::nullopt);
}

std::string note_of_code(const Chip& chip, const CodeTarget& code, const std::string& compiler) {
  if (code.target.capability == chip.capability) {
    const std::string as = planned_as(code.target);
    return as == code.target.architecture
               ? ""
               : fmt::format("kernels for compute capability {} are planned as for {}, and compiled for {}",
                             capability_text(chip.capability), as, code.target.architecture);
  }
  return code.is_ptx ? fmt::format(
                           "{} does not know compute capability {} yet: kernels are compiled to PTX for {}, "
                           "which the driver translates; a newer NVRTC makes faster ones",
                           compiler, capability_text(chip.capability), code.target.architecture)
                     : fmt::format("kernels for compute capability {} are planned and compiled as for {}",
                                   capability_text(chip.capability), code.target.architecture);
}

}  // namespace convtgen
