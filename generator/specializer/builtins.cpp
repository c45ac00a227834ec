#include "generator/specializer/builtins.h"

#include <algorithm>
#include <array>

#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

using Gives = Builtin::Gives;

constexpr auto kBuiltins = std::to_array<Builtin>({
    {"__float_as_uint", Gives::kUnsigned, true},
    {"__float_as_int", Gives::kInt, true},
    {"__uint_as_float", Gives::kFloat, true},
    {"__int_as_float", Gives::kFloat, true},
    {"__double_as_longlong", Gives::kUnknown, true},
    {"__longlong_as_double", Gives::kDouble, true},
    {"__reduce_max_sync", Gives::kUnsigned},
    {"__shfl_sync", Gives::kSecond},
    {"__shfl_up_sync", Gives::kSecond},
    {"__shfl_down_sync", Gives::kSecond},
    {"__shfl_xor_sync", Gives::kSecond},
    {"__ldg", Gives::kPointee},
    {"min", Gives::kCommon, true},
    {"max", Gives::kCommon, true},
    {"fma", Gives::kCommonFloating, true},
    {"fmaf", Gives::kFloat, true},
    {"fabs", Gives::kCommonFloating, true},
    {"fabsf", Gives::kFloat, true},
    {"fmin", Gives::kCommonFloating, true},
    {"fminf", Gives::kFloat, true},
    {"fmax", Gives::kCommonFloating, true},
    {"fmaxf", Gives::kFloat, true},
    {"sqrt", Gives::kCommonFloating, true},
    {"sqrtf", Gives::kFloat, true},
    {"rsqrt", Gives::kCommonFloating, true},
    {"rsqrtf", Gives::kFloat, true},
    {"exp", Gives::kCommonFloating, true},
    {"expf", Gives::kFloat, true},
    {"expm1", Gives::kCommonFloating, true},
    {"expm1f", Gives::kFloat, true},
    {"log", Gives::kCommonFloating, true},
    {"logf", Gives::kFloat, true},
    {"log1p", Gives::kCommonFloating, true},
    {"log1pf", Gives::kFloat, true},
    {"tanh", Gives::kCommonFloating, true},
    {"tanhf", Gives::kFloat, true},
    {"erf", Gives::kCommonFloating, true},
    {"erff", Gives::kFloat, true},
});

std::optional<Scalar> common_type_of(const std::vector<Term>& arguments) {
  std::optional<Scalar> type;
  for (const Term& argument : arguments) {
    if (!argument.scalar) {
      return std::nullopt;
    }
    type = type ? common_type(*type, *argument.scalar) : promoted(*argument.scalar);
  }
  return type;
}

}  // namespace

const Builtin* builtin_named(std::string_view name) {
  const auto* found = std::ranges::find(kBuiltins, name, &Builtin::name);
  return found == kBuiltins.end() ? nullptr : found;
}

std::optional<Scalar> result_of(const Builtin& builtin, const std::vector<Term>& arguments) {
  switch (builtin.gives) {
    case Gives::kUnknown:
      return std::nullopt;
    case Gives::kInt:
      return Scalar::kInt;
    case Gives::kUnsigned:
      return Scalar::kUnsigned;
    case Gives::kFloat:
      return Scalar::kFloat;
    case Gives::kDouble:
      return Scalar::kDouble;
    case Gives::kCommon:
      return common_type_of(arguments);
    case Gives::kCommonFloating: {
      const std::optional<Scalar> type = common_type_of(arguments);
      return type && !is_floating(*type) ? Scalar::kDouble : type;
    }
    case Gives::kSecond:
      return arguments.size() > 1 && arguments[1].scalar ? std::optional(promoted(*arguments[1].scalar)) : std::nullopt;
    case Gives::kPointee: {
      if (arguments.size() != 1 || arguments[0].type.kind == Type::Kind::kNamed) {
        return std::nullopt;
      }
      const Type& pointee = arguments[0].type.element.at(0);
      return pointee.kind == Type::Kind::kNamed ? scalar_named(pointee.name) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<Scalar> member_of_builtin(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, Scalar>, 4> kTypes = {
      {{"float", Scalar::kFloat}, {"double", Scalar::kDouble}, {"int", Scalar::kInt}, {"uint", Scalar::kUnsigned}}};
  if (type == "dim3") {
    return Scalar::kUnsigned;
  }
  for (const auto& [name, scalar] : kTypes) {
    if (type.size() == name.size() + 1 && type.starts_with(name) && type.back() >= '2' && type.back() <= '4') {
      return scalar;
    }
  }
  return std::nullopt;
}

}  // namespace convtgen
