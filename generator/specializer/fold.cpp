#include "generator/specializer/fold.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/specializer/range.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

bool is_comparison(std::string_view op) {
  return op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=";
}

/// The comparison that b and a have where a and b have this one.
std::string_view mirrored(std::string_view op) {
  return op == "<" ? ">" : op == ">" ? "<" : op == "<=" ? ">=" : op == ">=" ? "<=" : op;
}

bool is_pointer(const Term& term) {
  return term.type.kind == Type::Kind::kPointer || term.type.kind == Type::Kind::kArray;
}

bool is_value(const Term& term, int number) {
  return term.value && !is_floating(term.value->type) && wide(*term.value) == number;
}

bool is_literal_one(const Term& term) {
  return term.value && (is_floating(term.value->type) ? term.value->real == 1 : wide(*term.value) == 1);
}

bool is_binary(const Term& term, std::string_view op) {
  return term.kind == Kind::kBinary && term.text == op;
}

Term keep(std::string_view op, Scalar type, Term a, Term b) {
  std::vector<Term> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return node(Kind::kBinary, op, scalar_type(type), std::move(operands));
}

/// An integer literal without suffix where the type of `a op b` stays `type` and so does the literal's value.
Term shortened(Term constant, Scalar other, Scalar type) {
  const bool keeps = constant.value && !is_floating(type) && !is_floating(constant.value->type) &&
                     common_type(other, Scalar::kInt) == type;
  return keeps ? without_suffix(std::move(constant)) : constant;
}

Term keep_arithmetic(std::string_view op, Scalar type, Term a, Term b) {
  if (a.scalar && b.scalar) {
    if (b.value) {
      b = shortened(std::move(b), *a.scalar, type);
    } else if (a.value) {
      a = shortened(std::move(a), *b.scalar, type);
    }
  }
  return keep(op, type, std::move(a), std::move(b));
}

/// The term with this type: itself, or in a cast.
Term as_type(Term term, Scalar type) {
  if (term.scalar == type) {
    return term;
  }
  if (term.value) {
    if (const std::optional<Value> value = convert(*term.value, type)) {
      return literal(*value);
    }
  }
  Term out = node(Kind::kCast, "static_cast", scalar_type(type), {});
  out.written = scalar_type(type);
  out.operands.push_back(std::move(term));
  return out;
}

/// base + constant, or constant - base: what a term of integer type `type` is, seen as a sum.
struct Sum {
  Term base;
  bool is_negated = false;
  __int128 constant = 0;
};

/// Nothing where the term is no sum with a constant. The constant is read in the sum's own type.
std::optional<Sum> as_sum(const Term& term, Scalar type) {
  if (term.scalar != type || term.kind != Kind::kBinary || (term.text != "+" && term.text != "-")) {
    return std::nullopt;
  }
  const Term& a = term.operands[0];
  const Term& b = term.operands[1];
  const auto read = [&](const Term& constant) { return wide(*convert(*constant.value, type)); };
  if (b.value && !is_floating(b.value->type)) {
    return Sum{a, false, term.text == "+" ? read(b) : -read(b)};
  }
  if (a.value && !is_floating(a.value->type)) {
    return Sum{b, term.text == "-", read(a)};
  }
  return std::nullopt;
}

/// The sum as a term of this type; nothing where its constant has none of that type.
std::optional<Term> as_term(Sum sum, Scalar type) {
  const bool with_sign = is_signed(type);
  if (!with_sign) {
    // Unsigned constants wrap: take the nearer one to zero.
    const __int128 modulus = static_cast<__int128>(1) << bits_of(type);
    sum.constant = ((sum.constant % modulus) + modulus) % modulus;
    if (sum.constant > modulus / 2) {
      sum.constant -= modulus;
    }
  } else if (!fits(type, sum.constant) || (!sum.is_negated && !fits(type, -sum.constant))) {
    return std::nullopt;
  }
  const auto constant = [&](__int128 value) { return literal(Value{type, static_cast<std::uint64_t>(value), 0}); };
  if (sum.is_negated) {
    // The constant stays an unsigned one here: its sign can't become the operator's.
    Value value = constant(sum.constant).value.value();
    value = *convert(Value{Scalar::kLongLong, value.bits, 0}, type);
    return keep_arithmetic("-", type, literal(value), std::move(sum.base));
  }
  if (sum.constant == 0) {
    return as_type(std::move(sum.base), type);
  }
  return sum.constant > 0 ? keep_arithmetic("+", type, std::move(sum.base), constant(sum.constant))
                          : keep_arithmetic("-", type, std::move(sum.base), constant(-sum.constant));
}

