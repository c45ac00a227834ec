#include "generator/program/value.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace convtgen {
namespace {

struct Facts {
  std::string_view spelling;
  int bits;
  bool is_signed;
};

constexpr std::array<Facts, 14> kFacts = {{
    {"bool", 1, false},
    {"char", 8, true},
    {"signed char", 8, true},
    {"unsigned char", 8, false},
    {"short", 16, true},
    {"unsigned short", 16, false},
    {"int", 32, true},
    {"unsigned int", 32, false},
    {"long", 64, true},
    {"unsigned long", 64, false},
    {"long long", 64, true},
    {"unsigned long long", 64, false},
    {"float", 32, true},
    {"double", 64, true},
}};

constexpr std::array<std::pair<std::string_view, Scalar>, 13> kOtherSpellings = {{
    {"unsigned", Scalar::kUnsigned},
    {"signed", Scalar::kInt},
    {"short int", Scalar::kShort},
    {"unsigned short int", Scalar::kUnsignedShort},
    {"long int", Scalar::kLong},
    {"unsigned long int", Scalar::kUnsignedLong},
    {"long unsigned int", Scalar::kUnsignedLong},
    {"long long int", Scalar::kLongLong},
    {"unsigned long long int", Scalar::kUnsignedLongLong},
    {"long long unsigned int", Scalar::kUnsignedLongLong},
    {"short unsigned int", Scalar::kUnsignedShort},
    {"signed int", Scalar::kInt},
    {"size_t", Scalar::kUnsignedLong},
}};

const Facts& facts_of(Scalar type) {
  return kFacts.at(static_cast<std::size_t>(type));
}

std::string floating_text(const Value& value) {
  const bool single = value.type == Scalar::kFloat;
  const std::string suffix = single ? "f" : "";
  if (std::isnan(value.real)) {
    return single ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000ll)";
  }
  if (std::isinf(value.real)) {
    const std::string positive = single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)";
    return value.real < 0 ? "-" + positive : positive;
  }
  std::string text = single ? fmt::format("{}", static_cast<float>(value.real)) : fmt::format("{}", value.real);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text + suffix;
}

std::string integer_text(const Value& value) {
  const __int128 number = wide(value);
  const auto plain = [&](std::string_view suffix) {
    if (value.is_hexadecimal && number >= 0) {
      return fmt::format("{:#x}{}", static_cast<std::uint64_t>(number), suffix);
    }
    return is_signed(value.type) ? fmt::format("{}{}", static_cast<std::int64_t>(number), suffix)
                                 : fmt::format("{}{}", static_cast<std::uint64_t>(number), suffix);
  };
  switch (value.type) {
    case Scalar::kInt:
      return number == std::numeric_limits<int>::min() ? "(-2147483647 - 1)" : plain("");
    case Scalar::kUnsigned:
      return plain("u");
    case Scalar::kLong:
      return number == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807l - 1)" : plain("l");
    case Scalar::kUnsignedLong:
      return plain("ul");
    case Scalar::kLongLong:
      return number == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807ll - 1)" : plain("ll");
    case Scalar::kUnsignedLongLong:
      return plain("ull");
    default:
      return fmt::format("static_cast<{}>({})", spelling_of(value.type), plain(""));
  }
}

}  // namespace

std::string_view spelling_of(Scalar type) {
  return facts_of(type).spelling;
}

std::optional<Scalar> scalar_named(std::string_view spelling) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].spelling == spelling) {
      return static_cast<Scalar>(i);
    }
  }
  for (const auto& [other, type] : kOtherSpellings) {
    if (other == spelling) {
      return type;
    }
  }
  return std::nullopt;
}

bool is_floating(Scalar type) {
  return type == Scalar::kFloat || type == Scalar::kDouble;
}

bool is_signed(Scalar type) {
  return facts_of(type).is_signed;
}

int bits_of(Scalar type) {
  return facts_of(type).bits;
}

int bytes_of(Scalar type) {
  return type == Scalar::kBool ? 1 : facts_of(type).bits / 8;
}

bool fits(Scalar type, __int128 value) {
  const int bits = bits_of(type);
  const __int128 one = 1;
  return is_signed(type) ? value >= -(one << (bits - 1)) && value < (one << (bits - 1))
                         : value >= 0 && value < (one << bits);
}

Value integer_value(Scalar type, std::int64_t value) {
  return {type, static_cast<std::uint64_t>(value), 0};
}

Value real_value(Scalar type, double value) {
  return {type, 0, type == Scalar::kFloat ? static_cast<double>(static_cast<float>(value)) : value};
}

__int128 wide(const Value& value) {
  return is_signed(value.type) ? static_cast<__int128>(static_cast<std::int64_t>(value.bits))
                               : static_cast<__int128>(value.bits);
}

