// Part of `evaluate`: calls of the template's functions, which are specialised, of device primitives and of CUDA's own
// functions.
#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/builtins.h"
#include "generator/specializer/evaluate.h"
#include "generator/specializer/fold.h"
#include "generator/specializer/primitives.h"
#include "generator/specializer/static_evaluator.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

}  // namespace

Term Evaluator::call_primitive(const Primitive& primitive, std::vector<Term> arguments) {
  std::ranges::for_each(arguments, [&](const Term& argument) { note_change(argument); });  // by reference, perhaps
  if (!probing_) {
    first_calls_.emplace(primitive.name, place_here());
    constants_[primitive.name].insert(arguments.empty() || !arguments[0].value ? ""
                                                                               : literal_text(*arguments[0].value));
  }
  Term out = node(Kind::kCall, primitive.name, resolve(primitive.type), std::move(arguments));
  out.only_computes = primitive.only_computes;
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
    if (probing_) {
      return node(Kind::kCall, e.text, resolve(function->type), {});
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
    out.only_computes = only_computes(version.body);
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
  const Builtin* builtin = builtin_named(e.text);
  const std::optional<Scalar> type = builtin != nullptr ? result_of(*builtin, arguments) : std::nullopt;
  if (!type) {
    std::ranges::for_each(arguments, [&](const Term& argument) { note_change(argument); });
  }
  Term out = node(Kind::kCall, e.text, type ? scalar_type(*type) : Type{}, std::move(arguments));
  out.only_computes = builtin != nullptr && builtin->only_computes;
  return out;
}

}  // namespace convtgen