/// a + b or a - b in an integer type, one of them static.
Term fold_sum(std::string_view op, Scalar type, Term a, Term b) {
  const bool minus = op == "-";
  std::optional<Sum> sum;
  if (b.value) {
    const __int128 by = wide(*convert(*b.value, type));
    sum = as_sum(a, type);
    if (!sum && !b.constant.empty() && by > 0) {
      return keep_arithmetic(op, type, std::move(a), std::move(b));  // by its name
    }
    if (!sum) {
      sum = Sum{a, false, 0};
    }
    sum->constant += minus ? -by : by;
  } else if (!minus) {
    const __int128 by = wide(*convert(*a.value, type));
    sum = as_sum(b, type);
    if (!sum && by < 0) {
      sum = Sum{b, false, 0};  // -3 + x reads better as x - 3
    }
    if (sum) {
      sum->constant += by;
    } else if (by == 0) {
      return as_type(std::move(b), type);
    }
  }
  if (sum) {
    if (std::optional<Term> joined = as_term(std::move(*sum), type)) {
      return std::move(*joined);
    }
  }
  return keep_arithmetic(op, type, std::move(a), std::move(b));
}

/// Quotients and remainders that are known by what their parts can be: nothing where they are not.
std::optional<Term> fold_by_range(std::string_view op, Scalar type, const Term& a, const Term& b) {
  if (!b.value || a.scalar != type || !is_pure(a)) {
    return std::nullopt;
  }
  const __int128 by = wide(*convert(*b.value, type));
  if (by <= 0) {
    return std::nullopt;
  }
  // Of what is smaller than the divisor.
  if (const std::optional<Range> range = range_of(a); range && range->least > -by && range->greatest < by) {
    return op == "%" ? a : literal(Value{type, 0, 0});
  }
  // (x * 12) / 4, (x * 12) % 4: without a remainder. An unsigned product may have wrapped.
  if (is_signed(type) && is_binary(a, "*") && a.operands[1].value && !is_floating(a.operands[1].value->type)) {
    const __int128 factor = wide(*convert(*a.operands[1].value, type));
    if (factor % by == 0 && a.operands[0].scalar == type) {
      const Value left{type, static_cast<std::uint64_t>(factor / by), 0};
      return op == "%"      ? literal(Value{type, 0, 0})
             : factor == by ? a.operands[0]
                            : keep_arithmetic("*", type, a.operands[0], literal(left));
    }
  }
  return std::nullopt;
}

