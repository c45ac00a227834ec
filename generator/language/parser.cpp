// The parser: tokens to items, going on after every error.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "generator/language/suggest.h"
#include "generator/language/syntax.h"
#include "generator/language/text.h"
#include "generator/language/values.h"

namespace convtgen {

namespace {

constexpr std::array kItemWords = std::to_array<std::string_view>({"layer", "defaults"});

struct PropertyWord {
  std::string_view word;
  PropertyKind kind;
};
// conv_transpose2d first: it is what kChannels is called when nothing better is known.
constexpr std::array kPropertyWords = std::to_array<PropertyWord>({
    {"conv_transpose2d", PropertyKind::kChannels},
    {"conv_transpose1d", PropertyKind::kChannels},
    {"conv_transpose3d", PropertyKind::kChannels},
    {"kernel", PropertyKind::kKernel},
    {"stride", PropertyKind::kStride},
    {"padding", PropertyKind::kPadding},
    {"output_padding", PropertyKind::kOutputPadding},
    {"dilation", PropertyKind::kDilation},
    {"groups", PropertyKind::kGroups},
    {"x_channels", PropertyKind::kXChannels},
    {"y_channels", PropertyKind::kYChannels},
    {"input", PropertyKind::kInput},
    {"bias", PropertyKind::kBias},
    {"fuse", PropertyKind::kFuse},
    {"fuse_input", PropertyKind::kFuseInput},
    {"dtype", PropertyKind::kDtype},
    {"compute", PropertyKind::kCompute},
    {"layout", PropertyKind::kLayout},
    {"weight_layout", PropertyKind::kWeightLayout},
    {"streaming", PropertyKind::kStreaming},
    {"directions", PropertyKind::kDirections},
});
constexpr auto kPropertyNames = [] {
  std::array<std::string_view, kPropertyWords.size()> names;
  std::ranges::transform(kPropertyWords, names.begin(), &PropertyWord::word);
  return names;
}();

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, std::vector<Diagnostic>& diagnostics)
      : cursor_(tokens), diagnostics_(diagnostics) {}

  std::vector<Item> items() {
    std::vector<Item> items;
    while (skip_separators(), !cursor_.at(TokenKind::kEnd)) {
      const Token token = cursor_.peek();
      if (token.kind == TokenKind::kAtom) {
        if (auto item = top_level_word(token)) {
          items.push_back(std::move(*item));
          outside_reported_ = false;
        }
      } else if (token.kind == TokenKind::kStray) {
        skip_to_item();
      } else {
        error(token, token.kind == TokenKind::kCloseBrace
                         ? std::string("'}' closes nothing")
                         : fmt::format("unexpected {}; expected 'layer' or 'defaults'", quoted(token.text)));
        cursor_.next();
        if (token.kind != TokenKind::kCloseBrace) {
          skip_to_item();
        }
      }
    }
    return items;
  }

  std::optional<Block> one_line() {
    Block block;
    while (skip_separators(), !cursor_.at(TokenKind::kEnd)) {
      const Token token = cursor_.peek();
      if (token.kind == TokenKind::kOpenBrace || token.kind == TokenKind::kCloseBrace || starts_item()) {
        error(token,
              "the one-line form of a layer has no name and no braces, as in 'conv_transpose2d 8 -> 8; kernel 3x3'");
        return std::nullopt;
      }
      property_or_error(block, false);
    }
    return block;
  }

 private:
  void error(const Token& token, std::string message, std::string_view suggestion = {}) {
    report(diagnostics_, place_of(token), std::move(message), suggestion);
  }

  void skip_separators() {
    while (cursor_.at(TokenKind::kNewline) || cursor_.at(TokenKind::kSemicolon) || cursor_.at(TokenKind::kComment)) {
      cursor_.next();
    }
  }

  void skip_to_item() {
    while (!cursor_.at(TokenKind::kNewline) && !cursor_.at(TokenKind::kEnd) && !cursor_.at_word("layer") &&
           !cursor_.at_word("defaults")) {
      cursor_.next();
    }
  }

  // Is there a '{' on what is left of this line?
  [[nodiscard]] bool brace_on_line() const {
    for (std::size_t i = 0;; ++i) {
      const TokenKind kind = cursor_.peek(i).kind;
      if (kind == TokenKind::kOpenBrace) {
        return true;
      }
      if (kind == TokenKind::kNewline || kind == TokenKind::kEnd || kind == TokenKind::kCloseBrace) {
        return false;
      }
    }
  }

  // Does an item start here? `layer` and `defaults` are no property's words, but a slip of the pen should not make
  // the parser leave a block: an item's '{' must be in sight.
  [[nodiscard]] bool starts_item() const {
    std::size_t i = 1;
    if (cursor_.at_word("layer")) {
      i += cursor_.peek(1).kind == TokenKind::kAtom ? 1 : 0;
    } else if (!cursor_.at_word("defaults")) {
      return false;
    }
    while (cursor_.peek(i).kind == TokenKind::kNewline || cursor_.peek(i).kind == TokenKind::kComment) {
      ++i;
    }
    return cursor_.peek(i).kind == TokenKind::kOpenBrace;
  }

