#include "generator/specializer/range.h"

#include <algorithm>
#include <array>

#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

bool is_narrow(const Range& range) {
  constexpr __int128 kMost = static_cast<__int128>(1) << 62;
  return range.least >= -kMost && range.greatest <= kMost;
}

bool fits_range(Scalar type, const Range& range) {
  return fits(type, range.least) && fits(type, range.greatest);
}

/// By a positive divisor. What is known of the dividend may be nothing.
std::optional<Range> range_of_division(std::string_view op, const std::optional<Range>& a, const Range& b,
                                       bool with_sign) {
  if (b.least != b.greatest || b.least <= 0) {
    return std::nullopt;
  }
  const __int128 by = b.least;
  if (op == "/") {
    return a ? std::optional(Range{a->least / by, a->greatest / by}) : std::nullopt;
  }
  const bool may_be_negative = a ? a->least < 0 : with_sign;
  const bool may_be_positive = !a || a->greatest > 0;
  Range out{may_be_negative ? 1 - by : 0, may_be_positive ? by - 1 : 0};
  if (a && a->least >= 0) {
    out.greatest = std::min(out.greatest, a->greatest);
  }
  return out;
}

std::optional<Range> range_of_binary(const Term& term, Scalar type) {
  const Term& left = term.operands[0];
  const Term& right = term.operands[1];
  if (!left.scalar || !right.scalar || is_floating(*left.scalar) || is_floating(*right.scalar)) {
    return std::nullopt;
  }
  std::optional<Range> a = range_of(left), b = range_of(right);
  // Operands are converted to the result's type; a negative one may wrap there.
  if ((a && !fits_range(type, *a)) || (b && !fits_range(type, *b))) {
    return std::nullopt;
  }
  if ((term.text == "/" || term.text == "%") && b) {
    // A signed dividend that becomes unsigned is not negative there.
    return range_of_division(term.text, a, *b, is_signed(type));
  }
  if (!a || !b || !is_narrow(*a) || !is_narrow(*b)) {
    return std::nullopt;
  }
  if (term.text == "+") {
    return Range{a->least + b->least, a->greatest + b->greatest};
  }
  if (term.text == "-") {
    return Range{a->least - b->greatest, a->greatest - b->least};
  }
  if (term.text == "*") {
    const std::array<__int128, 4> all = {a->least * b->least, a->least * b->greatest, a->greatest * b->least,
                                         a->greatest * b->greatest};
    return Range{std::ranges::min(all), std::ranges::max(all)};
  }
  return std::nullopt;
}

std::optional<Range> joined(const std::optional<Range>& a, const std::optional<Range>& b) {
  return a && b ? std::optional(Range{std::min(a->least, b->least), std::max(a->greatest, b->greatest)}) : std::nullopt;
}

}  // namespace

std::optional<Range> range_of(const Term& term) {
  if (!term.scalar || is_floating(*term.scalar) || *term.scalar == Scalar::kBool) {
    return std::nullopt;
  }
  if (term.value) {
    return Range{wide(*term.value), wide(*term.value)};
  }
  std::optional<Range> out;
  if (term.kind == Kind::kName) {
    out = term.range;
  } else if (term.kind == Kind::kBinary) {
    out = range_of_binary(term, *term.scalar);
  } else if (term.kind == Kind::kConditional) {
    out = joined(range_of(term.operands[1]), range_of(term.operands[2]));
  } else if (term.kind == Kind::kCast && term.operands.size() == 1 &&
             (term.text == "static_cast" || term.text == "cast")) {
    out = range_of(term.operands[0]);
  }
  return out && fits_range(*term.scalar, *out) ? out : std::nullopt;
}

std::optional<bool> compare_ranges(std::string_view op, Scalar type, const Term& a, const Term& b) {
  if (is_floating(type)) {
    return std::nullopt;
  }
  const std::optional<Range> x = range_of(a), y = range_of(b);
  if (!x || !y || !fits_range(type, *x) || !fits_range(type, *y) || !is_pure(a) || !is_pure(b)) {
    return std::nullopt;
  }
  const auto decide = [](bool always, bool never) {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  if (op == "<") {
    return decide(x->greatest < y->least, x->least >= y->greatest);
  }
  if (op == ">") {
    return decide(x->least > y->greatest, x->greatest <= y->least);
  }
  if (op == "<=") {
    return decide(x->greatest <= y->least, x->least > y->greatest);
  }
  if (op == ">=") {
    return decide(x->least >= y->greatest, x->greatest < y->least);
  }
  const bool differ = x->greatest < y->least || y->greatest < x->least;
  const bool equal = x->least == x->greatest && y->least == y->greatest && x->least == y->least;
  return op == "==" ? decide(equal, differ) : decide(differ, equal);
}

}  // namespace convtgen
