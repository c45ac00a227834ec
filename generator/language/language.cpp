#include "generator/language/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "generator/language/lexer.h"
#include "generator/language/syntax.h"
#include "generator/language/text.h"

namespace convtgen {

namespace {

// In the order of the text, each once (a wrong default is found again by every layer).
std::vector<Diagnostic> in_order(std::vector<Diagnostic> diagnostics) {
  std::vector<std::size_t> order(diagnostics.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(
      order, {}, [&diagnostics](std::size_t i) { return std::tuple(diagnostics[i].line, diagnostics[i].column, i); });
  std::vector<Diagnostic> result;
  std::size_t group = 0;  // where the errors of this place start
  for (const std::size_t i : order) {
    Diagnostic& diagnostic = diagnostics[i];
    if (result.empty() || result.back().line != diagnostic.line || result.back().column != diagnostic.column) {
      group = result.size();
    }
    if (std::find(result.begin() + static_cast<std::ptrdiff_t>(group), result.end(), diagnostic) == result.end()) {
      result.push_back(std::move(diagnostic));
    }
  }
  return result;
}

// One error for bytes that are no text at all, rather than one for each of them.
std::vector<Diagnostic> judge_bytes(std::string_view text) {
  std::vector<Diagnostic> diagnostics;
  if (std::string why = why_not_text(text); !why.empty()) {
    report(diagnostics, {}, std::move(why));
  }
  return diagnostics;
}

// Only a layer that is right so far is checked further.
Layer resolve_and_check(const Item& item, const Block& defaults, const LayerCheck& check,
                        std::vector<Diagnostic>& diagnostics) {
  const std::size_t before = diagnostics.size();
  Layer layer = resolve(item, defaults, diagnostics);
  if (check && diagnostics.size() == before) {
    if (const Result<void> checked = check(layer); !checked) {
      report(diagnostics, item.place, checked.error().message);
    }
  }
  return layer;
}

}  // namespace

std::expected<std::vector<NamedLayer>, std::vector<Diagnostic>> parse_file(std::string_view text,
                                                                           const LayerCheck& check) {
  std::vector<Diagnostic> diagnostics = judge_bytes(text);
  if (!diagnostics.empty()) {
    return std::unexpected(std::move(diagnostics));
  }
  const std::vector<Token> tokens = lex(text, diagnostics);
  const std::vector<Item> items = parse_items(tokens, diagnostics);

  std::vector<NamedLayer> layers;
  std::map<std::string_view, int> lines;  // of the layers' names
  Block defaults;
  for (const Item& item : items) {
    if (item.is_defaults) {
      for (std::size_t i = 0; i < defaults.properties.size(); ++i) {
        if (item.block.properties[i]) {
          defaults.properties[i] = item.block.properties[i];
        }
      }
      continue;
    }
    layers.push_back({std::string(item.name), resolve_and_check(item, defaults, check, diagnostics)});
    if (item.name.empty()) {
      continue;
    }
    if (const auto [first, is_new] = lines.emplace(item.name, item.place.line); !is_new) {
      report(diagnostics, item.place,
             fmt::format("duplicate layer name {}: it stands on line {} already", quoted(item.name), first->second));
    }
  }
  if (layers.empty() && diagnostics.empty()) {
    report(diagnostics, {},
           "the file has no layer; expected one, as in 'layer up1 { conv_transpose2d 8 -> 8; kernel 3x3 }'");
  }
  if (!diagnostics.empty()) {
    return std::unexpected(in_order(std::move(diagnostics)));
  }
  return layers;
}

std::expected<Layer, std::vector<Diagnostic>> parse_layer(std::string_view text, const LayerCheck& check) {
  std::vector<Diagnostic> diagnostics = judge_bytes(text);
  if (!diagnostics.empty()) {
    return std::unexpected(std::move(diagnostics));
  }
  const std::vector<Token> tokens = lex(text, diagnostics);
  auto block = parse_one_line(tokens, diagnostics);
  if (!block) {
    return std::unexpected(in_order(std::move(diagnostics)));
  }
  Item item;
  item.block = std::move(*block);
  if (diagnostics.empty() && std::ranges::none_of(tokens, [](const Token& t) { return t.kind == TokenKind::kAtom; })) {
    report(diagnostics, {}, "there is no layer; expected one, as in 'conv_transpose2d 8 -> 8; kernel 3x3'");
    return std::unexpected(std::move(diagnostics));
  }
  Layer layer = resolve_and_check(item, {}, check, diagnostics);
  if (!diagnostics.empty()) {
    return std::unexpected(in_order(std::move(diagnostics)));
  }
  return layer;
}

}  // namespace convtgen
