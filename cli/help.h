// The layout of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace convtgen::cli {

/// CLI11's layout with our headings and wrapped descriptions, which include choices and defaults.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_help_formatter();

}  // namespace convtgen::cli
