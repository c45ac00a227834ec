#include "generator/planner/predict.h"

#include "generator/planner/exchange.h"
#include "generator/planner/templates.h"

namespace convtgen {

std::optional<double> predict(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const auto shape = shape_of(problem.layer, sizes);
  if (!shape || shape->output_elements == 0) {
    return std::nullopt;
  }
  const Template& known = template_of(plan);
  if (is_exchanged(problem, plan)) {
    return known.seconds(exchanged_problem(problem).value(), plan, exchanged_sizes(problem.layer, sizes));
  }
  return known.seconds != nullptr ? known.seconds(problem, plan, sizes) : std::nullopt;
}

}  // namespace convtgen
