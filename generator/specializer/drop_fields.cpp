// The pass `drop` of fields: takes out of records what no function reads, and what is always the same number.
#include <algorithm>
#include <map>
#include <optional>

#include "generator/specializer/refold.h"
#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

using Kind = Residual::Kind;

/// What is known of the records of a source: which members are named, and which records must stay as they are, since
/// something besides member names depends on their fields.
struct Uses {
  std::set<std::string> members;
  std::set<std::string> whole;
  bool unknown = false;  // a list of values whose type is not known
};

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
    uses.unknown = uses.unknown || r.kind == Kind::kAsm;
    const bool is_array = r.kind == Kind::kDeclare && r.type.kind == Type::Kind::kArray && is_array_of_scalars(r.type);
    for (const std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      for (const Term& term : *terms) {
        const bool has_type = r.kind == Kind::kDeclare || r.kind == Kind::kReturn;
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
    const Type& type = r.kind == Kind::kReturn ? result : r.type;
    if ((r.kind == Kind::kReturn || r.kind == Kind::kDeclare) && type.kind == Type::Kind::kNamed &&
        type.name == record && r.terms.size() == 1 && r.terms[0].kind == Expression::Kind::kInit) {
      visit(r.terms[0].operands);
    }
    for (std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      for_each_list(*inner, result, record, visit);
    }
  }
}

Uses uses_of(const Output& output) {
  Uses uses;
  for (const Version& version : output.versions) {
    add_uses(version.body, uses);
    if (version.function->kind == Function::Kind::kKernel) {
      for (const ResidualArgument& argument : version.arguments) {
        add_names_used(argument.type, uses.whole);
      }
    }
  }
  return uses;
}

/// Whether fields of a type may go.
bool may_change(const ResidualType& type, const Uses& uses) {
  return !uses.unknown && type.record != nullptr && type.record->attribute.empty() &&
         !uses.whole.contains(type.record->name);
}

bool is_member(const Term& term, const std::string& record, const std::string& field) {
  return term.kind == Expression::Kind::kMember && term.text == field && is_pure(term.operands[0]) &&
         term.operands[0].type.kind == Type::Kind::kNamed && term.operands[0].type.name == record;
}

bool names_record(const Type& type, const std::string& record) {
  return type.kind == Type::Kind::kNamed ? type.name == record
                                         : type.kind == Type::Kind::kArray && names_record(type.element[0], record);
}

/// The number that all lists of a record's values have at a field; nothing where a value may come otherwise.
std::optional<Value> number_in_lists(Output& output, const ResidualType& type, std::size_t field) {
  const std::string& record = type.record->name;
  const std::optional<Scalar> scalar = type.fields[field].type.kind == Type::Kind::kNamed
                                           ? scalar_named(type.fields[field].type.name)
                                           : std::optional<Scalar>();
  std::optional<Value> same;
  bool known = scalar.has_value();
  for (Version& version : output.versions) {
    for_each(
        version.body, [](const Term&) {},
        [&](const Residual& r) {
          const bool is_plain = r.type.kind == Type::Kind::kNamed && r.terms.size() == 1;
          known = known && (r.kind != Kind::kDeclare || !names_record(r.type, record) || is_plain);
        });
    for_each_list(version.body, version.type, record, [&](const std::vector<Term>& values) {
      const std::optional<Value> value =
          known && field < values.size() && values[field].value ? convert(*values[field].value, *scalar) : std::nullopt;
      known = known && value && (!same || literal_text(*same) == literal_text(*value));
      same = value;
    });
  }
  return known ? same : std::nullopt;
}

/// Whether a function of the output takes an argument by value; a primitive may not.
bool by_value(const Output& output, const std::string& function, std::size_t argument) {
  const auto callee = std::ranges::find(output.versions, function, &Version::name);
  return callee != output.versions.end() && callee->arguments.at(argument).type.kind != Type::Kind::kReference;
}

/// Whether a statement may change a field, or reach it in another way than by its name.
bool is_set(const Output& output, const std::string& record, const std::string& field) {
  bool set = false;
  for (const Version& version : output.versions) {
    for_each(
        version.body,
        [&](const Term& term) {
          using Of = Expression::Kind;
          const bool changes =
              (term.kind == Of::kBinary && precedence_of(term.text) == 2) ||
              (term.kind == Of::kUnary && (term.text == "&" || term.text.ends_with("++") || term.text.ends_with("--")));
          set = set || (changes && is_member(term.operands[0], record, field)) ||
                (term.kind == Of::kArrow && term.text == field) ||
                (term.kind == Of::kMember && term.text == field && !is_member(term, record, field) &&
                 term.operands[0].type.name.empty());
          for (std::size_t i = 0; term.kind == Of::kCall && i < term.operands.size(); ++i) {
            set = set || (is_member(term.operands[i], record, field) && !by_value(output, term.text, i));
          }
        },
        [&](const Residual& r) {
          set = set || (r.kind == Kind::kDeclare && r.type.kind == Type::Kind::kReference && !r.terms.empty() &&
                        is_member(r.terms[0], record, field));
        });
  }
  return set;
}

}  // namespace

bool drop_unused_fields(Output& output) {
  const Uses uses = uses_of(output);
  bool changed = false;
  for (ResidualType& type : output.types) {
    if (!may_change(type, uses)) {
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
        type.fields.erase(type.fields.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
      }
    }
  }
  return changed;
}

bool drop_constant_fields(Output& output) {
  const Uses uses = uses_of(output);
  for (ResidualType& type : output.types) {
    for (std::size_t i = 0; may_change(type, uses) && i < type.fields.size() && type.fields.size() > 1; ++i) {
      const std::optional<Value> value = number_in_lists(output, type, i);
      if (!value || is_set(output, type.record->name, type.fields[i].name)) {
        continue;
      }
      std::vector<Version> versions = output.versions;
      bool folds = true;
      for (Version& version : versions) {
        for_each_list(version.body, version.type, type.record->name, [&](std::vector<Term>& values) {
          values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
        });
        for_each(
            version.body,
            [&](Term& term) {
              if (is_member(term, type.record->name, type.fields[i].name)) {
                term = literal(*value);
              }
            },
            [](const Residual&) {});
        folds = folds && refold(version.body, {}).has_value();
      }
      if (folds) {
        output.versions = std::move(versions);
        type.fields.erase(type.fields.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
  }
  return false;
}

}  // namespace convtgen
