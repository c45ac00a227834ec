// The pass `drop` of fields: takes out of records what no function reads.
#include <algorithm>
#include <map>

#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;

/// What is known of the records of a source: which members are read, and which records must stay as they are, since
/// something besides member names depends on their fields.
struct Uses {
  std::set<std::string> members;
  std::set<std::string> whole;
  bool unknown = false;  // a list of values whose type is not known
};

/// The type of the record that a statement only gives a member's value; null where it does more, or that isn't known.
const Type* stored_to(const Residual& r) {
  if (r.kind != ResidualKind::kExpression || r.terms[0].kind != Expression::Kind::kBinary || r.terms[0].text != "=") {
    return nullptr;
  }
  const Term& to = r.terms[0].operands[0];
  const bool is_plain = std::ranges::all_of(r.terms[0].operands, is_pure);
  if (!is_plain || (to.kind != Expression::Kind::kMember && to.kind != Expression::Kind::kArrow)) {
    return nullptr;
  }
  const Type* object = &to.operands[0].type;
  if (to.kind == Expression::Kind::kArrow) {
    object = object->element.empty() ? nullptr : object->element.data();
  }
  return object != nullptr && !object->name.empty() ? object : nullptr;
}

void add_uses(const Term& term, Uses& uses) {
  if (term.kind == Expression::Kind::kMember || term.kind == Expression::Kind::kArrow) {
    uses.members.insert(term.text);
  }
  uses.unknown = uses.unknown || term.kind == Expression::Kind::kText;
  add_names_used(term.written, uses.whole);
  for (const Term& operand : term.operands) {
    uses.unknown = uses.unknown || operand.kind == Expression::Kind::kInit;
    add_uses(operand, uses);
  }
}

/// The same of a list of values, whose own lists are of arrays.
void add_uses_of_array(const Term& term, Uses& uses) {
  for (const Term& operand : term.operands) {
    if (operand.kind == Expression::Kind::kInit) {
      add_uses_of_array(operand, uses);
    } else {
      add_uses(operand, uses);
    }
  }
}

bool is_array_of_scalars(const Type& type) {
  return type.kind == Type::Kind::kArray ? is_array_of_scalars(type.element[0])
                                         : type.kind == Type::Kind::kNamed && scalar_named(type.name).has_value();
}

void add_uses(const std::vector<Residual>& body, Uses& uses) {
  for (const Residual& r : body) {
    uses.unknown = uses.unknown || r.kind == ResidualKind::kAsm;
    if (stored_to(r) != nullptr) {
      add_uses(r.terms[0].operands[0].operands[0], uses);
      add_uses(r.terms[0].operands[1], uses);
      continue;
    }
    const bool is_array =
        r.kind == ResidualKind::kDeclare && r.type.kind == Type::Kind::kArray && is_array_of_scalars(r.type);
    for (const std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      for (const Term& term : *terms) {
        const bool has_type = r.kind == ResidualKind::kDeclare || r.kind == ResidualKind::kReturn;
        uses.unknown = uses.unknown || (term.kind == Expression::Kind::kInit && !has_type);
        if (is_array && term.kind == Expression::Kind::kInit) {
          add_uses_of_array(term, uses);
        } else {
          add_uses(term, uses);
        }
      }
    }
    for (const std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      add_uses(*inner, uses);
    }
  }
}

/// Lists of values of a record's type, wherever these statements have them; `result` is what they return.
template <typename Visit>
void for_each_list(std::vector<Residual>& body, const Type& result, const std::string& record, const Visit& visit) {
  for (Residual& r : body) {
    const Type& type = r.kind == ResidualKind::kReturn ? result : r.type;
    if ((r.kind == ResidualKind::kReturn || r.kind == ResidualKind::kDeclare) && type.kind == Type::Kind::kNamed &&
        type.name == record && r.terms.size() == 1 && r.terms[0].kind == Expression::Kind::kInit) {
      visit(r.terms[0].operands);
    }
    for (std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      for_each_list(*inner, result, record, visit);
    }
  }
}

/// Takes out the statements that give a record's field its value.
void drop_stores(std::vector<Residual>& body, const std::string& record, const std::string& field) {
  for (Residual& r : body) {
    const Type* const type = stored_to(r);
    if (type != nullptr && type->name == record && r.terms[0].operands[0].text == field) {
      r = Residual();
      r.kind = ResidualKind::kGone;
    }
    for (std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      drop_stores(*inner, record, field);
    }
  }
}

}  // namespace

bool drop_unused_fields(Output& output) {
  Uses uses;
  for (const Version& version : output.versions) {
    add_uses(version.body, uses);
    if (version.function->kind == Function::Kind::kKernel) {
      for (const ResidualArgument& argument : version.arguments) {
        add_names_used(argument.type, uses.whole);
      }
    }
  }
  bool changed = false;
  for (ResidualType& type : output.types) {
    if (uses.unknown || type.record == nullptr || !type.record->attribute.empty() ||
        uses.whole.contains(type.record->name)) {
      continue;
    }
    for (std::size_t i = type.fields.size(); i-- > 0 && type.fields.size() > 1;) {
      bool unused = !uses.members.contains(type.fields[i].name);
      const auto each_list = [&](const auto& visit) {
        for (Version& version : output.versions) {
          for_each_list(version.body, version.type, type.record->name, visit);
        }
      };
      each_list(
          [&](const std::vector<Term>& values) { unused = unused && (i >= values.size() || is_pure(values[i])); });
      if (unused) {
        each_list([&](std::vector<Term>& values) {
          if (i < values.size()) {
            values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
          }
        });
        for (Version& version : output.versions) {
          drop_stores(version.body, type.record->name, type.fields[i].name);
        }
        type.fields.erase(type.fields.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace convtgen
