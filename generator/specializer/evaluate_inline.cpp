// Part of `evaluate`: functions of one expression stand in place of their calls.
#include <algorithm>

#include "generator/specializer/evaluate.h"
#include "generator/specializer/refold.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

int uses_of(const Term& term, int id) {
  int count = term.kind == Kind::kName && term.id == id ? 1 : 0;
  for (const Term& operand : term.operands) {
    count += uses_of(operand, id);
  }
  return count;
}

/// Whether a term can stand in several places: a name, a number, a member.
bool is_short(const Term& term) {
  return term.kind == Kind::kName || term.kind == Kind::kLiteral ||
         (term.kind == Kind::kMember && is_short(term.operands[0]));
}

/// Whether a function only hands its argument back, or on to one other function.
bool hands_on(const Version& version) {
  const Term& result = version.body[0].terms[0];
  const auto is_argument = [&](const Term& t) { return t.kind == Kind::kName && t.id == version.arguments[0].id; };
  return version.arguments.size() == 1 &&
         (is_argument(result) ||
          (result.kind == Kind::kCall && result.operands.size() == 1 && is_argument(result.operands[0])));
}

}  // namespace

/// What a call gives, in its place, where the function is one expression and its template says that it needs no name:
/// by `inline`, or as it is constexpr. Functions that only hand on need none either.
std::optional<Term> Evaluator::inline_call(const Version& version, const std::vector<Term>& arguments) {
  const bool is_statement = version.body.size() == 1 && version.body[0].kind == Residual::Kind::kExpression;
  if (version.body.size() != 1 || (!is_statement && version.body[0].kind != Residual::Kind::kReturn) ||
      version.body[0].terms.size() != 1) {
    return std::nullopt;
  }
  const Term& result = version.body[0].terms[0];
  const bool needs_no_name =
      version.function->attributes == "inline" || version.function->kind == Function::Kind::kConstexpr;
  const bool gives_same =
      is_statement ? version.type.name == "void" : result.scalar && result.scalar == scalar(version.type);
  if ((!needs_no_name && (is_statement || !hands_on(version))) || !gives_same ||
      (needs_no_name && !is_statement && !is_pure(result))) {
    return std::nullopt;
  }
  TermsById values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ResidualArgument& argument = version.arguments[i];
    const bool same = argument.type.kind != Type::Kind::kNamed || arguments[i].scalar == scalar(argument.type);
    const bool stays_one = is_pure(arguments[i]) && (uses_of(result, argument.id) == 1 || is_short(arguments[i]));
    if (!same || (!stays_one && !hands_on(version))) {
      return std::nullopt;
    }
    values.emplace(argument.id, arguments[i]);
  }
  Result<Term> out = refold(result, values);
  return out && out->scalar == result.scalar ? std::optional(std::move(*out)) : std::nullopt;
}

}  // namespace convtgen
