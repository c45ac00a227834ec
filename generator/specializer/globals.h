// What a template program says at namespace scope, with a plan's parameters in place: values, types, functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/program/program.h"
#include "generator/support/error.h"

namespace convtgen {

/// The values of a static array, all of one type.
using StaticArray = std::vector<Value>;

class Globals {
 public:
  /// Errors: a parameter that the plan lacks, has of another kind, or that the program doesn't know; a constant without
  /// a value; a static assertion that does not hold.
  static Result<Globals> make(const Program& program, const Parameters& parameters);

  [[nodiscard]] const Program& program() const { return *program_; }
  /// Constants, enumerators, and parameters as "P::name".
  [[nodiscard]] const Value* value(std::string_view name) const;
  /// A constant of the program; neither a parameter nor an enumerator.
  [[nodiscard]] const Constant* constant(std::string_view name) const;
  [[nodiscard]] const StaticArray* array(std::string_view name) const;
  /// Type parameters as "P::name".
  [[nodiscard]] const Type* type_parameter(std::string_view name) const;
  [[nodiscard]] const Alias* alias(std::string_view name) const;
  [[nodiscard]] const Record* record(std::string_view name) const;
  [[nodiscard]] const Function* function(std::string_view name) const;
  [[nodiscard]] const Primitive* primitive(std::string_view name) const;
  [[nodiscard]] const PrintedPrimitive* printed(std::string_view name) const;
  [[nodiscard]] bool is_enumeration(std::string_view name) const;

  /// Results of static calls (static_evaluator.cpp). A constexpr function depends on its arguments and on constants
  /// alone, so each is evaluated once for the same arguments: functions that count by calling others stay cheap.
  using CallKey = std::pair<const Function*, std::vector<std::tuple<Scalar, std::uint64_t, std::uint64_t>>>;
  [[nodiscard]] std::map<CallKey, Value>& call_results() const { return call_results_; }

 private:
  Result<void> set_parameters(const Parameters& parameters);
  Result<void> set_parameter(const ParameterDeclaration& declaration, const ParameterValue& value);
  Result<void> add(const Item& item);

  const Program* program_ = nullptr;
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, const Constant*, std::less<>> constants_;
  std::map<std::string, StaticArray, std::less<>> arrays_;
  std::map<std::string, Type, std::less<>> type_parameters_;
  std::map<std::string, const Alias*, std::less<>> aliases_;
  std::map<std::string, const Record*, std::less<>> records_;
  std::map<std::string, const Function*, std::less<>> functions_;
  std::map<std::string, const Primitive*, std::less<>> primitives_;
  std::map<std::string, const PrintedPrimitive*, std::less<>> printed_;
  std::map<std::string, bool, std::less<>> enumerations_;
  mutable std::map<CallKey, Value> call_results_;
};

/// "direct.cu:12: message".
[[nodiscard]] Error error_at(const Place& place, std::string_view message);

}  // namespace convtgen
