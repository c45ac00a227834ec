// convtgen check: are these layer files right?
#include <memory>

#include "cli/command.h"
#include "cli/layers.h"
#include "cli/terminal.h"

namespace convtgen::cli {

void add_check(CLI::App& app, Exit& exit) {
  auto source = std::make_shared<LayerSource>();
  CLI::App* verb = app.add_subcommand("check", "Report every error of layer files.");
  add_layer_options(*verb, *source);
  verb->footer(R"(
Examples:
  convtgen check layers.convt more.convt
  convtgen check --diagnostics=json layers.convt     an array of {file, line, column, length, message, suggestion}
Exit codes: 0 no errors; 1 errors; 2 a file can't be read.)");
  verb->callback([source, &exit] {
    const auto layers = load_layers(*source, exit);
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
