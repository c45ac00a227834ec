// The table of templates, one line for each.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen {

/// A template and its planner, which template_of() adds (planner.h).
struct Template {
  std::string_view name;                      // of its folder in templates/
  Direction direction = Direction::kForward;  // of its problems
  std::string_view (*program)() = nullptr;    // the text of its program, as templatec writes it
  Features needs = {};                        // of a chip
  bool serves_grad_input = false;             // plans gradients of the input too, as forward layers (exchange.h)
  /// Its plans have predicted times, by which they are ordered. Else the planner orders them, and times are only
  /// compared with those of the direction's other templates.
  bool is_ranked = true;

  Result<std::vector<Plan>> (*search)(const Template& of, const Problem& problem, const ConstantProgram* other) = {};
  LaunchPlan (*relaunch)(const Template& of, const Problem& problem, const Plan& plan) = {};
  std::optional<double> (*predict)(const Template& of, const Problem& problem, const Plan& plan,
                                   const InputSizes& sizes) = {};

  /// Its plans for a problem of its direction, best first; at least one. Errors: why there is none, naming the property
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

extern const Template kDirect, kDirectRows, kMmaRows, kShiftGemm, kF32x3Gemm, kRollGemm, kHaloGemm, kOverlapGemm,
    kPatchGemm, kPhaseGemm, kMmaPhases;
extern const Template kDirectGradInput, kTapGemm;
extern const Template kDirectGradWeight, kGradWeightGemm, kGradWeightPixels, kGradWeightRows, kF32x3GradWeight,
    kF32x3GradWeightPixels;
extern const Template kGradBias;

/// What is added to the table: nothing, but in builds with -DCONVTGEN_TEST_TEMPLATES=ON (tests/templates/table.cpp).
[[nodiscard]] std::span<const Template> extra_templates();

/// All of them. The first of each direction takes every legal layer that its numbers can hold.
[[nodiscard]] std::span<const Template> templates();

/// Errors: there is none of that name; the message lists them.
[[nodiscard]] Result<const Template*> template_named(std::string_view name);

/// The template of a plan. Throws std::invalid_argument, with the same message, where there is none: no planner makes
/// such a plan.
[[nodiscard]] const Template& template_of(const Plan& plan);

}  // namespace convtgen
