#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/evaluator.h"
#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

constexpr int kMaxIterations = 1 << 16;

/// Whether an expression changes the variable, or might: its address taken is enough.
bool changes(const Expression& e, std::string_view name) {
  const auto is_name = [&](const Expression& x) { return x.kind == Expression::Kind::kName && x.text == name; };
  const bool here = (e.kind == Expression::Kind::kUnary &&
                     (e.text == "&" || e.text.ends_with("++") || e.text.ends_with("--")) && is_name(e.operands[0])) ||
                    (e.kind == Expression::Kind::kBinary && precedence_of(e.text) == 2 && is_name(e.operands[0])) ||
                    e.kind == Expression::Kind::kText;
  return here || std::ranges::any_of(e.operands, [&](const Expression& x) { return changes(x, name); });
}

/// Whether statements of a loop's body change its variable, leave the loop, or bind a reference to the variable.
bool disturbs(const std::vector<Statement>& body, std::string_view name, bool in_loop = false) {
  return std::ranges::any_of(body, [&](const Statement& s) {
    const bool inner_loop = in_loop || s.kind == Statement::Kind::kFor || s.kind == Statement::Kind::kWhile;
    const bool leaves = !in_loop && (s.kind == Statement::Kind::kBreak || s.kind == Statement::Kind::kContinue);
    const auto any = [&](const std::vector<Expression>& all) {
      return std::ranges::any_of(all, [&](const Expression& e) { return changes(e, name); });
    };
    return leaves || s.kind == Statement::Kind::kAsm ||
           (s.kind == Statement::Kind::kDeclare && s.type.kind == Type::Kind::kReference) || any(s.expressions) ||
           any(s.condition) || any(s.step) || disturbs(s.init, name, true) || disturbs(s.body, name, inner_loop) ||
           disturbs(s.otherwise, name, inner_loop);
  });
}

/// Whether control never gets past these statements: for code that is left out behind a static `if`.
bool ends_in_return(const std::vector<Residual>& body) {
  return !body.empty() && (body.back().kind == Residual::Kind::kReturn ||
                           (body.back().kind == Residual::Kind::kSplice && !body.back().is_iteration &&
                            ends_in_return(body.back().body)));
}

/// An expression whose value is not used: i += 1 is ++i.
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

}  // namespace

Residual Evaluator::make(Residual::Kind kind, const Statement& s) {
  Residual out;
  out.kind = kind;
  out.line = line_here();
  if (!s.trail.empty()) {
    out.trail = fill_holes(s.trail);
  }
  return out;
}

