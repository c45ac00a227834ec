#include "generator/specializer/static_evaluator.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

constexpr int kMaxSteps = 1000000;  // statements and calls of one evaluation
constexpr int kMaxDepth = 256;

Globals::CallKey key_of(const Function& function, const std::vector<Value>& arguments) {
  Globals::CallKey key{&function, {}};
  for (const Value& value : arguments) {
    key.second.emplace_back(value.type, value.bits, std::bit_cast<std::uint64_t>(value.real));
  }
  return key;
}

/// Runs constexpr code. The first error stays; after it everything is zero and nothing runs on.
class Machine {
 public:
  explicit Machine(const Globals& globals) : globals_(globals) {}
  std::optional<Error> error;

  Value evaluate(const Expression& e) {
    using Kind = Expression::Kind;
    if (error) {
      return {};
    }
    switch (e.kind) {
      case Kind::kLiteral:
        return e.value;
      case Kind::kName:
        return name(e);
      case Kind::kUnary:
        return unary(e);
      case Kind::kBinary:
        return binary(e);
      case Kind::kConditional:
        return conditional(e);
      case Kind::kIndex:
        return index(e);
      case Kind::kCall:
        return call(e);
      case Kind::kCast:
        return cast(e);
      case Kind::kSizeof:
        if (const std::optional<Scalar> type = scalar_of(globals_, e.type)) {
          return Value{Scalar::kUnsignedLong, static_cast<std::uint64_t>(bytes_of(*type)), 0};
        }
        break;
      case Kind::kInit:
        if (e.operands.size() == 1) {
          return evaluate(e.operands[0]);
        }
        break;
      default:
        break;
    }
    return report("this expression is not static");
  }

  Value call(const Function& function, const std::vector<Value>& arguments) {
    if (function.kind != Function::Kind::kConstexpr || function.arguments.size() != arguments.size()) {
      return report(fmt::format("{} with {} arguments is no static call", function.name, arguments.size()));
    }
    const Globals::CallKey key = key_of(function, arguments);
    if (const auto known = globals_.call_results().find(key); known != globals_.call_results().end()) {
      return known->second;
    }
    if (++depth_ > kMaxDepth) {
      return report(fmt::format("{} calls itself more than {} deep", function.name, kMaxDepth));
    }
    Frame frame;
    frame.function = &function;
    frame.scopes.emplace_back();
    for (std::size_t i = 0; i < arguments.size() && !error; ++i) {
      frame.scopes.back()[function.arguments[i].name].values.push_back(
          converted(arguments[i], function.arguments[i].type));
    }
    Frame* const outer = std::exchange(frame_, &frame);
    run_all(function.body);
    frame_ = outer;
    --depth_;
    if (error) {
      return {};
    }
    if (!frame.result) {
      return report(fmt::format("{} ends without a value", function.name));
    }
    const Value result = converted(*frame.result, function.type);
    if (!error) {
      globals_.call_results().emplace(key, result);
    }
    return result;
  }

  Value report(std::string_view message) {
    if (!error) {
      error = frame_ != nullptr
                  ? error_at({frame_->function->place.file, frame_->function->place.line + frame_->line}, message)
                  : Error{std::string(message)};
    }
    return {};
  }

 private:
  struct Variable {
    std::vector<Value> values;  // one, or an array's
    bool is_array = false;
  };
  enum class Flow { kNext, kBreak, kContinue, kReturn };
  struct Frame {
    const Function* function = nullptr;
    int line = 0;
    std::vector<std::map<std::string, Variable, std::less<>>> scopes;
    std::optional<Value> result;
  };

  Value take(const Result<Value>& value) { return value ? *value : report(value.error().message); }

  Value converted(const Value& value, const Type& type) {
    if (type.name == "auto") {
      return value;
    }
    const std::optional<Scalar> scalar = scalar_of(globals_, type);
    return scalar ? take(evaluate_cast(*scalar, value)) : report("only scalars are static here");
  }

