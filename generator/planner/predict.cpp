#include "generator/planner/predict.h"

#include "generator/planner/halo_gemm.h"
#include "generator/planner/roll_gemm.h"
#include "generator/planner/shift_gemm.h"

namespace convtgen {

std::optional<double> predict(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const auto shape = shape_of(problem.layer, sizes);
  if (!shape || shape->output_elements == 0) {
    return std::nullopt;
  }
  return plan.template_name == "halo_gemm"    ? std::optional(halo_gemm_seconds(problem, plan, sizes))
         : plan.template_name == "roll_gemm"  ? roll_gemm_seconds(problem, plan, sizes)
         : plan.template_name == "shift_gemm" ? std::optional(shift_gemm_seconds(problem, plan, sizes))
                                              : std::nullopt;
}

}  // namespace convtgen
