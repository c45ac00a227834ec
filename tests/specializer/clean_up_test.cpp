// What becomes of a function's body, so that it reads as a person would have written it.
#include <gtest/gtest.h>

#include "tests/specializer/small_program.h"

namespace convtgen {
namespace {

TEST(CleanUp, UnusedVariablesAndTheirCommentsGo) {
  EXPECT_EQ(body_of(R"sexp(
    (comment @1 "Sizes that nothing needs.")
    (declare @2 (const int) rows (/ size 4))
    (declare @3 (const int) columns (* rows 2))
    (blank @4)
    (comment @5 "The result.")
    (do @6 (= (at y 0) (at x size)))
    (blank @7)
    (comment @8 "Stays: it is about nothing that went.")
    (blank @9)
    (do @10 (= (at y 1) (at x size))))sexp"),
            "  // The result.\n  y[0] = x[size];\n\n  // Stays: it is about nothing that went.\n\n  y[1] = x[size];\n");
}

TEST(CleanUp, AnIfThatGoesTakesItsCommentAlong) {
  EXPECT_EQ(body_of(R"sexp(
    (comment @1 "About the flag.")
    (if @2 P::flag (then (do @3 (= (at y 0) 1))))
    (do @4 (= (at y 1) 2))
    (comment @5 "About three.")
    (if @6 (== P::n 3) (then (do @7 (= (at y 2) 3))))
    (comment @8 "About the size.")
    (if @9 (> size 0) (then (do @10 (+ size 1))))
    (do @11 (= (at y 3) 4))
    (comment @12 "About both that follow.")
    (declare @13 (const int) k P::n)
    (do @14 (= (at y k) 5)))sexp"),
            "  y[1] = 2;\n  // About three.\n  y[2] = 3;\n  y[3] = 4;\n  // About both that follow.\n  y[3] = 5;\n");
}

TEST(CleanUp, FunctionsThatDoNothingAreNotCalled) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device void note
    (argument (const bool) wanted)
    (argument (pointer P::Element) to)
    (if @1 wanted (then (comment @2 "Here.") (do @3 (= (at to 0) 1)))))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (declare @1 (array float 2) unused)
    (comment @2 "Only if it is wanted.")
    (do @3 (call note P::flag unused))
    (if @4 (> size 0) (then (do @5 (call note P::flag y))))
    (do @6 (= (at y 1) 2)))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text.find("note"), std::string::npos) << source->text;
  EXPECT_EQ(body_of("(do @1 (call note true y)) (do @2 (call note P::flag y))", kItems), "  note(y);\n");
  EXPECT_EQ(body_of("(if @1 (> size 0) (then (do @2 (call note P::flag y)))) (do @6 (= (at y 1) 2))", kItems),
            "  y[1] = 2;\n");
}

TEST(CleanUp, ValuesAreReturnedWithoutNames) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device P::Element sum
    (argument P::Element a)
    (argument (const bool) doubled)
    (declare @1 (const P::Element) value (+ a 1.0f))
    (if @2 doubled (then (return @3 (* value value))))
    (return @4 value))
  (function @30 device P::Element narrowed
    (argument double a)
    (declare @1 (const P::Element) value (* a 3.0))
    (return @2 value))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (do @1 (= (at y 0) (call sum (at x 0) false)))
    (do @2 (= (at y 1) (call sum (at x 1) true)))
    (do @3 (= (at y 2) (call narrowed (at x 2)))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("float sum(float a) {\n  return a + 1.0f;\n}"), std::string::npos) << source->text;
  EXPECT_NE(source->text.find("  const float value = a + 1.0f;\n  return value * value;\n"), std::string::npos)
      << source->text;
  EXPECT_NE(source->text.find("  const float value = a * 3.0;\n  return value;\n"), std::string::npos) << source->text;
}

TEST(CleanUp, WhatStandsBelowAnAliasDoesSoInTheOutput) {
  constexpr std::string_view kItems = R"sexp(
  (alias @20 Pairs (array P::Element 2))
  (alias @22 Accumulators (array P::Element 3) (comment "Together."))
  (function @23 device void clear
    (argument (reference Accumulators) sums)
    (argument (reference Pairs) pairs)
    (do @1 (= (at sums 0) (at pairs 0))))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (declare @1 Accumulators sums) (declare @2 Pairs pairs) (do @3 (call clear sums pairs)) (do @4 (= (at y 0) (at sums 0))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find(
                "\n\nusing Pairs = float[2];\n// Together.\nusing Accumulators = float[3];\n\n__device__ void clear("),
            std::string::npos)
      << source->text;
}

TEST(CleanUp, CopiesOfNamesGo) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const int) rows (? (< P::n 0) P::n size))
    (declare @2 (pointer (const P::Element)) from x)
    (declare @3 int moving size)
    (do @4 (++ moving))
    (do @5 (= (at y moving) (at from rows))))sexp"),
            "  int moving = size;\n  ++moving;\n  y[moving] = x[size];\n");
}

