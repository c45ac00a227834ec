// Part of `simplify`: names that are only copies, and values that have a name for one line.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;

int changes_of(const Changes& changes, int id) {
  const auto found = changes.find(id);
  return found == changes.end() ? 0 : found->second;
}

/// All declarations: how many bear a name, and which ids never change.
struct Declarations {
  std::map<std::string, int> count;
  std::set<int> constant;
};

void add_declarations(const std::vector<Residual>& body, const Changes& changes, Declarations& out) {
  for (const Residual& r : body) {
    if (r.kind == ResidualKind::kDeclare) {
      ++out.count[r.name];
      if (changes_of(changes, r.id) == 0) {
        out.constant.insert(r.id);
      }
    }
    add_declarations(r.init, changes, out);
    // In its loop's body a variable is constant that only the head changes.
    if (r.kind == ResidualKind::kFor && r.init.size() == 1 && r.init[0].kind == ResidualKind::kDeclare &&
        r.step.size() == 1 && !is_pure(r.step[0]) && r.step[0].operands.front().id == r.init[0].id &&
        changes_of(changes, r.init[0].id) == 1) {
      out.constant.insert(r.init[0].id);
    }
    add_declarations(r.body, changes, out);
    add_declarations(r.otherwise, changes, out);
  }
}

bool same_type(const Term& init, const Type& declared) {
  if (declared.kind == Type::Kind::kNamed) {
    return declared.is_const && init.scalar && spelling_of(*init.scalar) == declared.name;
  }
  if (declared.kind != Type::Kind::kPointer || init.type.kind != Type::Kind::kPointer) {
    return false;
  }
  Type pointee = init.type.element[0];
  pointee.is_const = pointee.is_const || declared.element[0].is_const;
  return text_of_type(pointee) == text_of_type(declared.element[0]);
}

/// The declarations `const T a = b;` whose uses can say b: by the id of a, the term b.
void find_copies(std::vector<Residual>& body, const Declarations& all, std::map<int, Term>& copies) {
  for (Residual& r : body) {
    find_copies(r.body, all, copies);
    find_copies(r.otherwise, all, copies);
    const bool is_copy = r.kind == ResidualKind::kDeclare && r.text.empty() && r.terms.size() == 1 &&
                         r.terms[0].id != 0 && all.constant.contains(r.id) && all.constant.contains(r.terms[0].id) &&
                         all.count.at(r.terms[0].text) == 1 && same_type(r.terms[0], r.type);
    if (is_copy) {
      copies.emplace(r.id, r.terms[0]);
      Residual gone;
      gone.kind = ResidualKind::kGone;
      r = gone;
    }
  }
}

void replace(Term& term, const std::map<int, Term>& copies) {
  for (auto found = copies.find(term.id); term.id != 0 && found != copies.end(); found = copies.find(term.id)) {
    term.text = found->second.text;
    term.id = found->second.id;
  }
  for (Term& operand : term.operands) {
    replace(operand, copies);
  }
}

void replace(std::vector<Residual>& body, const std::map<int, Term>& copies) {
  for (Residual& r : body) {
    for (std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      for (Term& term : *terms) {
        replace(term, copies);
      }
    }
    replace(r.init, copies);
    replace(r.body, copies);
    replace(r.otherwise, copies);
  }
}

/// The value that a variable has after its declaration and this assignment; null if it is not that simple.
/// Of `sum = 0; sum += a` that is a, and so of `found = false; found = found || a`.
Term* value_assigned(const Residual& declaration, Residual& r) {
  const int id = declaration.id;
  const auto is_variable = [&](const Term& term) { return term.kind == Expression::Kind::kName && term.id == id; };
  if (r.kind != ResidualKind::kExpression || r.terms[0].kind != Expression::Kind::kBinary ||
      !is_variable(r.terms[0].operands[0])) {
    return nullptr;
  }
  const std::optional<Scalar> type = r.terms[0].operands[0].scalar;
  const bool from_zero = declaration.terms.size() == 1 && declaration.terms[0].value && type && !is_floating(*type) &&
                         !is_true(*declaration.terms[0].value);
  Term* value = &r.terms[0].operands[1];
  if (r.terms[0].text == "=" && from_zero && value->kind == Expression::Kind::kBinary && value->text == "||" &&
      is_variable(value->operands[0]) && type == Scalar::kBool) {
    value = &value->operands[1];
  } else if (r.terms[0].text != "=" && !(r.terms[0].text == "+=" && from_zero && value->scalar == type)) {
    return nullptr;
  }
  return names_variable(*value, id) ? nullptr : value;
}

}  // namespace

bool names_variable(const Term& term, int id) {
  return term.id == id || std::ranges::any_of(term.operands, [&](const Term& t) { return names_variable(t, id); });
}

bool remove_copies(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments,
                   const Changes& changes) {
  Declarations all;
  for (const ResidualArgument& argument : arguments) {
    ++all.count[argument.name];
    if (changes_of(changes, argument.id) == 0) {
      all.constant.insert(argument.id);
    }
  }
  add_declarations(body, changes, all);
  std::map<int, Term> copies;
  find_copies(body, all, copies);
  replace(body, copies);
  return !copies.empty();
}

void join_assignments(std::vector<Residual>& body, const Changes& changes) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    Residual& declaration = body[i];
    join_assignments(declaration.body, changes);
    join_assignments(declaration.otherwise, changes);
    if (declaration.kind != ResidualKind::kDeclare || declaration.type.kind != Type::Kind::kNamed ||
        declaration.type.is_const || !declaration.text.empty() || !std::ranges::all_of(declaration.terms, is_pure)) {
      continue;
    }
    const bool is_scalar = scalar_named(declaration.type.name).has_value();
    std::size_t next = i + 1;
    while (next < body.size() && body[next].kind == ResidualKind::kGone) {
      ++next;
    }
    Term* const assigned = next == body.size() ? nullptr : value_assigned(declaration, body[next]);
    if (assigned == nullptr) {
      continue;
    }
    Term value = std::move(*assigned);
    declaration.terms.clear();
    declaration.terms.push_back(std::move(value));
    declaration.line = body[next].line;
    declaration.trail = body[next].trail.empty() ? declaration.trail : body[next].trail;
    declaration.type.is_const = is_scalar && changes_of(changes, declaration.id) == 1;
    body[next] = Residual();
    body[next].kind = ResidualKind::kGone;
  }
}

void join_returns(std::vector<Residual>& body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    join_returns(body[i].body);
    join_returns(body[i].otherwise);
    Residual& declaration = body[i];
    const auto next = std::find_if(body.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.end(),
                                   [](const Residual& r) { return r.kind != ResidualKind::kGone; });
    if (declaration.kind != ResidualKind::kDeclare || declaration.terms.size() != 1 || next == body.end() ||
        next->kind != ResidualKind::kReturn || next->terms.size() != 1 || next->terms[0].id != declaration.id ||
        !same_type(declaration.terms[0], declaration.type)) {
      continue;
    }
    next->terms = std::move(declaration.terms);
    next->trail = next->trail.empty() ? declaration.trail : next->trail;
    declaration = Residual();
    declaration.kind = ResidualKind::kGone;
  }
}

}  // namespace convtgen
