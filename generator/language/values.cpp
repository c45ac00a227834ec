#include "generator/language/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "generator/language/suggest.h"
#include "generator/language/text.h"
#include "generator/layer/shape.h"

namespace convtgen {

namespace {

template <typename Enum>
std::vector<std::string_view> names_of(std::span<const Enum> values) {
  std::vector<std::string_view> names;
  std::ranges::transform(values, std::back_inserter(names), [](Enum value) { return name_of(value); });
  return names;
}

class ValueParser {
 public:
  ValueParser(Cursor& cursor, std::string_view name, const Token& word, std::vector<Diagnostic>& diagnostics)
      : cursor_(cursor), name_(name), word_(word), diagnostics_(diagnostics) {}

  PropertyValue parse(PropertyKind kind) {
    switch (kind) {
      case PropertyKind::kChannels:
        return channels();
      case PropertyKind::kKernel:
      case PropertyKind::kStride:
      case PropertyKind::kOutputPadding:
      case PropertyKind::kDilation:
        return extents(false);
      case PropertyKind::kPadding:
        return paddings();
      case PropertyKind::kInput:
        return extents(true);
      case PropertyKind::kGroups:
        return number("number of groups");
      case PropertyKind::kXChannels:
      case PropertyKind::kYChannels:
        return number("number of channels");
      case PropertyKind::kBias:
      case PropertyKind::kStreaming:
        return flag();
      case PropertyKind::kFuse:
      case PropertyKind::kFuseInput:
        return fuse();
      case PropertyKind::kDtype:
        return choice(all_dtypes(), dtype_named);
      case PropertyKind::kCompute:
        return choice(all_computes(), compute_named);
      case PropertyKind::kLayout:
        return choice(all_layouts(), layout_named);
      case PropertyKind::kWeightLayout:
        return choice(all_weight_layouts(), weight_layout_named);
      case PropertyKind::kDirections:
        return directions();
    }
    return {};
  }

 private:
  void error(const Token& token, std::string message, std::string_view suggestion = {}) {
    // Stray characters have been reported by the lexer.
    if (token.kind != TokenKind::kStray) {
      report(diagnostics_, place_of(token), std::move(message), suggestion);
    }
  }

  // The next token, if it is an atom; else an error: at that token, or at the word where the property just ends.
  std::optional<Token> atom(std::string_view expected) {
    if (cursor_.at(TokenKind::kAtom)) {
      return cursor_.next();
    }
    if (cursor_.at_property_end()) {
      error(word_, fmt::format("'{}' is not complete; expected {}", name_, expected));
    } else {
      error(cursor_.peek(), fmt::format("unexpected {}; expected {}", quoted(cursor_.peek().text), expected));
    }
    return std::nullopt;
  }

  // A whole number, `part` of the token's text.
  std::optional<std::int64_t> whole(const Token& token, std::string_view part, std::string_view what) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (end != part.data() + part.size() || code == std::errc::invalid_argument) {
      error(token, fmt::format("{} is no {}", quoted(token.text), what));
      return std::nullopt;
    }
    if (code == std::errc::result_out_of_range || value > kMaxExtent) {
      error(token, fmt::format("the number {} is too large: at most {} is supported", quoted(part), kMaxExtent));
      return std::nullopt;
    }
    return value;
  }

  PropertyValue channels() {
    constexpr std::string_view kExpected = "the channels, as in '512 -> 256'";
    Channels result;
    const auto in = atom(kExpected);
    if (!in) {
      return {};
    }
    const auto in_value = whole(*in, in->text, "number of channels");
    if (!cursor_.at(TokenKind::kArrow)) {
      if (in_value && cursor_.at_property_end()) {
        error(word_, fmt::format("'{}' is not complete; expected {}", name_, kExpected));
      } else if (in_value) {
        error(cursor_.peek(),
              fmt::format("unexpected {}; expected '->' between the channels", quoted(cursor_.peek().text)));
      }
      return {};
    }
    cursor_.next();
    const auto out = atom(kExpected);
    const auto out_value = out ? whole(*out, out->text, "number of channels") : std::nullopt;
    if (!in_value || !out_value) {
      return {};
    }
    result.in = *in_value;
    result.out = *out_value;
    result.dimensions = dimensions_of(name_);
    return result;
  }

