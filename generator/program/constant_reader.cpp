// From a template program to its constants with their names resolved.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <utility>

#include "generator/program/arithmetic.h"
#include "generator/program/constants.h"
#include "generator/program/program_text.h"

namespace convtgen {

class ConstantResolver {
 public:
  explicit ConstantResolver(const Program& program) : program_(program) {}

  Result<ConstantProgram> run() {
    out_.name_ = program_.name;
    for (const ParameterDeclaration& declaration : program_.parameters) {
      const auto id = static_cast<int>(out_.parameter_names_.size());
      out_.parameter_ids_.emplace(declaration.name, id);
      out_.parameter_names_.push_back(declaration.name);
      types_.push_back(declaration.is_type ? std::nullopt : scalar_of(declaration.type));
    }
    for (const Item& item : program_.items) {
      add(item);
    }
    if (out_.constants_.size() > kMostConstants || out_.parameter_names_.size() > kMostParameters) {
      return fail(fmt::format("the template {} has {} constants and {} parameters; at most {} and {}", program_.name,
                              out_.constants_.size(), out_.parameter_names_.size(), kMostConstants, kMostParameters));
    }
    out_.dependents_.resize(out_.parameter_names_.size());
    for (std::size_t constant = 0; constant < needs_.size(); ++constant) {
      for (std::size_t parameter = 0; parameter < out_.dependents_.size(); ++parameter) {
        out_.dependents_[parameter].set(constant, needs_[constant][parameter]);
      }
    }
    return std::move(out_);
  }

 private:
  using Node = ConstantNode;
  using Op = ConstantNode::Op;

  struct Local {
    std::string_view name;
    int place = 0;
    Scalar type = Scalar::kInt;
  };
  /// What a value depends on.
  struct Need {
    ParameterSet parameters = {};                  // constants in between too
    std::map<std::pair<Op, int>, int> reads = {};  // nodes of the parameters and constants that stand there
    bool loops = false;                            // it calls a function that has a loop
    void add(const Need& other) {
      parameters |= other.parameters;
      reads.insert(other.reads.begin(), other.reads.end());
      loops |= other.loops;
    }
  };
  /// A function whose body is resolved when it is first called.
  struct Known {
    const Function* function = nullptr;
    int id = -1;
    std::optional<Scalar> type = {};
    Need needs = {};
    std::string reason = {};  // why it can't be called
  };

  void add(const Item& item) {
    if (const auto* constant = std::get_if<Constant>(&item)) {
      add(*constant);
    } else if (const auto* enumeration = std::get_if<Enumeration>(&item)) {
      enumerations_.push_back(enumeration->name);
      for (const auto& [name, value] : enumeration->enumerators) {
        enumerators_[name] = value;
      }
    } else if (const auto* alias = std::get_if<Alias>(&item)) {
      aliases_[alias->name] = &alias->type;
    } else if (const auto* function = std::get_if<Function>(&item);
               function != nullptr && function->kind == Function::Kind::kConstexpr) {
      functions_[function->name] = {.function = function};
    }
  }

  void add(const Constant& constant) {
    reason_.clear();
    need_ = {};
    ConstantRoot root;
    const std::optional<Scalar> type = scalar_of(constant.type);
    if (!type || is_floating(*type)) {
      refuse("it is no integer");
    } else {
      root.node = convert(expression(constant.value), *type);
    }
    if (!reason_.empty()) {
      root.node = -1;
      root.reason = reason_;
    } else if (need_.loops) {
      std::ranges::copy(need_.reads | std::views::values, std::back_inserter(root.reads));
    }
    out_.constant_ids_.emplace(constant.name, static_cast<int>(out_.constants_.size()));
    out_.constants_.push_back(std::move(root));
    constant_types_.push_back(type.value_or(Scalar::kInt));
    needs_.push_back(need_.parameters);
  }

  int refuse(std::string reason) {
    if (reason_.empty()) {
      reason_ = std::move(reason);
    }
    return literal(0, Scalar::kInt);
  }

