#include "generator/specializer/refold.h"

#include <optional>
#include <utility>

#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;

Result<void> refold_all(std::vector<Term>& terms, const TermsById& values) {
  for (Term& term : terms) {
    Result<Term> folded = refold(term, values);
    if (!folded) {
      return std::unexpected(folded.error());
    }
    term = *std::move(folded);
  }
  return {};
}

/// A declaration of a constant scalar that has become a number: then its name stands for that.
bool is_number(const Residual& r) {
  return r.kind == ResidualKind::kDeclare && r.text.empty() && r.type.is_const && r.terms.size() == 1 &&
         r.terms[0].value && r.type.kind == Type::Kind::kNamed && scalar_named(r.type.name).has_value();
}

/// What a loop's variable is in its only turn; nothing where it may have more, or has none.
struct Turns {
  bool none = false;
  std::optional<Value> only;
};

Turns turns_of(const Residual& r, const Changes& changes) {
  if (r.kind != ResidualKind::kFor || r.init.size() != 1 || r.init[0].kind != ResidualKind::kDeclare ||
      r.init[0].terms.size() != 1 || !r.init[0].terms[0].value || r.condition.size() != 1 || r.step.size() != 1) {
    return {};
  }
  const Term& condition = r.condition[0];
  const Term& step = r.step[0];
  const int id = r.init[0].id;
  const auto is_variable = [&](const Term& term) { return term.kind == Expression::Kind::kName && term.id == id; };
  const Type& declared = r.init[0].type;
  const Scalar type =
      (declared.kind == Type::Kind::kNamed ? scalar_named(declared.name) : std::nullopt).value_or(Scalar::kFloat);
  const bool is_bound = condition.kind == Expression::Kind::kBinary &&
                        (condition.text == "<" || condition.text == "<=") && is_variable(condition.operands[0]) &&
                        condition.operands[1].value && !is_floating(condition.operands[1].value->type);
  if (is_floating(type) || !is_bound || step.operands.empty() || !is_variable(step.operands[0])) {
    return {};
  }
  const std::optional<Value> first = convert(*r.init[0].terms[0].value, type);
  const bool by_one = step.kind == Expression::Kind::kUnary && step.text.ends_with("++");
  const bool by_number = step.kind == Expression::Kind::kBinary && step.text == "+=" && step.operands[1].value &&
                         !is_floating(step.operands[1].value->type);
  if (!first || (!by_one && !by_number)) {
    return {};
  }
  const __int128 end = wide(*condition.operands[1].value) + (condition.text == "<=" ? 1 : 0);
  const __int128 next = wide(*first) + (by_one ? 1 : wide(*step.operands[1].value));
  const auto changed = changes.find(id);
  const bool stays = changed != changes.end() && changed->second == 1 && !leaves_loop(r.body);
  return {.none = wide(*first) >= end,
          .only = stays && wide(*first) < end && next >= end ? first : std::optional<Value>()};
}

}  // namespace

Result<Term> refold(const Term& term, const TermsById& values) {
  using Of = Expression::Kind;
  if (const auto found = values.find(term.id); term.kind == Of::kName && found != values.end()) {
    return found->second;
  }
  Term out = term;
  for (Term& operand : out.operands) {
    Result<Term> replaced = refold(operand, values);
    if (!replaced) {
      return replaced;
    }
    operand = std::move(*replaced);
  }
  std::vector<Term>& operands = out.operands;
  if (out.kind == Of::kUnary && (out.text == "-" || out.text == "+" || out.text == "!" || out.text == "~")) {
    return fold_unary(out.text, std::move(operands[0]));
  }
  if (out.kind == Of::kBinary && out.text != "," && precedence_of(out.text) != 2) {
    return fold_binary(out.text, std::move(operands[0]), std::move(operands[1]));
  }
  if (out.kind == Of::kConditional) {
    return fold_conditional(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]));
  }
  if (out.kind == Of::kCast && operands.size() == 1) {
    return fold_cast(out.text, out.type, out.written, std::move(operands[0]));
  }
  return out;
}

Result<void> refold(std::vector<Residual>& body, TermsById values, const Changes& changes) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    Residual& r = body[i];
    if (Result<void> init = refold(r.init, values, changes); !init) {
      return init;
    }
    for (std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      if (Result<void> folded = refold_all(*terms, values); !folded) {
        return folded;
      }
    }
    if (is_number(r)) {
      const Result<Value> value = evaluate_cast(*scalar_named(r.type.name), *r.terms[0].value);
      if (!value) {
        return std::unexpected(value.error());
      }
      values.insert_or_assign(r.id, literal(*value));
      Residual gone;
      gone.kind = ResidualKind::kGone;
      r = std::move(gone);
      continue;
    }
    if (r.kind == ResidualKind::kIf && r.terms[0].value) {
      std::vector<Residual> taken = std::move(is_true(*r.terms[0].value) ? r.body : r.otherwise);
      Residual branch;
      branch.kind = does_nothing(taken) ? ResidualKind::kGone : ResidualKind::kSplice;
      branch.line = r.line;
      branch.was_branch = true;
      branch.body = std::move(taken);
      r = std::move(branch);
    }
    if (const Turns turns = turns_of(r, changes); turns.none || turns.only) {
      if (turns.only) {
        values.insert_or_assign(r.init[0].id, literal(*turns.only));
      }
      Residual once;
      once.kind = turns.none ? ResidualKind::kGone : ResidualKind::kSplice;
      once.line = r.line;
      once.body = turns.none ? std::vector<Residual>() : std::move(r.body);
      r = std::move(once);
    }
    for (std::vector<Residual>* inner : {&r.body, &r.otherwise}) {
      if (Result<void> folded = refold(*inner, values, changes); !folded) {
        return folded;
      }
    }
    if (r.kind == ResidualKind::kWhile && r.condition[0].value && !is_true(*r.condition[0].value)) {
      Residual gone;
      gone.kind = ResidualKind::kGone;
      r = std::move(gone);
    }
    if (leaves_function(r)) {
      body.resize(i + 1);  // what follows is never reached
    }
  }
  return {};
}

void fold_again(Output& output, const Changes& changes) {
  for (Version& version : output.versions) {
    std::vector<Residual> body = version.body;
    if (refold(body, {}, changes)) {
      version.body = std::move(body);
    }
  }
}

}  // namespace convtgen
