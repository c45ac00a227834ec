#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/specializer/evaluator.h"
#include "generator/specializer/fold.h"
#include "generator/specializer/primitives.h"
#include "generator/specializer/static_evaluator.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

bool is_assignment(const Expression& e) {
  return e.kind == Kind::kBinary && precedence_of(e.text) == 2;
}

/// CUDA's own struct types: all members have one type.
std::optional<Scalar> member_of_builtin(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, Scalar>, 4> kTypes = {
      {{"float", Scalar::kFloat}, {"double", Scalar::kDouble}, {"int", Scalar::kInt}, {"uint", Scalar::kUnsigned}}};
  if (type == "dim3") {
    return Scalar::kUnsigned;
  }
  for (const auto& [name, scalar] : kTypes) {
    if (type.size() == name.size() + 1 && type.starts_with(name) && type.back() >= '2' && type.back() <= '4') {
      return scalar;
    }
  }
  return std::nullopt;
}

/// Functions of CUDA C++ that only compute, on the common type of their arguments (`f` at the end: on float).
bool is_mathematical(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames = {"fma", "fabs",  "fmin", "fmax", "sqrt",  "exp", "expm1",
                                                       "log", "log1p", "tanh", "erf",  "rsqrt", "min", "max"};
  return std::ranges::any_of(kNames, [&](std::string_view known) {
    return name == known || (name.ends_with('f') && name.substr(0, name.size() - 1) == known);
  });
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
      return literal(local->value);
    }
    if (local->kind == Entry::Kind::kDynamic) {
      Type type = local->type;
      if (type.kind == Type::Kind::kReference) {
        const Type inner = type.element[0];
        type = inner;
      }
      Term out = name_term(e.text, type);
      out.id = local->id;
      return out;
    }
    report(fmt::format("{} can't stand here", e.text));
    return literal({});
  }
  if (const Value* value = globals_.value(e.text)) {
    return literal(*value);
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
    if (b.value && a.scalar && !is_floating(b.value->type) && wide(*b.value) >= 0 &&
        fits(Scalar::kInt, wide(*b.value)) && (e.text == "=" || e.text == "+=" || e.text == "-=")) {
      b = literal(integer_value(Scalar::kInt, static_cast<std::int64_t>(wide(*b.value))));
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
  if (index.value && !is_floating(index.value->type) && wide(*index.value) >= 0 &&
      fits(Scalar::kInt, wide(*index.value))) {
    index = literal(integer_value(Scalar::kInt, static_cast<std::int64_t>(wide(*index.value))));
  }
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

std::optional<Scalar> Evaluator::builtin_type(std::string_view name, const std::vector<Term>& arguments) {
  if (name == "__float_as_uint" || name == "__reduce_max_sync") {
    return Scalar::kUnsigned;
  }
  if (name == "__float_as_int") {
    return Scalar::kInt;
  }
  if (name == "__uint_as_float" || name == "__int_as_float") {
    return Scalar::kFloat;
  }
  if (name.starts_with("__shfl_") && arguments.size() > 1) {
    return arguments[1].scalar ? std::optional(promoted(*arguments[1].scalar)) : std::nullopt;
  }
  if (name == "__ldg" && arguments.size() == 1) {
    return scalar(pointee(arguments[0].type));
  }
  if (!is_mathematical(name) || arguments.empty()) {
    return std::nullopt;
  }
  if (name.ends_with('f') && name != "erf") {
    return Scalar::kFloat;
  }
  std::optional<Scalar> type;
  for (const Term& argument : arguments) {
    if (!argument.scalar) {
      return std::nullopt;
    }
    type = type ? common_type(*type, *argument.scalar) : promoted(*argument.scalar);
  }
  return is_floating(*type) || name == "min" || name == "max" ? type : std::optional(Scalar::kDouble);
}

Term Evaluator::call_primitive(const Primitive& primitive, std::vector<Term> arguments) {
  std::ranges::for_each(arguments, [&](const Term& argument) { note_change(argument); });  // by reference, perhaps
  if (!probing_) {
    first_calls_.emplace(primitive.name, place_here());
    constants_[primitive.name].insert(arguments.empty() || !arguments[0].value ? ""
                                                                               : literal_text(*arguments[0].value));
  }
  Term out = node(Kind::kCall, primitive.name, resolve(primitive.type), std::move(arguments));
  out.only_computes = out.type.name != "void" && primitive.text.find("volatile") == std::string::npos;
  return out;
}

/// Static arguments, and how many accumulators there are, make the name; the others are handed over.
Term Evaluator::call_printed(const PrintedPrimitive& printed, std::vector<Term> arguments) {
  if (arguments.size() != printed.parameters.size()) {
    report(fmt::format("{} takes {} arguments, not {}", printed.name, printed.parameters.size(), arguments.size()));
    return literal({});
  }
  PrintedCall call{.name = printed.name, .values = {}};
  std::vector<Term> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Term& argument = arguments[i];
    if (!printed.parameters[i].is_static) {
      if (call.accumulators == 0 && argument.type.kind == Type::Kind::kArray && !argument.type.extent.empty()) {
        call.accumulators = static_cast<int>(argument.type.extent[0].value.bits);
      }
      kept.push_back(std::move(argument));
    } else if (argument.value && !is_floating(argument.value->type)) {
      call.values.push_back(static_cast<std::int64_t>(wide(*argument.value)));
    } else {
      report(fmt::format("argument '{}' of {} must be a static integer", printed.parameters[i].name, printed.name));
      return literal({});
    }
  }
  const Result<std::string> name = printed_name(call);
  Result<Primitive> primitive = name ? printed_primitive(*name) : std::unexpected(name.error());
  if (!primitive) {
    report(primitive.error().message);
    return literal({});
  }
  return call_primitive(printed_.emplace(*name, std::move(*primitive)).first->second, std::move(kept));
}

Term Evaluator::evaluate_call(const Expression& e) {
  std::vector<Term> arguments;
  for (const Expression& operand : e.operands) {
    arguments.push_back(evaluate(operand));
  }
  if (error_) {
    return literal({});
  }
  const bool all_static = std::ranges::all_of(arguments, [](const Term& a) { return a.value.has_value(); });
  if (const Function* function = globals_.function(e.text)) {
    if (probing_) {
      return node(Kind::kCall, e.text, resolve(function->type), {});
    }
    if (function->kind == Function::Kind::kConstexpr && all_static) {
      std::vector<Value> values;
      for (const Term& argument : arguments) {
        values.push_back(*argument.value);
      }
      const Result<Value> value = call_static(globals_, *function, values);
      if (!value) {
        report(value.error().message);
        return literal({});
      }
      return literal(*value);
    }
    const std::size_t made = specialise(*function, arguments);
    if (error_) {
      return literal({});
    }
    const Version& version = versions_[made];
    std::vector<Term> kept;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool is_kept = std::ranges::any_of(version.arguments, [&](const auto& a) { return a.position == i; });
      if (is_kept) {
        if (function->arguments[i].type.kind == Type::Kind::kReference) {
          note_change(arguments[i]);
        }
        kept.push_back(std::move(arguments[i]));
      } else if (!is_pure(arguments[i])) {
        report(fmt::format("argument '{}' of {} is not used there, but computing it changes something",
                           function->arguments[i].name, e.text));
      }
    }
    if (std::optional<Term> inlined = inline_call(version, kept)) {
      return std::move(*inlined);
    }
    Term out = node(Kind::kCall, version.name, resolve(function->type), std::move(kept));
    out.only_computes = std::ranges::all_of(version.body, [](const Residual& r) {
      return (r.kind == Residual::Kind::kDeclare || r.kind == Residual::Kind::kReturn)
                 ? std::ranges::all_of(r.terms, is_pure)
                 : does_nothing({r});
    });
    return out;
  }
  if (const Primitive* primitive = globals_.primitive(e.text)) {
    return call_primitive(*primitive, std::move(arguments));
  }
  if (const PrintedPrimitive* printed = globals_.printed(e.text)) {
    return call_printed(*printed, std::move(arguments));
  }
  if ((e.text == "min" || e.text == "max") && all_static && arguments.size() == 2) {
    const Scalar type = common_type(*arguments[0].scalar, *arguments[1].scalar);
    const Term less = take(fold_binary(e.text == "min" ? "<" : ">", arguments[0], arguments[1]));
    return error_ ? less
                  : take(fold_cast("static_cast", scalar_type(type), {}, arguments[is_true(*less.value) ? 0 : 1]));
  }
  const std::optional<Scalar> type = builtin_type(e.text, arguments);
  if (!type) {
    std::ranges::for_each(arguments, [&](const Term& argument) { note_change(argument); });
  }
  Term out = node(Kind::kCall, e.text, type ? scalar_type(*type) : Type{}, std::move(arguments));
  out.only_computes = is_mathematical(e.text) || e.text.find("_as_") != std::string::npos;
  return out;
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
