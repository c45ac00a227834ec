// Static evaluation: expressions that must have a value, and constexpr functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/specializer/globals.h"

namespace convtgen {

/// The value of an expression of namespace scope. Errors: a part that is not static.
[[nodiscard]] Result<Value> evaluate_static(const Globals& globals, const Expression& expression);

/// The elements of a braced list, converted to the type.
[[nodiscard]] Result<StaticArray> evaluate_static_list(const Globals& globals, Scalar type,
                                                       const Expression& expression);

/// What the constexpr function returns for these arguments.
[[nodiscard]] Result<Value> call_static(const Globals& globals, const Function& function,
                                        const std::vector<Value>& arguments);

/// The scalar that a type is, through aliases and type parameters; nothing for another type.
[[nodiscard]] std::optional<Scalar> scalar_of(const Globals& globals, const Type& type);

}  // namespace convtgen