  int add(const Node& made) {
    out_.nodes_.push_back(made);
    return static_cast<int>(out_.nodes_.size()) - 1;
  }
  int node(Node made) {
    made.value = bits_kept(made.type);
    return add(made);
  }
  int literal(std::int64_t value, Scalar type) { return add({.op = Op::kLiteral, .type = type, .value = value}); }
  [[nodiscard]] Scalar type_of(int at) const { return out_.nodes_[static_cast<std::size_t>(at)].type; }

  int convert(int at, Scalar type) {
    Node converted = out_.nodes_[static_cast<std::size_t>(at)];
    if (converted.type == type) {
      return at;
    }
    if (is_floating(type)) {
      return refuse("it is no integer");
    }
    if (converted.op == Op::kConvert || !holds(type, converted.type)) {
      return node({.op = Op::kConvert, .type = type, .from = converted.type, .a = at});
    }
    converted.type = type;  // of the same value: nothing is left to be done
    return add(converted);
  }

  /// Whether each value of an integer type is one of another; signed ones have 64 bits here.
  static bool holds(Scalar type, Scalar from) {
    if (type == Scalar::kBool || from == Scalar::kBool) {
      return type != Scalar::kBool;
    }
    const bool is_narrowed = !is_signed(from) && bits_of(type) < 64 && bits_of(type) <= bits_of(from);
    return is_signed(type) ? !is_narrowed : bits_of(type) == 64 || (!is_signed(from) && bits_of(from) <= bits_of(type));
  }

  /// The scalar that a type is, enumerations as int.
  [[nodiscard]] std::optional<Scalar> scalar_of(const Type& type) const {
    if (type.kind == Type::Kind::kReference) {
      return scalar_of(type.element[0]);
    }
    if (type.kind != Type::Kind::kNamed) {
      return std::nullopt;
    }
    if (const std::optional<Scalar> scalar = scalar_named(type.name)) {
      return scalar;
    }
    if (const auto alias = aliases_.find(type.name); alias != aliases_.end()) {
      return scalar_of(*alias->second);
    }
    return std::ranges::find(enumerations_, type.name) != enumerations_.end() ? std::optional(Scalar::kInt)
                                                                              : std::nullopt;
  }

  int expression(const Expression& e) {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::kLiteral:
        return is_floating(e.value.type) ? refuse("it is no integer")
                                         : literal(static_cast<std::int64_t>(wide(e.value)), e.value.type);
      case Kind::kName:
        return name(e.text);
      case Kind::kUnary:
        return unary(e);
      case Kind::kBinary:
        return binary(e);
      case Kind::kConditional: {
        const int condition = expression(e.operands[0]);
        int a = expression(e.operands[1]), b = expression(e.operands[2]);
        if (type_of(a) != type_of(b)) {
          const Scalar type = common_type(type_of(a), type_of(b));
          a = convert(a, type);
          b = convert(b, type);
        }
        return node({.op = Op::kConditional, .type = type_of(a), .a = condition, .b = a, .c = b});
      }
      case Kind::kCall:
        return call(e);
      case Kind::kCast: {
        const std::optional<Scalar> type = scalar_of(e.type);
        if (e.operands.size() != 1 || (e.text != "static_cast" && e.text != "cast") || !type) {
          return refuse("a cast is no static one between integers");
        }
        return convert(expression(e.operands[0]), *type);
      }
      case Kind::kSizeof:
        return size_of(e.type);
      case Kind::kInit:
        if (e.operands.size() == 1) {
          return expression(e.operands[0]);
        }
        break;
      default:
        break;
    }
    return refuse("a part of it is no integer expression");
  }

