// Part of `evaluate`: expressions, except calls.
#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/builtins.h"
#include "generator/specializer/evaluate.h"
#include "generator/specializer/fold.h"
#include "generator/specializer/range.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

bool is_assignment(const Expression& e) {
  return e.kind == Kind::kBinary && precedence_of(e.text) == 2;
}

}  // namespace

Term Evaluator::take(Result<Term> term) {
  if (!term) {
    report(term.error().message);
    return literal({});
  }
  return std::move(*term);
}

/// Counts a change of the variable that the term names, if it is one.
void Evaluator::note_change(const Term& term) {
  if (term.kind == Kind::kName) {
    ++changes_[term.id];
  } else if (term.kind == Kind::kConditional) {
    note_change(term.operands[1]);
    note_change(term.operands[2]);
  }
}

Term Evaluator::evaluate(const Expression& e) {
  if (error_) {
    return literal({});
  }
  switch (e.kind) {
    case Kind::kLiteral:
      return literal(e.value);
    case Kind::kName:
      return evaluate_name(e);
    case Kind::kUnary:
      return evaluate_unary(e);
    case Kind::kBinary:
      return evaluate_binary_operator(e);
    case Kind::kConditional:
      return evaluate_conditional(e);
    case Kind::kIndex:
      return evaluate_index(e);
    case Kind::kMember:
    case Kind::kArrow:
      return evaluate_member(e);
    case Kind::kCall:
      return evaluate_call(e);
    case Kind::kCast:
      return evaluate_cast_operator(e);
    case Kind::kSizeof:
      return evaluate_sizeof(e);
    case Kind::kInit: {
      std::vector<Term> operands;
      for (const Expression& operand : e.operands) {
        operands.push_back(evaluate(operand));
      }
      return node(Kind::kInit, "", {}, std::move(operands));
    }
    case Kind::kText:
      return node(Kind::kText, e.text, {}, {});
  }
  return literal({});
}

Term Evaluator::evaluate_name(const Expression& e) {
  if (const Entry* local = find(e.text)) {
    if (local->kind == Entry::Kind::kStatic) {
      Term out = literal(local->value);
      out.constant = local->constant;
      return out;
    }
    if (local->kind == Entry::Kind::kDynamic) {
      Type type = local->type;
      if (type.kind == Type::Kind::kReference) {
        const Type inner = type.element[0];
        type = inner;
      }
      Term out = name_term(e.text, type);
      out.id = local->id;
      out.range = local->range;
      return out;
    }
    report(fmt::format("{} can't stand here", e.text));
    return literal({});
  }
  if (const Value* value = globals_.value(e.text)) {
    Term out = literal(*value);
    if (globals_.constant(e.text) != nullptr) {
      out.constant = e.text;
    }
    return out;
  }
  if (globals_.array(e.text) != nullptr) {
    report(fmt::format("{} is static and can only be indexed", e.text));
    return literal({});
  }
  if (e.text.starts_with("P::")) {
    report(fmt::format("the template has no parameter '{}'", e.text.substr(3)));
    return literal({});
  }
  Type type;
  if (e.text == "threadIdx" || e.text == "blockIdx" || e.text == "blockDim" || e.text == "gridDim") {
    type.name = "uint3";
  }
  return name_term(e.text, type);
}

Type Evaluator::pointee(const Type& type) {
  if (type.kind == Type::Kind::kPointer || type.kind == Type::Kind::kArray) {
    Type out = type.element[0];
    out.is_const = false;
    return out;
  }
  return {};
}

Term Evaluator::evaluate_unary(const Expression& e) {
  Term operand = evaluate(e.operands[0]);
  const bool steps = e.text.ends_with("++") || e.text.ends_with("--");
  if (e.text == "-" || e.text == "+" || e.text == "!" || e.text == "~") {
    return error_ ? operand : take(fold_unary(e.text, std::move(operand)));
  }
  if (operand.value && !error_) {
    report(steps ? std::string("a static variable can't change here: only the head of its loop moves it")
                 : fmt::format("'{}' needs something dynamic", e.text));
    return operand;
  }
  Type type;
  if (e.text != "*") {
    note_change(operand);
  }
  if (e.text == "*") {
    type = pointee(operand.type);
  } else if (e.text == "&") {
    type.kind = Type::Kind::kPointer;
    type.element.push_back(operand.type);
  } else {
    type = operand.type;
  }
  std::vector<Term> operands;
  operands.push_back(std::move(operand));
  return node(Kind::kUnary, e.text, type, std::move(operands));
}

Term Evaluator::evaluate_binary_operator(const Expression& e) {
  Term a = evaluate(e.operands[0]);
  if ((e.text == "&&" || e.text == "||") && a.value && is_true(*a.value) == (e.text == "||")) {
    return to_bool(std::move(a));  // the other operand is not evaluated
  }
  Term b = evaluate(e.operands[1]);
  if (error_) {
    return a;
  }
  if (is_assignment(e)) {
    if (a.value) {
      report("a static variable can't be assigned to here: only the head of its loop moves it");
      return a;
    }
    note_change(a);
    // An integer goes into any arithmetic variable as it goes without its suffix.
    if (a.scalar && b.scalar != Scalar::kBool && (e.text == "=" || e.text == "+=" || e.text == "-=")) {
      b = without_suffix(std::move(b));
    }
    const Type type = a.type;
    std::vector<Term> operands;
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return node(Kind::kBinary, e.text, type, std::move(operands));
  }
  if (e.text == ",") {
    const Type type = b.type;
    std::vector<Term> operands;
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return node(Kind::kBinary, e.text, type, std::move(operands));
  }
  return take(fold_binary(e.text, std::move(a), std::move(b)));
}

