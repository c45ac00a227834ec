// Part of `evaluate`: loops, written out once an iteration, left out where they run at most once, or kept with what is
// known of their variable.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "generator/specializer/builtins.h"
#include "generator/specializer/evaluate.h"
#include "generator/specializer/fold.h"
#include "generator/specializer/range.h"

namespace convtgen {
namespace {

constexpr int kMaxIterations = 1 << 16;

/// Whether an expression changes the variable, or might: its address taken, or handed over where that may be by
/// reference.
bool changes(const Globals& globals, const Expression& e, std::string_view name) {
  using Kind = Expression::Kind;
  const auto is_name = [&](const Expression& x) { return x.kind == Kind::kName && x.text == name; };
  bool here = (e.kind == Kind::kUnary && (e.text == "&" || e.text.ends_with("++") || e.text.ends_with("--")) &&
               is_name(e.operands[0])) ||
              (e.kind == Kind::kBinary && precedence_of(e.text) == 2 && is_name(e.operands[0])) ||
              e.kind == Kind::kText;
  if (e.kind == Kind::kCall && builtin_named(e.text) == nullptr) {
    const Function* function = globals.function(e.text);
    for (std::size_t i = 0; i < e.operands.size(); ++i) {
      const bool by_value = function != nullptr && i < function->arguments.size() &&
                            function->arguments[i].type.kind != Type::Kind::kReference;
      here = here || (is_name(e.operands[i]) && !by_value);
    }
  }
  return here || std::ranges::any_of(e.operands, [&](const Expression& x) { return changes(globals, x, name); });
}

/// Whether a reference that is bound to the expression may be one to the variable. To an element whose index names the
/// variable it is not, nor to a sum with it.
bool may_be_bound(const Expression& e, std::string_view name) {
  using Kind = Expression::Kind;
  if (e.kind == Kind::kBinary && e.text != "," && precedence_of(e.text) != precedence::kAssignment) {
    return false;
  }
  if (e.kind == Kind::kIndex || e.kind == Kind::kMember || e.kind == Kind::kArrow) {
    return may_be_bound(e.operands[0], name);
  }
  return (e.kind == Kind::kName && e.text == name) ||
         std::ranges::any_of(e.operands, [&](const Expression& x) { return may_be_bound(x, name); });
}

/// Whether statements of a loop's body change its variable, or may bind a reference to it.
bool change(const Globals& globals, const std::vector<Statement>& body, std::string_view name) {
  return std::ranges::any_of(body, [&](const Statement& s) {
    const auto any = [&](const std::vector<Expression>& all) {
      return std::ranges::any_of(all, [&](const Expression& e) { return changes(globals, e, name); });
    };
    return s.kind == Statement::Kind::kAsm ||
           (s.kind == Statement::Kind::kDeclare && s.type.kind == Type::Kind::kReference &&
            std::ranges::any_of(s.expressions, [&](const Expression& e) { return may_be_bound(e, name); })) ||
           any(s.expressions) || any(s.condition) || any(s.step) || change(globals, s.init, name) ||
           change(globals, s.body, name) || change(globals, s.otherwise, name);
  });
}

/// Whether a loop declares one variable, and has a condition and a step.
bool counts(const Statement& s) {
  return s.kind == Statement::Kind::kFor && !s.init.empty() && s.init[0].kind == Statement::Kind::kDeclare &&
         !s.init[0].expressions.empty() && !s.condition.empty() && !s.step.empty();
}

/// By how much a step moves a variable upwards; 0 where it does something else.
__int128 step_of(const Term& step, int id) {
  if (step.operands.empty() || step.operands[0].kind != Expression::Kind::kName || step.operands[0].id != id) {
    return 0;
  }
  if (step.kind == Expression::Kind::kUnary && step.text.ends_with("++")) {
    return 1;
  }
  const bool adds = step.kind == Expression::Kind::kBinary && step.text == "+=" && step.operands[1].value &&
                    !is_floating(step.operands[1].value->type);
  return adds ? std::max<__int128>(0, wide(*step.operands[1].value)) : 0;
}

/// The greatest value of a variable that a condition holds for, by one of the parts that must hold all.
std::optional<__int128> greatest_below(const Term& condition, int id) {
  if (condition.kind != Expression::Kind::kBinary) {
    return std::nullopt;
  }
  const Term& left = condition.operands[0];
  const Term& right = condition.operands[1];
  if (condition.text == "&&") {
    const std::optional<__int128> a = greatest_below(left, id), b = greatest_below(right, id);
    return a && b ? std::min(*a, *b) : a ? a : b;
  }
  const bool is_bound = (condition.text == "<" || condition.text == "<=") && left.kind == Expression::Kind::kName &&
                        left.id == id && right.value;
  const std::optional<Range> bound = is_bound ? range_of(right) : std::nullopt;
  return bound ? std::optional(bound->greatest - (condition.text == "<" ? 1 : 0)) : std::nullopt;
}

}  // namespace

/// Whether a loop that is not marked runs once or never, by static bounds: then it needs no loop.
bool Evaluator::runs_at_most_once(const Statement& s) {
  if (!counts(s) || change(globals_, s.body, s.init[0].name)) {
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
  if (!counts(s)) {
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

/// What the variable of a loop can be in its body, where the compiler writes the loop out between two numbers: then it
/// knows as much, and what is left out here changes no instruction. Of other loops nothing is known.
std::optional<Range> Evaluator::range_in_body(const Statement& s, const Residual& loop) {
  if (s.text != "unroll" || !counts(s) || loop.init.size() != 1 || loop.init[0].terms.empty() ||
      change(globals_, s.body, s.init[0].name)) {
    return std::nullopt;
  }
  const int id = loop.init[0].id;
  const std::optional<Range> start = range_of(loop.init[0].terms[0]);
  const std::optional<__int128> greatest = greatest_below(loop.condition[0], id);
  if (!start || !loop.init[0].terms[0].value || !greatest || step_of(loop.step[0], id) == 0 ||
      *greatest < start->least) {
    return std::nullopt;
  }
  return Range{start->least, *greatest};
}

void Evaluator::evaluate_loop(const Statement& s, std::vector<Residual>& out) {
  if (s.unrolled) {
    evaluate_unrolled(s, out, kMaxIterations);
    return;
  }
  if (runs_at_most_once(s)) {
    // What leaves the loop may be in branches that are not taken.
    const Changes changes = leaves_loop(s.body) ? changes_ : Changes();
    std::vector<Residual> once;
    evaluate_unrolled(s, once, 1);
    if (!leaves_loop(once)) {
      std::ranges::move(once, std::back_inserter(out));
      return;
    }
    changes_ = changes;
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
  if (const std::optional<Range> range = error_ ? std::nullopt : range_in_body(s, r)) {
    find(s.init[0].name)->range = range;
  }
  r.body = evaluate_scoped(s.body);
  frame_->scopes.pop_back();
  if (s.kind == Statement::Kind::kWhile && r.condition[0].value && !is_true(*r.condition[0].value)) {
    r = make(Residual::Kind::kGone, s);
  }
  out.push_back(std::move(r));
}

}  // namespace convtgen
