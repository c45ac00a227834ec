// What the folder makes of single expressions: as text, since that is what people read.
#include "generator/specializer/fold.h"

#include <gtest/gtest.h>

#include "generator/specializer/print_layout.h"

namespace convtgen {
namespace {

Term i(int value) {
  return literal(integer_value(Scalar::kInt, value));
}
Term ll(std::int64_t value) {
  return literal(integer_value(Scalar::kLongLong, value));
}
Term u(unsigned value) {
  return literal(Value{Scalar::kUnsigned, value, 0});
}
Term var(std::string name, Scalar type = Scalar::kInt) {
  return name_term(std::move(name), scalar_type(type));
}
Term op(std::string_view o, Term a, Term b) {
  Result<Term> out = fold_binary(o, std::move(a), std::move(b));
  EXPECT_TRUE(out) << out.error().message;
  return *out;
}
Term cast(Scalar type, Term a) {
  return *fold_cast("static_cast", scalar_type(type), scalar_type(type), std::move(a));
}

TEST(Fold, JoinsConstantsInSums) {
  EXPECT_EQ(text_of(op("-", op("+", var("x"), i(21)), i(2))), "x + 19");
  EXPECT_EQ(text_of(op("+", op("-", var("x"), i(5)), i(5))), "x");
  EXPECT_EQ(text_of(op("+", i(-3), var("x"))), "x - 3");
  EXPECT_EQ(text_of(op("-", op("-", i(9), var("x")), i(4))), "5 - x");
  EXPECT_EQ(text_of(op("+", var("x"), i(0))), "x");
  EXPECT_EQ(text_of(op("+", op("+", var("u", Scalar::kUnsigned), u(1)), u(4294967295u))), "u");
}

TEST(Fold, LeavesNothingOfADifferenceOfEqualIntegers) {
  EXPECT_EQ(text_of(op("-", op("*", var("x"), var("y")), op("*", var("x"), var("y")))), "0");
  EXPECT_EQ(text_of(op("-", var("x"), var("y"))), "x - y");
  EXPECT_EQ(text_of(op("-", var("f", Scalar::kFloat), var("f", Scalar::kFloat))), "f - f");  // of NaNs it is one
}

TEST(Fold, CastsToAWiderIntegerAndBackAreNone) {
  EXPECT_EQ(text_of(cast(Scalar::kInt, cast(Scalar::kLongLong, var("x")))), "x");
  EXPECT_EQ(text_of(cast(Scalar::kInt, cast(Scalar::kShort, var("x")))), "static_cast<int>(static_cast<short>(x))");
  EXPECT_EQ(text_of(cast(Scalar::kInt, cast(Scalar::kUnsigned, var("x")))),
            "static_cast<int>(static_cast<unsigned int>(x))");
  EXPECT_EQ(text_of(cast(Scalar::kFloat, cast(Scalar::kDouble, var("f", Scalar::kFloat)))),
            "static_cast<float>(static_cast<double>(f))");
}

TEST(Fold, KeepsSumsThatWouldOverflow) {
  EXPECT_EQ(text_of(op("+", op("+", var("x"), i(2147483647)), i(1))), "x + 2147483647 + 1");
  // Joined, x + y could overflow where (x + 3) + y does not.
  EXPECT_EQ(text_of(op("+", op("+", op("+", var("x"), i(3)), var("y")), i(4))), "x + 3 + y + 4");
}

TEST(Fold, DoesNotMultiplyOut) {
  EXPECT_EQ(text_of(op("*", op("+", var("x"), i(3)), i(2))), "(x + 3) * 2");
  EXPECT_EQ(text_of(op("*", op("*", var("x"), i(3)), i(4))), "x * 12");
  EXPECT_EQ(text_of(op("/", op("/", var("x"), i(3)), i(4))), "x / 12");
}

TEST(Fold, JoinsAQuotientWithItsRemainder) {
  const auto split = [](const Term& x, int by, int times, int rest) {
    return text_of(op("+", op("*", op("/", x, i(by)), i(times)), op("%", x, i(rest))));
  };
  EXPECT_EQ(split(var("x"), 8, 8, 8), "x");
  EXPECT_EQ(split(var("u", Scalar::kUnsigned), 8, 8, 8), "u");
  EXPECT_EQ(split(var("x"), 8, 4, 8), "x / 8 * 4 + x % 8");
  EXPECT_EQ(split(var("x"), 8, 8, 4), "x / 8 * 8 + x % 4");
  EXPECT_EQ(text_of(op("+", op("%", var("x"), i(3)), op("*", op("/", var("x"), i(3)), i(3)))), "x");
  EXPECT_EQ(text_of(op("+", op("*", op("/", var("y"), i(3)), i(3)), op("%", var("x"), i(3)))), "y / 3 * 3 + x % 3");
  Type pointer;
  pointer.kind = Type::Kind::kPointer;
  pointer.element.push_back(scalar_type(Scalar::kFloat));
  for (const Term& base : {var("z", Scalar::kLongLong), name_term("z", pointer)}) {
    EXPECT_EQ(text_of(op("+", op("+", base, op("*", op("/", var("x"), i(3)), i(3))), op("%", var("x"), i(3)))),
              "z + x");
  }
}

TEST(Fold, PartsOfConditionsStandOnce) {
  const Term a = op("<", var("x"), i(3)), b = op(">", var("y"), i(4));
  EXPECT_EQ(text_of(op("&&", op("&&", a, b), a)), "x < 3 && y > 4");
  EXPECT_EQ(text_of(op("||", op("||", a, b), b)), "x < 3 || y > 4");
  EXPECT_EQ(text_of(op("||", op("&&", a, b), b)), "(x < 3 && y > 4) || y > 4");
}

TEST(Fold, ConditionsAreNotComparedWithConstants) {
  const auto no = [] { return literal(Value{Scalar::kBool, 0, 0}); };
  EXPECT_EQ(text_of(op("==", op("==", var("x"), i(3)), no())), "x != 3");
  EXPECT_EQ(text_of(op("!=", op("==", var("x"), i(3)), no())), "x == 3");
  EXPECT_EQ(text_of(op("==", op("<", var("x"), i(3)), no())), "!(x < 3)");
  EXPECT_EQ(text_of(op("==", var("x"), no())), "x == 0");
}

TEST(Fold, NeutralElementsKeepTheType) {
  EXPECT_EQ(text_of(op("*", var("x"), i(1))), "x");
  EXPECT_EQ(text_of(op("*", var("x"), ll(1))), "static_cast<long long>(x)");
  EXPECT_EQ(text_of(op("%", var("x"), i(1))), "0");
  EXPECT_EQ(text_of(op("*", var("x"), ll(0))), "0ll");
  EXPECT_EQ(text_of(op("+", var("s", Scalar::kShort), i(0))), "static_cast<int>(s)");
  EXPECT_EQ(text_of(op("*", var("f", Scalar::kFloat), i(1))), "f");
  EXPECT_EQ(text_of(op("+", var("f", Scalar::kFloat), i(0))), "f + 0");  // -0.0 + 0 is 0.0
  EXPECT_EQ(text_of(op("-", var("f", Scalar::kFloat), i(0))), "f");
}

TEST(Fold, AnArrayPlusNothingIsItsFirstElementsAddress) {
  Type values;
  values.kind = Type::Kind::kArray;
  values.element = {scalar_type(Scalar::kFloat)};
  const Term array = node(Expression::Kind::kName, "values", values, {});
  EXPECT_EQ(text_of(op("+", array, i(0))), "values");
  EXPECT_EQ(op("+", array, i(0)).type.kind, Type::Kind::kPointer);
  EXPECT_EQ(text_of(op("+", array, i(4))), "values + 4");
}

TEST(Fold, CallsAreNotDropped) {
  const Term call = node(Expression::Kind::kCall, "next", scalar_type(Scalar::kInt), {});
  EXPECT_EQ(text_of(op("*", call, i(0))), "next() * 0");
  EXPECT_EQ(text_of(op("&&", call, literal(Value{Scalar::kBool, 0, 0}))), "next() && false");
}

TEST(Fold, LogicKeepsItsType) {
  const Term yes = literal(Value{Scalar::kBool, 1, 0});
  EXPECT_EQ(text_of(op("&&", yes, var("b", Scalar::kBool))), "b");
  EXPECT_EQ(text_of(op("&&", var("s"), u(5))), "s != 0");
  EXPECT_EQ(text_of(op("||", yes, var("b", Scalar::kBool))), "true");
}

TEST(Fold, LiteralsAreAsShortAsTheirTypeAllows) {
  EXPECT_EQ(text_of(op("*", var("n", Scalar::kLongLong), ll(6048))), "n * 6048");
  EXPECT_EQ(text_of(op("*", var("x"), ll(6048))), "x * 6048ll");
  EXPECT_EQ(text_of(literal(real_value(Scalar::kFloat, 0.1))), "0.1f");
  EXPECT_EQ(text_of(literal(real_value(Scalar::kDouble, 2))), "2.0");
  EXPECT_EQ(text_of(i(-2147483647 - 1)), "(-2147483647 - 1)");
  EXPECT_EQ(text_of(cast(Scalar::kShort, i(7))), "static_cast<short>(7)");
}

TEST(Fold, Parentheses) {
  EXPECT_EQ(text_of(op("-", var("a"), op("-", var("b"), var("c")))), "a - (b - c)");
  EXPECT_EQ(text_of(op("-", op("-", var("a"), var("b")), var("c"))), "a - b - c");
  EXPECT_EQ(text_of(op("*", var("a"), i(-2))), "a * -2");
  EXPECT_EQ(text_of(*fold_unary("-", *fold_unary("-", var("a")))), "-(-a)");
  EXPECT_EQ(text_of(op("||", op("&&", var("a"), var("b")), var("c"))), "(a && b) || c");
  EXPECT_EQ(text_of(op("+", op("<<", var("a"), i(2)), var("b"))), "(a << 2) + b");
  EXPECT_EQ(text_of(*fold_unary("-", op("+", var("a"), var("b")))), "-(a + b)");
  EXPECT_EQ(text_of(*fold_unary("-", op("-", i(0), var("a")))), "a");
  EXPECT_EQ(text_of(*fold_unary("-", op("-", i(0), var("a", Scalar::kShort)))), "-(0 - a)");
}

TEST(Fold, ConditionalsHaveTheCommonType) {
  const Term yes = literal(Value{Scalar::kBool, 1, 0});
  EXPECT_EQ(text_of(*fold_conditional(yes, i(1), var("n", Scalar::kLongLong))), "1ll");
  EXPECT_EQ(text_of(*fold_conditional(yes, var("x"), var("n", Scalar::kLongLong))), "static_cast<long long>(x)");
  EXPECT_EQ(text_of(*fold_conditional(var("c", Scalar::kBool), var("x"), i(3))), "c ? x : 3");
  const Term zero = literal(real_value(Scalar::kFloat, 0)), minus_zero = literal(real_value(Scalar::kFloat, -0.0));
  EXPECT_EQ(text_of(*fold_conditional(var("c", Scalar::kBool), var("x"), var("x"))), "x");
  EXPECT_EQ(text_of(*fold_conditional(var("c", Scalar::kBool), var("x"), var("y"))), "c ? x : y");
  EXPECT_EQ(text_of(*fold_conditional(var("c", Scalar::kBool), zero, zero)), "0.0f");
  EXPECT_EQ(text_of(*fold_conditional(var("c", Scalar::kBool), zero, minus_zero)), "c ? 0.0f : -0.0f");
}

TEST(Fold, PointersTakeOffsetsWithoutCasts) {
  Type pointer;
  pointer.kind = Type::Kind::kPointer;
  pointer.element.push_back(scalar_type(Scalar::kFloat));
  const Term p = name_term("p", pointer);
  EXPECT_EQ(text_of(op("+", p, i(0))), "p");
  EXPECT_EQ(text_of(op("+", p, op("*", op("+", var("x"), i(1)), ll(1)))), "p + (x + 1)");
}

struct Undefined {
  std::string_view op;
  Term a, b;
  std::string_view message;
};

TEST(Fold, StaticPartsWithoutAValueAreErrors) {
  const Undefined cases[] = {
      {"+", i(2147483647), i(1), "2147483647 + 1 overflows int"},
      {"*", ll(1ll << 40), ll(1ll << 40), "1099511627776ll * 1099511627776ll overflows long long"},
      {"/", i(1), i(0), "1 / 0 divides by zero"},
      {"%", u(1), u(0), "1u % 0u divides by zero"},
      {"/", i(-2147483647 - 1), i(-1), "(-2147483647 - 1) / -1 overflows int"},
      {"<<", i(1), i(32), "1 << 32 shifts by no number of bits that int has"},
      {"<<", i(-1), i(1), "-1 << 1 shifts a negative number to the left"},
      {"%", literal(real_value(Scalar::kFloat, 1)), i(1), "1.0f % 1 needs integers"},
  };
  for (const Undefined& c : cases) {
    const Result<Term> out = fold_binary(c.op, c.a, c.b);
    ASSERT_FALSE(out) << c.message;
    EXPECT_EQ(out.error().message, c.message);
  }
  const Result<Term> lost = fold_cast("static_cast", scalar_type(Scalar::kInt), scalar_type(Scalar::kInt),
                                      literal(real_value(Scalar::kDouble, 1e10)));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message, "10000000000.0 is out of the range of int");
}

TEST(Fold, FloatsThatAreTooLargeBecomeInfinity) {
  EXPECT_EQ(text_of(cast(Scalar::kFloat, literal(real_value(Scalar::kDouble, 1e300)))), "__int_as_float(0x7f800000)");
  EXPECT_EQ(text_of(cast(Scalar::kFloat, literal(real_value(Scalar::kDouble, -1e300)))), "-__int_as_float(0x7f800000)");
}

TEST(Fold, LiteralsReadBack) {
  for (const std::string_view text : {"5", "5u", "7ll", "9ul", "1.5f", "0.1", "true", "4294967295ull", "1e+20f"}) {
    const std::optional<Value> value = parse_literal(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(literal_text(*value), text);
  }
  EXPECT_EQ(parse_literal("0x7fffffffu")->bits, 0x7fffffffu);
  EXPECT_EQ(parse_literal("0xffffffff")->type, Scalar::kUnsigned);
  EXPECT_EQ(parse_literal("4294967295")->type, Scalar::kLong);
  EXPECT_EQ(parse_literal("010")->bits, 8u);
  for (const std::string_view text : {"", "x", "1x", "08", "1.5x", "99999999999999999999", "1uu"}) {
    EXPECT_FALSE(parse_literal(text)) << text;
  }
}

TEST(Layout, LongLinesBreakAlignedAfterTheirParenthesis) {
  std::vector<Term> arguments;
  for (int n = 0; n < 9; ++n) {
    arguments.push_back(var("a_rather_long_argument_" + std::to_string(n)));
  }
  Pieces pieces;
  add_term(pieces, node(Expression::Kind::kCall, "function", {}, arguments));
  const std::vector<std::string> lines = lay_out(pieces, 4);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "    function(a_rather_long_argument_0, a_rather_long_argument_1, a_rather_long_argument_2, "
            "a_rather_long_argument_3,");
  EXPECT_EQ(lines[2], "             a_rather_long_argument_8)");
}

}  // namespace
}  // namespace convtgen
