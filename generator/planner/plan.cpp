#include "generator/planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "generator/layer/directions.h"
#include "generator/planner/cost.h"
#include "generator/planner/direct.h"
#include "generator/planner/exchange.h"
#include "generator/planner/integers.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/shipped_records.h"
#include "generator/planner/templates.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostPackedBytes = std::int64_t{1} << 34;  // whose 16-byte rows an int counts
constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 30;   // an int's, of the packed weights of a block

// Plans of the general template before all but one of the others, where it is first: tuning measures the first ones.
constexpr std::ptrdiff_t kGeneralFirst = 4;

/// About the time of a direction's general template, which knows no tensor cores. `direct` is its first plan.
double direct_seconds(const Problem& problem, const Plan& direct) {
  const auto shape = shape_of(problem.layer, planned_sizes(problem.layer));
  const auto blocks = shape ? grid_blocks(problem, direct, *shape) : Result<std::int64_t>(0);
  if (!blocks || *blocks == 0) {
    return 0;
  }
  const PlannedTarget& target = problem.target;
  const Cost cost = cost_of(problem, *shape);
  const CostFactors& factors = target.factors;
  if (problem.direction != Direction::kForward) {
    return target.launch_seconds +
           std::max(cost.flops / (factors.direct_reaches * target.f32_flops), cost.bytes / target.bytes_per_second);
  }
  const TileGrid grid = tile_grid_of(problem, direct);
  // A block takes as long where parts of its tile lie outside of the output or its taps outside of the input, and the
  // last blocks as long as all.
  const auto whole = static_cast<double>(ceil_div(*blocks, target.multiprocessors) * target.multiprocessors);
  const double tile = static_cast<double>(grid.tile_rows) * static_cast<double>(grid.tile_columns) *
                      static_cast<double>(problem.layer.out_channels) / static_cast<double>(grid.blocks_per_tile);
  const Layer& layer = problem.layer;
  const double taps = static_cast<double>(tap_count(layer)) /
                      static_cast<double>(layer.axes[kHeight].stride * layer.axes[kWidth].stride);  // of an output
  const double flops = 2 * static_cast<double>(layer.in_channels / layer.groups) * taps * whole * tile;
  const double times = problem.layer.layout == Layout::kNhwc ? factors.direct_moves_nhwc : factors.direct_moves;
  return target.launch_seconds +
         std::max(flops / (factors.direct_reaches * target.f32_flops), times * cost.bytes / target.bytes_per_second);
}

/// Whether ints count what the kernels address of the packed weights.
bool ints_count_weights(const Problem& problem, const Plan& plan) {
  // The planners of templates with a launch of their own check what a block reads.
  if (plan.packed_bytes == 0 || template_of(plan).grid == nullptr) {
    return plan.packed_bytes <= kMostPackedBytes;
  }
  const std::int64_t columns = tile_grid_of(problem, plan).blocks_per_tile / plan.cluster;
  return plan.packed_bytes <= kMostPackedBytes && plan.packed_bytes / columns <= kMostBlockBytes;
}

/// A template's plans that launches can count.
Result<std::vector<Plan>> own_plans(const Template& known, const Problem& problem) {
  Result<std::vector<Plan>> plans = known.plans(problem);
  if (plans && std::erase_if(*plans, [&](const Plan& plan) { return !ints_count_weights(problem, plan); }) > 0 &&
      plans->empty()) {
    return fail(fmt::format("packed weights of more than {} MiB, or {} MiB of a block", kMostPackedBytes >> 20,
                            kMostBlockBytes >> 20));
  }
  return plans;
}

/// Plans of a template of forward layers for a gradient of the input.
Result<std::vector<Plan>> exchanged_plans(const Template& known, const Problem& problem) {
  const auto forward = exchanged_problem(problem);
  if (!forward) {
    return std::unexpected(forward.error());
  }
  auto plans = own_plans(known, *forward);
  if (plans) {
    for (Plan& plan : *plans) {
      exchange_plan(problem, plan);
    }
  }
  return plans;
}

/// Whether the template is asked: the first one of forward layers is not, where the gradients' own is as general.
bool may_take(const Template& known, Direction direction) {
  return known.direction == direction ||
         (direction == Direction::kGradInput && known.direction == Direction::kForward && known.seconds != nullptr &&
          known.makes_gradients);
}

}  // namespace

