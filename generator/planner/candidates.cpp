#include "generator/planner/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "generator/layer/directions.h"
#include "generator/planner/plan/exchange.h"
#include "generator/planner/records/shipped_records.h"
#include "generator/planner/search/cost.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/table/templates.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostPackedBytes = std::int64_t{1} << 34;  // whose 16-byte rows an int counts
constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 30;   // an int's, of the packed weights of a block

// Plans of the general template before all but one of the others, where it is first: tuning measures the first ones.
constexpr std::ptrdiff_t kGeneralFirst = 4;

/// Whether ints count what the kernels address of the packed weights.
bool ints_count_weights(const Plan& plan) {
  // Of a tile of positions, of whose channels each block has its part.
  const KernelPlan& main = plan.launch.main();
  std::int64_t blocks = main.grid.blocks_per_tile / main.cluster;
  for (const Grid::Axis& axis : main.grid.axes) {
    blocks *= axis.extent.factor == 0 ? ceil_div(axis.extent.constant, axis.tile) : 1;
  }
  const std::int64_t packed = plan.launch.packed_bytes();
  return packed <= kMostPackedBytes && packed / blocks <= kMostBlockBytes;
}

/// A template's plans that launches can count.
Result<std::vector<Plan>> own_plans(const Template& known, const Problem& problem) {
  Result<std::vector<Plan>> plans = known.plans(problem);
  if (plans && std::erase_if(*plans, [](const Plan& plan) { return !ints_count_weights(plan); }) > 0 &&
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
      // Open sizes of volumes are those of x, as for templates of gradients; with fewer axes they are grad_y's.
      if (problem.layer.dimensions == 3) {
        plan.predicted_seconds =
            known.seconds(*forward, plan, exchanged_sizes(problem.layer, planned_sizes(problem.layer)));
      }
    }
    std::ranges::stable_sort(*plans, {}, &Plan::predicted_seconds);
  }
  return plans;
}

bool may_take(const Template& known, Direction direction) {
  return known.direction == direction || (direction == Direction::kGradInput && known.serves_grad_input);
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
  // The direction's first template takes all layers that have kernels, so what it refuses is refused. Nothing is
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
  const bool first = !predicted.empty() && seconds(predicted.front()) < general.seconds(problem, out.plans.front(),
                                                                                        planned_sizes(problem.layer));
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
  return plan.launch.main().grid.checked_blocks(quantities_of(shape));
}

LaunchPlan launch_plan_of(const Problem& problem, const Plan& plan) {
  const Template& known = template_of(plan);
  return plan.swapped ? exchanged_launch(problem, plan, known.launch(exchanged_problem(problem).value(), plan))
                      : known.launch(problem, plan);
}

}  // namespace convtgen
