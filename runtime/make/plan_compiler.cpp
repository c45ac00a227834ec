#include "runtime/make/plan_compiler.h"

#include <utility>

#include "generator/specializer/kernel_source.h"
#include "runtime/make/kernel_maker.h"

namespace convtgen {

PlanCompiler cubin_compiler(std::shared_ptr<Store> store) {
  auto binaries = std::make_shared<KernelMaker>(std::move(store));
  return [binaries](const Problem& problem, const Plan& plan) -> Result<CompiledPlan> {
    auto made = binaries->make_cubin(problem, plan);
    if (!made) {
      return fail(made.error().message);
    }
    return CompiledPlan{std::move(made->source), std::move(made->binary), made->compiled};
  };
}

PlanCompiler device_compiler(Device& device) {
  return [&device](const Problem& problem, const Plan& plan) -> Result<CompiledPlan> {
    auto source = specialize(problem, plan);
    if (!source) {
      return std::unexpected(source.error());
    }
    auto binary = device.compile(*source, problem.target.architecture);
    if (!binary) {
      return std::unexpected(binary.error());
    }
    return CompiledPlan{*std::move(source), *std::move(binary), true};
  };
}

PlanCompiler plan_compiler(Device& device, std::shared_ptr<Store> store) {
  return device.kind() == DeviceKind::kHost ? device_compiler(device) : cubin_compiler(std::move(store));
}

}  // namespace convtgen
