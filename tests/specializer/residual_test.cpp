// Small programs, and the source that is left of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/specializer/small_program.h"

namespace convtgen {
namespace {

TEST(Residual, StaticConstantsVanish) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const int) k (call twice P::n))
    (declare_constexpr @2 (const int) l (+ k kThree))
    (declare @3 (const int) m (+ size l))
    (do @4 (= (at y m) (at x (- m k)))))sexp"),
            "  const int m = size + 9;\n  y[m] = x[m - 6];\n");
}

TEST(Residual, AKernelSaysItsCluster) {
  LaunchPlan clusters;
  clusters.kernels = {{.function = "t", .suffix = "", .cluster = 4}};
  const Result<KernelSource> alone = specialised("", ""), four = specialised("", "", "sm_90a", clusters);
  ASSERT_TRUE(alone && four);
  EXPECT_EQ(alone->main().cluster, 1);
  EXPECT_EQ(alone->text.find("__cluster_dims__"), std::string::npos) << alone->text;
  EXPECT_EQ(four->main().cluster, 4);
  EXPECT_NE(four->text.find("__launch_bounds__(96) __cluster_dims__(4, 1, 1)"), std::string::npos) << four->text;
}

TEST(Residual, OnlyTheTakenBranchStays) {
  EXPECT_EQ(body_of(R"sexp(
    (if @1 P::flag
      (then (do @2 (= (at y 0) 1.0f)))
      (else (do @3 (= (at y 1) 2.0f))))
    (if_constexpr @4 (== P::n kThree)
      (then (do @5 (= (at y 2) 3.0f))))
    (if @6 (&& (! P::flag) (> size 4))
      (then (do @7 (= (at y 3) 4.0f)))
      (else (comment @8 "nothing to do")))
    (if @9 (> size P::n) (then (do @10 (= (at y 4) 5.0f))) (else (if @11 (< size 0) (then (return @12))))))sexp"),
            "  y[1] = 2.0f;\n  y[2] = 3.0f;\n"
            "  if (size > 4) {\n    y[3] = 4.0f;\n  } else {\n    // nothing to do\n  }\n"
            "  if (size > 3) {\n    y[4] = 5.0f;\n  } else if (size < 0) {\n    return;\n  }\n");
}

TEST(Residual, UnrolledLoopsAreWrittenOut) {
  EXPECT_EQ(body_of(R"sexp(
    (for @1 unrolled (declare @1 int i 0) (< i P::n) (++ i)
      (declare @2 (const int) j (* i i))
      (if @3 (!= i 1)
        (then
          (comment @4 "square of {i} of {P::n}")
          (do @5 (= (at y j) (at x i))
            (trail "at ({i}, {j})"))))))sexp"),
            "  // square of 0 of 3\n  y[0] = x[0];  // at (0, 0)\n"
            "  // square of 2 of 3\n  y[4] = x[2];  // at (2, 4)\n");
}

TEST(Residual, UnrolledBodiesKeepBracesOnlyAroundDeclarations) {
  EXPECT_EQ(body_of(R"sexp(
    (for @1 unrolled (declare @1 int i 2) (>= i 1) (-- i)
      (declare @2 (const float) value (at x (+ size i)))
      (do @3 (= (at y i) (* value value)))))sexp"),
            "  {\n    const float value = x[size + 2];\n    y[2] = value * value;\n  }\n"
            "  {\n    const float value = x[size + 1];\n    y[1] = value * value;\n  }\n");
}

TEST(Residual, PlainLoopsStayWithTheirPragma) {
  EXPECT_EQ(body_of(R"sexp(
    (for @1 (pragma "unroll 1") (declare @1 int i 0) (< i (* P::n size)) (+= i 1)
      (do @2 (= (at y i) 0.0f))))sexp"),
            "  #pragma unroll 1\n  for (int i = 0; i < 3 * size; ++i) {\n    y[i] = 0.0f;\n  }\n");
}

