// Template programs as text: what is written reads back, and what can't be read says where and why.
#include "generator/program/program_text.h"

#include <gtest/gtest.h>

#include "generator/planner/table/templates.h"

namespace convtgen {
namespace {

// Every form of program.h once.
constexpr std::string_view kAllForms = R"sexp((program all
  (digest "00ff")
  (parameter int width 4)
  (parameter (array double) scales (init 1.5 2.0))
  (type_parameter Element "unsigned short")
  (file "device/memory.h")
  (verbatim @3 pool "extern __shared__ char pool[];")
  (primitive @5 computes (pointer void) memory (uses pool) "// \"quoted\" \\ and\n__device__ void* memory() {\n  return pool;\n}")
  (printed @9 product (static type) (argument d))
  (file "all.cu")
  (constant @4 int kTwice (* P::width 2))
  (enum @5 Kind (kNone 0) (kSome -3))
  (alias @7 Rows (array (array float 2) kTwice)
    (comment "An alias."))
  (static_assert @8 (> kTwice 0) "positive")
  (record @10 Stage
    (attribute "__align__(16)")
    (comment "A record.")
    (field Rows rows)
    (field (pointer (const char)) name (trail "of it")))
  (function @20 constexpr int half
    (argument int n)
    (declare @1 int sum 0)
    (while @2 (> n 0)
      (do @3 (+= sum (/ n 2)))
      (if @4 (== n 7)
        (then
          (break @5)))
      (continue @6))
    (return @8 sum))
  (function @40 kernel void all
    (comment "The kernel.")
    (attributes "__noinline__")
    (launch_bounds (* P::width 32) 1)
    (argument (restrict (pointer (const P::Element))) x)
    (argument (const (reference Stage)) stage)
    (argument (const TensorMap) map grid_constant)
    (using @1 Row (array float 4))
    (declare_shared @2 (array float 8) buffer)
    (declare_constexpr @3 (const int) n 1u)
    (blank @4)
    (comment @5 "n is {n}; \"so\"")
    (for @6 unrolled (declare @6 int i 0) (< i 3) (++ i)
      (do @7 (= (at buffer i) (? (! (. stage flag)) 1.0f 1e+20))
        (trail "at {i}")))
    (for @8 (pragma "unroll 2") none none none
      (asm @9 "asm volatile(\"bar.sync 0;\");"))
    (for @10 plain (do @10 (= n 0)) true (post++ n)
      (block @11
        (do @12 (call f (& (at buffer 0)) (* (-> x y)) (static_cast float n) (sizeof Stage) (text "a, b")))))
    (if_constexpr @13 (&& true (!= n 3ll))
      (then
        (return @14))
      (else
        (static_assert @15 false "never")))
    (declare @16 float value (init 1))))
)sexp";

TEST(ProgramText, WhatIsReadIsWrittenAgain) {
  const Result<Program> program = read_program(kAllForms);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(write_program(*program), kAllForms);
  EXPECT_EQ(read_program(write_program(*program)), *program);
}

TEST(ProgramText, ReadsThePartsOfAFunction) {
  const Result<Program> program = read_program(kAllForms);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->parameters.at(1).default_value.operands.size(), 2u);
  const auto& kernel = std::get<Function>(program->items.back());
  EXPECT_EQ(kernel.place, (Place{"all.cu", 40}));
  EXPECT_EQ(kernel.comment, std::vector<std::string>{"The kernel."});
  EXPECT_TRUE(kernel.arguments.at(0).type.is_restrict);
  EXPECT_TRUE(kernel.arguments.at(0).type.element.at(0).is_const);
  const Statement& loop = kernel.body.at(5);
  EXPECT_TRUE(loop.unrolled);
  EXPECT_EQ(loop.init.at(0).name, "i");
  EXPECT_EQ(loop.body.at(0).trail, "at {i}");
  EXPECT_EQ(kernel.body.at(6).text, "unroll 2");
  EXPECT_TRUE(kernel.body.at(6).condition.empty());
}

TEST(ProgramText, CommittedProgramsReadBack) {
  const std::string_view text = template_named("direct").value()->program();
  const Result<Program> program = read_program(text);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(write_program(*program), text);
}

struct Wrong {
  std::string_view text;
  std::string_view message;
};
void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.message;
}

class ProgramErrors : public testing::TestWithParam<Wrong> {};

TEST_P(ProgramErrors, NameTheLine) {
  const Result<Program> program = read_program(GetParam().text);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProgramErrors,
    testing::Values(
        Wrong{"", "line 1: the text ends where a closing parenthesis must stand"},
        Wrong{"(program a\n  (constant @1 int k (+ 1", "line 2: the text ends where a closing parenthesis must stand"},
        Wrong{"(program a)\n)", "line 2: nothing may follow the closing parenthesis"},
        Wrong{"(program a (file \"x\n\"))", "line 1: a string without its closing quote"},
        Wrong{"(template a)", "line 1: expected (program NAME ...)"},
        Wrong{"(program a\n  (konstant @1 int k 1))", "line 2: 'konstant' is no item of a program"},
        Wrong{"(program a\n  (constant 1 int k 1))", "line 2: expected @ and a line number after the first word"},
        Wrong{"(program a\n  (constant @x int k 1))", "line 2: expected a number, not 'x'"},
        Wrong{"(program a\n  (constant @1 int k))", "line 2: expected 4 elements after the first"},
        Wrong{"(program a\n  (constant @1 int k 1x))", "line 2: '1x' is no literal"},
        Wrong{"(program a\n  (constant @1 int k (** 1 2)))", "line 2: '**' with 2 operands is no expression"},
        Wrong{"(program a\n  (constant @1 int k (? 1 2)))", "line 2: '?' with 3 elements"},
        Wrong{"(program a\n  (constant @1 (array2 int) k 1))", "line 2: expected a type"},
        Wrong{"(program a\n  (function @1 host void f))",
              "line 2: 'host' is no kind of function; expected constexpr, device or kernel"},
        Wrong{"(program a\n  (printed @1 p (dynamic d)))", "line 2: expected (argument \"...\")"},
        Wrong{"(program a\n  (function @1 kernel void f\n    (argument int a constant)))",
              "line 3: expected grid_constant or nothing after the name of an argument"},
        Wrong{"(program a\n  (function @1 device void f\n    (jump @1)))", "line 3: 'jump' is no statement"},
        Wrong{"(program a\n  (function @1 device void f\n    (if @1 true (return @1))))",
              "line 3: expected (then ...) after the condition"},
        Wrong{"(program a\n  (function @1 device void f\n    (for @1 rolled none none none)))",
              "line 3: expected unrolled, plain or (pragma \"...\") after the line of a for"},
        Wrong{"(program a\n  (function @1 device void f\n    (return @1 1 2)))", "line 3: expected a statement"}),
    [](const auto& info) { return "Error" + std::to_string(info.index); });

}  // namespace
}  // namespace convtgen