TEST(CleanUp, CopiesOfALoopsVariableGoUnlessItsBodyChangesIt) {
  const auto loop = [](const std::string& more) {
    return "(for @1 plain (declare @1 int i 0) (< i size) (++ i) (declare @2 (const int) row i) " + more +
           "(do @4 (= (at y row) (at x row))))";
  };
  EXPECT_EQ(body_of(loop("")), "  for (int i = 0; i < size; ++i) {\n    y[i] = x[i];\n  }\n");
  EXPECT_EQ(body_of(loop("(do @3 (++ i))")),
            "  for (int i = 0; i < size; ++i) {\n    const int row = i;\n    ++i;\n    y[row] = x[row];\n  }\n");
}

TEST(CleanUp, FieldsThatNothingReadsGo) {
  constexpr std::string_view kItems = R"sexp(
  (record @10 Place (field int row) (field int column (trail "of the image")) (field bool at_end))
  (function @20 device Place place_of
    (argument int index)
    (declare @1 (const bool) is_last (== index 7))
    (return @2 (init (/ index 8) (% index 8) is_last)))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (declare @1 (const Place) place (call place_of size))
    (declare @2 Place first (init 0 size false))
    (do @3 (= (at y (. place column)) (. first column))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("struct Place {\n  int column;  // of the image\n};\n"), std::string::npos)
      << source->text;
  EXPECT_NE(source->text.find("Place place_of(int index) {\n  return {index % 8};\n}\n"), std::string::npos)
      << source->text;
  EXPECT_NE(source->text.find("Place first = {size};\n"), std::string::npos) << source->text;
}

TEST(CleanUp, FieldsThatAreOnlyStoredGo) {
  constexpr std::string_view kItems = R"sexp(
  (record @10 Place (field int row) (field int column) (field int moved))
  (function @20 device Place place_of
    (attributes "__noinline__")
    (argument int index)
    (declare @1 Place place)
    (do @2 (= (. place row) (/ index 8)))
    (do @3 (= (. place column) (% index 8)))
    (do @4 (= (. place moved) (post++ index)))
    (return @5 place))
)sexp";
  const Result<KernelSource> source =
      specialised(kItems, "(declare @1 Place place (call place_of size)) (do @2 (= (at y 0) (. place row)))");
  ASSERT_TRUE(source) << source.error().message;
  // What is stored with an effect stays, and so does its field.
  EXPECT_NE(source->text.find("struct Place {\n  int row;\n  int moved;\n};\n"), std::string::npos) << source->text;
  EXPECT_NE(source->text.find("  Place place;\n  place.row = index / 8;\n  place.moved = index++;\n"),
            std::string::npos)
      << source->text;
}

TEST(CleanUp, FieldsOfOneNumberAreThatNumber) {
  constexpr std::string_view kItems = R"sexp(
  (record @10 Place (field int row) (field int column) (field int end))
  (function @20 device Place place_of
    (attributes "__noinline__")
    (argument int index)
    (declare @1 Place place)
    (do @2 (= (. place row) 3))
    (do @3 (= (. place column) index))
    (do @4 (= (. place end) (+ (. place row) 4)))
    (return @5 place))
)sexp";
  const auto source_of = [&](const std::string& more) {
    const Result<KernelSource> source = specialised(
        kItems, "(declare @1 Place place (call place_of size)) " + more +
                    " (do @9 (= (at y (. place column)) (at x (+ (. place row) (. place end)))))");
    EXPECT_TRUE(source) << source.error().message;
    return source ? source->text : "";
  };
  const std::string plain = source_of("");
  EXPECT_NE(plain.find("struct Place {\n  int column;\n};\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("  Place place;\n  place.column = index;\n  return place;\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("y[place.column] = x[10];"), std::string::npos) << plain;
  // Whatever may give the field another number keeps it.
  for (const std::string more :
       {"(do @2 (= (. place row) 4))", "(do @2 (+= (. place row) 1))", "(do @2 (++ (. place row)))",
        "(declare @2 Place other (init 1 size 7)) (do @3 (= (at y 2) (at x (. other row))))",
        "(declare @2 (pointer int) to (& (. place row))) (do @3 (= (at to 0) size))",
        "(declare @2 (reference int) row (. place row)) (do @3 (= row size))"}) {
    const std::string text = source_of(more);
    EXPECT_NE(text.find("place.row +"), std::string::npos) << more << "\n" << text;
  }
}

TEST(CleanUp, FunctionsThatGiveBackAnArgumentGo) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device int quotient
    (argument int a) (argument int by)
    (return @1 (/ a by)))
  (function @30 device int remainder
    (argument int a) (argument int by)
    (return @1 (- a (* (/ a by) by))))
)sexp";
  EXPECT_EQ(body_of("(do @1 (= (at y 0) (at x (+ (call quotient size 1) (call remainder (- size 3) 1)))))", kItems),
            "  y[0] = x[size];\n");
}