TEST(Residual, BodiesStandInBraces) {
  EXPECT_EQ(body_of("(while @1 (> size 1) (if @2 (> size 2) (then (do @3 (= (at y 0) 1)))))"),
            "  while (size > 1) {\n    if (size > 2) {\n      y[0] = 1;\n    }\n  }\n");
  EXPECT_EQ(body_of("(if @1 (> size 1) (then (do @2 (= (at y 0) 1))) (else (do @3 (= (at y 0) 2))))"),
            "  if (size > 1) {\n    y[0] = 1;\n  } else {\n    y[0] = 2;\n  }\n");
}

TEST(Residual, WhatAnUnrolledLoopsVariableCanBeIsKnownInItsBody) {
  EXPECT_EQ(body_of(R"sexp(
    (for @1 (pragma "unroll") (declare @1 int i 0) (< i 4) (++ i)
      (if @2 (< i 9) (then (do @3 (= (at y (+ (/ i 4) (% i 8))) (% (/ i 2) 2))))))
    (for @4 (pragma "unroll") (declare @4 int j 0) (< j 4) (++ j)
      (do @5 (+= j size))
      (do @6 (= (at y (/ j 4)) 1))))sexp"),
            "  #pragma unroll\n  for (int i = 0; i < 4; ++i) {\n    y[i] = i / 2;\n  }\n"
            "  #pragma unroll\n  for (int j = 0; j < 4; ++j) {\n    j += size;\n    y[j / 4] = 1;\n  }\n");
}

TEST(Residual, ArgumentsOfOneNumberGoIntoTheFunction) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device void put (attributes "__noinline__")
    (argument (pointer P::Element) to)
    (argument int place)
    (argument bool wanted)
    (if @1 wanted (then (do @2 (= (at to (* place P::n)) 1))) (else (return @3))))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (do @1 (call put y 2 true))
    (do @2 (call put y 2 true)))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("void put(float* to) {\n  to[6] = 1;\n}"), std::string::npos) << source->text;
  const Result<KernelSource> other = specialised(kItems, R"sexp(
    (do @1 (call put y 2 true))
    (do @2 (call put y size true)))sexp");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_NE(other->text.find("void put(float* to, int place) {\n  to[place * 3] = 1;\n}"), std::string::npos)
      << other->text;
}

TEST(Residual, NoNameHidesAnother) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 float row (at x 0))
    (for @2 plain (declare @2 int i 0) (< i size) (++ i)
      (declare @3 (const float) row (at x i))
      (for @4 plain (declare @4 int i 0) (< i size) (++ i)
        (do @5 (= (at y i) (* row row)))))
    (do @6 (= (at y 0) row)))sexp"),
            "  float row = x[0];\n  for (int i = 0; i < size; ++i) {\n    const float row_2 = x[i];\n"
            "    for (int j = 0; j < size; ++j) {\n      y[j] = row_2 * row_2;\n    }\n  }\n  y[0] = row;\n");
}

TEST(Residual, ConstantsStandAtTheHeadUnderTheirNames) {
  const Result<KernelSource> source = specialised(R"sexp(
  (constant @30 int kStageBytes (* P::n 100) (trail "rows, then weights"))
  (constant @31 int kThreads 96)
  (constant @32 int kFew 3)
  (constant @33 "unsigned int" kMask 0xff00u)
  (constant @34 int kUnused 99)
)sexp",
                                                  R"sexp(
    (do @1 (= (at y (* size kStageBytes)) (+ size kThreads)))
    (do @2 (= (at y (* size kFew)) (& (static_cast "unsigned int" size) kMask)))
    (do @3 (= (at y (+ kUnused 1)) (& size 0x7fffffff))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find(R"(
// ---- Constants ----

constexpr int kThreads = 96;
constexpr unsigned int kMask = 0xff00u;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kStageBytes = 300;  // rows, then weights

extern)"),
            std::string::npos)
      << source->text;
  EXPECT_NE(source->text.find("  y[size * kStageBytes] = size + kThreads;\n"
                              "  y[size * 3] = static_cast<unsigned int>(size) & kMask;\n"
                              "  y[100] = size & 0x7fffffff;\n"),
            std::string::npos)
      << source->text;
}