bool is_true(const Value& value) {
  return is_floating(value.type) ? value.real != 0 : value.bits != 0;
}

std::optional<Value> convert(const Value& value, Scalar type) {
  if (type == value.type) {
    return value;
  }
  if (type == Scalar::kBool) {
    return Value{type, is_true(value) ? 1u : 0u, 0};
  }
  if (is_floating(type)) {
    if (is_floating(value.type)) {
      // What is too large becomes infinity, as IEEE 754 has it.
      return real_value(type, value.real);
    }
    // Straight from the integer: through a double a float would be rounded twice.
    if (type == Scalar::kFloat) {
      return real_value(type, is_signed(value.type) ? static_cast<float>(static_cast<std::int64_t>(value.bits))
                                                    : static_cast<float>(value.bits));
    }
    return real_value(type, is_signed(value.type) ? static_cast<double>(static_cast<std::int64_t>(value.bits))
                                                  : static_cast<double>(value.bits));
  }
  __int128 number = 0;
  if (is_floating(value.type)) {
    const double whole = std::trunc(value.real);
    if (!(std::fabs(whole) < 0x1p65) || !fits(type, static_cast<__int128>(whole))) {
      return std::nullopt;
    }
    number = static_cast<__int128>(whole);
  } else {
    number = wide(value);
  }
  const int bits = bits_of(type);
  auto kept = static_cast<std::uint64_t>(number);
  if (bits < 64) {
    kept &= (std::uint64_t{1} << bits) - 1;
    if (is_signed(type) && (kept >> (bits - 1)) != 0) {
      kept |= ~((std::uint64_t{1} << bits) - 1);
    }
  }
  return Value{type, kept, 0, value.is_hexadecimal};
}

std::optional<Value> without_suffix(const Value& value) {
  if (is_floating(value.type) || wide(value) < 0 || !fits(Scalar::kInt, wide(value))) {
    return std::nullopt;
  }
  return convert(value, Scalar::kInt);
}

std::string literal_text(const Value& value) {
  if (value.type == Scalar::kBool) {
    return value.bits != 0 ? "true" : "false";
  }
  return is_floating(value.type) ? floating_text(value) : integer_text(value);
}

std::optional<Value> parse_literal(std::string_view text) {
  if (text == "true" || text == "false") {
    return Value{Scalar::kBool, text == "true" ? 1u : 0u, 0};
  }
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) {
    return std::nullopt;
  }
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const char* end = text.data() + text.size();
  if (!hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
    double real = 0;
    const Scalar type = text.ends_with('f') || text.ends_with('F') ? Scalar::kFloat : Scalar::kDouble;
    const char* last = type == Scalar::kFloat ? end - 1 : end;
    if (type == Scalar::kFloat) {
      float single = 0;
      const auto [stop, status] = std::from_chars(text.data(), last, single);
      if (status != std::errc() || stop != last) {
        return std::nullopt;
      }
      real = single;
    } else {
      const auto [stop, status] = std::from_chars(text.data(), last, real);
      if (status != std::errc() || stop != last) {
        return std::nullopt;
      }
    }
    return real_value(type, real);
  }
  std::uint64_t number = 0;
  const bool octal = !hexadecimal && text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  const auto [stop, status] =
      std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, number, hexadecimal ? 16 : (octal ? 8 : 10));
  if (status != std::errc()) {
    return std::nullopt;
  }
  bool is_unsigned = false;
  int longs = 0;
  for (const char* c = stop; c != end; ++c) {
    if ((*c == 'u' || *c == 'U') && !is_unsigned) {
      is_unsigned = true;
    } else if ((*c == 'l' || *c == 'L') && longs < 2) {
      ++longs;
    } else {
      return std::nullopt;
    }
  }
  // The first type that holds it, [lex.icon]; only literals with a base take unsigned types unasked.
  constexpr std::array<std::pair<Scalar, Scalar>, 3> kPairs = {{{Scalar::kInt, Scalar::kUnsigned},
                                                                {Scalar::kLong, Scalar::kUnsignedLong},
                                                                {Scalar::kLongLong, Scalar::kUnsignedLongLong}}};
  for (std::size_t rank = static_cast<std::size_t>(longs); rank < kPairs.size(); ++rank) {
    const auto [with_sign, without_sign] = kPairs[rank];
    if (!is_unsigned && fits(with_sign, number)) {
      return Value{with_sign, number, 0, hexadecimal};
    }
    if ((is_unsigned || hexadecimal || octal) && fits(without_sign, number)) {
      return Value{without_sign, number, 0, hexadecimal};
    }
  }
  return std::nullopt;
}

}  // namespace convtgen
