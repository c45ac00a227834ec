// The values of a template's static parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace convtgen {

/// The spelling of a C++ type ("float", "unsigned short"), as a parameter's value.
struct TypeName {
  std::string spelling;
  bool operator==(const TypeName&) const = default;
};

/// The value of one static parameter: it takes the place of the template's own default.
using ParameterValue =
    std::variant<bool, std::int64_t, double, TypeName, std::vector<std::int64_t>, std::vector<double>>;

/// By the name of the member of the template's parameter struct; ordered, so that equal plans print alike.
using Parameters = std::map<std::string, ParameterValue, std::less<>>;

}  // namespace convtgen
