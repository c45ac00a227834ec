// Expressions and types of the AST as those of a template program. What is outside the subset is reported at its place.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include "generator/program/program.h"
#include "generator/templatec/context.h"

namespace convtgen::templatec {

/// Implicit conversions and parentheses are left out: they depend on the values of type parameters, and the
/// specializer makes them again.
[[nodiscard]] Expression build_expression(const Context& context, const clang::Expr& expression);

/// A type as it is written, array extents as expressions.
[[nodiscard]] Type build_type(const Context& context, clang::TypeLoc type);

/// The written type of a variable, field or parameter.
[[nodiscard]] Type build_type(const Context& context, const clang::DeclaratorDecl& declaration);

/// Whether a declaration's initialiser says nothing: none, or the default constructor of an aggregate.
[[nodiscard]] bool has_initialiser(const clang::VarDecl& variable);

}  // namespace convtgen::templatec
