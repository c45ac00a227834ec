// What emit, compile and launcher write: files of kernels, and the depfile and manifest that describe them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/files.h"
#include "cli/layers.h"
#include "cli/manifest.h"

namespace convtgen::cli {

struct OutputOptions {
  std::string output;    // a folder or a file
  std::string depfile;   // or empty
  std::string manifest;  // or empty; "-" is standard output

  /// Nothing else is printed then.
  [[nodiscard]] bool prints_manifest() const { return manifest == "-"; }
};

/// --depfile and --manifest; -o is each verb's own.
void add_output_options(CLI::App& verb, OutputOptions& options);

/// "up_forward.sm_90a.cu" in the folder of -o, or the file of -o itself if it has the same extension.
[[nodiscard]] std::filesystem::path output_path(const OutputOptions& options, const std::string& file_name);

/// Errors: -o names one file for several products; sources and the manifest both go to standard output.
[[nodiscard]] Result<void> check_outputs(const OutputOptions& options, std::size_t products);

/// Writes the files, the depfile and the manifest: all of them or none. `inputs` are the files that they depend on
/// besides the layer files and this program. Errors: what can't be written, or a depfile with no file to depend.
[[nodiscard]] Result<void> write_products(const OutputOptions& options, const LayerSource& source,
                                          const std::vector<Product>& products,
                                          const std::vector<std::string>& inputs = {});

/// The same where the files are not those of the products, but others that were made with them.
[[nodiscard]] Result<void> write_outputs(const OutputOptions& options, const LayerSource& source,
                                         std::vector<OutputFile> files, const std::vector<Product>& products,
                                         const std::vector<std::string>& inputs = {});

/// "a.o b.o: c.h d\ e.h" and a line end, as Make and Ninja read it.
[[nodiscard]] std::string depfile_text(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace convtgen::cli
