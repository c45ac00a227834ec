// How --help reads.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace convtgen::cli {

/// CLI11's layout, with our words, wrapped descriptions, and choices and defaults told in them.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_help_formatter();

}  // namespace convtgen::cli