TEST(Residual, SectionsHaveHeadings) {
  const Result<KernelSource> source = specialised(R"sexp(
  (section @30 "Helpers")
  (function @31 device int unused (return @1 1))
  (section @33 "Epilogue")
  (function @34 device void put (attributes "__noinline__") (argument (pointer P::Element) to) (argument int place)
    (do @1 (= (at to place) 1)))
  (section @39 "Kernel")
)sexp",
                                                  "(do @1 (call put y size))");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text.find("Helpers"), std::string::npos);
  EXPECT_NE(source->text.find("{\n\n// ---- Epilogue ----\n\n__device__ __noinline__ void put("), std::string::npos)
      << source->text;
  EXPECT_NE(source->text.find("}\n\n// ---- Kernel ----\n\nextern"), std::string::npos) << source->text;
}

TEST(Residual, CommentsListWhatIsStatic) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const int) kw 2)
    (do @2 (= (at y 0) 1) (trail "taps {for kh below P::n: ({kh}, {kw})}, {braces for text}"))
    (comment @3 "{for i from 1 below 20 step kThree: {for j below i step 9: <{i} {j}>}}")
    (do @4 (= (at y 1) 1) (trail "({kw to kw}, {kw to kThree})")))sexp"),
            "  y[0] = 1;  // taps (0, 2) (1, 2) (2, 2), {braces for text}\n"
            "  // <1 0> <4 0> <7 0> <10 0> <10 9> <13 0> <13 9> <16 0> <16 9> <19 0> <19 9> <19 18>\n  y[1] = 1;  // "
            "(2, 2 to 3)\n");
  const std::string wrapped = body_of(R"sexp(
    (do @2 (= (at y 0) 1) (trail "taps {for kh below 5: {for kw below 5: ({kh}, {kw})}}")))sexp");
  EXPECT_EQ(
      wrapped,
      "  // taps (0, 0) (0, 1) (0, 2) (0, 3) (0, 4) (1, 0) (1, 1) (1, 2) (1, 3) (1, 4) (2, 0) (2, 1) (2, 2) (2, 3) "
      "(2, 4)\n  // (3, 0) (3, 1) (3, 2) (3, 3) (3, 4) (4, 0) (4, 1) (4, 2) (4, 3) (4, 4)\n  y[0] = 1;\n");
}

TEST(Residual, CommentsHaveAlternatives) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const bool) wide true)
    (comment @2 "Stores {if wide: both of} {if not wide: one of} {if P::flag: all} {P::n}.")
    (do @3 (= (at y 0) 1) (trail "{if P::flag: nothing}{if not P::flag: one}")))sexp"),
            "  // Stores both of 3.\n  y[0] = 1;  // one\n");
}

TEST(Residual, CommentsNameWhatIsThere) {
  constexpr std::string_view kItems = R"sexp(
  (record @10 Place (comment "By `row`{with column: , `column`}.") (field int row) (field int column))
  (function @20 device void put
    (comment "Stores `value`{with bias: , and `bias` at {P::n}}. {with to: At `to`.}")
    (comment "{with bias: Not this line.}")
    (attributes "__noinline__")
    (argument (pointer P::Element) to) (argument int value) (argument (const int) bias)
    (declare @1 Place place)
    (do @2 (= (. place row) value)) (do @3 (= (. place column) bias))
    (do @4 (= (at to 0) (+ (. place row) 1)))
    (if @5 (> bias 3) (then (do @6 (= (at to 1) bias)))))
)sexp";
  const auto text = [&](const char* bias) {
    const auto source =
        specialised(kItems, std::string("(do @1 (call put y size ") + bias + ")) (do @2 (call put x 7 2))");
    return source ? source->text : source.error().message;
  };
  EXPECT_NE(text("2").find("// By `row`.\nstruct Place {"), std::string::npos) << text("2");
  EXPECT_NE(text("2").find("// Stores `value`. At `to`.\n__device__"), std::string::npos) << text("2");
  EXPECT_NE(text("size").find("// Stores `value`, and `bias` at 3. At `to`.\n// Not this line.\n__device__"),
            std::string::npos)
      << text("size");
}

