// Which of the planner's plans a kernel is made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/specializer/first_source.h"
#include "runtime/support/failure.h"

namespace convtgen {

/// A plan as text, a line for the template and one for each parameter: what users read. Different plans have different
/// texts.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// The planner's plans, in its order. The plan that was the fastest by a tuning record (runtime/records/record.h; the
/// store's bytes, or empty) comes first, if the planner still has it; else a note is logged.
/// Errors: those of plan().
[[nodiscard]] Outcome<std::vector<Plan>> choose_plans(const Problem& problem, std::string_view record = {});

/// Logs a warning that a plan is skipped.
void log_passed_over(const Problem& problem, const PassedOver& passed);

}  // namespace convtgen
