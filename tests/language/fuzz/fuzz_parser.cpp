// Any bytes: the parser neither crashes nor hangs, errors lie inside the text, and what parses survives the formatter
// and the printer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "tests/language/fuzz/check.h"

namespace convtgen {
namespace {

void check_places(const std::vector<Diagnostic>& diagnostics, std::string_view text) {
  CONVTGEN_CHECK(!diagnostics.empty());
  std::vector<std::size_t> widths(1);
  for (const char c : text) {
    if (c == '\n') {
      widths.push_back(0);
    } else {
      ++widths.back();
    }
  }
  int line = 1;
  for (const Diagnostic& diagnostic : diagnostics) {
    CONVTGEN_CHECK(diagnostic.line >= line);  // in the order of the text
    line = diagnostic.line;
    CONVTGEN_CHECK(static_cast<std::size_t>(line) <= widths.size());
    const std::size_t width = widths[static_cast<std::size_t>(line) - 1];
    CONVTGEN_CHECK(diagnostic.column >= 1 && static_cast<std::size_t>(diagnostic.column) <= width + 1);
    CONVTGEN_CHECK(diagnostic.length >= 1);
    // An error after the last character is one column wide.
    const auto end = static_cast<std::size_t>(diagnostic.column) + static_cast<std::size_t>(diagnostic.length) - 1;
    CONVTGEN_CHECK(end <= width || (diagnostic.length == 1 && end == width + 1));
    CONVTGEN_CHECK(!diagnostic.message.empty());
    CONVTGEN_CHECK(diagnostic.suggestion.empty() ||
                   diagnostic.message.ends_with("did you mean '" + diagnostic.suggestion + "'?"));
  }
  CONVTGEN_CHECK(!render_text(diagnostics, text, "file", true).empty());
  CONVTGEN_CHECK(!render_json(diagnostics, text.substr(0, 20)).empty());
}

void check_file(std::string_view text) {
  const auto layers = parse_file(text);
  const auto formatted = format_file(text);
  CONVTGEN_CHECK(layers.has_value() == formatted.has_value());
  if (!layers) {
    CONVTGEN_CHECK(layers.error() == formatted.error());
    check_places(layers.error(), text);
    return;
  }
  CONVTGEN_CHECK(parse_file(*formatted) == layers);
  CONVTGEN_CHECK(format_file(*formatted) == formatted);
  std::string printed;
  for (const NamedLayer& layer : *layers) {
    CONVTGEN_CHECK(check_limits(layer.layer).empty());
    CONVTGEN_CHECK(parse_layer(canonical_form(layer.layer)) == layer.layer);
    printed += print_layer(layer);
  }
  CONVTGEN_CHECK(parse_file(printed) == layers);
}

void check_one_line(std::string_view text) {
  const auto layer = parse_layer(text);
  if (!layer) {
    check_places(layer.error(), text);
    return;
  }
  CONVTGEN_CHECK(parse_layer(canonical_form(*layer)) == *layer);
}

}  // namespace
}  // namespace convtgen

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  convtgen::check_file(text);
  convtgen::check_one_line(text);
  return 0;
}
