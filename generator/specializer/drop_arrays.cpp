// The pass `drop` of arrays: a local array of one element becomes that element, also where functions take it by
// reference.
#include <algorithm>
#include <map>
#include <set>

#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;
using ResidualKind = Residual::Kind;

bool is_of_one(const Type& type) {
  return type.kind == Type::Kind::kArray && !type.extent.empty() && type.extent[0].kind == Kind::kLiteral &&
         type.extent[0].value.bits == 1;
}

bool is_reference_to_one(const Type& type) {
  return type.kind == Type::Kind::kReference && is_of_one(type.element[0]);
}

bool is_first_element(const Term& term) {
  return term.kind == Kind::kIndex && term.operands[1].value && !is_true(*term.operands[1].value);
}

/// The variables that are arrays of one element and may be that element, by their ids.
class Arrays {
 public:
  explicit Arrays(const Output& output) : output_(output) {
    for (const Version& version : output.versions) {
      for (const ResidualArgument& argument : version.arguments) {
        add(argument.id, is_reference_to_one(argument.type) && !has_text(version.body));
      }
      add_declared(version.body, has_text(version.body));
    }
    for (const Version& version : output.versions) {
      check(version.body);
    }
    // What is handed over stays an array where the argument does, and the other way round.
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : handed_over_) {
        if (ids_.contains(from) != ids_.contains(to)) {
          ids_.erase(from);
          ids_.erase(to);
          changed = true;
        }
      }
    }
  }

  [[nodiscard]] const std::set<int>& ids() const { return ids_; }

 private:
  void add(int id, bool may_be) {
    if (may_be) {
      ids_.insert(id);
    }
  }

  void add_declared(const std::vector<Residual>& body, bool with_text) {
    for (const Residual& r : body) {
      const bool is_list = r.terms.empty() || (r.terms[0].kind == Kind::kInit && r.terms[0].operands.size() <= 1);
      add(r.id, r.kind == ResidualKind::kDeclare && !with_text && r.text.empty() && is_of_one(r.type) && is_list);
      for (const std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
        add_declared(*inner, with_text);
      }
    }
  }

  void check(const std::vector<Residual>& body) {
    for (const Residual& r : body) {
      for (const std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
        std::ranges::for_each(*terms, [&](const Term& term) { check(term); });
      }
      for (const std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
        check(*inner);
      }
    }
  }

  /// A name that stands anywhere but before an index of 0, or as an argument for such an array, is of an array.
  void check(const Term& term) {
    if (term.kind == Kind::kName) {
      ids_.erase(term.id);
      return;
    }
    const auto callee = term.kind == Kind::kCall ? std::ranges::find(output_.versions, term.text, &Version::name)
                                                 : output_.versions.end();
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      const Term& operand = term.operands[i];
      if (callee != output_.versions.end() && is_reference_to_one(callee->arguments[i].type)) {
        handed_over_.emplace_back(operand.kind == Kind::kName ? operand.id : 0, callee->arguments[i].id);
        if (operand.kind == Kind::kName) {
          continue;
        }
      }
      if (i == 0 && operand.kind == Kind::kName && is_first_element(term)) {
        continue;
      }
      check(operand);
    }
  }

  const Output& output_;
  std::set<int> ids_;
  std::vector<std::pair<int, int>> handed_over_;  // variables and the arguments that they are handed over for
};

/// The element's type, a reference to it where the array's is one.
Type element_of(const Type& type) {
  Type out = type;
  if (type.kind == Type::Kind::kReference) {
    out.element[0] = type.element[0].element[0];
    return out;
  }
  return type.element[0];
}

void replace(Term& term, const std::set<int>& arrays) {
  if (is_first_element(term) && term.operands[0].kind == Kind::kName && arrays.contains(term.operands[0].id)) {
    Term name = std::move(term.operands[0]);
    name.type = term.type;
    name.scalar = term.scalar;
    term = std::move(name);
    return;
  }
  if (term.kind == Kind::kName && arrays.contains(term.id)) {
    const Type element = term.type.element[0];
    term.type = element;
    term.scalar = element.kind == Type::Kind::kNamed ? scalar_named(element.name) : std::nullopt;
  }
  for (Term& operand : term.operands) {
    replace(operand, arrays);
  }
}

void replace(std::vector<Residual>& body, const std::set<int>& arrays) {
  for (Residual& r : body) {
    for (std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      std::ranges::for_each(*terms, [&](Term& term) { replace(term, arrays); });
    }
    if (r.kind == ResidualKind::kDeclare && arrays.contains(r.id)) {
      r.type = element_of(r.type);
      const bool is_scalar = r.type.kind == Type::Kind::kNamed && scalar_named(r.type.name).has_value();
      if (!r.terms.empty() && !r.terms[0].operands.empty()) {
        Term only = std::move(r.terms[0].operands[0]);
        r.terms[0] = std::move(only);
      } else if (!r.terms.empty() && is_scalar) {
        r.terms[0] = literal(integer_value(Scalar::kInt, 0));
      }
    }
    for (std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      replace(*inner, arrays);
    }
  }
}

}  // namespace

bool drop_arrays_of_one(Output& output, Changes& changes) {
  const std::set<int> ids = Arrays(output).ids();
  for (Version& version : output.versions) {
    for (ResidualArgument& argument : version.arguments) {
      argument.type = ids.contains(argument.id) ? element_of(argument.type) : argument.type;
    }
    replace(version.body, ids);
  }
  for (const int id : ids) {
    changes[id] += 2;  // as an array's, assignments to its element were not counted
  }
  return !ids.empty();
}

}  // namespace convtgen
