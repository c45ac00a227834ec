// Which of the planner's plans a kernel is made from.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/planner/plan.h"
#include "generator/specializer/first_source.h"
#include "runtime/support/failure.h"

namespace convtgen {

/// A plan as text, a line for the template and one for each parameter: what users read. Different plans have different
/// texts.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// The planner's plans, in its order. The plan that was the fastest by a tuning record (runtime/records/record.h; the
/// store's bytes, or empty where there is none) comes first, if the planner still has it; else a note is logged.
/// Errors: those of plan().
[[nodiscard]] Outcome<std::vector<Plan>> choose_plans(const Problem& problem, std::string_view record = {});

/// Logs a warning that a plan is passed over.
void log_passed_over(const Problem& problem, const PassedOver& passed);

/// What `make` makes of the first plan, from `from` on, that can be specialised and compiled. A plan is passed over,
/// with a warning in the log, where it has no source or where `make` fails for ever (Failure::lasting): the compiler's
/// verdict on the source, which may be another one for another plan.
/// `make` gets the plan's index and its source.
/// Errors: where no plan is left, that of the first one; any other error of `make` at once.
template <typename T>
[[nodiscard]] Outcome<T> first_that_compiles(
    const Problem& problem, std::span<const Plan> plans,
    const std::function<Outcome<T>(std::size_t index, KernelSource source)>& make, std::size_t from = 0,
    const Specializer& specializer = specialize) {
  std::optional<Failure> first;
  for (;;) {
    auto source = first_source(problem, plans, from, specializer);
    if (!source) {
      return first ? std::unexpected(*std::move(first)) : fail_with(Status::kInternal, source.error());
    }
    for (const PassedOver& passed : source->passed_over) {
      log_passed_over(problem, passed);
    }
    const std::size_t index = source->index;
    auto made = make(index, std::move(source->source));
    if (made || !made.error().lasting) {
      return made;
    }
    if (!first) {
      first = made.error();
    }
    if (index + 1 == plans.size()) {
      return std::unexpected(*std::move(first));
    }
    log_passed_over(problem, passed_over(plans, index, std::move(made.error().message)));
    from = index + 1;
  }
}

}  // namespace convtgen
