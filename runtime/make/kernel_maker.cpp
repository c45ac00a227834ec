#include "runtime/make/kernel_maker.h"

#include <optional>
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
                                 std::size_t from, const Specializer& specializer) {
  std::optional<Failure> first;
  for (;;) {
    const Clock::time_point start = Clock::now();
    auto source = first_source(problem, plans, from, specializer);
    if (!source) {
      return first ? std::unexpected(*std::move(first)) : fail_with(Status::kInternal, source.error());
    }
    for (const PassedOver& passed : source->passed_over) {
      log_passed_over(problem, passed);
    }
    const std::size_t place = source->index;
    MadeKernel generated = generated_kernel(problem, plans[place], std::move(source->source));
    generated.place = place;
    generated.generate_ms = milliseconds_since(start);
    auto made = finish(std::move(generated));
    if (made || !made.error().lasting) {
      return made;
    }
    if (!first) {
      first = made.error();
    }
    if (place + 1 == plans.size()) {
      return std::unexpected(*std::move(first));
    }
    log_passed_over(problem, passed_over(plans, place, std::move(made.error().message)));
    from = place + 1;
  }
}

Outcome<MadeKernel> KernelMaker::make(const Problem& problem, const Plan& plan, const std::stop_token& stop) {
  auto made = generate_kernel(problem, plan);
  return made ? find_or_compile(*std::move(made), kind(), stop) : made;
}

Outcome<MadeKernel> KernelMaker::make_first(const Problem& problem, std::span<const Plan> plans,
                                            const std::stop_token& stop) {
  return first_kernel(problem, plans,
                      [&](MadeKernel generated) { return find_or_compile(std::move(generated), kind(), stop); });
}

}  // namespace convtgen
