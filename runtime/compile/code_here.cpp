#include "runtime/compile/code_here.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runtime/support/environment.h"

namespace convtgen {
namespace {

/// The same; an error of what was not given says where it comes from.
template <typename Value>
Result<Value> named_origin(Result<Value> result, std::string_view given) {
  return result || !given.empty() ? std::move(result)
                                  : fail(fmt::format("{}: {}", kArchitectureVariable, result.error().message));
}

}  // namespace

CodeCompiler code_compiler(const Nvrtc& nvrtc) {
  return {1000 * nvrtc.major + 10 * nvrtc.minor, nvrtc.architectures};
}

Result<Chip> chip_here(Chip chip, std::string_view given) {
  const std::string asked = given.empty() ? environment(kArchitectureVariable) : std::string();
  if (given.empty() && asked.empty()) {
    return chip;
  }
  return named_origin(chip_as(std::move(chip), given.empty() ? asked : given), given);
}

Result<Target> host_target_here(std::string_view given, std::string_view otherwise) {
  const std::string asked = given.empty() ? environment(kArchitectureVariable) : std::string();
  const std::string_view name = !given.empty() ? given : !asked.empty() ? std::string_view(asked) : otherwise;
  return named_origin(target_named(name), given);
}

std::expected<CodeTarget, NoCode> code_here(const Chip& chip) {
  const NvrtcSearch search = find_nvrtc();
  const auto nvrtc = search.found() ? open_nvrtc(search.path) : fail(std::string());
  return code_for_chip(chip, nvrtc ? std::optional(code_compiler(*nvrtc)) : std::nullopt);
}

std::string note_of_code(const Chip& chip, const CodeTarget& code, const std::string& compiler) {
  if (!chip.as.empty()) {
    return "";
  }
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
