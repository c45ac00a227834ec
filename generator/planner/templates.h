// The table of templates, one line for each.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"

namespace convtgen {

struct Template {
  std::string_view name;  // of its folder in templates/
  Direction direction;    // of its problems
  /// The text of its program, as templatec writes it.
  std::string_view (*program)();
  /// Its plans for a problem of its direction, best first; at least one. Errors: why there is none, naming the property
  /// of the layer and the limit.
  Result<std::vector<Plan>> (*plans)(const Problem& problem);
  /// The numbers of a launch; null where `launch` has them.
  TileGrid (*grid)(const Problem& problem, const Plan& plan);
  /// What a call launches; null where that is one kernel of the template's name, with the grid above, and before it the
  /// packing of its weights where the plan has packed bytes.
  LaunchPlan (*launch)(const Problem& problem, const Plan& plan);
  /// About the seconds of a call at these sizes, which have outputs; null where nothing is predicted.
  std::optional<double> (*seconds)(const Problem& problem, const Plan& plan, const InputSizes& sizes);
  /// Of forward layers with predicted times: whether it is asked for gradients of the input, by the layer with its
  /// input and output exchanged.
  bool makes_gradients = true;
};

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
