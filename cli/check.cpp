// convtgen check: are these layer files right?
#include <memory>

#include "cli/command.h"
#include "cli/layers.h"
#include "cli/terminal.h"
#include "generator/planner/candidates.h"

namespace convtgen::cli {

namespace {

/// Errors: for one of its directions no known architecture has a kernel.
Result<void> check_plans(const Layer& layer) {
  for (const Direction direction : layer.directions) {
    Result<void> has_plan = fail("");
    for (const Target& target : known_targets()) {
      if (const auto plans = plan({layer, direction, target}); plans) {
        has_plan = {};
        break;
      } else {
        has_plan = std::unexpected(plans.error());
      }
    }
    if (!has_plan) {
      return fail(
          fmt::format("there is no {} kernel for this layer: {}", name_of(direction), has_plan.error().message));
    }
  }
  return {};
}

}  // namespace

void add_check(CLI::App& app, Exit& exit) {
  auto source = std::make_shared<LayerSource>();
  CLI::App* verb = app.add_subcommand("check", "Report every error of layer files, and layers without a kernel.");
  add_layer_options(*verb, *source);
  verb->footer(R"(
Examples:
  convtgen check layers.convt more.convt
  convtgen check --diagnostics=json layers.convt     an array of {file, line, column, length, message, suggestion}
The array is printed in every case: [] where there are no errors; a file that can't be read is an error in it.
Exit codes: 0 no errors; 1 errors; 2 a file can't be read.)");
  verb->callback([source, &exit] {
    const auto layers = load_layers(*source, exit, check_plans);
    if (source->diagnostics == "json") {
      if (layers) {
        fmt::print("[]\n");
      }
    } else if (layers) {
      fmt::print("{} {}: no errors\n", layers->size(), layers->size() == 1 ? "layer" : "layers");
    }
  });
}

}  // namespace convtgen::cli