  std::optional<Item> top_level_word(const Token& word) {
    if (word.text == "layer" || word.text == "defaults") {
      cursor_.next();
      return item(word, word.text == "defaults");
    }
    if (cursor_.peek(1).kind == TokenKind::kOpenBrace && nearest(word.text, kItemWords).empty()) {
      error(word, fmt::format("expected 'layer' before {}", quoted(word.text)));
      return named_item(word, {.is_defaults = false, .name = word.text, .place = place_of(word), .block = {}});
    }
    if (property_named(word.text)) {
      if (!std::exchange(outside_reported_, true)) {
        error(word, fmt::format("property '{}' stands outside of a layer's braces", word.text));
      }
      skip_to_item();
      return std::nullopt;
    }
    const std::string_view suggestion = nearest(word.text, kItemWords);
    error(word,
          fmt::format("unknown word {}{}", quoted(word.text),
                      suggestion.empty() ? "; expected 'layer' or 'defaults'" : ""),
          suggestion);
    if (!suggestion.empty() || brace_on_line()) {
      cursor_.next();
      return item(word, suggestion == "defaults");
    }
    skip_to_item();
    return std::nullopt;
  }

  // After the word `layer` or `defaults`.
  std::optional<Item> item(const Token& word, bool is_defaults) {
    Item item{.is_defaults = is_defaults, .name = {}, .place = place_of(word), .block = {}};
    const Token name = cursor_.peek();
    if (name.kind == TokenKind::kAtom) {
      cursor_.next();
      if (is_defaults) {
        error(name, "defaults have no name");
      } else {
        item.name = name.text;
        item.place = place_of(name);
        if (!is_name(name.text)) {
          error(name, fmt::format("{} is no name: a layer's name starts with a letter or '_' and goes on with letters, "
                                  "digits and '_'",
                                  quoted(name.text)));
        }
      }
    } else if (!is_defaults && name.kind != TokenKind::kStray) {
      error(word, "the layer has no name; expected one, as in 'layer up1 {'");
    }
    return braces(name.kind == TokenKind::kAtom ? name : word, std::move(item));
  }

  std::optional<Item> named_item(const Token& name, Item item) {
    cursor_.next();
    return braces(name, std::move(item));
  }