TEST(Residual, LoopsThatRunOnceOrNeverAreNoLoops) {
  EXPECT_EQ(body_of(R"sexp(
    (for @1 (pragma "unroll") (declare @1 int i 0) (< i P::n) (+= i 3)
      (do @2 (= (at y i) 0.0f)))
    (for @3 plain (declare @3 int i P::n) (< i 3) (++ i)
      (do @4 (= (at y i) 0.0f)))
    (for @5 plain (declare @5 int i 0) (< i 1) (++ i)
      (do @6 (+= i size))
      (do @7 (= (at y i) 1.0f))))sexp"),
            "  y[0] = 0.0f;\n"
            "  for (int i = 0; i < 1; ++i) {\n    i += size;\n    y[i] = 1.0f;\n  }\n");
  // A reference may be one to the loop's variable if its initialiser names that, except in an index or a sum.
  const auto with_reference = [](std::string_view element) {
    return body_of(fmt::format(R"sexp(
    (for @1 plain (declare @1 int i 0) (< i 1) (++ i)
      (declare @2 (reference float) element {})
      (do @3 (= element (at x i)))))sexp",
                               element));
  };
  EXPECT_EQ(with_reference("(at y size)"), "  float& element = y[size];\n  element = x[0];\n");
  EXPECT_EQ(with_reference("(at y (+ i 2))"), "  float& element = y[2];\n  element = x[0];\n");
  EXPECT_EQ(with_reference("i"),
            "  for (int i = 0; i < 1; ++i) {\n    float& element = i;\n    element = x[i];\n  }\n");
  // What leaves the loop may be in branches that are not taken, and bounds may be known of a constant argument alone.
  EXPECT_EQ(body_of("(for @1 plain (declare @1 int i 0) (< i 1) (++ i) (if @2 P::flag (then (break @3)))"
                    " (do @4 (= (at y i) size)))"),
            "  y[0] = size;\n");
  EXPECT_EQ(body_of("(do @1 (call put y 2)) (do @2 (call put x 2))", R"sexp(
  (function @20 device void put
    (attributes "__noinline__") (argument (pointer P::Element) to) (argument int count)
    (for @1 plain (declare @1 int i 1) (< i count) (++ i) (do @2 (= (at to i) 1)))))sexp"),
            "  put(y);\n  put(x);\n");
}

constexpr std::string_view kScale = R"sexp(
  (function @20 device P::Element scale
    (comment "Scales by {kThree}.")
    (attributes "__forceinline__")
    (argument P::Element value)
    (argument (const int) by)
    (argument (pointer P::Element) unused)
    (if @1 (> by 1) (then (return @2 (* value by))))
    (return @3 (+ value 1.0f)))
)sexp";

