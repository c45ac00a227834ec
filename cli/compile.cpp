// convtgen compile: layers to cubins or PTX, with NVRTC.
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/layers.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"

namespace convtgen::cli {
namespace {

struct CompileOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string format = "cubin";
  std::string output = ".";
};

std::string usage_text(const Binary& binary) {
  const auto usage = resource_usage(binary);
  return usage ? fmt::format("; {} registers, {} bytes spilled, {} shared", usage->registers, usage->spill_bytes,
                             bytes_text(static_cast<double>(binary.shared_bytes + usage->static_shared)))
               : "";
}

/// `output` names the file itself where it ends as the format does and there is one result, else a folder.
std::filesystem::path path_of(const CompileOptions& options, const std::string& layer,
                              const std::string& architecture) {
  const std::filesystem::path output = options.output;
  return output.extension() == "." + options.format
             ? output
             : output / fmt::format("{}.{}.{}", layer, architecture, options.format);
}

Exit compile(const CompileOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  if (const NvrtcSearch search = find_nvrtc(); !search.found()) {
    print_error(describe_missing_nvrtc(search));
    return Exit::kUsage;
  }
  std::vector<OutputFile> files;
  std::vector<std::string> lines;
  std::optional<Progress> progress(std::in_place, "compiling with NVRTC");
  double done = 0;
  for (const std::string& architecture : options.architectures) {
    const auto planned = plan_layers(*layers, options.direction, architecture, exit);
    if (!planned) {
      return exit;
    }
    for (const PlannedLayer& layer : *planned) {
      const double all = static_cast<double>(planned->size() * options.architectures.size());
      progress->update(fmt::format("compiling {} for {}", layer.name, architecture), done++ / all);
      auto source = specialize(layer.problem, layer.plan);
      auto binary = source ? compile_with_nvrtc(*source, architecture,
                                                options.format == "ptx" ? BinaryKind::kPtx : BinaryKind::kCubin)
                           : Result<Binary>(std::unexpected(source.error()));
      if (!binary) {
        print_layer_error(layer.name, binary.error());
        exit = Exit::kWrong;
        continue;
      }
      const std::filesystem::path path = path_of(options, layer.name, architecture);
      lines.push_back(fmt::format("{}: {}, kernel {}{}\n", path.string(),
                                  bytes_text(static_cast<double>(binary->bytes.size())), binary->symbol,
                                  usage_text(*binary)));
      files.push_back({path, std::move(binary->bytes)});
    }
  }
  progress.reset();
  if (exit != Exit::kOk) {
    return exit;
  }
  if (auto written = write_files(files); !written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const std::string& line : lines) {
    fmt::print("{}", line);
  }
  return exit;
}

}  // namespace

void add_compile(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* verb = app.add_subcommand("compile", "Compile each layer's kernel with NVRTC.");
  add_layer_options(*verb, options->source);
  std::vector<std::string> names;
  for (const Target& target : known_targets()) {
    names.push_back(target.architecture);
  }
  verb->add_option("--arch", options->architectures, "The exact architectures, one or more: --arch sm_80,sm_90a.")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_direction_option(*verb, options->direction);
  verb->add_option("--format", options->format, "cubin runs as it is; ptx is compiled again by the driver.")
      ->check(CLI::IsMember({"cubin", "ptx"}))
      ->capture_default_str();
  verb->add_option(
          "-o,--output", options->output,
          "Folder for <layer>.<arch>.cubin, or the file itself where it ends in .cubin or .ptx; the current folder "
          "unless given. Nothing is written unless all succeed.")
      ->type_name("DIR");
  verb->footer(R"(
Needs NVRTC (of the CUDA toolkit, or Python's nvidia-cuda-nvrtc package), but no GPU.
Examples:
  convtgen compile layers.convt --arch sm_80,sm_90a -o out
  convtgen compile layers.convt --layer up --format ptx -o up.ptx)");
  verb->callback([options, &exit] { exit = compile(*options); });
}

}  // namespace convtgen::cli