  Variable* variable(std::string_view name) {
    if (frame_ == nullptr) {
      return nullptr;
    }
    for (auto scope = frame_->scopes.rbegin(); scope != frame_->scopes.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) {
        return &found->second;
      }
    }
    return nullptr;
  }

  Value name(const Expression& e) {
    if (const Variable* local = variable(e.text); local != nullptr && !local->is_array) {
      return local->values[0];
    }
    if (const Value* value = globals_.value(e.text)) {
      return *value;
    }
    return report(fmt::format("{} is not static", e.text));
  }

  /// Where an assignment goes, or null with an error.
  Value* place(const Expression& e) {
    if (e.kind == Expression::Kind::kName) {
      if (Variable* local = variable(e.text); local != nullptr && !local->is_array) {
        return &local->values[0];
      }
    } else if (e.kind == Expression::Kind::kIndex && e.operands[0].kind == Expression::Kind::kName) {
      if (Variable* local = variable(e.operands[0].text); local != nullptr && local->is_array) {
        const Value at = evaluate(e.operands[1]);
        if (!error && wide(at) >= 0 && wide(at) < static_cast<__int128>(local->values.size())) {
          return &local->values[static_cast<std::size_t>(wide(at))];
        }
      }
    }
    report("this can't be assigned to in a static function");
    return nullptr;
  }

  Value unary(const Expression& e) {
    if (e.text.ends_with("++") || e.text.ends_with("--")) {
      Value* const to = place(e.operands[0]);
      if (to == nullptr) {
        return {};
      }
      const Value before = *to;
      const Value after =
          take(evaluate_binary(e.text.ends_with("++") ? "+" : "-", before, integer_value(Scalar::kInt, 1)));
      *to = take(evaluate_cast(before.type, after));
      return e.text.starts_with("post") ? before : *to;
    }
    if (e.text == "*" || e.text == "&") {
      return report("addresses are not static");
    }
    const Value operand = evaluate(e.operands[0]);
    return error ? Value{} : take(evaluate_unary(e.text, operand));
  }

  Value binary(const Expression& e) {
    if (precedence_of(e.text) == 2) {
      Value value = evaluate(e.operands[1]);
      Value* const to = error ? nullptr : place(e.operands[0]);
      if (to == nullptr) {
        return {};
      }
      if (e.text != "=") {
        value = take(evaluate_binary(e.text.substr(0, e.text.size() - 1), *to, value));
      }
      *to = take(evaluate_cast(to->type, value));
      return *to;
    }
    const Value a = evaluate(e.operands[0]);
    if (!error && ((e.text == "&&" && !is_true(a)) || (e.text == "||" && is_true(a)))) {
      return Value{Scalar::kBool, e.text == "||" ? 1u : 0u, 0};
    }
    const Value b = evaluate(e.operands[1]);
    if (e.text == ",") {
      return b;
    }
    return error ? Value{} : take(evaluate_binary(e.text, a, b));
  }

  Value conditional(const Expression& e) {
    const Value condition = evaluate(e.operands[0]);
    const Value chosen = evaluate(e.operands[is_true(condition) ? 1 : 2]);
    if (error) {
      return {};
    }
    const std::optional<Scalar> other = type_of(e.operands[is_true(condition) ? 2 : 1]);
    return !other || *other == chosen.type ? chosen : take(evaluate_cast(common_type(chosen.type, *other), chosen));
  }

  /// The type of an expression that is not evaluated, where it is a scalar.
  std::optional<Scalar> type_of(const Expression& e) {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::kLiteral:
        return e.value.type;
      case Kind::kName:
        if (const Variable* local = variable(e.text); local != nullptr && !local->is_array) {
          return local->values[0].type;
        }
        return globals_.value(e.text) != nullptr ? std::optional(globals_.value(e.text)->type) : std::nullopt;
      case Kind::kUnary: {
        const std::optional<Scalar> type = type_of(e.operands[0]);
        return e.text == "!" ? Scalar::kBool : (type ? std::optional(promoted(*type)) : std::nullopt);
      }
      case Kind::kBinary: {
        const int rank = precedence_of(e.text);
        if (rank == 4 || rank == 5 || rank == 9 || rank == 10) {
          return Scalar::kBool;
        }
        const std::optional<Scalar> a = type_of(e.operands[0]), b = type_of(e.operands[1]);
        if (!a || !b || rank <= 2) {
          return rank == 1 ? b : a;
        }
        return rank == 11 ? promoted(*a) : common_type(*a, *b);
      }
      case Kind::kConditional: {
        const std::optional<Scalar> a = type_of(e.operands[1]), b = type_of(e.operands[2]);
        return !a || !b || *a == *b ? a : std::optional(common_type(*a, *b));
      }
      case Kind::kCall: {
        const Function* const function = globals_.function(e.text);
        return function != nullptr ? scalar_of(globals_, function->type) : std::nullopt;
      }
      case Kind::kCast:
        return scalar_of(globals_, e.type);
      case Kind::kSizeof:
        return Scalar::kUnsignedLong;
      default:
        return std::nullopt;
    }
  }

  Value index(const Expression& e) {
    const Value at = evaluate(e.operands[1]);
    if (error) {
      return {};
    }
    const StaticArray* elements = nullptr;
    if (e.operands[0].kind == Expression::Kind::kName) {
      if (const Variable* local = variable(e.operands[0].text); local != nullptr && local->is_array) {
        elements = &local->values;
      } else {
        elements = globals_.array(e.operands[0].text);
      }
    }
    if (elements == nullptr) {
      return report("only static arrays can be indexed here");
    }
    if (wide(at) < 0 || wide(at) >= static_cast<__int128>(elements->size())) {
      return report(
          fmt::format("index {} of {}, which has {} elements", literal_text(at), e.operands[0].text, elements->size()));
    }
    return (*elements)[static_cast<std::size_t>(wide(at))];
  }

  Value call(const Expression& e) {
    std::vector<Value> arguments;
    for (const Expression& operand : e.operands) {
      arguments.push_back(evaluate(operand));
    }
    if (error) {
      return {};
    }
    if ((e.text == "min" || e.text == "max") && arguments.size() == 2) {
      const Scalar type = common_type(arguments[0].type, arguments[1].type);
      const bool first = is_true(take(evaluate_binary(e.text == "min" ? "<" : ">", arguments[0], arguments[1])));
      return take(evaluate_cast(type, arguments[first ? 0 : 1]));
    }
    const Function* const function = globals_.function(e.text);
    return function != nullptr ? call(*function, arguments) : report(fmt::format("{} is no static function", e.text));
  }

  Value cast(const Expression& e) {
    if (e.operands.size() != 1 || (e.text != "static_cast" && e.text != "cast")) {
      return report(fmt::format("{} is not static", e.text));
    }
    const Value operand = evaluate(e.operands[0]);
    return error ? Value{} : converted(operand, e.type);
  }

  Flow run_all(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      const Flow flow = run(s);
      if (error || flow != Flow::kNext) {
        return flow;
      }
    }
    return Flow::kNext;
  }

  Flow run_scoped(const std::vector<Statement>& statements) {
    frame_->scopes.emplace_back();
    const Flow flow = run_all(statements);
    frame_->scopes.pop_back();
    return flow;
  }

  void declare(const Statement& s) {
    Variable out;
    if (s.type.kind == Type::Kind::kArray) {
      out.is_array = true;
      const std::optional<Scalar> scalar = scalar_of(globals_, s.type.element[0]);
      if (!scalar || s.expressions.size() != 1 || s.expressions[0].kind != Expression::Kind::kInit) {
        report(fmt::format("{} must be an array of scalars with a braced initialiser", s.name));
        return;
      }
      for (const Expression& element : s.expressions[0].operands) {
        out.values.push_back(take(evaluate_cast(*scalar, evaluate(element))));
      }
      const Value extent = s.type.extent.empty() ? Value{} : evaluate(s.type.extent[0]);
      if (!error && wide(extent) > static_cast<__int128>(out.values.size()) && wide(extent) <= kMaxSteps) {
        out.values.resize(static_cast<std::size_t>(wide(extent)), Value{*scalar, 0, 0});
      }
    } else if (s.expressions.empty()) {
      report(fmt::format("{} needs an initialiser", s.name));
      return;
    } else {
      out.values.push_back(converted(evaluate(s.expressions[0]), s.type));
    }
    if (!error) {
      frame_->scopes.back()[s.name] = std::move(out);
    }
  }

  Flow run(const Statement& s) {
    using Kind = Statement::Kind;
    frame_->line = s.line;
    if (++steps_ > kMaxSteps) {
      report(fmt::format("more than {} steps in a static function", kMaxSteps));
      return Flow::kReturn;
    }
    switch (s.kind) {
      case Kind::kDeclare:
      case Kind::kDeclareConstexpr:
        declare(s);
        return Flow::kNext;
      case Kind::kExpression:
        evaluate(s.expressions[0]);
        return Flow::kNext;
      case Kind::kIf:
      case Kind::kIfConstexpr: {
        const bool taken = is_true(evaluate(s.expressions[0]));
        return error ? Flow::kReturn : run_scoped(taken ? s.body : s.otherwise);
      }
      case Kind::kFor:
      case Kind::kWhile:
        return loop(s);
      case Kind::kReturn:
        if (!s.expressions.empty()) {
          frame_->result = evaluate(s.expressions[0]);
        }
        return Flow::kReturn;
      case Kind::kBreak:
        return Flow::kBreak;
      case Kind::kContinue:
        return Flow::kContinue;
      case Kind::kBlock:
        return run_scoped(s.body);
      case Kind::kStaticAssert:
        if (!is_true(evaluate(s.expressions[0])) && !error) {
          report(fmt::format("static assertion failed: {}", s.text));
        }
        return Flow::kNext;
      case Kind::kComment:
      case Kind::kBlank:
      case Kind::kUsing:
        return Flow::kNext;
      case Kind::kAsm:
      case Kind::kDeclareShared:
        report("this statement can't stand in a static function");
        return Flow::kReturn;
    }
    return Flow::kNext;
  }

  Flow loop(const Statement& s) {
    frame_->scopes.emplace_back();
    run_all(s.init);
    Flow flow = Flow::kNext;
    while (!error && (s.condition.empty() || is_true(evaluate(s.condition[0])))) {
      flow = run_scoped(s.body);
      if (error || flow == Flow::kReturn || flow == Flow::kBreak) {
        break;
      }
      if (!s.step.empty()) {
        evaluate(s.step[0]);
      }
      if (++steps_ > kMaxSteps) {
        report(fmt::format("more than {} steps in a static function", kMaxSteps));
      }
    }
    frame_->scopes.pop_back();
    return flow == Flow::kReturn ? flow : Flow::kNext;
  }

  const Globals& globals_;
  Frame* frame_ = nullptr;
  int steps_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Value> evaluate_static(const Globals& globals, const Expression& expression) {
  Machine machine(globals);
  const Value value = machine.evaluate(expression);
  if (machine.error) {
    return std::unexpected(*machine.error);
  }
  return value;
}

