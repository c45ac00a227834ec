#include "cli/products.h"

#include <fmt/format.h>

namespace convtgen::cli {
namespace {

/// As Make reads a name in a rule; Ninja takes the same.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '#') {
      text += '\\';
    } else if (c == '$') {
      text += '$';
    }
    text += c;
  }
  return text;
}

std::string own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

}  // namespace

void add_output_options(CLI::App& verb, OutputOptions& options) {
  verb.add_option("--depfile", options.depfile,
                  "Also a rule for Make and Ninja: the files that are written, and what they depend on.")
      ->type_name("FILE");
  verb.add_option("--manifest", options.manifest,
                  "Also a JSON file on each kernel: layer, plan, digests, symbol, launch geometry; '-' is "
                  "standard output, and nothing else is printed.")
      ->type_name("FILE");
}

std::filesystem::path output_path(const OutputOptions& options, const std::string& file_name) {
  const std::filesystem::path output = options.output;
  const bool is_file = output.has_extension() && output.extension() == std::filesystem::path(file_name).extension() &&
                       !std::filesystem::is_directory(output);
  return is_file ? output : output / file_name;
}

Result<void> check_outputs(const OutputOptions& options, std::size_t products) {
  if (options.prints_manifest() && options.output.empty()) {
    return fail("--manifest - and the sources would both go to standard output: give a folder or a file with -o");
  }
  const std::string extension = std::filesystem::path(options.output).extension().string();
  const bool is_file = extension == ".cu" || extension == ".cubin" || extension == ".ptx" || extension == ".so";
  if (is_file && products > 1 && !std::filesystem::is_directory(options.output)) {
    return fail(
        fmt::format("-o {} names one file, and there are {} kernels: give a folder, or choose one kernel with "
                    "--layer, --direction and --arch",
                    options.output, products));
  }
  return {};
}

std::string depfile_text(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::string text;
  for (const std::string& output : outputs) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", escaped(output));
  }
  text += ":";
  for (const std::string& input : inputs) {
    text += fmt::format(" \\\n  {}", escaped(input));
  }
  return text + "\n";
}

Result<void> write_outputs(const OutputOptions& options, const LayerSource& source, std::vector<OutputFile> files,
                           const std::vector<Product>& products, const std::vector<std::string>& inputs) {
  std::vector<OutputFile> reports;
  if (!options.manifest.empty() && !options.prints_manifest()) {
    reports.push_back({options.manifest, manifest_text(products)});
  }
  if (!options.depfile.empty()) {
    if (files.empty()) {
      return fail("--depfile is for files: give a folder or a file with -o");
    }
    std::vector<std::string> outputs, all_inputs;
    for (const OutputFile& file : files) {
      outputs.push_back(file.path.string());
    }
    for (const std::string& file : source.files) {
      if (file != "-") {
        all_inputs.push_back(file);
      }
    }
    if (std::string own = own_path(); !own.empty()) {
      all_inputs.push_back(std::move(own));
    }
    all_inputs.insert(all_inputs.end(), inputs.begin(), inputs.end());
    reports.push_back({options.depfile, depfile_text(outputs, all_inputs)});
  }
  // First in its place, so that no existing file lacks its rule.
  files.insert(files.begin(), reports.begin(), reports.end());
  auto written = write_files(files);
  if (written && options.prints_manifest()) {
    fmt::print("{}", manifest_text(products));
  }
  return written;
}

Result<void> write_products(const OutputOptions& options, const LayerSource& source,
                            const std::vector<Product>& products, const std::vector<std::string>& inputs) {
  std::vector<OutputFile> files;
  for (const Product& product : products) {
    if (!product.file.path.empty()) {
      files.push_back(product.file);
    }
  }
  return write_outputs(options, source, std::move(files), products, inputs);
}

}  // namespace convtgen::cli
