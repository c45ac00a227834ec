// A layer file as it is written: what the parser makes of the tokens, before defaults and limits are looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generator/language/lexer.h"
#include "generator/layer/layer.h"

namespace convtgen {

enum class PropertyKind {
  kChannels,  // conv_transpose1d, conv_transpose2d, conv_transpose3d
  kKernel,
  kStride,
  kPadding,
  kOutputPadding,
  kDilation,
  kGroups,
  kXChannels,
  kYChannels,
  kInput,
  kBias,
  kFuse,
  kFuseInput,
  kDtype,
  kCompute,
  kLayout,
  kWeightLayout,
  kStreaming,
  kDirections,
};
inline constexpr int kPropertyKinds = static_cast<int>(PropertyKind::kDirections) + 1;

/// A stretch of one line.
struct TextSpan {
  int line = 1;
  int column = 1;
  int length = 1;
};

[[nodiscard]] inline TextSpan place_of(const Token& token) {
  return {token.line, token.column,
          token.text.empty() || token.kind == TokenKind::kNewline ? 1 : static_cast<int>(token.text.size())};
}

struct Channels {
  int dimensions = 2;
  std::int64_t in = 1;
  std::int64_t out = 1;
};

/// The numbers of a size, "3x7" or "?x8x8", as many as are written; those of padding, "1:2x0".
using Numbers = std::vector<Size>;
using Paddings = std::vector<Padding>;

using PropertyValue =
    std::variant<std::monostate, Channels, Numbers, Paddings, std::int64_t, bool, std::vector<Activation>, Dtype,
                 Compute, Layout, WeightLayout, std::vector<Direction>>;

struct Property {
  PropertyKind kind = PropertyKind::kKernel;
  TextSpan place;       // the property's name
  PropertyValue value;  // monostate: the value is wrong, and has been reported
  int dimensions = 2;   // of kChannels, whose word determines them even where the value is wrong
};

/// What stands between two braces, or the whole of a layer's one-line form.
struct Block {
  std::array<std::optional<Property>, kPropertyKinds> properties;  // by kind
  [[nodiscard]] const std::optional<Property>& get(PropertyKind kind) const {
    return properties[static_cast<std::size_t>(kind)];
  }
};

/// `defaults` or a layer.
struct Item {
  bool is_defaults = false;
  std::string_view name;  // empty where it is missing
  TextSpan place;         // the layer's name, or the word `defaults`
  Block block;
};

/// Of a word for kChannels: 3 of "conv_transpose3d".
[[nodiscard]] int dimensions_of(std::string_view word);

/// The words for the properties. `word_of(kChannels)` is "conv_transpose2d".
[[nodiscard]] std::string_view word_of(PropertyKind kind);
[[nodiscard]] std::optional<PropertyKind> property_named(std::string_view word);

/// The items of a file. Errors are added to `diagnostics`; the parser goes on after each.
[[nodiscard]] std::vector<Item> parse_items(const std::vector<Token>& tokens, std::vector<Diagnostic>& diagnostics);

/// The properties of a one-line form; null if it has braces.
[[nodiscard]] std::optional<Block> parse_one_line(const std::vector<Token>& tokens,
                                                  std::vector<Diagnostic>& diagnostics);

/// The layer that an item describes, with the defaults that stand before it.
/// Errors: missing properties, and limits, each at the property at fault; where that is a default which only this layer
/// makes wrong, at the layer's name.
[[nodiscard]] Layer resolve(const Item& item, const Block& defaults, std::vector<Diagnostic>& diagnostics);

/// Adds a diagnostic; the message gets its "did you mean" where there is a suggestion.
void report(std::vector<Diagnostic>& diagnostics, const TextSpan& place, std::string message,
            std::string_view suggestion = {});

}  // namespace convtgen
