#include "generator/planner/predict.h"

#include "generator/planner/plan/exchange.h"
#include "generator/planner/table/templates.h"

namespace convtgen {

std::optional<double> predict(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const auto shape = shape_of(problem.layer, sizes);
  if (!shape || shape->output_elements == 0) {
    return std::nullopt;
  }
  const Template& known = template_of(plan);
  if (!known.is_ranked) {
    return std::nullopt;
  }
  return plan.swapped ? known.seconds(exchanged_problem(problem).value(), plan, exchanged_sizes(problem.layer, sizes))
                      : known.seconds(problem, plan, sizes);
}

}  // namespace convtgen
