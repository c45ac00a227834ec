// Checks of option values that several verbs share.
#pragma once

#include <CLI/CLI.hpp>

namespace convtgen::cli {

/// Accepts 0 to 2^64 - 1. CLI11 alone converts negative numbers to large ones.
[[nodiscard]] CLI::Validator whole_number();

/// Accepts names of devices as the API does: "cuda", "cuda:1", "host", "host:sm_90a", and "auto" if that is legal here.
[[nodiscard]] CLI::Validator device_word(bool auto_is_legal);

/// Accepts what parse_size() accepts: "1048576", "512K", "500M", "2G".
[[nodiscard]] CLI::Validator size_in_bytes();

}  // namespace convtgen::cli
