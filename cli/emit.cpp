// convtgen emit: layers to CUDA source.
#include <memory>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/layers.h"
#include "cli/terminal.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen::cli {
namespace {

struct EmitOptions {
  LayerSource source;
  std::string architecture;
  std::string direction;
  std::string folder;
};

Exit emit(const EmitOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  const auto planned = plan_layers(*layers, options.direction, options.architecture, exit);
  if (!planned) {
    return exit;
  }
  std::vector<OutputFile> files;
  for (const PlannedLayer& layer : *planned) {
    auto source = specialize(layer.problem, layer.plan);
    if (!source) {
      print_layer_error(layer.name, source.error());
      exit = Exit::kWrong;
      continue;
    }
    files.push_back({std::filesystem::path(options.folder) / (layer.name + ".cu"), std::move(source->text)});
  }
  if (exit != Exit::kOk) {
    return exit;
  }
  if (options.folder.empty()) {
    for (const OutputFile& file : files) {
      fmt::print("{}", file.bytes);
    }
    return exit;
  }
  if (auto written = write_files(files); !written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const OutputFile& file : files) {
    fmt::print("{}\n", file.path.string());
  }
  return exit;
}

}  // namespace

void add_emit(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App* verb = app.add_subcommand("emit", "Write the CUDA source of each layer.");
  add_layer_options(*verb, options->source);
  add_architecture_option(*verb, options->architecture);
  add_direction_option(*verb, options->direction);
  verb->add_option("-o,--output", options->folder,
                   "Folder for one <layer>.cu a layer; standard output unless given. Nothing is written unless all "
                   "layers succeed.")
      ->type_name("DIR");
  verb->footer(R"(
Equal layers give the same bytes on every machine. Needs neither CUDA nor a GPU.
Examples:
  convtgen emit layers.convt --layer up          to standard output
  convtgen emit layers.convt -o out --arch sm_80
  convtgen emit -e "conv_transpose2d 8 -> 4; kernel 3x7; input ?x?x?")");
  verb->callback([options, &exit] { exit = emit(*options); });
}

}  // namespace convtgen::cli