/// Products, quotients and remainders in an integer type, one operand static.
Term fold_product(std::string_view op, Scalar type, Term a, Term b) {
  if (op == "*") {
    if ((is_value(a, 0) && is_pure(b)) || (is_value(b, 0) && is_pure(a))) {
      return literal(Value{type, 0, 0});
    }
    if (is_literal_one(a) || is_literal_one(b)) {
      return as_type(is_literal_one(a) ? std::move(b) : std::move(a), type);
    }
    // x * 3 * 4: the constants, where their product has the type.
    if (b.value && is_binary(a, "*") && a.scalar == type && a.operands[1].value &&
        !is_floating(a.operands[1].value->type)) {
      const Value left = *convert(*a.operands[1].value, type), right = *convert(*b.value, type);
      if (const Result<Value> joined = evaluate_binary("*", left, right)) {
        Term base = std::move(a.operands[0]);
        return keep_arithmetic("*", type, std::move(base), literal(*joined));
      }
    }
  } else if (std::optional<Term> known = fold_by_range(op, type, a, b)) {
    return *std::move(known);
  } else if (op == "/" && b.value && is_binary(a, "/") && a.scalar == type && a.operands[1].value &&
             a.operands[0].scalar == type) {
    // x / 3 / 4 of positive divisors.
    const Value left = *convert(*a.operands[1].value, type), right = *convert(*b.value, type);
    const Result<Value> joined = evaluate_binary("*", left, right);
    if (joined && wide(left) > 0 && wide(right) > 0 && wide(*joined) / wide(left) == wide(right)) {
      Term base = std::move(a.operands[0]);
      return keep_arithmetic("/", type, std::move(base), literal(*joined));
    }
  } else if (b.value && is_literal_one(b)) {
    if (op == "/") {
      return as_type(std::move(a), type);
    }
    if (op == "%" && is_pure(a)) {
      return literal(Value{type, 0, 0});
    }
  }
  return keep_arithmetic(op, type, std::move(a), std::move(b));
}

/// x / c * c + x % c, in this order or the other: x. Nothing where the sum is another one.
std::optional<Term> fold_split(Scalar type, const Term& a, const Term& b) {
  const auto joins = [&](const Term& whole, const Term& rest) {
    return is_binary(whole, "*") && is_binary(whole.operands[0], "/") && is_binary(rest, "%") &&
           rest.operands[1].value && is_same(rest.operands[1], whole.operands[1]) &&
           is_same(rest.operands[1], whole.operands[0].operands[1]) &&
           is_same(rest.operands[0], whole.operands[0].operands[0]) && rest.operands[0].scalar == type &&
           whole.scalar == type && rest.scalar == type && whole.operands[0].scalar == type && is_pure(rest.operands[0]);
  };
  return joins(a, b) ? std::optional(b.operands[0]) : joins(b, a) ? std::optional(a.operands[0]) : std::nullopt;
}

Term fold_floating(std::string_view op, Scalar type, Term a, Term b) {
  // x + 0 is not among these: it makes +0 of -0.
  const bool plus_zero =
      b.value && (is_value(b, 0) || (is_floating(b.value->type) && b.value->real == 0 && !std::signbit(b.value->real)));
  if ((op == "*" || op == "/") && is_literal_one(b)) {
    return as_type(std::move(a), type);
  }
  if (op == "*" && is_literal_one(a)) {
    return as_type(std::move(b), type);
  }
  if (op == "-" && plus_zero) {
    return as_type(std::move(a), type);
  }
  return keep(op, type, std::move(a), std::move(b));
}

/// Address arithmetic: a pointer and an integer.
Term fold_address(std::string_view op, Term a, Term b) {
  Term& offset = is_pointer(a) ? b : a;
  // A pointer takes an int as it takes the same number in 64 bits.
  if (offset.kind == Kind::kCast && offset.text == "static_cast" && offset.scalar &&
      (offset.scalar == Scalar::kLongLong || offset.scalar == Scalar::kLong) &&
      offset.operands[0].scalar == Scalar::kInt) {
    Term inner = std::move(offset.operands[0]);
    offset = std::move(inner);
  }
  Type type = is_pointer(a) ? a.type : b.type;
  if (type.kind == Type::Kind::kArray) {
    Type decayed;
    decayed.kind = Type::Kind::kPointer;
    decayed.element = type.element;
    type = decayed;
  }
  if (is_pointer(a) && is_value(b, 0)) {
    a.type = std::move(type);
    return a;
  }
  std::vector<Term> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return node(Kind::kBinary, op, type, std::move(operands));
}

/// Whether a term is among the operands of a chain of this operator.
bool is_in_chain(std::string_view op, const Term& chain, const Term& term) {
  return is_same(chain, term) || (is_binary(chain, op) && std::ranges::any_of(chain.operands, [&](const Term& part) {
                                    return is_in_chain(op, part, term);
                                  }));
}

