// The pass `drop` of arguments: what is the same number in all calls of a function, and what a function doesn't name.
#include <algorithm>
#include <map>
#include <optional>

#include "generator/specializer/fold.h"
#include "generator/specializer/refold.h"
#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

bool is_kernel(const Version& version) {
  return version.function->kind == Function::Kind::kKernel;
}

/// The calls of each function, by its name in the output.
std::map<std::string, std::vector<Term*>> calls_in(Output& output) {
  std::map<std::string, std::vector<Term*>> calls;
  for (Version& version : output.versions) {
    for_each(
        version.body,
        [&](Term& term) {
          if (term.kind == Expression::Kind::kCall) {
            calls[term.text].push_back(&term);
          }
        },
        [](const Residual&) {});
  }
  return calls;
}

/// The number that all calls hand over for an argument, with the argument's type.
std::optional<Value> same_number(const std::vector<Term*>& calls, std::size_t index, const Type& type) {
  const std::optional<Scalar> scalar =
      type.kind == Type::Kind::kNamed ? scalar_named(type.name) : std::optional<Scalar>();
  std::optional<Value> same;
  for (const Term* call : calls) {
    const Term& argument = call->operands.at(index);
    const std::optional<Value> value = scalar && argument.value ? convert(*argument.value, *scalar) : std::nullopt;
    if (!value || (same && literal_text(*same) != literal_text(*value))) {
      return std::nullopt;
    }
    same = value;
  }
  return same;
}

/// Takes out the arguments at these places, the last one first. Calls come before those in their operands, which move.
void erase_arguments(Version& version, const std::vector<Term*>& calls, const std::vector<std::size_t>& places) {
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    for (const std::size_t place : places) {
      (*call)->operands.erase((*call)->operands.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  for (const std::size_t place : places) {
    version.arguments.erase(version.arguments.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace

bool drop_constant_arguments(Output& output, const Changes& changes) {
  bool changed = false;
  // Callers before callees: what a caller knows now, it may hand on.
  for (std::size_t v = output.versions.size(); v-- > 0;) {
    Version& version = output.versions[v];
    const std::map<std::string, std::vector<Term*>> calls = calls_in(output);
    const auto own = calls.find(version.name);
    if (is_kernel(version) || own == calls.end() || names_used(version).contains(version.name)) {
      continue;
    }
    TermsById values;
    std::vector<std::size_t> places;
    for (std::size_t i = version.arguments.size(); i-- > 0;) {
      const ResidualArgument& argument = version.arguments[i];
      const auto changes_of = changes.find(argument.id);
      const bool is_constant = changes_of == changes.end() || changes_of->second == 0;
      const std::optional<Value> value =
          is_constant ? same_number(own->second, i, argument.type) : std::optional<Value>();
      if (value) {
        values.emplace(argument.id, literal(*value));
        places.push_back(i);
      }
    }
    if (values.empty()) {
      continue;
    }
    std::vector<Residual> body = version.body;
    if (!refold(body, values, changes)) {
      continue;  // something has no value in C++ then: the compiler may say so
    }
    version.body = std::move(body);
    erase_arguments(version, own->second, places);
    changed = true;
  }
  return changed;
}

bool drop_unused_arguments(Output& output) {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (Version& version : output.versions) {
      const std::map<std::string, std::vector<Term*>> calls = calls_in(output);
      const auto own = calls.find(version.name);
      if (is_kernel(version)) {
        std::erase_if(version.arguments,
                      [&](const auto& argument) { return !uses_variable(version.body, argument.id); });
        continue;
      }
      if (own == calls.end()) {
        continue;
      }
      std::vector<std::size_t> places;
      for (std::size_t i = version.arguments.size(); i-- > 0;) {
        const bool is_idle =
            std::ranges::all_of(own->second, [&](const Term* call) { return is_pure(call->operands.at(i)); });
        if (is_idle && !uses_variable(version.body, version.arguments[i].id)) {
          places.push_back(i);
        }
      }
      if (!places.empty()) {
        erase_arguments(version, own->second, places);
        changed = any = true;
      }
    }
  }
  return any;
}

}  // namespace convtgen