TEST(Residual, FunctionsAreSpecialisedForStaticArguments) {
  const Result<KernelSource> source = specialised(kScale, R"sexp(
    (do @1 (= (at y 0) (call scale (at x 0) 2 y)))
    (do @2 (= (at y 1) (call scale (at x 1) 2 y)))
    (do @3 (= (at y 2) (call scale (at x 2) 1 y)))
    (do @4 (= (at y 3) (call scale (at x 3) size y))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text, R"sexp(// head

namespace kernel_source {

// Scales by 3.
__device__ __forceinline__ float scale(float value) {
  return value * 2;
}

// Scales by 3.
__device__ __forceinline__ float scale_2(float value) {
  return value + 1.0f;
}

// Scales by 3.
__device__ __forceinline__ float scale_3(float value, int by) {
  if (by > 1) {
    return value * by;
  }
  return value + 1.0f;
}

extern "C" __global__ void __launch_bounds__(96) kernel(const float* __restrict__ x, float* __restrict__ y, int size) {
  y[0] = scale(x[0]);
  y[1] = scale(x[1]);
  y[2] = scale_2(x[2]);
  y[3] = scale_3(x[3], size);
}

}  // namespace kernel_source
using kernel_source::kernel;
)sexp");
  ASSERT_EQ(source->template_lines.size(), 31u);
  EXPECT_EQ(source->template_lines[0], 0);
  EXPECT_EQ(source->template_lines[2], 0);
  EXPECT_EQ(source->template_lines[4], 20);
  EXPECT_EQ(source->template_lines[5], 20);
  EXPECT_EQ(source->template_lines[6], 22);
  EXPECT_EQ(source->template_lines[11], 23);
  EXPECT_EQ(source->template_lines[23], 101);
  EXPECT_EQ(source->template_lines[26], 104);
  EXPECT_EQ(source->template_lines[30], 0);
}

TEST(Residual, FunctionsThatAreLeftHaveTheFirstNumbers) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const P::Element) unread (call scale (at x 0) 2 y))
    (do @2 (= (at y 0) (call scale (at x 0) 1 y)))
    (do @3 (= (at y 1) (call scale (at x 1) size y))))sexp",
                    kScale),
            "  y[0] = scale(x[0]);\n  y[1] = scale_2(x[1], size);\n");
}

TEST(Residual, FunctionsThatHandOnTheirArgumentAreNotCalled) {
  constexpr std::string_view kItems = R"sexp(
  (primitive @9 computes float wide (uses) "__device__ float wide(float v) {\n  return v;\n}")
  (function @20 device P::Element same (argument P::Element value)
    (if @1 P::flag (then (return @2 0.0f)) (else (return @3 value))))
  (function @30 device P::Element widen (argument P::Element value)
    (return @1 (call wide value)))
)sexp";
  EXPECT_EQ(body_of("(do @1 (= (at y 0) (+ (call same (at x 0)) (call widen (at x 1)))))", kItems),
            "  y[0] = x[0] + wide(x[1]);\n");
}

TEST(Residual, FunctionsThatNeedNoNameStandInPlaceOfTheirCalls) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 device int place (attributes "inline") (argument int i) (argument int row)
    (return @1 (+ (* i P::n) (* row 2))))
  (function @30 constexpr int twice (argument int i) (return @1 (+ i i)))
)sexp";
  EXPECT_EQ(body_of("(do @1 (= (at y (call place (+ size 1) 0)) (at x (call twice size))))", kItems),
            "  y[(size + 1) * 3] = x[size + size];\n");
  // Nothing is computed twice that was computed once.
  EXPECT_EQ(body_of("(do @1 (= (at y 0) (at x (call twice (* size 3)))))", kItems), "  y[0] = x[twice(size * 3)];\n");
}

TEST(Residual, ListsOfArraysLeaveFieldsKnown) {
  constexpr std::string_view kItems = R"sexp(
  (record @5 Two (field int first) (field int second))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (declare @1 Two two (init 1 size))
    (declare @2 (array (array float 2) 1) all (init (init 1.0f 2.0f)))
    (do @3 (= (at y 0) (+ (at (at all 0) 1) (. two second)))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("struct Two {\n  int second;\n};"), source->text.npos) << source->text;
}

