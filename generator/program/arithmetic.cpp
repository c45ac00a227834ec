#include "generator/program/arithmetic.h"

#include <fmt/format.h>

#include <cmath>

namespace convtgen {
namespace {

Value boolean(bool value) {
  return Value{Scalar::kBool, value ? 1u : 0u, 0};
}

std::unexpected<Error> no_value(std::string_view op, const Value& a, const Value& b, std::string_view why) {
  return fail(fmt::format("{} {} {} {}", literal_text(a), op, literal_text(b), why));
}

/// Whether the result of masks, or of a shift that makes one, is read more easily in hexadecimal.
bool is_mask(std::string_view op, const Value& a, const Value& b, __int128 exact) {
  const bool is_bitwise = op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>";
  return (is_bitwise && (a.is_hexadecimal || b.is_hexadecimal)) || (op == "<<" && exact >= 256);
}

/// Wraps an unsigned result, and refuses a signed one that does not fit.
Result<Value> integer_result(std::string_view op, const Value& a, const Value& b, Scalar type, __int128 exact) {
  if (is_signed(type)) {
    if (!fits(type, exact)) {
      return no_value(op, a, b, fmt::format("overflows {}", spelling_of(type)));
    }
    return Value{type, static_cast<std::uint64_t>(exact), 0, is_mask(op, a, b, exact)};
  }
  const auto low = static_cast<std::uint64_t>(exact);
  return Value{type, bits_of(type) == 32 ? low & 0xffffffffu : low, 0, is_mask(op, a, b, exact)};
}

Result<Value> shift(std::string_view op, const Value& a, const Value& b) {
  const Scalar type = promoted(a.type);
  const __int128 by = wide(b);
  if (by < 0 || by >= bits_of(type)) {
    return no_value(op, a, b, fmt::format("shifts by no number of bits that {} has", spelling_of(type)));
  }
  const __int128 from = wide(a);
  if (op == ">>") {
    return integer_result(op, a, b, type, from >> static_cast<int>(by));
  }
  if (from < 0) {
    return no_value(op, a, b, "shifts a negative number to the left");
  }
  return integer_result(op, a, b, type, from << static_cast<int>(by));
}

Result<Value> floating(std::string_view op, const Value& a, const Value& b, Scalar type) {
  const std::optional<Value> left = convert(a, type);
  const std::optional<Value> right = convert(b, type);
  const double x = left->real, y = right->real;
  double result = 0;
  if (type == Scalar::kFloat) {
    // In float itself; by way of double a result would be rounded twice.
    const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
    result = op == "+" ? fx + fy : op == "-" ? fx - fy : op == "*" ? fx * fy : fx / fy;
  } else {
    result = op == "+" ? x + y : op == "-" ? x - y : op == "*" ? x * y : x / y;
  }
  if (op == "/" && y == 0) {
    return no_value(op, a, b, "divides by zero");
  }
  if (!std::isfinite(result) && std::isfinite(x) && std::isfinite(y)) {
    return no_value(op, a, b, fmt::format("overflows {}", spelling_of(type)));
  }
  return real_value(type, result);
}

template <typename T>
bool compare(std::string_view op, T a, T b) {
  return op == "<"    ? a < b
         : op == ">"  ? a > b
         : op == "<=" ? a <= b
         : op == ">=" ? a >= b
         : op == "==" ? a == b
                      : a != b;
}

}  // namespace

Scalar promoted(Scalar type) {
  return type < Scalar::kInt ? Scalar::kInt : type;
}

Scalar common_type(Scalar a, Scalar b) {
  a = promoted(a);
  b = promoted(b);
  if (a == b) {
    return a;
  }
  if (is_floating(a) || is_floating(b)) {
    return a == Scalar::kDouble || b == Scalar::kDouble ? Scalar::kDouble : Scalar::kFloat;
  }
  // The enumeration is in the order of rank, the unsigned type after the signed one of the same rank.
  const Scalar higher = a < b ? b : a;
  const Scalar lower = a < b ? a : b;
  if (!is_signed(higher) || is_signed(lower)) {
    return higher;
  }
  if (bits_of(higher) > bits_of(lower)) {
    return higher;
  }
  return static_cast<Scalar>(static_cast<int>(higher) + 1);
}

Result<Value> evaluate_cast(Scalar type, const Value& operand) {
  const std::optional<Value> value = convert(operand, type);
  if (!value) {
    return fail(fmt::format("{} is out of the range of {}", literal_text(operand), spelling_of(type)));
  }
  return *value;
}

Result<Value> evaluate_unary(std::string_view op, const Value& operand) {
  if (op == "!") {
    return boolean(!is_true(operand));
  }
  const Scalar type = promoted(operand.type);
  if (is_floating(type)) {
    if (op == "~") {
      return fail(fmt::format("~ needs an integer, not {}", spelling_of(type)));
    }
    return real_value(type, op == "-" ? -operand.real : operand.real);
  }
  const Value value = *convert(operand, type);
  if (op == "+") {
    return value;
  }
  return op == "~" ? integer_result("^", Value{type, ~std::uint64_t{0}, 0}, value, type, ~wide(value))
                   : integer_result("-", Value{type, 0, 0}, value, type, -wide(value));
}

Result<Value> evaluate_binary(std::string_view op, const Value& a, const Value& b) {
  if (op == "&&" || op == "||") {
    return boolean(op == "&&" ? is_true(a) && is_true(b) : is_true(a) || is_true(b));
  }
  const bool is_integer_only = op == "%" || op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>";
  if (is_integer_only && (is_floating(a.type) || is_floating(b.type))) {
    return no_value(op, a, b, "needs integers");
  }
  if (op == "<<" || op == ">>") {
    return shift(op, a, b);
  }
  const Scalar type = common_type(a.type, b.type);
  const bool is_comparison = op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=";
  if (is_floating(type)) {
    if (is_comparison) {
      return boolean(compare(op, convert(a, type)->real, convert(b, type)->real));
    }
    return floating(op, a, b, type);
  }
  const __int128 x = wide(*convert(a, type)), y = wide(*convert(b, type));
  if (is_comparison) {
    return boolean(compare(op, x, y));
  }
  if (op == "/" || op == "%") {
    if (y == 0) {
      return no_value(op, a, b, "divides by zero");
    }
    if (!fits(type, x / y)) {
      return no_value(op, a, b, fmt::format("overflows {}", spelling_of(type)));
    }
    return integer_result(op, a, b, type, op == "/" ? x / y : x % y);
  }
  if (op == "*" && !is_signed(type)) {
    // Two 64-bit factors overflow even 128 signed bits; the low half wraps rightly.
    return integer_result(op, a, b, type,
                          static_cast<__int128>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)));
  }
  const __int128 exact = op == "+"   ? x + y
                         : op == "-" ? x - y
                         : op == "*" ? x * y
                         : op == "&" ? (x & y)
                         : op == "|" ? (x | y)
                                     : (x ^ y);
  return integer_result(op, a, b, type, exact);
}

}  // namespace convtgen