  // The parts between the 'x' of one word: read(token, part, value) makes a value of each, or reports why not.
  template <typename Value, typename Read>
  PropertyValue parts(std::string_view expected, std::size_t least, std::size_t most, const Read& read) {
    const auto token = atom(expected);
    if (!token) {
      return {};
    }
    std::vector<Value> values;
    std::string_view rest = token->text;
    while (true) {
      const std::size_t end = std::min(rest.find('x'), rest.size());
      if (!read(*token, rest.substr(0, end), values.emplace_back())) {
        return {};
      }
      if (end == rest.size()) {
        break;
      }
      rest.remove_prefix(end + 1);
    }
    if (values.size() < least || values.size() > most) {
      error(*token, fmt::format("{} has {} number{}; expected {}", quoted(token->text), values.size(),
                                values.size() == 1 ? "" : "s", expected));
      return {};
    }
    return values;
  }

  PropertyValue extents(bool is_input) {
    const std::string_view expected =
        is_input ? "batch x height x width, as in 8x64x64 (1-D: batch x length; 3-D: batch x depth x height x width)"
                 : "height x width, as in 3x7 (3-D: 3x3x7), or one number";
    const auto read = [&](const Token& token, std::string_view part, Size& value) {
      if (part == "?" && !is_input) {
        open_size(token);
        return false;
      }
      if (part != "?") {
        value = size(token, part, expected);
      }
      return part == "?" || value.has_value();
    };
    return is_input ? parts<Size>(expected, 2, 1 + kAxes, read) : parts<Size>(expected, 1, kAxes, read);
  }

  PropertyValue paddings() {
    constexpr std::string_view kExpected =
        "height x width, as in 3x7 (3-D: 3x3x7), or one number; before:after, as in 1:2, where the ends differ";
    const auto read = [&](const Token& token, std::string_view part, Padding& value) {
      if (part.contains('?')) {
        open_size(token);
        return false;
      }
      const std::size_t colon = part.find(':');
      const auto before = size(token, part.substr(0, colon), kExpected);
      const auto after =
          before && colon != std::string_view::npos ? size(token, part.substr(colon + 1), kExpected) : before;
      value = {before.value_or(0), after.value_or(0)};
      return after.has_value();
    };
    return parts<Padding>(kExpected, 1, kAxes, read);
  }

  void open_size(const Token& token) {
    error(token, fmt::format("'?' can't stand in {}: only the sizes of the input may be open", name_));
  }

  // A number of a size.
  std::optional<std::int64_t> size(const Token& token, std::string_view part, std::string_view expected) {
    if (number_like(part)) {
      return whole(token, part, "size");
    }
    malformed(token, expected);
    return std::nullopt;
  }

  static bool number_like(std::string_view part) {
    if (part.starts_with('-')) {
      part.remove_prefix(1);
    }
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  }

  void malformed(const Token& token, std::string_view expected) {
    std::string lower(token.text);
    std::ranges::replace(lower, 'X', 'x');
    const bool cased = lower != token.text && std::ranges::all_of(lower, [](char c) {
                         return c == 'x' || c == '?' || c == ':' || (c >= '0' && c <= '9');
                       });
    if (cased && lower.size() <= 40) {
      error(token, fmt::format("{} is no size", quoted(token.text)), lower);
    } else {
      error(token, fmt::format("{} is no size; expected {}", quoted(token.text), expected));
    }
  }

  // `what` is counted: "number of groups".
  PropertyValue number(std::string_view what) {
    const auto token = atom(fmt::format("a {}", what));
    const auto value = token ? whole(*token, token->text, what) : std::nullopt;
    return value ? PropertyValue(*value) : PropertyValue();
  }