/// A comment with its holes filled: {name} of something static.
std::string Evaluator::fill_holes(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at];
      continue;
    }
    const std::string name(text.substr(at + 1, end - at - 1));
    const Entry* const local = find(name);
    const Value* const value =
        local != nullptr ? (local->kind == Entry::Kind::kStatic ? &local->value : nullptr) : globals_.value(name);
    if (value == nullptr) {
      report(fmt::format("{{{}}} in a comment names nothing static", name));
      return out;
    }
    out += is_floating(value->type)       ? fmt::format("{}", value->real)
           : value->type == Scalar::kBool ? literal_text(*value)
                                          : fmt::format("{}", static_cast<std::int64_t>(wide(*value)));
    at = end;
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
    if (ends_in_return(out)) {
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
    if (init.value && type && !is_floating(init.value->type) && wide(*init.value) >= 0 &&
        fits(Scalar::kInt, wide(*init.value)) && *type != Scalar::kBool && !is_auto) {
      init = literal(integer_value(Scalar::kInt, static_cast<std::int64_t>(wide(*init.value))));
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

/// Whether a loop that is not marked runs once or never, by static bounds: then it needs no loop.
bool Evaluator::runs_at_most_once(const Statement& s) {
  if (s.kind != Statement::Kind::kFor || s.init.empty() || s.init[0].kind != Statement::Kind::kDeclare ||
      s.init[0].expressions.empty() || s.condition.empty() || s.step.empty() || disturbs(s.body, s.init[0].name)) {
    return false;
  }
  std::vector<Residual> nothing;
  Statement body_less;
  body_less.kind = s.kind;
  body_less.init = s.init;
  body_less.condition = s.condition;
  body_less.step = s.step;
  const std::optional<Error> error = error_;
  const bool probing = std::exchange(probing_, true);
  const bool once = evaluate_unrolled(body_less, nothing, 1);
  probing_ = probing;
  error_ = error;
  return once;
}

/// The body once for each value of the variable; false (or an error, where the loop is marked) if that can't be done.
bool Evaluator::evaluate_unrolled(const Statement& s, std::vector<Residual>& out, int most) {
  const auto refuse = [&](std::string_view why) {
    report(why);
    return false;
  };
  if (s.init.empty() || s.init[0].kind != Statement::Kind::kDeclare || s.init[0].expressions.empty() ||
      s.condition.empty() || s.step.empty()) {
    return refuse("an unrolled loop declares one variable, and has a condition and a step");
  }
  const std::string& name = s.init[0].name;
  const std::optional<Scalar> type = scalar(resolve(s.init[0].type));
  const Term start = evaluate(s.init[0].expressions[0]);
  if (error_) {
    return false;
  }
  if (!type || !start.value) {
    return refuse(fmt::format("an unrolled loop needs a static start for its variable {}", name));
  }
  frame_->scopes.emplace_back();
  Entry entry;
  entry.kind = Entry::Kind::kStatic;
  entry.type = scalar_type(*type);
  const Term first = take(fold_cast("static_cast", scalar_type(*type), {}, start));
  entry.value = first.value.value_or(Value{});
  frame_->scopes.back().insert_or_assign(name, entry);
  const int line = frame_->line;
  std::vector<Residual> iterations;
  bool done = false;
  for (int i = 0; !error_ && !done; ++i) {
    frame_->line = line;
    const Term condition = evaluate(s.condition[0]);
    if (error_) {
      break;
    }
    if (!condition.value) {
      refuse("the condition of an unrolled loop must be static");
      break;
    }
    if (!is_true(*condition.value)) {
      done = true;
      break;
    }
    if (i == most) {
      refuse(fmt::format("more than {} iterations of an unrolled loop", most));
      break;
    }
    Residual r = make(Residual::Kind::kSplice, s);
    r.trail.clear();
    r.body = evaluate_scoped(s.body);
    r.is_iteration = true;
    iterations.push_back(std::move(r));
    frame_->line = line;
    // The step: ++v, --v, v += e, v -= e, v *= e, v = e.
    const Expression& step = s.step[0];
    if (error_ || step.operands.empty() || step.operands[0].kind != Expression::Kind::kName ||
        step.operands[0].text != name) {
      refuse(fmt::format("the step of an unrolled loop must move its variable {}", name));
      break;
    }
    Term by = literal(integer_value(Scalar::kInt, 1));
    if (step.kind == Expression::Kind::kBinary) {
      by = evaluate(step.operands[1]);
    }
    const std::string op = step.kind == Expression::Kind::kUnary ? (step.text.ends_with("++") ? "+" : "-")
                                                                 : step.text.substr(0, step.text.size() - 1);
    Value& variable = find(name)->value;
    const Term next = error_ ? by : op.empty() ? by : take(fold_binary(op, literal(variable), std::move(by)));
    const Term cast = error_ ? next : take(fold_cast("static_cast", scalar_type(*type), {}, next));
    if (!error_ && !cast.value) {
      refuse("the step of an unrolled loop must be static");
      break;
    }
    variable = cast.value.value_or(Value{});
  }
  frame_->scopes.pop_back();
  if (iterations.size() == 1) {
    iterations[0].is_iteration = false;
  }
  if (done && iterations.empty()) {
    iterations.push_back(make(Residual::Kind::kGone, s));
  }
  for (Residual& r : iterations) {
    out.push_back(std::move(r));
  }
  return done;
}

void Evaluator::evaluate_loop(const Statement& s, std::vector<Residual>& out) {
  if (s.unrolled) {
    evaluate_unrolled(s, out, kMaxIterations);
    return;
  }
  if (runs_at_most_once(s)) {
    evaluate_unrolled(s, out, 1);
    return;
  }
  frame_->scopes.emplace_back();
  Residual r = make(s.kind == Statement::Kind::kFor ? Residual::Kind::kFor : Residual::Kind::kWhile, s);
  r.text = fill_holes(s.text);
  for (const Statement& init : s.init) {
    if (init.kind == Statement::Kind::kDeclare && init.type.is_const) {
      report("the variable of a loop that is not unrolled can't be const");
    }
    evaluate(init, r.init);
  }
  for (const Expression& e : s.condition) {
    r.condition.push_back(evaluate(e));
  }
  for (const Expression& e : s.step) {
    r.step.push_back(as_statement(evaluate(e)));
  }
  r.body = evaluate_scoped(s.body);
  frame_->scopes.pop_back();
  if (s.kind == Statement::Kind::kWhile && r.condition[0].value && !is_true(*r.condition[0].value)) {
    r = make(Residual::Kind::kGone, s);
  }
  out.push_back(std::move(r));
}

}  // namespace convtgen
