#include "runtime/make/kernel_maker.h"

#include <utility>

#include "runtime/make/choose.h"
#include "runtime/support/clock.h"

namespace convtgen {

MadeKernel generated_kernel(Problem problem, Plan plan, KernelSource source) {
  MadeKernel made;
  made.problem = std::move(problem);
  made.plan = std::move(plan);
  made.source = std::move(source);
  return made;
}

Outcome<MadeKernel> generate_kernel(const Problem& problem, const Plan& plan) {
  const Clock::time_point start = Clock::now();
  auto source = specialize(problem, plan);
  if (!source) {
    return fail_with(Status::kInternal, source.error());
  }
  MadeKernel made = generated_kernel(problem, plan, *std::move(source));
  made.generate_ms = milliseconds_since(start);
  return made;
}

Outcome<MadeKernel> first_kernel(const Problem& problem, std::span<const Plan> plans, const FinishKernel& finish,
                                 std::size_t from) {
  Clock::time_point start = Clock::now();
  const std::function<Outcome<MadeKernel>(std::size_t, KernelSource)> make = [&](std::size_t place,
                                                                                 KernelSource source) {
    MadeKernel generated = generated_kernel(problem, plans[place], std::move(source));
    generated.place = place;
    generated.generate_ms = milliseconds_since(start);
    auto made = finish(std::move(generated));
    start = Clock::now();  // of the next plan, where this one is passed over
    return made;
  };
  return first_that_compiles(problem, plans, make, from);
}

Outcome<MadeKernel> KernelMaker::make(const Problem& problem, const Plan& plan, const std::stop_token& stop) {
  auto made = generate_kernel(problem, plan);
  return made ? find_or_compile(*std::move(made), BinaryKind::kCubin, stop) : made;
}

Outcome<MadeKernel> KernelMaker::make_first(const Problem& problem, std::span<const Plan> plans,
                                            const std::stop_token& stop) {
  return first_kernel(problem, plans, [&](MadeKernel generated) {
    return find_or_compile(std::move(generated), BinaryKind::kCubin, stop);
  });
}

}  // namespace convtgen