  PropertyValue flag() {
    if (cursor_.at_property_end()) {
      return true;
    }
    const Token& token = cursor_.peek();
    if (token.kind == TokenKind::kAtom && (token.text == "on" || token.text == "off")) {
      cursor_.next();
      return token.text == "on";
    }
    // A property's word that stands here for lack of a separator is the caller's to report.
    if (token.kind == TokenKind::kComma || (token.kind == TokenKind::kAtom && property_named(token.text))) {
      return true;
    }
    constexpr std::array kWords = std::to_array<std::string_view>({"on", "off"});
    const std::string_view suggestion =
        token.kind == TokenKind::kAtom ? nearest(token.text, kWords) : std::string_view();
    error(token,
          fmt::format("unexpected {} after '{}'{}", quoted(token.text), name_,
                      suggestion.empty() ? "; expected 'on', 'off' or nothing" : ""),
          suggestion);
    return {};
  }

  template <typename Enum>
  std::optional<Enum> word(const Token& token, std::string_view what, std::span<const Enum> values,
                           std::optional<Enum> (*named)(std::string_view)) {
    const auto value = named(token.text);
    if (!value) {
      const auto names = names_of(values);
      const std::string_view suggestion = nearest(token.text, names);
      error(token,
            fmt::format("unknown {} {}{}", what, quoted(token.text),
                        suggestion.empty() ? "; expected " + alternatives(names) : std::string()),
            suggestion);
    }
    return value;
  }

  template <typename Enum>
  PropertyValue choice(std::span<const Enum> values, std::optional<Enum> (*named)(std::string_view)) {
    const auto token = atom(alternatives(names_of(values)));
    const auto value = token ? word(*token, name_, values, named) : std::nullopt;
    return value ? PropertyValue(*value) : PropertyValue();
  }

  PropertyValue directions() {
    std::vector<Direction> result;
    bool good = true;
    while (true) {
      const auto token = atom(alternatives(names_of(all_directions())));
      if (!token) {
        return {};
      }
      const auto direction = word(*token, "direction", all_directions(), direction_named);
      if (!direction) {
        good = false;
      } else if (std::ranges::find(result, *direction) != result.end()) {
        error(*token, fmt::format("duplicate direction '{}'", token->text));
        good = false;
      } else {
        result.push_back(*direction);
      }
      if (!separated_by_comma("directions", good,
                              [](std::string_view text) { return direction_named(text).has_value(); })) {
        break;
      }
    }
    std::ranges::sort(result);
    return good ? PropertyValue(std::move(result)) : PropertyValue();
  }

  std::optional<ActivationKind> activation(const Token& token) {
    const auto other = same_chain(token.text);
    if (!other) {
      return word(token, "activation", all_activations(), activation_named);
    }
    error(token,
          other->empty() ? fmt::format("there is no activation {}; expected {}", quoted(token.text),
                                       alternatives(names_of(all_activations())))
                         : fmt::format("unknown activation {}", quoted(token.text)),
          *other);
    return std::nullopt;
  }

  PropertyValue fuse() {
    std::vector<Activation> chain;
    if (cursor_.at_word("none")) {
      cursor_.next();
      return chain;
    }
    bool good = true;
    while (true) {
      const auto token = atom("an activation, as in 'relu' or 'scale(0.5)'");
      if (!token) {
        return {};
      }
      if (token->text == "none") {
        error(*token, "'none' stands alone: it means no chain");
        return {};
      }
      const auto kind = activation(*token);
      const auto arguments = parenthesised(*token);
      if (!arguments) {
        return {};
      }
      if (kind && arguments->good) {
        const int count = argument_count(*kind);
        const auto otherwise = default_argument(*kind);
        if (arguments->count == 0 && otherwise) {
          chain.push_back({*kind, *otherwise});
        } else if (count != arguments->count) {
          error(*token, fmt::format("{}; got {}", signature(*kind), arguments->count));
          good = false;
        } else {
          chain.push_back({*kind, arguments->values[0], arguments->values[1]});
        }
      }
      good = good && kind && arguments->good;
      if (!separated_by_comma("activations", good,
                              [](std::string_view text) { return activation_named(text).has_value(); })) {
        break;
      }
    }
    // What could be read of a wrong chain is still judged by the limits.
    return good || cursor_.at_property_end() ? PropertyValue(std::move(chain)) : PropertyValue();
  }

