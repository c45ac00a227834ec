// What the specializer refuses, with the line of the template.
#include <gtest/gtest.h>

#include "tests/specializer/small_program.h"

namespace convtgen {
namespace {

struct Fault {
  std::string_view items;
  std::string_view body;
  std::string_view message;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.message;
}

class ResidualErrors : public testing::TestWithParam<Fault> {};

TEST_P(ResidualErrors, NameTheTemplatesLine) {
  const Result<KernelSource> source = specialised(GetParam().items, GetParam().body);
  ASSERT_FALSE(source) << source->text;
  EXPECT_EQ(source.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ResidualErrors,
    testing::Values(
        Fault{"", "(declare_constexpr @7 (const int) k size)",
              "t.cu:107: k is constexpr, but its initialiser is not static"},
        Fault{"", "(if_constexpr @3 (> size 0) (then (return @4)))",
              "t.cu:103: the condition of an if constexpr must be static"},
        Fault{"", "(static_assert @3 (== P::n 4) \"four\")", "t.cu:103: static assertion failed: four"},
        Fault{"(static_assert @9 (> P::n 5) \"enough\")", "(return @1)", "t.cu:9: static assertion failed: enough"},
        Fault{"(constant @9 int kBad (/ P::n 0))", "(return @1)", "t.cu:9: kBad: 3 / 0 divides by zero"},
        Fault{"(constant @9 int kBad (* 2147483647 P::n))", "(return @1)",
              "t.cu:9: kBad: 2147483647 * 3 overflows int"},
        Fault{"", "(do @3 (= (at y (/ size (- P::n 3))) (at x (/ 1 (- P::n 3)))))", "t.cu:103: 1 / 0 divides by zero"},
        Fault{"", "(for @3 unrolled (declare @3 int i 0) (< i size) (++ i) (do @4 (= (at y i) 0)))",
              "t.cu:103: the condition of an unrolled loop must be static"},
        Fault{"", "(for @3 unrolled (declare @3 int i size) (< i 4) (++ i) (do @4 (= (at y i) 0)))",
              "t.cu:103: an unrolled loop needs a static start for its variable i"},
        Fault{"", "(for @3 unrolled (declare @3 int i 0) (< i 4) (++ i) (do @4 (= i 0)))",
              "t.cu:104: a static variable can't be assigned to here: only the head of its loop moves it"},
        Fault{"", "(for @3 unrolled (declare @3 int i 0) (< i 4) (*= i 2) (do @4 (= (at y i) 0)))",
              "t.cu:103: more than 65536 iterations of an unrolled loop"},
        Fault{"", "(comment @3 \"of {size}\")", "t.cu:103: {size} in a comment names nothing static"},
        Fault{"", "(comment @3 \"of {nothing}\")", "t.cu:103: {nothing} in a comment names nothing static"},
        Fault{kPrimitives, "(do @3 (call setmaxnreg_increase size))",
              "t.cu:103: argument 'registers' of setmaxnreg_increase must be a static integer"},
        Fault{kPrimitives, "(do @3 (call setmaxnreg_increase 24.0f))",
              "t.cu:103: argument 'registers' of setmaxnreg_increase must be a static integer"},
        Fault{kPrimitives, "(do @3 (call setmaxnreg_increase))",
              "t.cu:103: setmaxnreg_increase takes 1 arguments, not 0"},
        Fault{kPrimitives, "(do @3 (call setmaxnreg_increase (- 8)))",
              "t.cu:103: no primitive 'setmaxnreg_increase_-8': registers are 24 to 256 in steps of 8"},
        Fault{kPrimitives, "(do @3 (call wgmma_rs 0 0 y x 7ull 1))",
              "t.cu:103: wgmma_rs: d has 0 elements; it has N / 2, which is 4 to 128 in steps of 4"},
        Fault{kPrimitives, "(declare @3 (array float 8) d) (do @4 (call wgmma_rs 3 0 d x 7ull 1))",
              "t.cu:104: wgmma_rs: 3 is no WgmmaType"},
        Fault{kPrimitives, "(declare @3 (array float 8) d) (do @4 (call wgmma_rs 0 2 d x 7ull 1))",
              "t.cu:104: wgmma_rs: 2 is no WgmmaMajor"},
        Fault{kPrimitives, "(declare @3 (array float 8) d) (do @4 (call wgmma_rs 2 1 d x 7ull 1))",
              "t.cu:104: no primitive 'wgmma_m64n16k8_tf32_rs_mn_b': tf32 operands are K-major; only f16 and bf16 ones "
              "may be MN-major"},
        Fault{"(printed @9 unheard_of)", "(do @3 (call unheard_of))",
              "t.cu:103: no printed primitive 'unheard_of' with 0 static arguments"},
        Fault{"", "(do @3 (= (at y 0) P::rows))", "t.cu:103: the template has no parameter 'rows'"},
        Fault{"", "(do @3 (= (at y 0) (at P::list size)))",
              "t.cu:103: P::list is static; its index must be static too"},
        Fault{"", "(do @3 (= (at y 0) (at P::list 2)))", "t.cu:103: index 2 of P::list, which has 2 elements"},
        Fault{"", "(declare @3 (array float size) a)", "t.cu:103: the extent of an array must be static"},
        Fault{"", "(declare @3 (array float (- P::n 3)) a)", "t.cu:103: an array of 0 elements"},
        Fault{"(function @20 constexpr int forever (argument int n) (while @1 true (do @2 (= n 1))) (return @3 n))",
              "(do @3 (= (at y 0) (call forever 1)))",
              "t.cu:103: t.cu:22: more than 1000000 steps in a static function"},
        Fault{"(function @20 constexpr int deep (argument int n) (return @1 (+ 1 (call deep n))))",
              "(do @3 (= (at y 0) (call deep 1)))", "t.cu:103: t.cu:21: deep calls itself more than 256 deep"},
        Fault{"(function @20 device int deep (argument (const int) n) (return @1 (call deep (+ n 1))))",
              "(do @3 (= (at y 0) (call deep 1)))", "t.cu:21: calls are more than 100 deep"}),
    [](const auto& info) { return "Error" + std::to_string(info.index); });

TEST(ResidualErrors, ParametersAreCheckedByNameAndKind) {
  const Result<Program> program = read_program(
      "(program t (parameter int n 1) (parameter (array double) a (init)) (type_parameter T float)\n"
      "(file \"t.cu\") (function @1 kernel void t (return @1)))");
  ASSERT_TRUE(program) << program.error().message;
  const auto message = [&](const Parameters& parameters) {
    const Result<KernelSource> source = specialize_program(*program, parameters, "//", "k", "sm_80");
    return source ? std::string() : source.error().message;
  };
  const Parameters right{{"n", std::int64_t{1}}, {"a", std::vector<double>{}}, {"T", TypeName{"double"}}};
  EXPECT_EQ(message(right), "");
  Parameters wrong = right;
  wrong.erase("n");
  EXPECT_EQ(message(wrong), "the plan gives no value for 'n', a parameter of the template t");
  wrong = right;
  wrong["m"] = true;
  EXPECT_EQ(message(wrong), "the template t has no parameter 'm'");
  wrong = right;
  wrong["n"] = 1.5;
  EXPECT_EQ(message(wrong), "parameter 'n' of the template t: the plan gives a number for int");
  wrong["n"] = std::int64_t{1} << 31;
  EXPECT_EQ(message(wrong), "parameter 'n' of the template t: 2147483648 does not fit int");
  wrong = right;
  wrong["T"] = std::int64_t{1};
  EXPECT_EQ(message(wrong), "parameter 'T' of the template t: the plan gives an integer for a type");
  wrong["T"] = TypeName{"half"};
  EXPECT_EQ(message(wrong), "parameter 'T' of the template t: 'half' is no scalar type");
  wrong = right;
  wrong["a"] = std::vector<std::int64_t>{1};
  EXPECT_EQ(message(wrong), "parameter 'a' of the template t: the plan gives an integer for double");
}

}  // namespace
}  // namespace convtgen