TEST(Residual, OnlyWhatIsUsedIsDeclared) {
  constexpr std::string_view kItems = R"sexp(
  (file "p.h")
  (verbatim @1 pool "extern __shared__ char pool[];")
  (primitive @2 computes (pointer void) memory (uses pool) "__device__ void* memory() {\n  return pool;\n}")
  (primitive @5 acts void unused (uses) "__device__ void unused() {}")
  (file "t.cu")
  (function @50 device void also_unused (return @1))
)sexp";
  const Result<KernelSource> source = specialised(kItems, R"sexp(
    (declare @1 (reference Pair) pair (* (static_cast (pointer Pair) (call memory))))
    (declare @2 (array Rows 2) sums (init))
    (do @3 (= (at y 0) (+ (at (at (. pair rows) 2) 1) (at (at sums 1) 0)))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text, R"sexp(// head

namespace kernel_source {

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ void* memory();

#endif

// Two rows.
struct Pair {
  float rows[3][4];
  int count;  // of rows
};

using Rows = float[3];

extern "C" __global__ void __launch_bounds__(96) kernel(float* __restrict__ y) {
  Pair& pair = *static_cast<Pair*>(memory());
  Rows sums[2] = {};
  y[0] = pair.rows[2][1] + sums[1][0];
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ char pool[];

__device__ void* memory() {
  return pool;
}

#endif

}  // namespace kernel_source
using kernel_source::kernel;
)sexp");
  EXPECT_EQ(source->main().parameters, (std::vector<KernelParameter>{{"y", "float*"}}));
}

TEST(Residual, WhatNothingReadsIsNotStored) {
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 int row 0)
    (declare @2 int left size)
    (declare @3 (pointer (const float)) from x)
    (for @4 plain (declare @4 int i 0) (< i size) (++ i)
      (do @5 (+= left i))
      (do @6 (+= from left))
      (if @7 (|| (== P::n 3) (== (++ row) size))
        (then
          (do @8 (= row 0))))
      (do @9 (= (at y i) 2)))
    (declare @14 int counted 0)
    (declare @10 (reference int) alias counted)
    (do @11 (= alias 2))
    (do @12 (= size 4))
    (do @13 (= (at y 0) 1)))sexp"),
            R"(  for (int i = 0; i < size; ++i) {
    y[i] = 2;
  }
  int counted = 0;
  int& alias = counted;
  alias = 2;
  size = 4;
  y[0] = 1;
)");
  constexpr std::string_view kItems = R"sexp(
  (file "f.h")
  (function @50 device Pair pair_of
    (argument int a)
    (declare @1 Pair pair)
    (if @2 (> a 2)
      (then
        (do @3 (= (. pair count) a))))
    (return @4 pair))
  (function @60 device int set
    (argument (pointer float) to)
    (declare @1 int sum 0)
    (do @2 (= (at to 0) 1))
    (do @3 (= (at to 1) 1))
    (return @4 sum))
)sexp";
  EXPECT_EQ(body_of(R"sexp(
    (declare @1 (const Pair) pair (call pair_of size))
    (declare @2 (const int) sum (call set y) (trail "of y")))sexp",
                    kItems),
            "  set(y);\n");
}

TEST(Residual, StaticArraysAndStaticFunctions) {
  constexpr std::string_view kItems = R"sexp(
  (function @20 constexpr int gcd (argument int a) (argument int b)
    (while @1 (!= b 0)
      (declare @2 (const int) rest (% a b))
      (do @3 (= a b))
      (do @4 (= b rest)))
    (return @5 a))
  (function @30 constexpr int factorial (argument int n)
    (return @1 (? (< n 2) 1 (* n (call factorial (- n 1))))))
  (function @40 constexpr int sum (argument int n)
    (declare @1 (array int 4) squares (init 0 1))
    (declare @2 int total 0)
    (for @3 plain (declare @3 int i 0) (< i 4) (post++ i)
      (if @4 (== i n) (then (break @5)))
      (do @6 (= (at squares i) (* i i)))
      (do @7 (+= total (at squares i))))
    (return @8 total))
)sexp";
  EXPECT_EQ(body_of("(do @1 (= (at y (at P::list 1)) (at x (+ size (call gcd 12 18)))))"
                    "(do @2 (= (at y (call factorial 5)) (at x (call sum 3))))",
                    kItems),
            "  y[7] = x[size + 6];\n  y[120] = x[5];\n");
}

}  // namespace
}  // namespace convtgen
