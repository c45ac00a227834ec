// The pass `drop` of fields: takes out of records what no function reads; and where all stores to a field are of one
// number, that stands where it is read.
#include <algorithm>
#include <map>
#include <optional>

#include "generator/specializer/fold.h"
#include "generator/specializer/refold.h"
#include "generator/specializer/residual.h"
#include "generator/specializer/visit.h"

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

/// The type of the record that a term is a member of; null where it is no member, or that isn't known.
const Type* object_of(const Term& term) {
  if (term.kind != Expression::Kind::kMember && term.kind != Expression::Kind::kArrow) {
    return nullptr;
  }
  const Type* object = &term.operands[0].type;
  if (term.kind == Expression::Kind::kArrow) {
    object = object->element.empty() ? nullptr : object->element.data();
  }
  return object != nullptr && !object->name.empty() ? object : nullptr;
}

/// The type of the record that a statement only gives a member's value; null where it does more, or that isn't known.
const Type* stored_to(const Residual& r) {
  if (r.kind != ResidualKind::kExpression || r.terms[0].kind != Expression::Kind::kBinary || r.terms[0].text != "=") {
    return nullptr;
  }
  return std::ranges::all_of(r.terms[0].operands, is_pure) ? object_of(r.terms[0].operands[0]) : nullptr;
}

/// A list of values that a statement gives to a record or an array: what it returns, declares or assigns.
struct List {
  const Type* type = nullptr;
  const Term* values = nullptr;  // null if the statement has no list
};

