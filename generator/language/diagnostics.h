// Errors in a layer file: where, what, and what would be right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convtgen {

/// One error. Lines and columns count from 1; columns and lengths are in bytes.
struct Diagnostic {
  int line = 1;
  int column = 1;
  int length = 1;
  std::string message;
  std::string suggestion;  // "padding" when the message ends in "did you mean 'padding'?", else empty
  bool operator==(const Diagnostic&) const = default;
};

/// `file:line:col: error: message`, the source line and a caret, for each diagnostic.
[[nodiscard]] std::string render_text(const std::vector<Diagnostic>& diagnostics, std::string_view source,
                                      std::string_view file_name, bool colours);

/// A JSON array of objects with file, line, column, length, message, suggestion.
[[nodiscard]] std::string render_json(const std::vector<Diagnostic>& diagnostics, std::string_view file_name);

}  // namespace convtgen
