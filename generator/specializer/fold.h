// The typed folder: C++ arithmetic on terms that are partly static.
//
// Every function gives a term of the value and type that C++ gives the unfolded expression. What is signed never
// overflows in the result where it did not before. Errors: a static part that has no value in C++ (signed overflow,
// division by zero, a floating value that an integer can't hold).
#pragma once

#include <string_view>

#include "generator/program/arithmetic.h"
#include "generator/specializer/term.h"
#include "generator/support/error.h"

namespace convtgen {

/// "-", "+", "!", "~". Other unary operators are the caller's.
[[nodiscard]] Result<Term> fold_unary(std::string_view op, Term operand);
/// Arithmetic, comparison, bitwise, shift and logical operators.
[[nodiscard]] Result<Term> fold_binary(std::string_view op, Term a, Term b);
/// c ? a : b.
[[nodiscard]] Result<Term> fold_conditional(Term condition, Term a, Term b);
/// A cast to a resolved type; `written` is how the output spells it. Static casts between scalars fold.
[[nodiscard]] Result<Term> fold_cast(std::string_view style, const Type& type, const Type& written, Term operand);
/// The term as a condition takes it, with type bool.
[[nodiscard]] Term to_bool(Term term);

}  // namespace convtgen
