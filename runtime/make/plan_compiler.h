// From a plan to its binary, for those who want many.
#pragma once

#include <functional>
#include <memory>

#include "generator/planner/plan.h"
#include "generator/support/error.h"
#include "runtime/device/device.h"
#include "runtime/store/store.h"

namespace convtgen {

struct CompiledPlan {
  KernelSource source;
  Binary binary;
  bool compiled = false;  // in this call, else the store had it; the host device does not tell and says true
};

/// Called from several threads at a time. Errors: no source of the plan, no compiler, a source that does not compile.
using PlanCompiler = std::function<Result<CompiledPlan>(const Problem& problem, const Plan& plan)>;

/// Cubins of this store, where NVRTC puts those that are missing, under the keys by which the JIT engine finds them.
/// Needs no GPU, and NVRTC only for what is missing.
[[nodiscard]] PlanCompiler cubin_compiler(std::shared_ptr<Store> store);

/// The device's own compiler, with whatever store that has. The device must live as long.
[[nodiscard]] PlanCompiler device_compiler(Device& device);

/// What makes this device's kernels as the JIT engine does: cubins for a GPU, libraries for the host device.
[[nodiscard]] PlanCompiler plan_compiler(Device& device, std::shared_ptr<Store> store);

}  // namespace convtgen
