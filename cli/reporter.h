// How errors of layer files are told: as text on stderr, or as JSON on standard output.
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
  /// Of more errors than `limit` the rest is counted, as text alone; 0: none is too many.
  Reporter(bool json, std::size_t limit) : json_(json), limit_(limit) {}

  /// Errors of a file's text.
  void report(const std::vector<Diagnostic>& diagnostics, std::string_view text, const std::string& file);

  /// An error that is not of a place in a file: in JSON at its start, or of no file where `file` is empty.
  void report(const std::string& message, const std::string& file = "");

  /// Behind the last error: how many there were besides, or the JSON array where there is one to be told.
  void finish();

 private:
  bool json_;
  std::size_t limit_;
  std::size_t count_ = 0;
  std::vector<std::string> arrays_;  // JSON, one a report
};

}  // namespace convtgen::cli