Result<Term> fold_logical(std::string_view op, Term a, Term b) {
  const bool decides = op == "||";  // the value of one operand that decides
  const auto decided = literal(Value{Scalar::kBool, decides ? 1u : 0u, 0});
  if (a.value) {
    return is_true(*a.value) == decides ? decided : to_bool(std::move(b));
  }
  if (b.value) {
    if (is_true(*b.value) != decides) {
      return to_bool(std::move(a));
    }
    if (is_pure(a)) {
      return decided;
    }
  }
  if (is_pure(a) && is_in_chain(op, a, b)) {
    return to_bool(std::move(a));
  }
  return keep(op, Scalar::kBool, std::move(a), std::move(b));
}

}  // namespace

Term to_bool(Term term) {
  if (term.value) {
    return literal(Value{Scalar::kBool, is_true(*term.value) ? 1u : 0u, 0});
  }
  if (term.scalar == Scalar::kBool) {
    return term;
  }
  return keep("!=", Scalar::kBool, std::move(term), literal(integer_value(Scalar::kInt, 0)));
}

Result<Term> fold_unary(std::string_view op, Term operand) {
  if (operand.value) {
    const Result<Value> value = evaluate_unary(op, *operand.value);
    if (!value) {
      return std::unexpected(value.error());
    }
    return literal(*value);
  }
  if (op == "!" && operand.kind == Kind::kUnary && operand.text == "!" && operand.operands[0].scalar == Scalar::kBool) {
    Term inner = std::move(operand.operands[0]);
    return inner;
  }
  if (op == "!" && operand.kind == Kind::kBinary && (operand.text == "==" || operand.text == "!=")) {
    operand.text = operand.text == "==" ? "!=" : "==";
    return operand;
  }
  if (op == "-" && is_binary(operand, "-") && is_value(operand.operands[0], 0) &&
      operand.operands[1].scalar == operand.scalar) {
    Term inner = std::move(operand.operands[1]);  // -(0 - x)
    return inner;
  }
  Type type;
  if (op == "!") {
    type = scalar_type(Scalar::kBool);
  } else if (operand.scalar) {
    type = scalar_type(promoted(*operand.scalar));
  }
  std::vector<Term> operands;
  operands.push_back(std::move(operand));
  return node(Kind::kUnary, op, type, std::move(operands));
}