  int name(std::string_view text) {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name == text) {
        return node({.op = Op::kLocal, .type = local->type, .a = local->place});
      }
    }
    if (const auto enumerator = enumerators_.find(text); enumerator != enumerators_.end()) {
      return literal(enumerator->second, Scalar::kInt);
    }
    if (text.starts_with("P::")) {
      const auto found = out_.parameter_ids_.find(text.substr(3));
      if (found != out_.parameter_ids_.end() && types_[static_cast<std::size_t>(found->second)] &&
          !is_floating(*types_[static_cast<std::size_t>(found->second)])) {
        return parameter(found->second, *types_[static_cast<std::size_t>(found->second)]);
      }
      return refuse(fmt::format("{} is no integer parameter", text));
    }
    const auto constant = out_.constant_ids_.find(text);
    if (constant == out_.constant_ids_.end()) {
      return refuse(fmt::format("{} is not static", text));
    }
    const auto at = static_cast<std::size_t>(constant->second);
    if (out_.constants_[at].node < 0) {
      return refuse(fmt::format("{}: {}", text, out_.constants_[at].reason));
    }
    need_.parameters |= needs_[at];
    return read({.op = Op::kConstant, .type = constant_types_[at], .a = constant->second});
  }

  int parameter(int id, Scalar type) {
    need_.parameters.set(static_cast<std::size_t>(id));
    return read({.op = Op::kParameter, .type = type, .a = id});
  }
  int read(const Node& made) {
    const int at = node(made);
    need_.reads.emplace(std::pair(made.op, made.a), at);
    return at;
  }

  /// An assignment to a local.
  int assign(const Expression& to, std::string_view op, int value) {
    if (to.kind == Expression::Kind::kName) {
      for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
        if (local->name == to.text) {
          const Local found = *local;
          if (!op.empty()) {
            value = arithmetic(op, name(to.text), value);
          }
          return node({.op = Op::kAssign, .type = found.type, .a = found.place, .b = convert(value, found.type)});
        }
      }
    }
    return refuse("something else than a local is assigned to");
  }

  int unary(const Expression& e) {
    if (e.text == "++" || e.text == "--") {
      return assign(e.operands[0], e.text.substr(1), literal(1, Scalar::kInt));
    }
    const int operand = expression(e.operands[0]);
    if (e.text == "!") {
      return node({.op = Op::kNot, .type = Scalar::kBool, .a = operand});
    }
    const int wider = convert(operand, promoted(type_of(operand)));
    if (e.text == "+") {
      return wider;
    }
    return e.text == "-"   ? node({.op = Op::kNegate, .type = type_of(wider), .a = wider})
           : e.text == "~" ? node({.op = Op::kComplement, .type = type_of(wider), .a = wider})
                           : refuse(fmt::format("{} is not static", e.text));
  }

  int binary(const Expression& e) {
    if (e.text == "=") {
      return assign(e.operands[0], "", expression(e.operands[1]));
    }
    constexpr std::array<std::string_view, 10> kCompound = {
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    if (std::ranges::find(kCompound, e.text) != kCompound.end()) {
      return assign(e.operands[0], std::string_view(e.text).substr(0, e.text.size() - 1), expression(e.operands[1]));
    }
    const int a = expression(e.operands[0]), b = expression(e.operands[1]);
    if (e.text == "&&" || e.text == "||") {
      return node({.op = e.text == "&&" ? Op::kAnd : Op::kOr, .type = Scalar::kBool, .a = a, .b = b});
    }
    return arithmetic(e.text, a, b);
  }

  int arithmetic(std::string_view op, int a, int b) {
    if (op == "<<" || op == ">>") {
      const Scalar type = promoted(type_of(a));
      return node({.op = op == "<<" ? Op::kShiftLeft : Op::kShiftRight, .type = type, .a = convert(a, type), .b = b});
    }
    const Scalar type = common_type(type_of(a), type_of(b));
    a = convert(a, type);
    b = convert(b, type);
    if (op == ">" || op == ">=") {
      std::swap(a, b);
      op = op == ">" ? "<" : "<=";
    }
    constexpr std::array<std::pair<std::string_view, Op>, 12> kOps = {{{"+", Op::kAdd},
                                                                       {"-", Op::kSubtract},
                                                                       {"*", Op::kMultiply},
                                                                       {"/", Op::kDivide},
                                                                       {"%", Op::kRemainder},
                                                                       {"&", Op::kBitAnd},
                                                                       {"|", Op::kBitOr},
                                                                       {"^", Op::kBitXor},
                                                                       {"<", Op::kLess},
                                                                       {"<=", Op::kLessEqual},
                                                                       {"==", Op::kEqual},
                                                                       {"!=", Op::kNotEqual}}};
    const auto found = std::ranges::find(kOps, op, &std::pair<std::string_view, Op>::first);
    if (found == kOps.end()) {
      return refuse(fmt::format("{} is not static", op));
    }
    const bool compares = found - kOps.begin() >= 8;
    return node({.op = found->second, .type = compares ? Scalar::kBool : type, .a = a, .b = b});
  }

  int size_of(const Type& type) {
    if (const std::optional<Scalar> scalar = scalar_of(type)) {
      return literal(bytes_of(*scalar), Scalar::kUnsignedLong);
    }
    const Type* named = &type;
    for (auto alias = aliases_.find(named->name); alias != aliases_.end(); alias = aliases_.find(named->name)) {
      named = alias->second;
    }
    const auto found =
        named->name.starts_with("P::") ? out_.parameter_ids_.find(named->name.substr(3)) : out_.parameter_ids_.end();
    if (named->kind != Type::Kind::kNamed || found == out_.parameter_ids_.end()) {
      return refuse("the size of something else than a scalar");
    }
    return parameter(found->second, Scalar::kUnsignedLong);
  }

  int call(const Expression& e) {
    std::vector<int> arguments;
    for (const Expression& operand : e.operands) {
      arguments.push_back(expression(operand));
    }
    const auto found = functions_.find(e.text);
    if (found == functions_.end() || found->second.function->arguments.size() != arguments.size()) {
      return refuse(fmt::format("{} is no static function", e.text));
    }
    Known& known = found->second;
    if (known.id < 0) {
      resolve(known);
    }
    if (!known.reason.empty() || !known.type) {
      return refuse(fmt::format("{}: {}", e.text, known.reason));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::optional<Scalar> type = scalar_of(known.function->arguments[i].type);
      arguments[i] = type ? convert(arguments[i], *type) : refuse("an argument is no integer");
    }
    need_.add(known.needs);
    const auto place = static_cast<int>(out_.arguments_.size());
    std::ranges::copy(arguments, std::back_inserter(out_.arguments_));
    return node(
        {.op = Op::kCall, .type = *known.type, .a = known.id, .b = place, .c = static_cast<int>(arguments.size())});
  }

  void resolve(Known& known) {
    const Function& function = *known.function;
    known.id = static_cast<int>(out_.functions_.size());  // it may call itself
    known.type = scalar_of(function.type);
    out_.functions_.emplace_back();
    std::vector<Local> outer_locals = std::exchange(locals_, {});
    const Need outer_need = std::exchange(need_, {});
    const std::string outer_reason = std::exchange(reason_, {});
    const std::size_t outer_most = std::exchange(most_locals_, 0);
    const std::optional<Scalar> outer_type = std::exchange(return_type_, known.type);
    if (!known.type || is_floating(*known.type)) {
      refuse("it gives no integer");
    }
    for (const Argument& argument : function.arguments) {
      declare(argument.name, scalar_of(argument.type).value_or(Scalar::kInt));
    }
    std::vector<ConstantStep> body = steps(function.body);
    out_.functions_[static_cast<std::size_t>(known.id)] = {std::move(body), most_locals_};
    known.needs = need_;
    known.reason = reason_;
    return_type_ = outer_type;
    most_locals_ = outer_most;
    reason_ = outer_reason;
    need_ = outer_need;
    locals_ = std::move(outer_locals);
  }

  int declare(std::string_view name, Scalar type) {
    const auto place = static_cast<int>(locals_.size());
    locals_.push_back({name, place, type});
    most_locals_ = std::max(most_locals_, locals_.size());
    return place;
  }

  /// The statements of a block, whose locals end with it.
  std::vector<ConstantStep> steps(const std::vector<Statement>& statements) {
    const std::size_t outer = locals_.size();
    std::vector<ConstantStep> out;
    for (const Statement& s : statements) {
      step(s, out);
    }
    locals_.resize(outer);
    return out;
  }

  void step(const Statement& s, std::vector<ConstantStep>& out) {
    using Kind = Statement::Kind;
    using To = ConstantStep::Kind;
    switch (s.kind) {
      case Kind::kDeclare:
      case Kind::kDeclareConstexpr: {
        if (s.expressions.empty()) {
          refuse(fmt::format("{} has no initialiser", s.name));
          return;
        }
        const int value = expression(s.expressions[0]);
        const std::optional<Scalar> type = s.type.name == "auto" ? type_of(value) : scalar_of(s.type);
        if (!type) {
          refuse(fmt::format("{} is no integer", s.name));
          return;
        }
        const int converted = convert(value, *type);
        out.push_back({.node = node({.op = Op::kAssign, .type = *type, .a = declare(s.name, *type), .b = converted})});
        return;
      }
      case Kind::kExpression:
        out.push_back({.node = expression(s.expressions[0])});
        return;
      case Kind::kIf:
      case Kind::kIfConstexpr: {
        const int condition = expression(s.expressions[0]);
        out.push_back({.kind = To::kIf, .node = condition, .body = steps(s.body), .otherwise = steps(s.otherwise)});
        return;
      }
      case Kind::kFor:
      case Kind::kWhile: {
        const std::size_t outer = locals_.size();
        for (const Statement& begin : s.init) {
          step(begin, out);
        }
        ConstantStep loop{.kind = To::kLoop};
        need_.loops = true;
        loop.node = s.condition.empty() ? -1 : expression(s.condition[0]);
        loop.next = s.step.empty() ? -1 : expression(s.step[0]);
        loop.body = steps(s.body);
        locals_.resize(outer);
        out.push_back(std::move(loop));
        return;
      }
      case Kind::kReturn:
        out.push_back({.kind = To::kReturn,
                       .node = s.expressions.empty()
                                   ? refuse("it returns nothing")
                                   : convert(expression(s.expressions[0]), return_type_.value_or(Scalar::kInt))});
        return;
      case Kind::kBreak:
        out.push_back({.kind = To::kBreak});
        return;
      case Kind::kContinue:
        out.push_back({.kind = To::kContinue});
        return;
      case Kind::kBlock: {
        std::vector<ConstantStep> body = steps(s.body);
        std::ranges::move(body, std::back_inserter(out));
        return;
      }
      case Kind::kComment:
      case Kind::kBlank:
      case Kind::kUsing:
      case Kind::kStaticAssert:
        return;
      case Kind::kAsm:
      case Kind::kDeclareShared:
        refuse("a statement that is not static");
        return;
    }
  }

  const Program& program_;
  ConstantProgram out_;
  std::vector<std::optional<Scalar>> types_;  // of parameters; none of types
  std::vector<Scalar> constant_types_;
  std::vector<ParameterSet> needs_;  // of constants
  std::vector<std::string> enumerations_;
  std::map<std::string, std::int64_t, std::less<>> enumerators_;
  std::map<std::string, const Type*, std::less<>> aliases_;
  std::map<std::string, Known, std::less<>> functions_;
  // Of the constant or function at hand.
  std::string reason_;
  Need need_;
  std::vector<Local> locals_;
  std::size_t most_locals_ = 0;
  std::optional<Scalar> return_type_;
};

