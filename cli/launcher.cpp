// convtgen launcher: the C code and the header with which a program launches the kernels of its layers.
#include "generator/launcher/launcher.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/layers.h"
#include "cli/products.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

struct LauncherOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::vector<std::string> directions;
  std::string format = "cubin";
  std::string tuned;
  std::string name_space, header;
  bool host = false;
  bool shared_only = false;
  OutputOptions output{".", "", ""};
};

Result<LayerSet> set_of(const LauncherOptions& options) {
  LayerSet set;
  set.name_space = options.name_space;
  set.header = options.header.empty() ? options.name_space + ".h" : options.header;
  set.format = options.format == "source" ? LaunchFormat::kSource : LaunchFormat::kCubin;
  set.host = options.host;
  for (const std::string& name : options.architectures) {
    auto code = code_target_named(name);
    if (!code) {
      return std::unexpected(code.error());
    }
    if (std::ranges::find(set.targets, *code) == set.targets.end()) {
      set.targets.push_back(*std::move(code));
    }
  }
  if (auto checked = check_set(set); !checked) {
    return std::unexpected(checked.error());
  }
  return set;
}

/// The kernels of a set, each as it is made for every target.
struct SetKernels {
  std::vector<SetKernel> kernels;
  std::vector<std::vector<TargetKernel>> made;  // for each kernel
  std::vector<Product> products;                // for the manifest
};

/// If it is nullopt, the errors have been printed and `exit` is set.
std::optional<SetKernels> make_kernels(const LauncherOptions& options, const LayerSet& set, Exit& exit) {
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return std::nullopt;
  }
  const auto planner = planner_of_file(options.tuned, exit);
  if (!planner) {
    return std::nullopt;
  }
  SetKernels result;
  for (const CodeTarget& code : set.targets) {
    std::vector<PlannedLayer> planned;
    for (const std::string& direction :
         options.directions.empty() ? std::vector<std::string>{""} : options.directions) {
      auto plans = plan_layers(*layers, direction, code.target.architecture, *planner, exit);
      if (!plans) {
        return std::nullopt;
      }
      std::ranges::move(*plans, std::back_inserter(planned));
    }
    if (result.kernels.empty()) {
      for (const PlannedLayer& layer : planned) {
        result.kernels.push_back({layer.layer, layer.problem.layer, layer.problem.direction});
      }
      result.made.resize(planned.size());
    }
    for (std::size_t i = 0; i < planned.size(); ++i) {
      PlannedLayer& layer = (planned)[i];
      result.products.push_back({layer.layer, layer.problem, layer.plan, layer.source, name_of(code), "", {}});
      result.made[i].push_back({code, std::move(layer.plan), std::move(layer.source)});
    }
  }
  return result;
}

Exit launcher(const LauncherOptions& options) {
  const auto set = set_of(options);
  if (!set) {
    print_error(set.error().message);
    return Exit::kUsage;
  }
  const bool some_layers = !options.source.only.empty();
  if (options.shared_only && some_layers) {
    print_error("--shared-only is for the whole set, and --layer for the launch code of some: give one or the other");
    return Exit::kUsage;
  }
  Exit exit = Exit::kOk;
  const auto kernels = make_kernels(options, *set, exit);
  if (!kernels) {
    return exit;
  }
  std::vector<TextFile> texts;
  if (!some_layers) {
    auto shared = shared_files(*set, kernels->kernels);
    if (!shared) {
      print_error(shared.error().message);
      return Exit::kUsage;
    }
    texts = *std::move(shared);
  }
  for (std::size_t i = 0; i < kernels->kernels.size() && !options.shared_only; ++i) {
    auto files = kernel_files(*set, kernels->kernels[i], kernels->made[i]);
    if (!files) {
      print_layer_error(kernels->kernels[i].layer_name, files.error());
      return Exit::kWrong;
    }
    texts.insert(texts.end(), files->begin(), files->end());
  }
  std::vector<OutputFile> files;
  for (TextFile& text : texts) {
    files.push_back({std::filesystem::path(options.output.output) / text.name, std::move(text.text)});
  }
  if (auto written =
          write_outputs(options.output, options.source, files, kernels->products, inputs_of_tuned(options.tuned));
      !written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const OutputFile& file : files) {
    if (!options.output.prints_manifest()) {
      fmt::print("{}\n", file.path.string());
    }
  }
  return exit;
}

}  // namespace

void add_launcher(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<LauncherOptions>();
  CLI::App* verb = app.add_subcommand("launcher", "Write the C code and the header that launch the layers' kernels.");
  add_layer_options(*verb, options->source);
  verb->add_option("--namespace", options->name_space,
                   "What the functions' names begin with, net_up_forward(), and the C++ namespace.")
      ->type_name("NAME")
      ->required();
  verb->add_option("--header", options->header, "The header's name; <namespace>.h unless given.")->type_name("NAME");
  add_architectures_option(*verb, options->architectures, Architectures::kRealAndVirtual);
  add_directions_option(*verb, options->directions);
  add_tuned_option(*verb, options->tuned);
  verb->add_option("--format", options->format,
                   "cubin embeds what compile made and is C; source includes what emit made, for nvcc.")
      ->check(CLI::IsMember({"cubin", "source"}))
      ->capture_default_str();
  verb->add_flag("--host", options->host,
                 "Also for the host device, with what 'compile --format host' made for the first architecture.");
  verb->add_flag(
      "--shared-only", options->shared_only,
      "Only what the kernels share: the header and the support code. With --layer only the launch code of those "
      "layers is written, with neither all is.");
  verb->add_option("-o,--output", options->output.output, "Folder; the current one unless given.")->type_name("DIR");
  add_output_options(*verb, options->output);
  verb->footer(R"(
With --tuned, give compile or emit the same file.
Cubins and PTX are found along the assembler's include path, sources along nvcc's. The C code is C99 and C++.
Examples:
  convtgen compile layers.convt --arch sm_80,compute_80 -o out
  convtgen launcher layers.convt --namespace net --arch sm_80,compute_80 -o out
  cc -c out/net_*.c -Wa,-Iout
  convtgen emit layers.convt --arch sm_90a -o out
  convtgen launcher layers.convt --namespace net --arch sm_90a --format source -o out
  nvcc -gencode arch=compute_90a,code=sm_90a -c out/net_*.cu)");
  verb->callback([options, &exit] { exit = launcher(*options); });
}

}  // namespace convtgen::cli
