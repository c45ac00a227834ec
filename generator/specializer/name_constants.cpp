// The pass `name_constants`: which of the template's constants the source declares and names. The others are numbers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

constexpr std::size_t kMostNamed = 24;
constexpr int kMostPlain = 16;  // numbers up to this need no name

/// Visits all terms of the output that are printed.
template <typename Visit>
void for_each_printed(Output& output, const Visit& visit) {
  for (Version& version : output.versions) {
    for (Term& bound : version.launch_bounds) {
      for_each_term(bound, visit);
    }
    for_each(version.body, visit, [](const Residual&) {});
  }
}

bool needs_name(const Value& value) {
  if (is_floating(value.type)) {
    return std::isfinite(value.real) && std::fabs(value.real) > kMostPlain;
  }
  return value.type != Scalar::kBool && (wide(value) > kMostPlain || wide(value) < -kMostPlain);
}

}  // namespace

bool is_of_memory_map(std::string_view constant) {
  return constant.ends_with("Offset") || constant.ends_with("Bytes");
}

void name_constants(Output& output) {
  std::map<std::string, int> uses;
  for_each_printed(output, [&](const Term& term) {
    if (!term.constant.empty() && needs_name(*term.value)) {
      ++uses[term.constant];
    }
  });
  std::vector<std::string> wanted;
  for (const auto& [name, count] : uses) {
    wanted.push_back(name);
  }
  // All of the memory map, and of the others those that are used most.
  std::ranges::sort(wanted, {},
                    [&](const std::string& name) { return std::tuple(!is_of_memory_map(name), -uses[name], name); });
  wanted.resize(std::min(wanted.size(), kMostNamed));
  const std::set<std::string> named(wanted.begin(), wanted.end());
  for_each_printed(output, [&](Term& term) {
    if (!named.contains(term.constant)) {
      term.constant.clear();
    }
  });
  for (const Item& item : output.globals->program().items) {
    if (const auto* constant = std::get_if<Constant>(&item); constant != nullptr && named.contains(constant->name)) {
      output.constants.push_back({constant, *output.globals->value(constant->name)});
    }
  }
}

}  // namespace convtgen
