#include "generator/language/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "generator/language/text.h"

namespace convtgen {

namespace {

constexpr std::size_t kLongestLine = 160;  // bytes of a source line that are shown
constexpr std::size_t kBefore = 60;        // of them before the error, where the line is longer

std::vector<std::string_view> split_lines(std::string_view source) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    if (end == source.size()) {
      return lines;
    }
    source.remove_prefix(end + 1);
  }
}

// Characters of a text, where what is no UTF-8 counts by the byte.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++width) {
    i += std::max<std::size_t>(1, utf8_length(text.substr(i)));
  }
  return width;
}

// As many blanks as the text is wide, with its tabs.
std::string blanks(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    result += text[i] == '\t' ? '\t' : ' ';
    i += std::max<std::size_t>(1, utf8_length(text.substr(i)));
  }
  return result;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string render_text(const std::vector<Diagnostic>& diagnostics, std::string_view source, std::string_view file_name,
                        bool colours) {
  const std::string_view bold = colours ? "\x1b[1m" : "";
  const std::string_view red = colours ? "\x1b[1;31m" : "";
  const std::string_view green = colours ? "\x1b[1;32m" : "";
  const std::string_view plain = colours ? "\x1b[0m" : "";
  // Of what is no text there are no lines to show.
  const std::vector<std::string_view> lines =
      why_not_text(source).empty() ? split_lines(source) : std::vector<std::string_view>();
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    text += fmt::format("{}{}:{}:{}:{} {}error:{} {}{}{}\n", bold, visible(file_name), diagnostic.line,
                        diagnostic.column, plain, red, plain, bold, visible(diagnostic.message), plain);
    const auto index = static_cast<std::size_t>(diagnostic.line) - 1;
    if (index >= lines.size()) {
      continue;
    }
    std::string_view line = lines[index];
    std::size_t column = std::min(static_cast<std::size_t>(diagnostic.column) - 1, line.size());
    std::string_view before_dots;
    std::string_view after_dots;
    if (line.size() > kLongestLine) {
      std::size_t start = column > kBefore ? column - kBefore : 0;
      for (int i = 0; i < 3 && start > 0 && continues_character(line[start]); ++i) {
        --start;  // to the first byte of a character, of four at most
      }
      before_dots = start > 0 ? "..." : "";
      line.remove_prefix(start);
      column -= start;
      if (line.size() > kLongestLine) {
        line = line.substr(0, kLongestLine);
        after_dots = "...";
      }
    }
    const std::string_view marked = line.substr(column, static_cast<std::size_t>(diagnostic.length));
    const std::size_t tail = std::max<std::size_t>(1, width_of(marked)) - 1;
    text += fmt::format("{:5} | {}{}{}\n", diagnostic.line, before_dots, visible(line), after_dots);
    text += fmt::format("      | {:{}}{}{}^{}{}\n", "", before_dots.size(), blanks(line.substr(0, column)), green,
                        std::string(tail, '~'), plain);
  }
  return text;
}

std::string render_json(const std::vector<Diagnostic>& diagnostics, std::string_view file_name) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Diagnostic& diagnostic : diagnostics) {
    array.push_back({{"file", file_name},
                     {"line", diagnostic.line},
                     {"column", diagnostic.column},
                     {"length", diagnostic.length},
                     {"message", diagnostic.message},
                     {"suggestion", diagnostic.suggestion}});
  }
  // A file's name may be no UTF-8; JSON must be.
  return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace convtgen