/// `result`: the type of what its function returns.
List list_of(const Residual& r, const Type& result) {
  if (r.terms.size() != 1) {
    return {};
  }
  const Term& term = r.terms[0];
  const bool returns = r.kind == ResidualKind::kReturn;
  if ((returns || r.kind == ResidualKind::kDeclare) && term.kind == Expression::Kind::kInit) {
    return {returns ? &result : &r.type, &term};
  }
  const bool assigns = r.kind == ResidualKind::kExpression && term.kind == Expression::Kind::kBinary &&
                       term.text == "=" && term.operands[1].kind == Expression::Kind::kInit &&
                       term.operands[0].type.kind == Type::Kind::kNamed && !term.operands[0].type.name.empty();
  return assigns ? List{&term.operands[0].type, &term.operands[1]} : List();
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
    if (r.kind == ResidualKind::kExpression && list_of(r, r.type).values != nullptr) {
      add_uses(r.terms[0].operands[0], uses);
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
    const List list = list_of(r, result);
    if (list.values != nullptr && list.type->kind == Type::Kind::kNamed && list.type->name == record) {
      visit(r.kind == ResidualKind::kExpression ? r.terms[0].operands[1].operands : r.terms[0].operands);
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

Uses uses_in(const Output& output) {
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

bool may_lose_fields(const ResidualType& type, const Uses& uses) {
  return !uses.unknown && type.record != nullptr && type.record->attribute.empty() &&
         !uses.whole.contains(type.record->name);
}

/// Whether a record's type is this one's, or part of it.
bool has_record(const Type& type, const std::string& record) {
  return type.name == record ||
         std::ranges::any_of(type.element, [&](const Type& element) { return has_record(element, record); });
}

/// The number that all stores to a field are of, if they are of one and nothing else may change the field.
class StoredNumber {
 public:
  StoredNumber(const Output& output, const std::string& record, std::size_t place, const Field& field)
      : output_(output), record_(record), place_(place), field_(field) {
    const std::optional<Scalar> type =
        field.type.kind == Type::Kind::kNamed ? scalar_named(field.type.name) : std::nullopt;
    is_one_ = type.has_value();
    if (type) {
      type_ = *type;
    }
    for (const Version& version : output.versions) {
      visit(version.body, version.type);
    }
  }
  [[nodiscard]] std::optional<Value> value() const { return is_one_ ? value_ : std::nullopt; }

 private:
  bool is_field(const Term& term) const {
    const Type* const object = object_of(term);
    return object != nullptr && object->name == record_ && term.text == field_.name;
  }
  /// The same, or a member of that name of what is not known.
  bool may_be_field(const Term& term) const {
    const bool is_member = term.kind == Expression::Kind::kMember || term.kind == Expression::Kind::kArrow;
    return is_member && term.text == field_.name && (object_of(term) == nullptr || is_field(term));
  }
  void store(const Term* term) {
    const std::optional<Value> stored = term == nullptr ? convert(integer_value(Scalar::kInt, 0), type_)
                                        : term->value   ? convert(*term->value, type_)
                                                        : std::nullopt;
    is_one_ = is_one_ && stored && (!value_ || literal_text(*value_) == literal_text(*stored));
    value_ = stored;
  }
  void visit(const std::vector<Residual>& body, const Type& result) {
    for (const Residual& r : body) {
      if (!is_one_) {
        return;
      }
      const bool declares = r.kind == ResidualKind::kDeclare;
      const List list = list_of(r, result);
      if (list.values != nullptr && has_record(*list.type, record_)) {
        is_one_ = is_one_ && list.type->kind == Type::Kind::kNamed;  // of arrays of it nothing is known
        const std::vector<Term>& values = list.values->operands;
        store(place_ < values.size() ? &values[place_] : nullptr);
      }
      if (stored_to(r) != nullptr && is_field(r.terms[0].operands[0])) {
        store(&r.terms[0].operands[1]);
        continue;
      }
      for (const std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
        for (const Term& term : *terms) {
          for_each_term(term, [&](const Term& each) { is_one_ = is_one_ && !changes(each); });
        }
      }
      is_one_ = is_one_ &&
                !(declares && r.type.kind == Type::Kind::kReference && !r.terms.empty() && may_be_field(r.terms[0]));
      for (const std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
        visit(*inner, result);
      }
    }
  }
  /// Whether a primitive's parameter is no reference; false of what is not among the output's primitives.
  bool primitive_takes_value(const std::string& name, std::size_t parameter) const {
    const auto primitive = std::ranges::find(output_.primitives, name, &Primitive::name);
    if (primitive == output_.primitives.end()) {
      return false;
    }
    std::size_t begin = primitive->text.find(name + "(") + name.size();
    const std::size_t end = primitive->text.find(')', begin);
    for (std::size_t i = 0; i < parameter && begin < end; ++i) {
      begin = primitive->text.find(',', begin + 1);
    }
    const std::size_t reference = primitive->text.find('&', begin);
    return begin < end && reference > std::min(primitive->text.find(',', begin + 1), end);
  }
  /// Whether a term may change the field: an assignment, an address, or a call that may take it by reference.
  bool changes(const Term& term) const {
    if (term.operands.empty()) {
      return false;
    }
    if (term.kind == Expression::Kind::kCall) {
      const auto callee = std::ranges::find(output_.versions, term.text, &Version::name);
      for (std::size_t i = 0; i < term.operands.size(); ++i) {
        const bool by_value = callee != output_.versions.end() ? callee->arguments[i].type.kind == Type::Kind::kNamed
                                                               : primitive_takes_value(term.text, i);
        if (may_be_field(term.operands[i]) && !by_value) {
          return true;
        }
      }
      return false;
    }
    const bool assigns = term.kind == Expression::Kind::kBinary && term.text.ends_with("=") && term.text != "==" &&
                         term.text != "!=" && term.text != "<=" && term.text != ">=";
    const bool moves = term.kind == Expression::Kind::kUnary &&
                       (term.text == "&" || term.text.ends_with("++") || term.text.ends_with("--"));
    return (assigns || moves) && may_be_field(term.operands[0]);
  }

  const Output& output_;
  const std::string& record_;
  std::size_t place_;
  const Field& field_;
  Scalar type_ = Scalar::kInt;
  bool is_one_ = false;
  std::optional<Value> value_;
};

/// Puts the number where the field is read; false if nothing reads it.
bool replace_reads(std::vector<Residual>& body, const std::string& record, const std::string& field,
                   const Value& value) {
  bool changed = false;
  const auto replace = [&](Term& term) {
    const Type* const object = object_of(term);
    if (object != nullptr && object->name == record && term.text == field && is_pure(term)) {
      term = literal(value);
      changed = true;
    }
  };
  for (Residual& r : body) {
    const Type* const stored = stored_to(r);
    const bool is_store = stored != nullptr && stored->name == record && r.terms[0].operands[0].text == field;
    for (std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      for (Term& term : *terms) {
        if (!is_store) {
          for_each_term(term, replace);
        }
      }
    }
    for (std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      changed = replace_reads(*inner, record, field, value) || changed;
    }
  }
  return changed;
}

}  // namespace

bool drop_unused_fields(Output& output) {
  const Uses uses = uses_in(output);
  bool changed = false;
  for (ResidualType& type : output.types) {
    if (!may_lose_fields(type, uses)) {
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

bool drop_constant_fields(Output& output, const Changes& changes) {
  const Uses uses = uses_in(output);
  bool changed = false;
  for (const ResidualType& type : output.types) {
    for (std::size_t i = 0; may_lose_fields(type, uses) && i < type.fields.size(); ++i) {
      const bool is_read = uses.members.contains(type.fields[i].name);
      const std::optional<Value> value =
          is_read ? StoredNumber(output, type.record->name, i, type.fields[i]).value() : std::nullopt;
      for (Version& version : output.versions) {
        changed = (value && replace_reads(version.body, type.record->name, type.fields[i].name, *value)) || changed;
      }
    }
  }
  if (changed) {
    fold_again(output, changes);
  }
  return changed;
}

}  // namespace convtgen
