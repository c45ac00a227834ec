// Which layers a verb is for: files, or text on the command line, and how their errors are printed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/records.h"
#include "cli/reporter.h"
#include "generator/language/language.h"
#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "generator/specializer/first_source.h"

namespace convtgen::cli {

struct LayerSource {
  std::vector<std::string> files;
  std::vector<std::string> texts;  // canonical form, from -e
  std::vector<std::string> only;   // --layer
  std::string diagnostics = "text";
  std::size_t error_limit = kErrorLimit;
};

/// FILE..., -e, --layer, --diagnostics and --error-limit.
void add_layer_options(CLI::App& verb, LayerSource& source);

/// All chosen layers. If it is empty, the errors have been printed and `exit` is set. `check` may find more errors.
[[nodiscard]] std::optional<std::vector<NamedLayer>> load_layers(const LayerSource& source, Exit& exit,
                                                                 const LayerCheck& check = {});

/// --direction: one of the layer's own unless given.
void add_direction_option(CLI::App& verb, std::string& direction);
/// The same, one or more.
void add_directions_option(CLI::App& verb, std::vector<std::string>& directions);

/// A layer, one of its directions, the best plan for it, and the source of that.
struct PlannedLayer {
  std::string name;   // "up", or "up_grad_input" for other directions than forward: what people read
  std::string layer;  // "up"
  Problem problem;
  Plan plan;
  KernelSource source;
  std::vector<PassedOver> passed_over;  // better plans that can't be specialised; each has been logged
};

/// The planner's first plan of each layer in each of its directions, or in the one that is given ("" = its own). If a
/// plan or its source is missing, the errors of all layers have been printed and `exit` is set.
[[nodiscard]] std::optional<std::vector<PlannedLayer>> plan_layers(const std::vector<NamedLayer>& layers,
                                                                   const std::string& direction,
                                                                   const std::string& architecture,
                                                                   const Planner& planner, Exit& exit,
                                                                   const Specializer& specializer = specialize);

/// "error: layer 'up': ..." on stderr.
void print_layer_error(const std::string& name, const Error& error);

/// --input: batch, height and width; 1-D layers have no height.
struct InputOption {
  std::string text;  // "8x32x64", or empty
};
void add_input_option(CLI::App& verb, InputOption& option);

/// A layer and sizes to run it at. A size that the layer leaves open stays open, so that its dynamic kernel runs. A
/// size that the layer fixes to another value is changed in the layer.
struct SizedLayer {
  Layer layer;
  InputSizes sizes;
};
/// Errors: the option's form, and sizes that neither the layer nor the option names.
[[nodiscard]] Result<SizedLayer> apply_input(const Layer& layer, const InputOption& option);

}  // namespace convtgen::cli
