#include "generator/specializer/globals.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/fold.h"
#include "generator/specializer/static_evaluator.h"

namespace convtgen {
namespace {

template <typename Map>
const typename Map::mapped_type* find(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

template <typename Map>
typename Map::mapped_type find_pointer(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

std::string_view kind_of(const ParameterValue& value) {
  constexpr std::string_view kKinds[] = {"a bool", "an integer", "a number", "a type", "integers", "numbers"};
  return kKinds[value.index()];
}

/// A value that the plan gives, as the parameter's type has it.
Result<Value> parameter_value(Scalar type, const ParameterValue& value) {
  if (const bool* b = std::get_if<bool>(&value); b != nullptr && type == Scalar::kBool) {
    return Value{type, *b ? 1u : 0u, 0};
  }
  if (const auto* i = std::get_if<std::int64_t>(&value); i != nullptr && type != Scalar::kBool && !is_floating(type)) {
    if (!fits(type, *i)) {
      return fail(fmt::format("{} does not fit {}", *i, spelling_of(type)));
    }
    return integer_value(type, *i);
  }
  if (const auto* d = std::get_if<double>(&value); d != nullptr && is_floating(type)) {
    return evaluate_cast(type, real_value(Scalar::kDouble, *d));
  }
  return fail(fmt::format("the plan gives {} for {}", kind_of(value), spelling_of(type)));
}

template <typename T>
Result<StaticArray> parameter_values(Scalar type, const std::vector<T>& values) {
  StaticArray out;
  for (const T& element : values) {
    const Result<Value> value = parameter_value(type, ParameterValue(element));
    if (!value) {
      return std::unexpected(value.error());
    }
    out.push_back(*value);
  }
  return out;
}

}  // namespace

Error error_at(const Place& place, std::string_view message) {
  return {fmt::format("{}:{}: {}", place.file, place.line, message)};
}

Result<Globals> Globals::make(const Program& program, const Parameters& parameters) {
  Globals out;
  out.program_ = &program;
  if (const Result<void> set = out.set_parameters(parameters); !set) {
    return std::unexpected(set.error());
  }
  for (const Item& item : program.items) {
    if (const Result<void> added = out.add(item); !added) {
      return std::unexpected(added.error());
    }
  }
  return out;
}

Result<void> Globals::set_parameters(const Parameters& parameters) {
  for (const ParameterDeclaration& declaration : program_->parameters) {
    const auto given = parameters.find(declaration.name);
    if (given == parameters.end()) {
      return fail(fmt::format("the plan gives no value for '{}', a parameter of the template {}", declaration.name,
                              program_->name));
    }
    if (const Result<void> set = set_parameter(declaration, given->second); !set) {
      return fail(
          fmt::format("parameter '{}' of the template {}: {}", declaration.name, program_->name, set.error().message));
    }
  }
  for (const auto& [name, value] : parameters) {
    const bool known = std::ranges::any_of(program_->parameters, [&](const auto& p) { return p.name == name; });
    if (!known) {
      return fail(fmt::format("the template {} has no parameter '{}'", program_->name, name));
    }
  }
  return {};
}

Result<void> Globals::set_parameter(const ParameterDeclaration& declaration, const ParameterValue& value) {
  const std::string name = "P::" + declaration.name;
  if (declaration.is_type) {
    const auto* type = std::get_if<TypeName>(&value);
    if (type == nullptr) {
      return fail(fmt::format("the plan gives {} for a type", kind_of(value)));
    }
    const std::optional<Scalar> scalar = scalar_named(type->spelling);
    if (!scalar) {
      return fail(fmt::format("'{}' is no scalar type", type->spelling));
    }
    Type out;
    out.name = spelling_of(*scalar);
    type_parameters_[name] = out;
    return {};
  }
  const bool is_array = declaration.type.kind == Type::Kind::kArray;
  const std::optional<Scalar> scalar = scalar_of(*this, is_array ? declaration.type.element.at(0) : declaration.type);
  if (!scalar) {
    return fail("only scalars, arrays of scalars and types can be parameters");
  }
  if (!is_array) {
    const Result<Value> given = parameter_value(*scalar, value);
    if (!given) {
      return std::unexpected(given.error());
    }
    values_[name] = *given;
    return {};
  }
  Result<StaticArray> given = fail(fmt::format("the plan gives {} for an array", kind_of(value)));
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    given = parameter_values(*scalar, *integers);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    given = parameter_values(*scalar, *reals);
  }
  if (!given) {
    return std::unexpected(given.error());
  }
  arrays_[name] = std::move(*given);
  return {};
}

Result<void> Globals::add(const Item& item) {
  if (const auto* constant = std::get_if<Constant>(&item)) {
    const bool is_array = constant->type.kind == Type::Kind::kArray;
    const std::optional<Scalar> scalar = scalar_of(*this, is_array ? constant->type.element.at(0) : constant->type);
    if (!scalar) {
      return std::unexpected(error_at(constant->place, fmt::format("{} is no scalar", constant->name)));
    }
    if (is_array) {
      Result<StaticArray> values = evaluate_static_list(*this, *scalar, constant->value);
      if (!values) {
        return std::unexpected(error_at(constant->place, values.error().message));
      }
      arrays_[constant->name] = std::move(*values);
      return {};
    }
    Result<Value> value = evaluate_static(*this, constant->value);
    if (value) {
      value = evaluate_cast(*scalar, *value);
    }
    if (!value) {
      return std::unexpected(error_at(constant->place, fmt::format("{}: {}", constant->name, value.error().message)));
    }
    values_[constant->name] = *value;
    constants_[constant->name] = constant;
  } else if (const auto* enumeration = std::get_if<Enumeration>(&item)) {
    enumerations_[enumeration->name] = true;
    for (const auto& [name, value] : enumeration->enumerators) {
      values_[name] = integer_value(fits(Scalar::kInt, value) ? Scalar::kInt : Scalar::kLong, value);
    }
  } else if (const auto* assertion = std::get_if<StaticAssertion>(&item)) {
    const Result<Value> value = evaluate_static(*this, assertion->condition);
    if (!value) {
      return std::unexpected(error_at(assertion->place, value.error().message));
    }
    if (!is_true(*value)) {
      return std::unexpected(
          error_at(assertion->place, fmt::format("static assertion failed: {}", assertion->message)));
    }
  } else if (const auto* alias_item = std::get_if<Alias>(&item)) {
    aliases_[alias_item->name] = alias_item;
  } else if (const auto* record_item = std::get_if<Record>(&item)) {
    records_[record_item->name] = record_item;
  } else if (const auto* primitive_item = std::get_if<Primitive>(&item)) {
    primitives_[primitive_item->name] = primitive_item;
  } else if (const auto* printed_item = std::get_if<PrintedPrimitive>(&item)) {
    printed_[printed_item->name] = printed_item;
  } else if (const auto* function_item = std::get_if<Function>(&item)) {
    functions_[function_item->name] = function_item;
  }
  return {};
}

const Value* Globals::value(std::string_view name) const {
  return find(values_, name);
}
const Constant* Globals::constant(std::string_view name) const {
  return find_pointer(constants_, name);
}
const StaticArray* Globals::array(std::string_view name) const {
  return find(arrays_, name);
}
const Type* Globals::type_parameter(std::string_view name) const {
  return find(type_parameters_, name);
}
const Alias* Globals::alias(std::string_view name) const {
  return find_pointer(aliases_, name);
}
const Record* Globals::record(std::string_view name) const {
  return find_pointer(records_, name);
}
const Function* Globals::function(std::string_view name) const {
  return find_pointer(functions_, name);
}
const Primitive* Globals::primitive(std::string_view name) const {
  return find_pointer(primitives_, name);
}
const PrintedPrimitive* Globals::printed(std::string_view name) const {
  return find_pointer(printed_, name);
}
bool Globals::is_enumeration(std::string_view name) const {
  return find(enumerations_, name) != nullptr;
}

}  // namespace convtgen
