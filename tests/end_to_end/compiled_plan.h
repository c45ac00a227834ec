// A plan as machine code, as the tests that look for faults in it want it.
#pragma once

#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/support/error.h"
#include "runtime/compile/nvrtc.h"
#include "tests/end_to_end/machine_code.h"

namespace convtgen {

/// The path of nvdisasm: $CONVTGEN_NVDISASM, or the one that was there when the tests were built. Null: none.
[[nodiscard]] const char* disassembler();

struct CompiledPlan {
  Binary binary;                     // a cubin
  std::vector<MachineCode> kernels;  // at least one; none where there is no disassembler
};

/// Errors: the specializer's or NVRTC's, and a disassembler that prints no kernel.
[[nodiscard]] Result<CompiledPlan> compile_plan(const Problem& problem, const Plan& plan);

}  // namespace convtgen
