// Residual expressions: trees with resolved types, and with values where they are static.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/program/program.h"

namespace convtgen {

/// The least and the greatest value that an integer may have.
struct Range {
  __int128 least = 0;
  __int128 greatest = 0;
};

/// An expression of the output. Its type is resolved (aliases followed, extents literals); a kNamed type with an empty
/// name is one that the specializer doesn't know, and stops folding but nothing else.
struct Term {
  Expression::Kind kind = Expression::Kind::kLiteral;
  std::string text;              // as Expression::text, in the output's names
  std::optional<Value> value;    // static; then kind is kLiteral
  std::string constant;          // the template's constant of this value that stands here
  Type type;                     // of the expression; top-level const is dropped
  std::optional<Scalar> scalar;  // the same, where it is a scalar
  Type written;                  // of kCast and kSizeof: the type as the output spells it
  int id = 0;                    // of kName: the local variable
  std::optional<Range> range;    // of kName: all that the variable is here
  bool only_computes = false;    // of kCall: it may be left out where its result is not used
  std::vector<Term> operands;
};

/// How tightly an operator binds: more where the number is greater.
namespace precedence {
inline constexpr int kPrimary = 16, kPostfix = 15, kUnary = 14, kConditional = 3, kAssignment = 2;
}

[[nodiscard]] Type scalar_type(Scalar type);
[[nodiscard]] Term literal(const Value& value);
/// An integer's literal without its suffix, where that has the same number and is no constant by name.
[[nodiscard]] Term without_suffix(Term term);
[[nodiscard]] Term name_term(std::string name, const Type& type);

/// A node that is kept as it is; `type` is resolved.
[[nodiscard]] Term node(Expression::Kind kind, std::string_view text, const Type& type, std::vector<Term> operands);

/// Whether nothing changes when the term is not evaluated.
[[nodiscard]] bool is_pure(const Term& term);

/// Whether two terms are the same expression, with the same variables. They have the same value where they are pure.
[[nodiscard]] bool is_same(const Term& a, const Term& b);

/// Binding strength of a term's outermost operator, as C++ ranks them: 16 for a name, 1 for a comma.
[[nodiscard]] int precedence_of(const Term& term);
/// Of a binary operator.
[[nodiscard]] int precedence_of(std::string_view binary_operator);

/// The term in C++, on one line, with the parentheses that precedence asks for.
[[nodiscard]] std::string text_of(const Term& term);
/// A resolved or written type in C++: "const float*", "unsigned short".
[[nodiscard]] std::string text_of_type(const Type& type);
/// A declaration: "const float* __restrict__ x", "float sums[2][3]", "Stage& stage".
[[nodiscard]] std::string declaration_text(const Type& type, std::string_view name);

}  // namespace convtgen
