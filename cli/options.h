// Checks of options' values that several verbs share.
#pragma once

#include <CLI/CLI.hpp>

namespace convtgen::cli {

/// Takes 0 to 2^64 - 1. CLI11 alone makes large numbers of negative ones.
[[nodiscard]] CLI::Validator whole_number();

/// Takes what parse_size() does: "1048576", "512K", "500M", "2G".
[[nodiscard]] CLI::Validator size_in_bytes();

}  // namespace convtgen::cli
