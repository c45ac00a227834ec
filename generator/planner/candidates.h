// The planner: from a problem to plans of all templates, best first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/search/template.h"
#include "generator/support/error.h"

namespace convtgen {

/// Why a template has no plan for a problem.
struct Refusal {
  std::string_view template_name;
  std::string reason;  // "groups of 4 input channels; tensor cores need 16"
};

struct Candidates {
  std::vector<Plan> plans;        // best first; at least one
  std::vector<Refusal> refusals;  // of the templates that have none of them, in the order of the table
};

/// Which tuning records the planner itself goes by.
enum class Records { kShipped, kNone };

/// Plans of all templates of the direction (templates.h). The first is the one that a record which ships says was the
/// fastest (shipped_records.h), if there is one of this very layer for the target, else what cost models suggest.
/// Without records it is what cost models suggest.
/// Errors: the layer lacks the direction, the layer breaks a limit, or nothing fits the
/// target.
[[nodiscard]] Result<Candidates> candidates(const Problem& problem, Records records = Records::kShipped);

/// Its plans.
[[nodiscard]] Result<std::vector<Plan>> plan(const Problem& problem, Records records = Records::kShipped);

/// The plans of one template alone, for a problem that plan() takes, best first. Errors: why it has none.
[[nodiscard]] Result<std::vector<Plan>> plans_of(const Template& known, const Problem& problem);

/// Blocks of the launch for a call of this shape (a 1-D grid; 0 when there is nothing to do).
/// Errors: more blocks than a grid can have, or an extent the kernel's 32-bit coordinates can't hold.
[[nodiscard]] Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape);

/// What a plan of the problem with these parameters launches: plans that planners make have it. Throws
/// std::invalid_argument where there is no template of the plan's name.
[[nodiscard]] LaunchPlan launch_plan_of(const Problem& problem, const Plan& plan);

}  // namespace convtgen
