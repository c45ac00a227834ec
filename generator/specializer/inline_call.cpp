#include <algorithm>
#include <map>

#include "generator/specializer/evaluator.h"
#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;
using Values = std::map<int, Term>;  // of arguments, by their ids

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

/// The term with values for arguments, folded anew.
Result<Term> with_values(const Term& term, const Values& values) {
  if (const auto found = values.find(term.id); term.kind == Kind::kName && found != values.end()) {
    return found->second;
  }
  Term out = term;
  for (Term& operand : out.operands) {
    Result<Term> replaced = with_values(operand, values);
    if (!replaced) {
      return replaced;
    }
    operand = std::move(*replaced);
  }
  std::vector<Term>& operands = out.operands;
  if (out.kind == Kind::kUnary && (out.text == "-" || out.text == "+" || out.text == "!" || out.text == "~")) {
    return fold_unary(out.text, std::move(operands[0]));
  }
  if (out.kind == Kind::kBinary && out.text != ",") {
    return fold_binary(out.text, std::move(operands[0]), std::move(operands[1]));
  }
  if (out.kind == Kind::kConditional) {
    return fold_conditional(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]));
  }
  if (out.kind == Kind::kCast && operands.size() == 1) {
    return fold_cast(out.text, out.type, out.written, std::move(operands[0]));
  }
  return out;
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
  Values values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ResidualArgument& argument = version.arguments[i];
    const bool same = argument.type.kind != Type::Kind::kNamed || arguments[i].scalar == scalar(argument.type);
    const bool stays_one = is_pure(arguments[i]) && (uses_of(result, argument.id) == 1 || is_short(arguments[i]));
    if (!same || (!stays_one && !hands_on(version))) {
      return std::nullopt;
    }
    values.emplace(argument.id, arguments[i]);
  }
  Result<Term> out = with_values(result, values);
  return out && out->scalar == result.scalar ? std::optional(std::move(*out)) : std::nullopt;
}

}  // namespace convtgen
