#include "generator/planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "generator/planner/direct.h"
#include "generator/planner/halo_gemm.h"
#include "generator/planner/roll_gemm.h"
#include "generator/planner/shift_gemm.h"
#include "generator/planner/shipped_records.h"

namespace convtgen {
namespace {

/// The first of each list, then the second of each, and so on.
std::vector<Plan> in_turn(std::vector<std::vector<Plan>> lists) {
  std::size_t longest = 0;
  for (const std::vector<Plan>& plans : lists) {
    longest = std::max(longest, plans.size());
  }
  std::vector<Plan> out;
  for (std::size_t i = 0; i < longest; ++i) {
    for (std::vector<Plan>& plans : lists) {
      if (i < plans.size()) {
        out.push_back(std::move(plans[i]));
      }
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Plan>> plan(const Problem& problem) {
  if (problem.direction != Direction::kForward) {
    return fail(
        fmt::format("directions: there are no kernels for {} yet; legal is forward", name_of(problem.direction)));
  }
  if (const std::vector<Violation> violations = check_limits(problem.layer); !violations.empty()) {
    return fail(violations.front().message);
  }
  auto plans = plans_direct(problem);
  if (!plans) {
    return plans;
  }
  // For tuning to measure among the first: which layers tensor cores are the better choice for is not known yet.
  std::vector<Plan> tensor = in_turn({plans_halo_gemm(problem), plans_shift_gemm(problem), plans_roll_gemm(problem)});
  plans->insert(plans->begin() + 1, std::move_iterator(tensor.begin()), std::move_iterator(tensor.end()));
  if (const auto record = shipped_record(problem)) {
    prefer_recorded(*plans, *record);  // a stale one changes nothing
  }
  return plans;
}

Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape) {
  if (shape.output_elements == 0) {
    return 0;
  }
  return direct_blocks(problem.layer, grid_of(problem, plan), shape);
}

Grid grid_of(const Problem& problem, const Plan& plan) {
  return plan.template_name == "halo_gemm"    ? halo_gemm_grid(problem, plan)
         : plan.template_name == "roll_gemm"  ? roll_gemm_grid(problem, plan)
         : plan.template_name == "shift_gemm" ? shift_gemm_grid(problem, plan)
                                              : direct_grid(problem.layer, plan);
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
  std::int64_t tiles = 1;
  for (const std::int64_t factor :
       {(shape.out_height + tile_rows - 1) / tile_rows, (shape.out_width + tile_columns - 1) / tile_columns,
        (shape.batch + tile_images - 1) / tile_images}) {
    if (tiles > kIntMax / blocks_per_tile / factor) {
      return std::nullopt;
    }
    tiles *= factor;
  }
  return blocks_per_tile * (most_tiles == 0 ? tiles : std::min(tiles, most_tiles));
}

}  // namespace convtgen
