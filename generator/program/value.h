// Scalar types of C++ as CUDA has them (char is signed, long has 64 bits), and values of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convtgen {

enum class Scalar {
  kBool,
  kChar,
  kSignedChar,
  kUnsignedChar,
  kShort,
  kUnsignedShort,
  kInt,
  kUnsigned,
  kLong,
  kUnsignedLong,
  kLongLong,
  kUnsignedLongLong,
  kFloat,
  kDouble,
};

/// A typed value. Integers (bool too) are in `bits`, sign-extended to 64 bits where the type is signed and
/// zero-extended otherwise; floating values are in `real`, a float's exactly.
struct Value {
  Scalar type = Scalar::kInt;
  std::uint64_t bits = 0;
  double real = 0;
  bool is_hexadecimal = false;  // an integer that is written so: masks, and what is made of them
  bool operator==(const Value&) const = default;
};

/// "int", "unsigned int", "long long", ...: the spelling that the emitted source has.
[[nodiscard]] std::string_view spelling_of(Scalar type);
/// Any spelling that C++ allows for the type ("unsigned", "unsigned int"); nothing for another type's name.
[[nodiscard]] std::optional<Scalar> scalar_named(std::string_view spelling);

[[nodiscard]] bool is_floating(Scalar type);
[[nodiscard]] bool is_signed(Scalar type);  // bool and floating types are not asked
[[nodiscard]] int bits_of(Scalar type);     // 1 for bool: what its value needs
[[nodiscard]] int bytes_of(Scalar type);
/// Least and greatest value of an integer type fit here; unsigned 64-bit ones end at 2^64 - 1.
[[nodiscard]] bool fits(Scalar type, __int128 value);

[[nodiscard]] Value integer_value(Scalar type, std::int64_t value);
[[nodiscard]] Value real_value(Scalar type, double value);
/// The value as a mathematical integer; the type is no floating one.
[[nodiscard]] __int128 wide(const Value& value);
[[nodiscard]] bool is_true(const Value& value);
/// As an implicit conversion does it. Nothing where C++ leaves the result undefined: a floating value out of range.
[[nodiscard]] std::optional<Value> convert(const Value& value, Scalar type);

/// An integer as an int, which is written without a suffix; nothing where it is negative or not representable.
[[nodiscard]] std::optional<Value> without_suffix(const Value& value);

/// A literal of exactly that type and value, or what comes nearest: `5u`, `-3`, `0xffu`, `1.5f`, `true`,
/// `static_cast<short>(3)`, `(-2147483647 - 1)`. Floating literals are the shortest that give the value again.
[[nodiscard]] std::string literal_text(const Value& value);
/// A C++ literal with its suffix, hexadecimal too, without a sign; nothing for other text.
[[nodiscard]] std::optional<Value> parse_literal(std::string_view text);

}  // namespace convtgen
