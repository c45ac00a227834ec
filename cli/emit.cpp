// convtgen emit: layers to CUDA source.
#include <memory>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/layers.h"
#include "cli/products.h"
#include "cli/terminal.h"
#include "generator/launcher/names.h"

namespace convtgen::cli {
namespace {

struct EmitOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string tuned;
  OutputOptions output;
};

Exit emit(const EmitOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  const auto planner = planner_of_file(options.tuned, exit);
  if (!planner) {
    return exit;
  }
  std::vector<Product> products;
  for (const std::string& architecture : options.architectures) {
    auto planned = plan_layers(*layers, options.direction, architecture, *planner, exit);
    if (!planned) {
      return exit;
    }
    for (PlannedLayer& layer : *planned) {
      OutputFile file{{}, layer.source.text};
      if (!options.output.output.empty()) {
        file.path = output_path(options.output,
                                fmt::format("{}.{}.cu", stem_of(layer.layer, layer.problem.direction), architecture));
      }
      products.push_back({layer.layer, std::move(layer.problem), std::move(layer.plan), std::move(layer.source),
                          architecture, "source", std::move(file)});
    }
  }
  auto written = check_outputs(options.output, products.size());
  if (written) {
    written = write_products(options.output, options.source, products, inputs_of_tuned(options.tuned));
  }
  if (!written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const Product& product : products) {
    if (product.file.path.empty()) {
      fmt::print("{}", product.file.bytes);
    } else if (!options.output.prints_manifest()) {
      fmt::print("{}\n", product.file.path.string());
    }
  }
  return exit;
}

}  // namespace

void add_emit(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App* verb = app.add_subcommand("emit", "Write the CUDA source of each layer.");
  add_layer_options(*verb, options->source);
  add_architectures_option(*verb, options->architectures, Architectures::kReal);
  add_direction_option(*verb, options->direction);
  add_tuned_option(*verb, options->tuned);
  verb->add_option("-o,--output", options->output.output,
                   "Folder for one <layer>_<direction>.<arch>.cu a kernel, or the file itself where it ends in .cu; "
                   "standard output unless given. Nothing is written unless all succeed.")
      ->type_name("DIR");
  add_output_options(*verb, options->output);
  verb->footer(R"(
Equal layers, and an equal file of --tuned, give the same bytes on every machine: records of this machine's store are
not looked at. Needs neither CUDA nor a GPU.
Examples:
  convtgen emit layers.convt --layer up          to standard output
  convtgen emit layers.convt -o out --arch sm_80,sm_90a --manifest out/kernels.json
  convtgen emit layers.convt -o out --tuned h200.json    after 'convtgen tune --export h200.json'
  convtgen emit -e "conv_transpose2d 8 -> 4; kernel 3x7; input ?x?x?")");
  verb->callback([options, &exit] { exit = emit(*options); });
}

}  // namespace convtgen::cli
