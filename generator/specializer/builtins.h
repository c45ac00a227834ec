// What the specializer knows of CUDA's own functions and struct types, by their exact names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "generator/specializer/term.h"

namespace convtgen {

/// One of CUDA's own functions.
struct Builtin {
  enum class Gives {
    kUnknown,
    kInt,
    kUnsigned,
    kFloat,
    kDouble,
    kCommon,          // the common type of all arguments
    kCommonFloating,  // the same, or double where that is an integer type
    kSecond,          // the second argument's type, promoted
    kPointee,         // what the argument points to
  };
  std::string_view name;
  Gives gives = Gives::kUnknown;
  bool only_computes = false;  // a call whose result is not used may go
};

/// Null for a function that isn't known: it may do anything.
[[nodiscard]] const Builtin* builtin_named(std::string_view name);

/// The scalar type that a call gives; nothing where it is not known.
[[nodiscard]] std::optional<Scalar> result_of(const Builtin& builtin, const std::vector<Term>& arguments);

/// The type of all members of a struct type ("float4", "dim3"); nothing for another type.
[[nodiscard]] std::optional<Scalar> member_of_builtin(std::string_view type);

}  // namespace convtgen