namespace {

/// Whether an item's first line begins with a word and, after its line's number, another one.
bool begins(std::string_view line, std::string_view head) {
  return line.starts_with("  (") && line.substr(3).starts_with(head);
}

/// The program's text without what constants don't need: items are lines indented by two, and deeper ones after them.
std::string constants_text(std::string_view text) {
  std::string out;
  bool taken = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (line.starts_with("  (")) {
      taken = begins(line, "digest") || begins(line, "parameter") || begins(line, "type_parameter") ||
              begins(line, "file") || begins(line, "constant") || begins(line, "enum") || begins(line, "alias") ||
              (begins(line, "function") && line.find(" constexpr ") != std::string_view::npos);
    }
    if (taken) {
      out += line;
    }
  }
  // The last item closes the program.
  if (!taken) {
    out += ")\n";
  }
  return out;
}

}  // namespace

std::vector<std::string_view> ConstantProgram::constant_names() const {
  std::vector<std::string_view> names(constants_.size());
  for (const auto& [name, id] : constant_ids_) {
    if (constants_[static_cast<std::size_t>(id)].node >= 0) {
      names[static_cast<std::size_t>(id)] = name;
    }
  }
  std::erase(names, "");
  return names;
}

Result<ConstantProgram> ConstantProgram::make(const Program& program) {
  return ConstantResolver(program).run();
}

Result<ConstantProgram> ConstantProgram::read(std::string_view text) {
  const Result<Program> program = read_program(constants_text(text));
  return program ? make(*program) : std::unexpected(program.error());
}

}  // namespace convtgen