TEST(CleanUp, FunctionsThatOnlyForwardGo) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device float scaled
    (attributes "__noinline__") (argument float a) (argument float b)
    (return @1 (* (+ a 1.0f) b)))
  (function @30 device float turned
    (attributes "__noinline__") (argument float b) (argument float a)
    (return @1 (call scaled a b)))
  (function @40 device double widened
    (attributes "__noinline__") (argument float a) (argument float b)
    (return @1 (call scaled a b)))
  (function @50 device float of_integers
    (attributes "__noinline__") (argument float a) (argument float b)
    (return @1 (call scaled a b)))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (do @1 (= (at y 0) (call turned (at x 0) (call turned (at x 1) (at x 2)))))
    (do @2 (= (at y 1) (call widened (at x 0) (at x 1))))
    (do @3 (= (at y 2) (call of_integers size (at x 1)))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("  y[0] = scaled(scaled(x[2], x[1]), x[0]);\n  y[1] = widened(x[0], x[1]);\n"
                              "  y[2] = of_integers(size, x[1]);\n"),
            std::string::npos)
      << source->text;
  EXPECT_EQ(source->text.find("turned"), std::string::npos) << source->text;
}

TEST(CleanUp, ArraysOfOneElementAreThatElement) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device void add
    (attributes "__noinline__") (argument (reference (array float 1)) sums) (argument float value)
    (do @1 (+= (at sums 0) value)))
  (function @30 device float of_any
    (attributes "__noinline__") (argument (reference (array float 1)) all) (argument int which)
    (return @1 (at all which)))
)sexp";
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (array float 1) sums (init))
    (do @2 (call add sums (at x 0)))
    (declare @3 (array (array float 2) 1) pairs)
    (do @4 (= (at (at pairs 0) 1) (at sums 0)))
    (declare @5 (array float 1) kept (init (at x 1)))
    (do @6 (= (at y 0) (+ (at (at pairs 0) 1) (call of_any kept size)))))sexp",
                    kItems),
            "  float sums = 0;\n  add(sums, x[0]);\n  float pairs[2];\n  pairs[1] = sums;\n"
            "  float kept[1] = {x[1]};\n  y[0] = pairs[1] + of_any(kept, size);\n");
}

TEST(CleanUp, ParametersOfKernelsThatNothingReadsGo) {
  const Result<KernelSource> source = specialised("(record @10 Sizes (field int rows) (field int all))", R"sexp(
    (declare @1 Sizes sizes) (do @2 (= (. sizes rows) 3)) (do @3 (= (. sizes all) size))
    (do @4 (= (at y (. sizes rows)) (at x 0))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text.find("size)"), std::string::npos) << source->text;
}

TEST(CleanUp, AVariableThatChangesIsNoCopy) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 int moving size)
    (declare @2 (const int) before moving)
    (do @3 (++ moving))
    (do @4 (= (at y moving) (at x before))))sexp"),
            "  int moving = size;\n  const int before = moving;\n  ++moving;\n  y[moving] = x[before];\n");
}

TEST(CleanUp, ValuesStandAtTheirDeclaration) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 P::Element sum 0)
    (if @2 (! P::flag) (then (do @3 (= sum (at x size)))))
    (declare @4 P::Element other 0)
    (if @5 P::flag (then (do @6 (= other (at x size)))))
    (do @7 (= (at y 0) (+ sum other))))sexp"),
            "  const float sum = x[size];\n  float other = 0;\n  y[0] = sum + other;\n");
}

TEST(CleanUp, SumsThatBeginWithNothingAreTheirFirstTerm) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 int sum 0)
    (do @2 (+= sum (* size 5)))
    (declare @3 bool found false)
    (do @4 (= found (|| found (> size 3))))
    (declare @5 P::Element real 0)
    (do @6 (+= real (at x 0)))
    (if @7 (&& found (< 7 size)) (then (do @8 (= (at y sum) real)))))sexp"),
            "  const int sum = size * 5;\n  const bool found = size > 3;\n  float real = 0;\n  real += x[0];\n"
            "  if (found && size > 7) {\n    y[sum] = real;\n  }\n");
}

TEST(CleanUp, RecordsToo) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device Pair pair_of
    (argument int count)
    (declare @1 Pair pair)
    (do @2 (= (. pair count) (* count count)))
    (return @3 pair))
)sexp";
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 Pair pair)
    (if @2 (== P::n 3) (then (do @3 (= pair (call pair_of size)))))
    (do @4 (+= (. pair count) 1))
    (do @5 (= (at y 0) (. pair count))))sexp",
                    kItems),
            "  Pair pair = pair_of(size);\n  ++pair.count;\n  y[0] = pair.count;\n");
}

TEST(CleanUp, NamesThatWouldClashKeepTheirBraces) {
  EXPECT_EQ(body_of(R"sexp(
    (if @1 true
      (then (declare @2 (const float) value (at x 0)) (do @3 (= (at y 0) (* value value)))))
    (declare @4 (const float) value (at x 1))
    (do @5 (= (at y 1) (* value value)))
    (if @6 true
      (then (declare @7 (const float) other (at x 2)) (do @8 (= (at y 2) (* other other))))))sexp"),
            "  {\n    const float value = x[0];\n    y[0] = value * value;\n  }\n"
            "  const float value = x[1];\n  y[1] = value * value;\n"
            "  const float other = x[2];\n  y[2] = other * other;\n");
}

}  // namespace
}  // namespace convtgen
