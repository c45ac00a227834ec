// convtgen import: the transposed convolutions of an ONNX model as a layer file.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/external_data.h"
#include "cli/files.h"
#include "cli/npy.h"
#include "cli/terminal.h"
#include "generator/language/language.h"
#include "generator/onnx/import.h"
#include "generator/onnx/shown.h"

namespace convtgen::cli {
namespace {

namespace fs = std::filesystem;

struct ImportVerb {
  std::string model;
  std::string output;
  std::string weights;
  std::string auto_pad_as = "standard";
  bool json = false;
};

/// The files that were made for a layer, by the options of `run` that take them.
struct LayerFiles {
  std::string weight, bias;
};

/// Adds NAME.weight.npy and NAME.bias.npy to the files. Errors: what external data can't be read.
Result<LayerFiles> add_arrays(const ImportVerb& options, const onnx::ImportedLayer& layer,
                              std::vector<OutputFile>& files) {
  LayerFiles made;
  const fs::path folder = fs::absolute(options.model).parent_path();
  const auto add = [&](const std::optional<onnx::Elements>& elements, const char* what,
                       std::string& path) -> Result<void> {
    if (!elements) {
      return {};
    }
    if (elements->external && options.model == "-") {
      return fail(
          fmt::format("layer '{}', {}: is in another file, and standard input has no folder; give the model's path",
                      layer.layer.name, what));
    }
    const Dtype dtype = layer.layer.layer.dtype;
    const auto bytes = read_elements(*elements, dtype, folder);
    if (!bytes) {
      return fail(fmt::format("{}: layer '{}', {}: {}", options.model, layer.layer.name, what, bytes.error().message));
    }
    HostArray array{dtype, elements->shape, {}};
    const auto* first = reinterpret_cast<const std::byte*>(bytes->data());
    array.bytes.assign(first, first + bytes->size());
    path = (fs::path(options.weights) / fmt::format("{}.{}.npy", layer.layer.name, what)).string();
    files.push_back({path, npy_bytes(array)});
    return {};
  };
  auto done = add(layer.weight, "weight", made.weight);
  done = done ? add(layer.bias, "bias", made.bias) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  return made;
}

std::string layer_file_text(const ImportVerb& options, const onnx::Imported& imported) {
  std::string text =
      fmt::format("# Made by convtgen import of {}\n", onnx::shown(fs::path(options.model).filename().string()));
  for (const onnx::ImportedLayer& layer : imported.layers) {
    text += fmt::format("\n# Node {}: x is '{}', y is '{}'\n{}", layer.node, layer.input, layer.output,
                        print_layer(layer.layer));
  }
  return text;
}

/// "strides [0]: legal are ..."
std::string reason_text(const onnx::Refusal& why) {
  return fmt::format("{} {}: {}", why.attribute, why.value, why.reason);
}

void print_table(const onnx::Imported& imported, const std::vector<LayerFiles>& files) {
  for (std::size_t i = 0; i < imported.layers.size(); ++i) {
    const onnx::ImportedLayer& layer = imported.layers[i];
    fmt::print("{}  {}  {}\n", green(stdout, "taken    "), bold(stdout, layer.layer.name),
               canonical_form(layer.layer.layer));
    fmt::print("           node {}\n", layer.node);
    for (const std::string& note : layer.notes) {
      fmt::print("           {}\n", note);
    }
    for (const std::string& file : {files[i].weight, files[i].bias}) {
      if (!file.empty()) {
        fmt::print("           {}\n", file);
      }
    }
  }
  for (const onnx::NotTaken& row : imported.not_taken) {
    fmt::print("{}  node {}\n           {}\n", red(stdout, "not taken"), row.node, reason_text(row.why));
  }
  fmt::print("{} taken, {} not\n", imported.layers.size(), imported.not_taken.size());
}

void print_json(const onnx::Imported& imported, const std::vector<LayerFiles>& files) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array(), refused = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < imported.layers.size(); ++i) {
    const onnx::ImportedLayer& layer = imported.layers[i];
    nlohmann::ordered_json row{{"name", layer.layer.name}, {"layer", canonical_form(layer.layer.layer)},
                               {"node", layer.node},       {"x", layer.input},
                               {"y", layer.output},        {"notes", layer.notes}};
    if (!files[i].weight.empty()) {
      row["weight"] = files[i].weight;
    }
    if (!files[i].bias.empty()) {
      row["bias"] = files[i].bias;
    }
    layers.push_back(std::move(row));
  }
  for (const onnx::NotTaken& row : imported.not_taken) {
    refused.push_back(
        {{"node", row.node}, {"attribute", row.why.attribute}, {"value", row.why.value}, {"reason", row.why.reason}});
  }
  const nlohmann::ordered_json all{{"layers", std::move(layers)}, {"not_taken", std::move(refused)}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// " --input 1x8x6" where the layer leaves sizes open: 1 as the batch, 8 on other axes.
std::string input_option(const Layer& layer) {
  bool is_open = !layer.batch;
  std::string text = fmt::format(" --input {}", layer.batch.value_or(1));
  for (const std::size_t axis : axes_of(layer)) {
    is_open = is_open || !layer.axes[axis].extent;
    text += fmt::format("x{}", layer.axes[axis].extent.value_or(8));
  }
  return is_open ? text : "";
}

void print_next(const ImportVerb& options, const onnx::Imported& imported, const std::vector<LayerFiles>& files) {
  if (options.output.empty() || options.output == "-") {
    return;
  }
  const NamedLayer& first = imported.layers.front().layer;
  fmt::print("\nNext:\n  convtgen check {0}\n  convtgen run {0} --layer {1}{2}{3}{4}\n", options.output, first.name,
             input_option(first.layer), files.front().weight.empty() ? "" : " --w " + files.front().weight,
             files.front().bias.empty() ? "" : " --bias " + files.front().bias);
}

Exit import_file(const ImportVerb& options) {
  const Result<std::string> bytes = read_file(options.model);
  if (!bytes) {
    print_error(bytes.error().message);
    return Exit::kUsage;
  }
  const auto imported = onnx::import_model(*bytes, {.auto_pad_as = *onnx::auto_pad_as_named(options.auto_pad_as)});
  if (!imported) {
    print_error(fmt::format("{}: {}", options.model, imported.error().message));
    return Exit::kWrong;
  }
  std::vector<OutputFile> written;
  std::vector<LayerFiles> files(imported->layers.size());
  for (std::size_t i = 0; i < files.size() && !options.weights.empty(); ++i) {
    auto made = add_arrays(options, imported->layers[i], written);
    if (!made) {
      print_error(made.error().message);
      return Exit::kWrong;
    }
    files[i] = *std::move(made);
  }
  const bool has_layers = !imported->layers.empty();
  if (has_layers && !options.output.empty()) {
    written.push_back({options.output, layer_file_text(options, *imported)});
  }
  if (auto done = write_files(written); !done) {
    print_error(done.error().message);
    return Exit::kUsage;
  }
  if (options.json) {
    print_json(*imported, files);
  } else if (has_layers && options.output.empty()) {
    fmt::print("{}", layer_file_text(options, *imported));
    for (const onnx::NotTaken& row : imported->not_taken) {
      print_warning(fmt::format("node {} is not taken: {}", row.node, reason_text(row.why)));
    }
  } else {
    print_table(*imported, files);
  }
  if (!has_layers && imported->not_taken.empty()) {
    print_error(fmt::format("{}: has no ConvTranspose", options.model));
  } else if (has_layers && !options.json) {
    print_next(options, *imported, files);
  }
  return has_layers && imported->not_taken.empty() ? Exit::kOk : Exit::kWrong;
}

}  // namespace

void add_import(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<ImportVerb>();
  CLI::App* verb = app.add_subcommand("import", "Make a layer file of an ONNX model's transposed convolutions.");
  verb->add_option("MODEL", options->model, "An .onnx file; '-' is standard input.")->type_name("FILE")->required();
  verb->add_option("-o,--output", options->output, "The layer file. Without it, the layers go to standard output.")
      ->type_name("FILE");
  verb->add_option("--weights", options->weights,
                   "Also NAME.weight.npy and NAME.bias.npy in this folder, for each layer NAME.")
      ->type_name("DIR");
  verb->add_option(
          "--auto-pad-as", options->auto_pad_as,
          "Where ONNX's own sources contradict each other on auto_pad or output_shape, whose reading is taken; "
          "'standard': such nodes are not taken.")
      ->check(CLI::IsMember({"standard", "onnxruntime"}))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "What was taken, what not and why, as JSON.");
  verb->footer(R"(
Examples:
  convtgen import model.onnx -o layers.convt --weights weights
  convtgen import model.onnx                     prints the layers
  convtgen import model.onnx --json              what was taken, what not and why
Layers are named after their nodes. Sizes that the model leaves open are "?". Pointwise nodes that follow are fused where
nothing else reads what they read. Exits with 1 where a ConvTranspose was not taken; those that were are written.
docs/onnx.md has the details.)");
  verb->callback([options, &exit] { exit = import_file(*options); });
}

}  // namespace convtgen::cli
