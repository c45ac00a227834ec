// The names of what is left: variables that would hide another one of their function get names of their own, and
// functions that are left of several get the first numbers.
#include <fmt/format.h>

#include <map>
#include <string>

#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;

class Renamer {
 public:
  explicit Renamer(const std::vector<ResidualArgument>& arguments) {
    for (const ResidualArgument& argument : arguments) {
      ++visible_[argument.name];
    }
  }

  void walk(std::vector<Residual>& body) {
    std::vector<std::string> declared;
    for (Residual& r : body) {
      // What a loop's head declares is visible in it alone.
      walk_head(r);
      if (r.kind == ResidualKind::kDeclare || r.kind == ResidualKind::kUsing) {
        declared.push_back(declare(r));
      }
    }
    for (const std::string& name : declared) {
      --visible_[name];
    }
  }

  [[nodiscard]] const std::map<int, std::string>& names() const { return names_; }

 private:
  void walk_head(Residual& r) {
    std::vector<std::string> declared;
    for (Residual& init : r.init) {
      if (init.kind == ResidualKind::kDeclare) {
        declared.push_back(declare(init));
      }
    }
    walk(r.body);
    walk(r.otherwise);
    for (const std::string& name : declared) {
      --visible_[name];
    }
  }

  std::string declare(Residual& r) {
    if (r.kind == ResidualKind::kDeclare && visible_[r.name] > 0) {
      r.name = free_name(r.name);
      names_[r.id] = r.name;
    }
    ++visible_[r.name];
    return r.name;
  }

  /// Another letter for a letter, else the name with a number.
  std::string free_name(const std::string& name) {
    if (name.size() == 1) {
      for (char letter = name[0]; ++letter <= 'z';) {
        if (visible_[std::string(1, letter)] == 0) {
          return std::string(1, letter);
        }
      }
    }
    for (int number = 2;; ++number) {
      if (std::string other = name + "_" + std::to_string(number); visible_[other] == 0) {
        return other;
      }
    }
  }

  std::map<std::string, int> visible_;
  std::map<int, std::string> names_;  // by the ids of variables
};

}  // namespace

void rename_shadowing(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments) {
  if (has_text(body)) {
    return;
  }
  Renamer renamer(arguments);
  renamer.walk(body);
  for_each(
      body,
      [&](Term& term) {
        if (const auto found = renamer.names().find(term.id);
            term.kind == Expression::Kind::kName && found != renamer.names().end()) {
          term.text = found->second;
        }
      },
      [](const Residual&) {});
}

void number_versions(Output& output) {
  std::map<const Function*, int> counts;
  std::map<std::string, std::string> names;  // by those of now
  for (Version& version : output.versions) {
    if (version.function->kind != Function::Kind::kKernel) {
      const int count = ++counts[version.function];
      std::string name = numbered_name(*version.function, count);
      names[version.name] = name;
      version.name = std::move(name);
    }
  }
  for (Version& version : output.versions) {
    for_each(
        version.body,
        [&](Term& term) {
          if (const auto found = names.find(term.text); term.kind == Expression::Kind::kCall && found != names.end()) {
            term.text = found->second;
          }
        },
        [](const Residual&) {});
  }
}

std::string numbered_name(const Function& function, int count) {
  return count == 1 ? function.name : fmt::format("{}_{}", function.name, count);
}

}  // namespace convtgen