Result<StaticArray> evaluate_static_list(const Globals& globals, Scalar type, const Expression& expression) {
  StaticArray out;
  if (expression.kind != Expression::Kind::kInit) {
    return fail("an array needs a braced list of values");
  }
  for (const Expression& element : expression.operands) {
    Result<Value> value = evaluate_static(globals, element);
    if (value) {
      value = evaluate_cast(type, *value);
    }
    if (!value) {
      return std::unexpected(value.error());
    }
    out.push_back(*value);
  }
  return out;
}

Result<Value> call_static(const Globals& globals, const Function& function, const std::vector<Value>& arguments) {
  Machine machine(globals);
  const Value value = machine.call(function, arguments);
  if (machine.error) {
    return std::unexpected(*machine.error);
  }
  return value;
}

std::optional<Scalar> scalar_of(const Globals& globals, const Type& type) {
  if (type.kind == Type::Kind::kReference) {
    return scalar_of(globals, type.element[0]);
  }
  if (type.kind != Type::Kind::kNamed) {
    return std::nullopt;
  }
  if (const std::optional<Scalar> scalar = scalar_named(type.name)) {
    return scalar;
  }
  if (const Type* parameter = globals.type_parameter(type.name)) {
    return scalar_of(globals, *parameter);
  }
  if (const Alias* alias = globals.alias(type.name)) {
    return scalar_of(globals, alias->type);
  }
  return globals.is_enumeration(type.name) ? std::optional(Scalar::kInt) : std::nullopt;
}

}  // namespace convtgen
