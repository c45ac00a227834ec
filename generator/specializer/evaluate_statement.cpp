// Part of `evaluate`: statements, except loops.
#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/evaluate.h"
#include "generator/specializer/fold.h"
#include "generator/specializer/range.h"

namespace convtgen {
bool leaves_function(const Residual& last) {
  return last.kind == Residual::Kind::kReturn || (last.kind == Residual::Kind::kSplice && !last.is_iteration &&
                                                  !last.body.empty() && leaves_function(last.body.back()));
}

Term as_statement(Term term) {
  const bool by_one = term.kind == Expression::Kind::kBinary && (term.text == "+=" || term.text == "-=") &&
                      term.operands[1].value && term.scalar && !is_floating(*term.scalar) &&
                      !is_floating(term.operands[1].value->type) && wide(*term.operands[1].value) == 1;
  if (by_one) {
    term.kind = Expression::Kind::kUnary;
    term.text = term.text == "+=" ? "++" : "--";
    term.operands.pop_back();
  }
  return term;
}

Residual Evaluator::make(Residual::Kind kind, const Statement& s) {
  Residual out;
  out.kind = kind;
  out.line = line_here();
  if (!s.trail.empty()) {
    out.trail = fill_holes(s.trail);
  }
  return out;
}

std::vector<Residual> Evaluator::evaluate_all(const std::vector<Statement>& statements) {
  std::vector<Residual> out;
  for (const Statement& s : statements) {
    if (error_) {
      break;
    }
    frame_->line = s.line;
    evaluate(s, out);
    if (!out.empty() && leaves_function(out.back())) {
      break;  // what follows is never reached
    }
  }
  return out;
}

std::vector<Residual> Evaluator::evaluate_scoped(const std::vector<Statement>& statements) {
  frame_->scopes.emplace_back();
  std::vector<Residual> out = evaluate_all(statements);
  frame_->scopes.pop_back();
  return out;
}

void Evaluator::evaluate(const Statement& s, std::vector<Residual>& out) {
  using Kind = Statement::Kind;
  using Out = Residual::Kind;
  switch (s.kind) {
    case Kind::kDeclare:
    case Kind::kDeclareConstexpr:
    case Kind::kDeclareShared:
      evaluate_declaration(s, out);
      return;
    case Kind::kUsing: {
      Entry entry;
      entry.kind = Entry::Kind::kType;
      entry.type = resolve(s.type);
      entry.written = spell(s.type);
      const bool is_kept = !scalar(entry.type);
      Residual r = make(is_kept ? Out::kUsing : Out::kGone, s);
      r.type = entry.written;
      r.name = s.name;
      frame_->scopes.back().insert_or_assign(s.name, std::move(entry));
      out.push_back(std::move(r));
      return;
    }
    case Kind::kExpression: {
      Residual r = make(Out::kExpression, s);
      r.terms.push_back(as_statement(evaluate(s.expressions[0])));
      if (is_pure(r.terms[0])) {
        r = make(Out::kGone, s);
      }
      out.push_back(std::move(r));
      return;
    }
    case Kind::kIf:
    case Kind::kIfConstexpr:
      evaluate_if(s, out);
      return;
    case Kind::kFor:
    case Kind::kWhile:
      evaluate_loop(s, out);
      return;
    case Kind::kReturn: {
      Residual r = make(Out::kReturn, s);
      for (const Expression& e : s.expressions) {
        r.terms.push_back(evaluate(e));
      }
      out.push_back(std::move(r));
      return;
    }
    case Kind::kBreak:
      out.push_back(make(Out::kBreak, s));
      return;
    case Kind::kContinue:
      out.push_back(make(Out::kContinue, s));
      return;
    case Kind::kBlock: {
      Residual r = make(Out::kSplice, s);
      r.body = evaluate_scoped(s.body);
      out.push_back(std::move(r));
      return;
    }
    case Kind::kAsm: {
      Residual r = make(Out::kAsm, s);
      r.text = s.text;
      out.push_back(std::move(r));
      return;
    }
    case Kind::kComment: {
      Residual r = make(Out::kComment, s);
      r.text = fill_holes(s.text);
      out.push_back(std::move(r));
      return;
    }
    case Kind::kBlank:
      out.push_back(make(Out::kBlank, s));
      return;
    case Kind::kStaticAssert: {
      const Term condition = evaluate(s.expressions[0]);
      if (!error_ && !condition.value) {
        report("the condition of a static assertion must be static");
      } else if (!error_ && !is_true(*condition.value)) {
        report(fmt::format("static assertion failed: {}", s.text));
      }
      out.push_back(make(Out::kGone, s));
      return;
    }
  }
}

void Evaluator::evaluate_declaration(const Statement& s, std::vector<Residual>& out) {
  const bool is_constexpr = s.kind == Statement::Kind::kDeclareConstexpr;
  Entry entry;
  Term init;
  if (!s.expressions.empty() && !(is_constexpr && s.type.kind == Type::Kind::kArray)) {
    init = evaluate(s.expressions[0]);
    if (init.kind == Expression::Kind::kInit && init.operands.size() == 1 && scalar(resolve(s.type))) {
      Term only = std::move(init.operands[0]);
      init = std::move(only);
    }
  }
  const bool is_auto = s.type.name == "auto";
  entry.type = is_auto ? init.type : resolve(s.type);
  const std::optional<Scalar> type = scalar(entry.type);
  if (error_) {
    return;
  }
  if (is_constexpr && s.type.kind == Type::Kind::kArray) {
    const std::optional<Scalar> element = scalar(entry.type.element[0]);
    entry.kind = Entry::Kind::kStaticArray;
    for (const Expression& e : s.expressions[0].operands) {
      const Term term = evaluate(e);
      if (!error_ && (!element || !term.value)) {
        report(fmt::format("{} must be an array of static scalars", s.name));
      }
      if (error_) {
        return;
      }
      entry.array.push_back(*take(fold_cast("static_cast", scalar_type(*element), {}, term)).value);
    }
  } else if ((is_constexpr || s.type.is_const) && type && init.value && !s.expressions.empty()) {
    const Result<Value> value = evaluate_cast(*type, *init.value);
    if (!value) {
      report(fmt::format("{}: {}", s.name, value.error().message));
      return;
    }
    entry.kind = Entry::Kind::kStatic;
    entry.value = *value;
    entry.constant = init.scalar == type ? init.constant : "";
  } else if (is_constexpr) {
    report(fmt::format("{} is constexpr, but its initialiser is not static", s.name));
    return;
  }
  if (entry.kind != Entry::Kind::kDynamic) {
    frame_->scopes.back().insert_or_assign(s.name, std::move(entry));
    out.push_back(make(Residual::Kind::kGone, s));
    return;
  }
  entry.id = ++ids_;
  Residual r = make(Residual::Kind::kDeclare, s);
  r.type = spell(s.type);
  r.name = s.name;
  r.id = entry.id;
  r.text = s.kind == Statement::Kind::kDeclareShared ? "__shared__ " : "";
  if (!s.expressions.empty()) {
    // 0 for a float or a long long stays 0, whatever the type of the template's constant.
    if (type && init.scalar != Scalar::kBool && *type != Scalar::kBool && !is_auto) {
      init = without_suffix(std::move(init));
    }
    if (s.type.is_const && type && init.scalar == type) {
      entry.range = range_of(init);
    }
    if (entry.type.kind == Type::Kind::kReference) {
      note_change(init);
    }
    r.terms.push_back(std::move(init));
  }
  frame_->scopes.back().insert_or_assign(s.name, std::move(entry));
  out.push_back(std::move(r));
}

void Evaluator::evaluate_if(const Statement& s, std::vector<Residual>& out) {
  Term condition = evaluate(s.expressions[0]);
  if (error_) {
    return;
  }
  if (condition.value) {
    Residual r = make(Residual::Kind::kSplice, s);
    r.body = evaluate_scoped(is_true(*condition.value) ? s.body : s.otherwise);
    if (does_nothing(r.body)) {
      r = make(Residual::Kind::kGone, s);
    }
    r.was_branch = true;
    out.push_back(std::move(r));
    return;
  }
  if (s.kind == Statement::Kind::kIfConstexpr) {
    report("the condition of an if constexpr must be static");
    return;
  }
  Residual r = make(Residual::Kind::kIf, s);
  r.terms.push_back(std::move(condition));
  r.body = evaluate_scoped(s.body);
  r.otherwise = evaluate_scoped(s.otherwise);
  if (does_nothing(r.body) && does_nothing(r.otherwise) && is_pure(r.terms[0])) {
    r = make(Residual::Kind::kGone, s);
    r.was_branch = true;
  }
  out.push_back(std::move(r));
}

}  // namespace convtgen