Result<Term> fold_binary(std::string_view op, Term a, Term b) {
  if (op == "&&" || op == "||") {
    return fold_logical(op, std::move(a), std::move(b));
  }
  if (a.value && b.value) {
    const Result<Value> value = evaluate_binary(op, *a.value, *b.value);
    if (!value) {
      return std::unexpected(value.error());
    }
    return literal(*value);
  }
  if (op == "+" && is_binary(a, "+") && b.scalar) {
    if (std::optional<Term> whole = fold_split(*b.scalar, a.operands[1], b)) {
      Term rest = std::move(a.operands[0]);
      return fold_binary("+", std::move(rest), *std::move(whole));
    }
  }
  if ((op == "+" || op == "-") && is_pointer(a) != is_pointer(b) && (is_pointer(a) ? b : a).scalar) {
    return fold_address(op, std::move(a), std::move(b));
  }
  if (!a.scalar || !b.scalar) {
    Type type;
    if (is_comparison(op)) {
      type = scalar_type(Scalar::kBool);
    } else if (op == "-" && is_pointer(a) && is_pointer(b)) {
      type = scalar_type(Scalar::kLong);
    }
    std::vector<Term> operands;
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return node(Kind::kBinary, op, type, std::move(operands));
  }
  if (op == "<<" || op == ">>") {
    const Scalar type = promoted(*a.scalar);
    return is_value(b, 0) ? as_type(std::move(a), type) : keep(op, type, std::move(a), std::move(b));
  }
  const Scalar type = common_type(*a.scalar, *b.scalar);
  if (is_comparison(op)) {
    if (const std::optional<bool> known = compare_ranges(op, type, a, b)) {
      return literal(Value{Scalar::kBool, *known ? 1u : 0u, 0});
    }
    if (a.scalar == Scalar::kBool && (op == "==" || op == "!=") && (is_value(b, 0) || is_value(b, 1))) {
      return is_value(b, 1) == (op == "==") ? std::move(a) : fold_unary("!", std::move(a));
    }
    // What is known stands second: `left > 0`, not `0 < left`.
    const bool swaps = a.value.has_value();
    Term kept = swaps ? keep_arithmetic(mirrored(op), type, std::move(b), std::move(a))
                      : keep_arithmetic(op, type, std::move(a), std::move(b));
    kept.type = scalar_type(Scalar::kBool);
    kept.scalar = Scalar::kBool;
    return kept;
  }
  if (is_floating(type)) {
    return fold_floating(op, type, std::move(a), std::move(b));
  }
  if (!a.value && !b.value) {
    if (op == "-" && is_same(a, b) && is_pure(a)) {
      return literal(Value{type, 0, 0});
    }
    std::optional<Term> whole = op == "+" ? fold_split(type, a, b) : std::nullopt;
    return whole ? *std::move(whole) : keep(op, type, std::move(a), std::move(b));
  }
  if (op == "+" || op == "-") {
    return fold_sum(op, type, std::move(a), std::move(b));
  }
  if (op == "*" || op == "/" || op == "%") {
    return fold_product(op, type, std::move(a), std::move(b));
  }
  if ((op == "|" || op == "^") && (is_value(a, 0) || is_value(b, 0))) {
    return as_type(is_value(a, 0) ? std::move(b) : std::move(a), type);
  }
  return keep_arithmetic(op, type, std::move(a), std::move(b));
}

Result<Term> fold_conditional(Term condition, Term a, Term b) {
  std::optional<Scalar> type;
  if (a.scalar && b.scalar) {
    type = a.scalar == b.scalar ? *a.scalar : common_type(*a.scalar, *b.scalar);
  }
  if (condition.value) {
    Term& chosen = is_true(*condition.value) ? a : b;
    if (type && chosen.value) {
      const Result<Value> value = evaluate_cast(*type, *chosen.value);
      if (!value) {
        return std::unexpected(value.error());
      }
      return literal(*value);
    }
    return type ? as_type(std::move(chosen), *type) : std::move(chosen);
  }
  // By their text: -0.0 == 0.0.
  if (a.value && b.value && literal_text(*a.value) == literal_text(*b.value) && is_pure(condition)) {
    return literal(*a.value);
  }
  if (!a.value && is_same(a, b) && is_pure(condition) && is_pure(a)) {
    return a;
  }
  Type result = type ? scalar_type(*type) : a.type;
  std::vector<Term> operands;
  operands.push_back(std::move(condition));
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return node(Kind::kConditional, "?", result, std::move(operands));
}

Result<Term> fold_cast(std::string_view style, const Type& type, const Type& written, Term operand) {
  const std::optional<Scalar> scalar = type.kind == Type::Kind::kNamed ? scalar_named(type.name) : std::nullopt;
  if (scalar && (style == "static_cast" || style == "cast")) {
    if (operand.value) {
      const Result<Value> value = evaluate_cast(*scalar, *operand.value);
      if (!value) {
        return std::unexpected(value.error());
      }
      return literal(*value);
    }
    if (operand.scalar == scalar) {
      return operand;
    }
    // To a wider integer and back.
    if (operand.kind == Kind::kCast && operand.text == "static_cast" && operand.scalar &&
        operand.operands[0].scalar == scalar && !is_floating(*scalar) && !is_floating(*operand.scalar) &&
        *scalar != Scalar::kBool && bits_of(*operand.scalar) > bits_of(*scalar)) {
      Term inner = std::move(operand.operands[0]);
      return inner;
    }
  }
  Term out = node(Kind::kCast, style, type, {});
  out.written = written;
  out.operands.push_back(std::move(operand));
  return out;
}

}  // namespace convtgen