  std::optional<Item> braces(const Token& before, Item item) {
    if (!at_line_end() && !cursor_.at(TokenKind::kOpenBrace)) {
      if (!cursor_.at(TokenKind::kStray)) {
        error(cursor_.peek(), fmt::format("unexpected {}; expected '{{'", quoted(cursor_.peek().text)));
      }
      while (!at_line_end() && !cursor_.at(TokenKind::kOpenBrace) && !cursor_.at(TokenKind::kCloseBrace)) {
        cursor_.next();
      }
    }
    std::size_t ahead = 0;
    while (cursor_.peek(ahead).kind == TokenKind::kNewline || cursor_.peek(ahead).kind == TokenKind::kComment) {
      ++ahead;
    }
    if (cursor_.peek(ahead).kind == TokenKind::kOpenBrace) {
      for (; ahead > 0; --ahead) {
        cursor_.next();
      }
      const Token brace = cursor_.next();
      block(item, &brace);
      return item;
    }
    error(before, fmt::format("expected '{{' after {}", quoted(before.text)));
    // Properties follow: only the brace has been forgotten.
    if (cursor_.peek(ahead).kind == TokenKind::kAtom && property_named(cursor_.peek(ahead).text)) {
      block(item, nullptr);
      return item;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool at_line_end() const {
    return cursor_.at(TokenKind::kNewline) || cursor_.at(TokenKind::kComment) || cursor_.at(TokenKind::kEnd);
  }

  // The properties up to '}'. `brace` is null where the opening one is missing.
  void block(Item& item, const Token* brace) {
    while (true) {
      skip_separators();
      if (cursor_.at(TokenKind::kCloseBrace)) {
        cursor_.next();
        return;
      }
      if (cursor_.at(TokenKind::kEnd) || starts_item()) {
        if (brace != nullptr) {
          error(*brace, cursor_.at(TokenKind::kEnd)
                            ? std::string("'{' is never closed; expected '}' before the end of the file")
                            : fmt::format("'{{' is never closed; expected '}}' before '{}' on line {}",
                                          cursor_.peek().text, cursor_.peek().line));
        }
        return;
      }
      property_or_error(item.block, item.is_defaults);
    }
  }

  void property_or_error(Block& block, bool in_defaults) {
    const Token token = cursor_.peek();
    if (token.kind == TokenKind::kAtom) {
      property(block, in_defaults);
      return;
    }
    if (token.kind != TokenKind::kStray) {
      error(token, fmt::format("unexpected {}; expected a property", quoted(token.text)));
    }
    cursor_.next();
    cursor_.skip_property();
  }

  void property(Block& block, bool in_defaults) {
    const Token word = cursor_.next();
    std::string_view name = word.text;
    auto kind = property_named(name);
    const bool known = kind.has_value();
    if (!known) {
      kind = unknown_property(word, name);
      if (!kind) {
        cursor_.skip_property();
        return;
      }
    }
    if (in_defaults && *kind == PropertyKind::kChannels) {
      error(word, fmt::format("{} can't stand in defaults: each layer names its own channels", name));
      cursor_.skip_property();
      return;
    }
    std::optional<Property>& slot = block.properties[static_cast<std::size_t>(*kind)];
    if (slot && *kind == PropertyKind::kChannels) {
      error(word, fmt::format("the layer has its channels already, on line {}", slot->place.line));
    } else if (slot) {
      error(word, fmt::format("duplicate property '{}': it stands on line {} already", name, slot->place.line));
    }
    Property property{.kind = *kind, .place = place_of(word), .value = {}, .dimensions = dimensions_of(name)};
    // A word that ran into its value ("kernel3x3") has been reported.
    if (known || !cursor_.at_property_end() || *kind == PropertyKind::kBias || *kind == PropertyKind::kStreaming) {
      property.value = parse_value(cursor_, *kind, name, word, diagnostics_);
      end_property(property, name);
    }
    if (!slot) {
      slot = std::move(property);
    }
  }

  // The property that was meant, if one is near.
  std::optional<PropertyKind> unknown_property(const Token& word, std::string_view& name) {
    if (activation_named(word.text)) {
      error(word, fmt::format("'{}' is an activation: it stands in a chain, as in 'fuse {}'", word.text, word.text));
      return std::nullopt;
    }
    const std::string_view suggestion = nearest(word.text, kPropertyNames);
    error(word,
          fmt::format("unknown property {}{}", quoted(word.text),
                      suggestion.empty() ? "; expected " + alternatives(kPropertyNames) : std::string()),
          suggestion);
    name = suggestion;
    return property_named(suggestion);
  }

  // What follows a value must be a separator. Where it is a property's word instead, that is read as the next one.
  void end_property(Property& property, std::string_view name) {
    if (cursor_.at_property_end()) {
      return;
    }
    const bool wrong = std::holds_alternative<std::monostate>(property.value);
    const Token token = cursor_.peek();
    const std::size_t at = token.kind == TokenKind::kComma ? 1 : 0;
    const Token& after = cursor_.peek(at);
    if (!wrong && after.kind == TokenKind::kAtom && !nearest(after.text, kPropertyNames).empty()) {
      error(token, at == 1 ? "unexpected ','; properties are separated by a line end or ';'"
                           : fmt::format("expected a line end or ';' before '{}'", token.text));
      if (at == 1) {
        cursor_.next();
      }
      return;
    }
    if (!wrong && token.kind != TokenKind::kStray) {
      std::string hint;
      if (std::holds_alternative<Numbers>(property.value) || std::holds_alternative<Paddings>(property.value)) {
        hint = "; a size is written in one word, as in 3x7";
      }
      error(token, fmt::format("unexpected {} after the value of '{}'{}", quoted(token.text), name, hint));
    }
    property.value = {};
    cursor_.skip_property();
  }

  Cursor cursor_;
  std::vector<Diagnostic>& diagnostics_;
  bool outside_reported_ = false;  // one report for a run of properties that stand outside of every layer
};

}  // namespace

std::string_view word_of(PropertyKind kind) {
  return std::ranges::find(kPropertyWords, kind, &PropertyWord::kind)->word;
}

int dimensions_of(std::string_view word) {
  return word.ends_with("1d") ? 1 : word.ends_with("3d") ? 3 : 2;
}

std::optional<PropertyKind> property_named(std::string_view word) {
  const auto found = std::ranges::find(kPropertyWords, word, &PropertyWord::word);
  return found == kPropertyWords.end() ? std::nullopt : std::optional(found->kind);
}

std::vector<Item> parse_items(const std::vector<Token>& tokens, std::vector<Diagnostic>& diagnostics) {
  return Parser(tokens, diagnostics).items();
}

std::optional<Block> parse_one_line(const std::vector<Token>& tokens, std::vector<Diagnostic>& diagnostics) {
  return Parser(tokens, diagnostics).one_line();
}

void report(std::vector<Diagnostic>& diagnostics, const TextSpan& place, std::string message,
            std::string_view suggestion) {
  if (!suggestion.empty()) {
    message += fmt::format("; did you mean '{}'?", suggestion);
  }
  diagnostics.push_back({place.line, place.column, place.length, std::move(message), std::string(suggestion)});
}

}  // namespace convtgen
