#include "generator/planner/plan.h"

#include <fmt/format.h>

#include <limits>

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
  return plans_direct(problem);
}

Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape) {
  if (shape.output_elements == 0) {
    return 0;
  }
  return direct_blocks(problem.layer, plan, shape);
}

Grid grid_of(const Problem& problem, const Plan& plan) {
  return direct_grid(problem.layer, plan);
}

std::optional<std::int64_t> Grid::blocks(const Shape& shape) const {
  constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
  if (shape.output_elements == 0) {
    return 0;
  }
  if (shape.out_height > kIntMax - tile_rows || shape.out_width > kIntMax - tile_columns ||
      shape.in_height - 1 > (kIntMax - tile_rows) / stride_h ||
      shape.in_width - 1 > (kIntMax - tile_columns) / stride_w) {
    return std::nullopt;
  }
  std::int64_t blocks = blocks_per_tile;
  for (const std::int64_t factor : {(shape.out_height + tile_rows - 1) / tile_rows,
                                    (shape.out_width + tile_columns - 1) / tile_columns, shape.batch}) {
    if (blocks > kIntMax / factor) {
      return std::nullopt;
    }
    blocks *= factor;
  }
  return blocks;
}

}  // namespace convtgen
