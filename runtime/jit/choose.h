// Which of the planner's plans a kernel is made from.
#pragma once

#include <string>
#include <string_view>

#include "generator/planner/plan.h"
#include "runtime/jit/failure.h"

namespace convtgen::jit {

/// A plan as text, a line for the template and one for each parameter: what users read. Different plans have different
/// texts.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// The plan that was the fastest by a tuning record (runtime/tune/record.h; the store's bytes, or empty where there is
/// none), if the planner still has it among its candidates; else the planner's first, with a note where there is a
/// record.
/// Errors: those of plan().
[[nodiscard]] Outcome<Plan> choose_plan(const Problem& problem, std::string_view record = {});

}  // namespace convtgen::jit
