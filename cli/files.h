// Files as the command line reads and writes them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::cli {

/// All of a file, or of standard input for "-". Errors: it can't be read, and why.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Writes a temporary file in the same folder and renames it: a reader sees the old bytes or the new ones. An existing
/// file keeps its mode, and a symbolic link leads to the new bytes; another hard link keeps the old ones. Errors: it
/// can't be written, or what is there may not be, and why.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path, const std::string& bytes);

/// Checks whether write_file() will probably work, before a long computation. Changes nothing.
/// Errors: it can't be written, and why.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& path);

struct OutputFile {
  std::filesystem::path path;
  std::string bytes;
};

/// Makes missing folders, writes every file under a temporary name next to its final place, and renames them when all
/// are written. Errors: two files of one name, or one that can't be written; then no file is changed.
[[nodiscard]] Result<void> write_files(const std::vector<OutputFile>& files);

}  // namespace convtgen::cli
