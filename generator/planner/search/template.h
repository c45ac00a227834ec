// A template, with the functions of its planner.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// A template and its planner, whose functions template_of() adds (planner.h).
struct Template {
  std::string_view name;                      // of its folder in templates/
  Direction direction = Direction::kForward;  // of its problems
  std::string_view (*program)() = nullptr;    // the text of its program, as templatec writes it
  Features needs = {};                        // of a chip
  bool serves_grad_input = false;             // plans gradients of the input too, as forward layers (exchange.h)
  bool takes_depth = false;                   // layers of three axes too
  bool takes_slices = false;                  // x and y that are channels of larger tensors
  /// Takes layers with `streaming`: an output's terms are added in an order that does not depend on where the output
  /// is in the call, on the call's sizes, or on other inputs than the output's own. So its bits don't, either.
  bool streams = false;
  /// Its plans have predicted times, by which they are ordered. Else the planner orders them, and times are only
  /// compared with those of the direction's other templates.
  bool is_ranked = true;

  Result<std::vector<Plan>> (*search)(const Template& of, const Problem& problem, const ConstantProgram* other) = {};
  LaunchPlan (*relaunch)(const Template& of, const Problem& problem, const Plan& plan) = {};
  std::optional<double> (*predict)(const Template& of, const Problem& problem, const Plan& plan,
                                   const InputSizes& sizes) = {};

  /// Its plans for a problem of its direction, best first; at least one. Errors: why it has no plan, with the property
  /// of the layer and the limit.
  [[nodiscard]] Result<std::vector<Plan>> plans(const Problem& problem) const {
    return search(*this, problem, nullptr);
  }
  /// The same with another program than the template's own, whose layout plans then have.
  [[nodiscard]] Result<std::vector<Plan>> plans(const Problem& problem, const ConstantProgram& other) const {
    return search(*this, problem, &other);
  }
  /// What a call launches of a plan with these parameters.
  [[nodiscard]] LaunchPlan launch(const Problem& problem, const Plan& plan) const {
    return relaunch(*this, problem, plan);
  }
  /// About the seconds of a call of that plan at these sizes; nothing where there is no such call.
  [[nodiscard]] std::optional<double> seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) const {
    return predict(*this, problem, plan, sizes);
  }
};

}  // namespace convtgen
