#include "tests/end_to_end/compiled_plan.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "generator/specializer/kernel_source.h"

namespace convtgen {

const char* disassembler() {
  const char* named = std::getenv("CONVTGEN_NVDISASM");
#ifdef CONVTGEN_NVDISASM
  return named != nullptr ? named : CONVTGEN_NVDISASM;
#else
  return named;
#endif
}

Result<CompiledPlan> compile_plan(const Problem& problem, const Plan& plan) {
  const Result<KernelSource> source = specialize(problem, plan);
  if (!source) {
    return std::unexpected(source.error());
  }
  auto binary = compile_with_nvrtc(*source, problem.target.architecture, BinaryKind::kCubin);
  if (!binary) {
    return fail(binary.error().message);
  }
  CompiledPlan compiled{*std::move(binary), {}};
  if (disassembler() != nullptr) {
    const std::optional<std::string> listing = listing_of(disassembler(), compiled.binary.bytes);
    if (!listing) {
      return fail(fmt::format("{} does not print the machine code", disassembler()));
    }
    compiled.kernels = kernels_of_listing(*listing);
    if (compiled.kernels.empty()) {
      return fail("there is no kernel in " + *listing);
    }
  }
  return compiled;
}

}  // namespace convtgen
