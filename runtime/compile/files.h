// Reads the file system without errors: what can't be read counts as missing.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace convtgen {

/// What is in a folder, by name; empty when it can't be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);
/// The entries whose names begin with the prefix.
[[nodiscard]] std::vector<std::filesystem::path> entries_starting(const std::filesystem::path& folder,
                                                                  std::string_view prefix);

}  // namespace convtgen
