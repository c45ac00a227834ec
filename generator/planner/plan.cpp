#include "generator/planner/plan.h"

#include <fmt/format.h>

#include "generator/planner/direct.h"

namespace convtgen {

Result<std::vector<Plan>> plan(const Problem& problem) {
  if (problem.direction != Direction::kForward) {
    return fail(
        fmt::format("directions: there are no kernels for {} yet; legal is forward", name_of(problem.direction)));
  }
  if (const std::vector<Violation> violations = check_limits(problem.layer); !violations.empty()) {
    return fail(violations.front().message);
  }
  Result<Plan> direct = plan_direct(problem);
  if (!direct) {
    return std::unexpected(direct.error());
  }
  return std::vector<Plan>{*std::move(direct)};
}

Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape) {
  if (shape.output_elements == 0) {
    return 0;
  }
  return direct_blocks(problem.layer, plan, shape);
}

}  // namespace convtgen