Result<std::vector<Plan>> plans_of(const Template& known, const Problem& problem) {
  return known.direction == problem.direction ? own_plans(known, problem) : exchanged_plans(known, problem);
}

Result<Candidates> candidates(const Problem& problem, Records records) {
  if (const std::vector<Violation> violations = check_limits(problem.layer); !violations.empty()) {
    return fail(violations.front().message);
  }
  if (auto checked = check_direction(problem.layer, problem.direction); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  if (problem.layer.dimensions > 2) {
    return fail(fmt::format("{}: no template takes three axes yet; legal are conv_transpose1d and conv_transpose2d",
                            operator_name(problem.layer)));
  }
  // The direction's first template takes all that there are kernels for, so what it refuses is refused. Nothing is
  // predicted of its plans; those of the others are ordered by their cost models, before or after the first of these.
  const Template& general = *std::ranges::find(templates(), problem.direction, &Template::direction);
  auto of_general = own_plans(general, problem);
  if (!of_general) {
    return std::unexpected(of_general.error());
  }
  Candidates out{*std::move(of_general), {}};
  std::vector<Plan> predicted;
  for (const Template& each : templates()) {
    if (&each == &general || !may_take(each, problem.direction)) {
      continue;
    }
    if (auto plans = plans_of(each, problem)) {
      std::ranges::move(*plans, std::back_inserter(predicted));
    } else {
      out.refusals.push_back({each.name, std::move(plans.error().message)});
    }
  }
  const auto seconds = [](const Plan& plan) { return plan.predicted_seconds.value_or(0); };
  std::ranges::stable_sort(predicted, {}, seconds);
  const bool first = !predicted.empty() && seconds(predicted.front()) < direct_seconds(problem, out.plans.front());
  // Where the general one is first: the first of the others, then some more of its own, then the rest.
  const std::ptrdiff_t before = first ? 0 : std::min(kGeneralFirst, std::ssize(out.plans));
  out.plans.insert(out.plans.begin() + before, std::move_iterator(predicted.begin()),
                   std::move_iterator(predicted.end()));
  if (before > 1 && !predicted.empty()) {
    const auto second = out.plans.begin() + 1, found = out.plans.begin() + before;
    std::rotate(second, found, found + 1);
  }
  if (const auto record = records == Records::kShipped ? shipped_record(problem) : std::nullopt) {
    prefer_recorded(out.plans, *record);  // a stale one changes nothing
  }
  return out;
}

Result<std::vector<Plan>> plan(const Problem& problem, Records records) {
  auto all = candidates(problem, records);
  return all ? Result<std::vector<Plan>>(std::move(all->plans)) : std::unexpected(std::move(all.error()));
}

Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape) {
  if (shape.batch == 0 && problem.direction == Direction::kForward) {
    return 0;
  }
  const LaunchPlan launch = launch_plan_of(problem, plan);
  const auto main = std::ranges::find(launch.kernels, "", &KernelPlan::suffix);
  return main->grid.checked_blocks(quantities_of(shape));
}

TileGrid tile_grid_of(const Problem& problem, const Plan& plan) {
  return template_of(plan).grid(problem, plan);
}

Grid TileGrid::grid() const {
  // The kernel's coordinates go on to the end of the last tile, also where the padding takes it away again.
  constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
  const auto per = [](Quantity quantity) { return Amount{.factor = 1, .per = quantity}; };
  return {.axes = {{per(Quantity::kOutHeight), tile_rows},
                   {per(Quantity::kOutWidth), tile_columns},
                   {per(Quantity::kBatch), tile_images}},
          .blocks_per_tile = blocks_per_tile,
          .most_tiles = most_tiles,
          .bounds = {{Quantity::kOutHeight, kIntMax - tile_rows},
                     {Quantity::kInHeight, (kIntMax - tile_rows - beyond_rows) / stride_h + 1},
                     {Quantity::kOutWidth, kIntMax - tile_columns},
                     {Quantity::kInWidth, (kIntMax - tile_columns - beyond_columns) / stride_w + 1}}};
}

}  // namespace convtgen
