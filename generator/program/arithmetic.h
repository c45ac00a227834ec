// Static arithmetic on values, as C++ does it.
#pragma once

#include <string_view>

#include "generator/program/value.h"
#include "generator/support/error.h"

namespace convtgen {

/// The integral promotion; floating types stay.
[[nodiscard]] Scalar promoted(Scalar type);
/// The type of a + b: the usual arithmetic conversions.
[[nodiscard]] Scalar common_type(Scalar a, Scalar b);

/// The static value of `a op b` for arithmetic, bitwise, shift and comparison operators.
/// Errors: C++ gives it no value (signed overflow, division by zero).
[[nodiscard]] Result<Value> evaluate_binary(std::string_view op, const Value& a, const Value& b);
[[nodiscard]] Result<Value> evaluate_unary(std::string_view op, const Value& operand);
[[nodiscard]] Result<Value> evaluate_cast(Scalar type, const Value& operand);

}  // namespace convtgen
