// How errors of layer files are printed: as text on stderr, or as JSON on standard output.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "generator/language/diagnostics.h"

namespace convtgen::cli {

inline constexpr std::size_t kErrorLimit = 20;

/// --error-limit, kErrorLimit unless given.
void add_error_limit_option(CLI::App& verb, std::size_t& limit);

/// The errors of one run, of all its files.
class Reporter {
 public:
  /// Text output prints `limit` errors and counts the rest; 0: no limit. JSON has all errors.
  Reporter(bool json, std::size_t limit) : json_(json), limit_(limit) {}

  /// Errors of a file's text.
  void report(const std::vector<Diagnostic>& diagnostics, std::string_view text, const std::string& file);

  /// An error without a place in a file. JSON gives it the start of the file, or no file if `file` is empty.
  void report(const std::string& message, const std::string& file = "");

  /// Call it after the last error: prints the number of errors left out, or the JSON array.
  void finish();

 private:
  bool json_;
  std::size_t limit_;
  std::size_t count_ = 0;
  std::vector<std::string> arrays_;  // JSON, one a report
};

}  // namespace convtgen::cli