/// The term for its type alone: of the branch of a conditional that is not taken.
Term Evaluator::probe(const Expression& e) {
  const bool outer = std::exchange(probing_, true);
  const std::optional<Error> error = error_;
  Term out = evaluate(e);
  if (error_) {
    out = node(Kind::kText, "", {}, {});
  }
  error_ = error;
  probing_ = outer;
  return out;
}

Term Evaluator::evaluate_conditional(const Expression& e) {
  Term condition = evaluate(e.operands[0]);
  if (error_) {
    return condition;
  }
  Term a, b;
  if (condition.value) {
    const bool first = is_true(*condition.value);
    a = first ? evaluate(e.operands[1]) : probe(e.operands[1]);
    b = first ? probe(e.operands[2]) : evaluate(e.operands[2]);
  } else {
    a = evaluate(e.operands[1]);
    b = evaluate(e.operands[2]);
  }
  return error_ ? condition : take(fold_conditional(std::move(condition), std::move(a), std::move(b)));
}

const StaticArray* Evaluator::static_array(const Expression& e) {
  if (e.kind != Kind::kName) {
    return nullptr;
  }
  if (const Entry* local = find(e.text)) {
    return local->kind == Entry::Kind::kStaticArray ? &local->array : nullptr;
  }
  return globals_.array(e.text);
}

Term Evaluator::evaluate_index(const Expression& e) {
  Term index = evaluate(e.operands[1]);
  if (const StaticArray* elements = error_ ? nullptr : static_array(e.operands[0])) {
    if (!index.value) {
      report(fmt::format("{} is static; its index must be static too", e.operands[0].text));
    } else if (wide(*index.value) < 0 || wide(*index.value) >= static_cast<__int128>(elements->size())) {
      report(fmt::format("index {} of {}, which has {} elements", literal_text(*index.value), e.operands[0].text,
                         elements->size()));
    } else {
      return literal((*elements)[static_cast<std::size_t>(wide(*index.value))]);
    }
    return index;
  }
  Term base = evaluate(e.operands[0]);
  if (error_) {
    return base;
  }
  const Type type = pointee(base.type);
  index = without_suffix(std::move(index));
  std::vector<Term> operands;
  operands.push_back(std::move(base));
  operands.push_back(std::move(index));
  return node(Kind::kIndex, "", type, std::move(operands));
}

Term Evaluator::evaluate_member(const Expression& e) {
  Term base = evaluate(e.operands[0]);
  const Type object = e.kind == Kind::kArrow ? pointee(base.type) : base.type;
  Type type;
  if (const std::optional<Scalar> builtin = member_of_builtin(object.name)) {
    type = scalar_type(*builtin);
  } else if (const Record* record = globals_.record(object.name)) {
    const auto field = std::ranges::find(record->fields, e.text, &Field::name);
    if (field == record->fields.end()) {
      report(fmt::format("{} has no member {}", record->name, e.text));
    } else {
      type = resolve(field->type);
    }
  }
  std::vector<Term> operands;
  operands.push_back(std::move(base));
  return node(e.kind, e.text, type, std::move(operands));
}

Term Evaluator::evaluate_cast_operator(const Expression& e) {
  if (e.operands.size() != 1) {
    std::vector<Term> operands;
    for (const Expression& operand : e.operands) {
      operands.push_back(evaluate(operand));
    }
    Term out = node(Kind::kCast, e.text, resolve(e.type), std::move(operands));
    out.written = spell(e.type);
    return out;
  }
  Term operand = evaluate(e.operands[0]);
  return error_ ? operand : take(fold_cast(e.text, resolve(e.type), spell(e.type), std::move(operand)));
}

std::optional<std::uint64_t> Evaluator::size_of(const Type& type) {
  if (type.kind == Type::Kind::kPointer) {
    return 8;
  }
  if (type.kind == Type::Kind::kArray && !type.extent.empty()) {
    const std::optional<std::uint64_t> element = size_of(type.element[0]);
    return element ? std::optional(*element * type.extent[0].value.bits) : std::nullopt;
  }
  const std::optional<Scalar> found = scalar(type);
  return found ? std::optional<std::uint64_t>(bytes_of(*found)) : std::nullopt;
}

Term Evaluator::evaluate_sizeof(const Expression& e) {
  if (const std::optional<std::uint64_t> size = size_of(resolve(e.type))) {
    return literal(Value{Scalar::kUnsignedLong, *size, 0});
  }
  Term out = node(Kind::kSizeof, "", scalar_type(Scalar::kUnsignedLong), {});
  out.written = spell(e.type);
  return out;
}

}  // namespace convtgen