  // True at a list's next element. Where its comma is missing, that is reported and the element taken all the same.
  bool separated_by_comma(std::string_view what, bool& good, bool (*is_element)(std::string_view)) {
    if (cursor_.at(TokenKind::kComma)) {
      // A property's word after the comma: the comma was meant as a separator of properties.
      if (cursor_.peek(1).kind == TokenKind::kAtom && property_named(cursor_.peek(1).text)) {
        return false;
      }
      cursor_.next();
      return true;
    }
    if (cursor_.at(TokenKind::kAtom) && is_element(cursor_.peek().text)) {
      error(cursor_.peek(),
            fmt::format("expected ',' before '{}': {} are separated by commas", cursor_.peek().text, what));
      good = false;
      return true;
    }
    return false;
  }

  static std::string signature(ActivationKind kind) {
    switch (argument_count(kind)) {
      case 0:
        return fmt::format("'{}' takes no arguments", name_of(kind));
      case 1:
        return fmt::format("'{}' takes 1 argument, as in '{}(0.5)'", name_of(kind), name_of(kind));
      default:
        return fmt::format("'{}' takes 2 arguments, as in '{}(-1, 1)'", name_of(kind), name_of(kind));
    }
  }

  struct Arguments {
    std::array<double, 2> values{};
    int count = 0;
    bool good = true;
  };

  // "(0.5, 1)", or nothing. Null where the parser has lost its way.
  std::optional<Arguments> parenthesised(const Token& name) {
    Arguments arguments;
    if (!cursor_.at(TokenKind::kOpenParenthesis)) {
      return arguments;
    }
    const Token open = cursor_.next();
    if (cursor_.at(TokenKind::kCloseParenthesis)) {
      cursor_.next();
      return arguments;
    }
    while (true) {
      if (!cursor_.at(TokenKind::kAtom)) {
        unclosed(open, fmt::format("a number in the arguments of {}", quoted(name.text)));
        return std::nullopt;
      }
      const Token token = cursor_.next();
      if (const auto value = number(token); !value) {
        arguments.good = false;
      } else if (arguments.count < 2) {
        arguments.values[static_cast<std::size_t>(arguments.count)] = *value;
      }
      ++arguments.count;
      if (cursor_.at(TokenKind::kComma)) {
        cursor_.next();
      } else if (cursor_.at(TokenKind::kCloseParenthesis)) {
        cursor_.next();
        return arguments;
      } else {
        unclosed(open, "',' or ')'");
        return std::nullopt;
      }
    }
  }

  void unclosed(const Token& open, std::string_view expected) {
    if (cursor_.at_property_end()) {
      error(open, "'(' is never closed; expected ')' on the same line");
    } else {
      error(cursor_.peek(), fmt::format("unexpected {}; expected {}", quoted(cursor_.peek().text), expected));
    }
  }

  std::optional<double> number(const Token& token) {
    double value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [stop, code] = std::from_chars(token.text.data(), end, value);
    if (code == std::errc::result_out_of_range && stop == end) {
      error(token, fmt::format("the number {} is beyond the range of a 64-bit float", quoted(token.text)));
    } else if (code != std::errc() || stop != end) {
      error(token, fmt::format("{} is no number", quoted(token.text)));
    } else if (!std::isfinite(value)) {
      error(token, fmt::format("{} must be finite", quoted(token.text)));
    } else {
      return value + 0.0;  // -0 is written as 0: the language has one zero
    }
    return std::nullopt;
  }

  Cursor& cursor_;
  std::string_view name_;
  const Token& word_;
  std::vector<Diagnostic>& diagnostics_;
};

}  // namespace

PropertyValue parse_value(Cursor& cursor, PropertyKind kind, std::string_view name, const Token& word,
                          std::vector<Diagnostic>& diagnostics) {
  return ValueParser(cursor, name, word, diagnostics).parse(kind);
}

}  // namespace convtgen
