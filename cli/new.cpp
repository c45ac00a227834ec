// convtgen new: a project of one layer that builds, runs and checks itself.
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/layers.h"
#include "cli/new_project.h"
#include "cli/reporter.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string folder;
  std::string layer;  // text, or "-"
  InputOption input;
};

/// The layer of --layer. Where there is an error, it has been printed and `exit` is set.
std::optional<NamedLayer> read_layer(const NewOptions& options, Exit& exit) {
  const auto report = [](const std::vector<Diagnostic>& errors, std::string_view text, const std::string& file) {
    Reporter reporter(false, kErrorLimit);
    reporter.report(errors, text, file);
    reporter.finish();
  };
  exit = Exit::kWrong;
  if (options.layer != "-") {
    auto layer = parse_layer(options.layer);
    if (!layer) {
      report(layer.error(), options.layer, "<--layer>");
      return std::nullopt;
    }
    return NamedLayer{"layer", *std::move(layer)};
  }
  const Result<std::string> text = read_file(options.layer);
  if (!text) {
    print_error(text.error().message);
    exit = Exit::kUsage;
    return std::nullopt;
  }
  const auto layers = parse_file(*text);
  if (!layers) {
    report(layers.error(), *text, "<stdin>");
    return std::nullopt;
  }
  if (layers->size() != 1) {
    print_error(fmt::format("--layer: standard input has {} layers; a project is made of one", layers->size()));
    return std::nullopt;
  }
  return layers->front();
}

/// Sizes as --input has them, else the layer's, else small ones. Errors: a size that the layer can't have, and a batch
/// of 0, with which nothing would be checked.
Result<SizedLayer> sized(const Layer& layer, const InputOption& input) {
  SizedLayer result{layer, {}};
  if (input.text.empty()) {
    result.sizes = small_sizes(layer);
  } else if (auto given = apply_input(layer, input); given) {
    result = *std::move(given);
  } else {
    return given;
  }
  if (auto shape = shape_of(result.layer, result.sizes); !shape) {
    return std::unexpected(shape.error());
  }
  if (result.sizes.batch == 0) {
    return fail("the batch is 0, so that there would be nothing to check; --input gives another");
  }
  return result;
}

/// Errors: DIR is a file, has something in it, or can't be read.
Result<void> check_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error) && !error) {
    return {};
  }
  if (!error && !fs::is_directory(folder, error) && !error) {
    return fail(fmt::format("{}: is no folder; a project is made in a new folder or an empty one", folder));
  }
  const bool is_empty = !error && fs::is_empty(folder, error);
  if (error) {
    return fail(fmt::format("{}: can't be read: {}", folder, error.message()));
  }
  return is_empty ? Result<void>{}
                  : fail(fmt::format("{}: is not empty; a project is made in a new folder or an empty one", folder));
}

/// The folders of a path that are not there yet, the innermost first.
std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (; !folder.empty() && !fs::exists(folder, error); folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  return missing;
}

/// All files, or none of them and no folder. Errors: what can't be written.
Result<void> write_project(const std::vector<OutputFile>& files) {
  const std::vector<fs::path> missing = missing_folders(files.front().path.parent_path());
  auto written = write_files(files);
  if (!written) {
    std::error_code ignored;
    for (const OutputFile& file : files) {
      fs::remove(file.path, ignored);
    }
    for (const fs::path& folder : missing) {
      fs::remove(folder, ignored);
    }
  }
  return written;
}

Exit make_project(const NewOptions& options) {
  Exit exit = Exit::kOk;
  const auto layer = read_layer(options, exit);
  if (!layer) {
    return exit;
  }
  const auto chosen = sized(layer->layer, options.input);
  if (!chosen) {
    print_error(chosen.error().message);
    return Exit::kWrong;
  }
  const NamedLayer made{layer->name, chosen->layer};
  std::vector<OutputFile> files;
  for (ProjectFile& file : project_files(made, chosen->sizes)) {
    files.push_back({fs::path(options.folder) / file.name, std::move(file.text)});
  }
  auto written = check_folder(options.folder);
  if (written) {
    written = write_project(files);
  }
  if (!written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const OutputFile& file : files) {
    fmt::print("{}\n", file.path.string());
  }
  constexpr double kManyProducts = 2e10;  // a minute or so
  const auto products = static_cast<double>(multiply_adds(made.layer, shape_of(made.layer, chosen->sizes).value()));
  if (products > kManyProducts) {
    print_warning(
        fmt::format("the definition has {}products at these sizes, which the project's program adds up one "
                    "after the other; --input makes a project with smaller ones",
                    count_text(products)));
  }
  fmt::print("\nNext:\n  cmake -S {0} -B {0}/build && cmake --build {0}/build && {0}/build/run_layer\n",
             options.folder);
  return Exit::kOk;
}

}  // namespace

void add_new(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* verb = app.add_subcommand("new", "Make a CMake project that runs a layer and checks the results.");
  verb->add_option("DIR", options->folder, "The project's folder: a new one, or an empty one.")
      ->type_name("DIR")
      ->required();
  verb->add_option("-e,--layer", options->layer,
                   "The layer: \"conv_transpose2d 8 -> 4; kernel 3; ...\"; '-' reads a layer file of one layer from "
                   "standard input.")
      ->type_name("TEXT")
      ->required();
  add_input_option(*verb, options->input);
  verb->footer(R"(
The project calls the library, which runs the kernels on a GPU or on the host device. Its main.cpp has the layer's
definition written out, and compares every element with it. Without --input, sizes that the layer leaves open are small
ones. Nothing is written unless all is.
Examples:
  convtgen new up --layer "conv_transpose2d 8 -> 4; kernel 4; stride 2; padding 1"
  convtgen new up --layer - --input 1x16x16 < up.convt)");
  verb->callback([options, &exit] { exit = make_project(*options); });
}

}  // namespace convtgen::cli
