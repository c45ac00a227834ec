#include "tests/templatec/as_it_stands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace convtgen::templatec {
namespace {

/// A double that C++ reads back to the same value. The literal's type is double, as the declarations' are.
std::string literal(double value) {
  if (std::isinf(value)) {
    return value < 0 ? "-__builtin_huge_val()" : "__builtin_huge_val()";
  }
  return fmt::format("{:a}", value);
}

template <typename T>
std::string braced(const std::vector<T>& values) {
  // C++ knows no empty array; a count next to it says that nothing reads the one element.
  std::string list;
  for (const T value : values) {
    if constexpr (std::is_same_v<T, double>) {
      list += (list.empty() ? "" : ", ") + literal(value);
    } else {
      list += (list.empty() ? "" : ", ") + std::to_string(value);
    }
  }
  return "{" + (list.empty() ? "0" : list) + "}";
}

class Flattener {
 public:
  Flattener(const Program& program, std::string parameters,
            const std::function<std::optional<std::string>(const std::string&)>& read)
      : program_(program), parameters_(std::move(parameters)), read_(read) {}

  Result<std::string> flatten() {
    include(program_.name + ".cu");
    return missing_.empty() ? Result<std::string>(text_) : fail("no file '" + missing_ + "' of the template");
  }

 private:
  void include(const std::string& name) {
    if (!included_.insert(name).second) {
      return;
    }
    const std::optional<std::string> file = read_(name);
    if (!file) {
      missing_ = name;
      return;
    }
    const bool primitives = file->starts_with("// Device primitives");
    text_ += primitives ? "#ifndef CONVTGEN_HOST_DEVICE\n" : "";
    std::istringstream lines(*file);
    for (std::string line; std::getline(lines, line);) {
      if (line == "#include CONVTGEN_PARAMETERS") {
        text_ += std::exchange(parameters_, "");  // the first time; after that they are there
      } else if (line.starts_with("#include \"")) {
        include(line.substr(10, line.size() - 11));
      } else if (line != "#pragma once") {
        text_ += line + "\n";
      }
    }
    text_ += primitives ? "#endif\n" : "";
  }

  const Program& program_;
  std::string parameters_;
  const std::function<std::optional<std::string>(const std::string&)>& read_;
  std::set<std::string> included_;
  std::string text_;
  std::string missing_;
};

}  // namespace

Result<std::string> parameters_header(const Program& program, const Parameters& parameters) {
  std::string members;
  std::string arrays;
  for (const ParameterDeclaration& declaration : program.parameters) {
    const auto given = parameters.find(declaration.name);
    if (given == parameters.end()) {
      return fail(fmt::format("parameter '{}' has no value", declaration.name));
    }
    const ParameterValue& value = given->second;
    const std::string& name = declaration.name;
    const bool is_array = !declaration.is_type && declaration.type.kind == Type::Kind::kArray;
    if (const auto* type = std::get_if<TypeName>(&value); type != nullptr && declaration.is_type) {
      members += fmt::format("  using {} = {};\n", name, type->spelling);
    } else if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && declaration.type.name == "bool") {
      members += fmt::format("  static constexpr bool {} = {};\n", name, *flag);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && !is_array) {
      members += fmt::format("  static constexpr {} {} = {};\n", declaration.type.name, name, *integer);
    } else if (const auto* real = std::get_if<double>(&value); real != nullptr && !is_array) {
      members += fmt::format("  static constexpr {} {} = {};\n", declaration.type.name, name, literal(*real));
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value); integers != nullptr && is_array) {
      arrays += fmt::format("__constant__ constexpr {} {}[] = {};\n", declaration.type.element.front().name, name,
                            braced(*integers));
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value); reals != nullptr && is_array) {
      arrays += fmt::format("__constant__ constexpr {} {}[] = {};\n", declaration.type.element.front().name, name,
                            braced(*reals));
    } else {
      return fail(fmt::format("parameter '{}' has a value of another kind", name));
    }
  }
  return "struct Parameters {\n" + members + "};\n" + arrays;
}

Result<std::string> template_as_it_stands(const Program& program, const Parameters& parameters,
                                          const std::function<std::optional<std::string>(const std::string&)>& read) {
  const Result<std::string> header = parameters_header(program, parameters);
  if (!header) {
    return std::unexpected(header.error());
  }
  return Flattener(program, *header, read).flatten();
}

}  // namespace convtgen::templatec
