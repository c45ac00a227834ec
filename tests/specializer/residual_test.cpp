// Small programs, and the source that is left of them.
#include <gtest/gtest.h>

#include <algorithm>

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

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ char pool[];

__device__ void* memory() {
  return pool;
}

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

}  // namespace kernel_source
using kernel_source::kernel;
)sexp");
  EXPECT_EQ(source->main().parameters, (std::vector<KernelParameter>{{"y", "float*"}}));
}

constexpr std::string_view kPrimitives = R"sexp(
  (file "device/printed.h")
  (printed @15 wgmma_rs (static type) (static b_major) (argument d) (argument a) (argument b) (argument accumulate))
  (printed @25 setmaxnreg_increase (static registers))
  (file "device/tensor_copy.h")
  (verbatim @20 TensorMap "struct TensorMap {};")
  (primitive @70 acts void tensor_prefetch (uses TensorMap) "void tensor_prefetch(const TensorMap& map) {}")
  (file "t.cu")
)sexp";

/// The lines that contain one of the words.
std::string lines_with(const std::string& text, std::initializer_list<std::string_view> words) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != line.npos; })) {
      out += std::string(line) + "\n";
    }
    at = end + 1;
  }
  return out;
}

TEST(Residual, PrimitivesArePrintedOnceForEachSetOfStaticArguments) {
  const Result<KernelSource> source = specialised(kPrimitives, R"sexp(
    (declare @1 (array float (* P::n 8)) d)
    (declare @2 (array (array float 4) 2) narrow)
    (declare @3 (array "unsigned int" 4) a)
    (for @4 unrolled (declare @4 int i 0) (< i 2) (++ i)
      (do @5 (call wgmma_rs i 0 d a 7ull size)))
    (do @6 (call wgmma_rs (- P::n 2) 0 d a 9ull (- P::n 3)))
    (do @7 (call wgmma_rs 2 0 (at narrow 1) a 7ull 1))
    (do @8 (call setmaxnreg_increase (* P::n 32))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(lines_with(source->text, {"#", "wgmma_m64n", "setmaxnreg_"}),
            R"(#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)
__device__ __forceinline__ void setmaxnreg_increase_96() {
__device__ __forceinline__ void wgmma_m64n48k16_bf16_rs(float (&d)[24], const unsigned int (&a)[4], unsigned long long b,
__device__ __forceinline__ void wgmma_m64n48k16_f16_rs(float (&d)[24], const unsigned int (&a)[4], unsigned long long b,
__device__ __forceinline__ void wgmma_m64n8k8_tf32_rs(float (&d)[4], const unsigned int (&a)[4], unsigned long long b,
#endif
  wgmma_m64n48k16_f16_rs(d, a, 7ull, size);
  wgmma_m64n48k16_bf16_rs(d, a, 7ull, size);
  wgmma_m64n48k16_bf16_rs(d, a, 9ull, 0);
  wgmma_m64n8k8_tf32_rs(narrow[1], a, 7ull, 1);
  setmaxnreg_increase_96();
)");
}

TEST(Residual, OnlyReachedPrimitivesArePrinted) {
  EXPECT_EQ(body_of(R"sexp(
    (if @1 P::flag (then (do @2 (call setmaxnreg_increase 40))))
    (do @3 (= (at y 0) 0)))sexp",
                    kPrimitives),
            "  y[0] = 0;\n");
  const Result<KernelSource> source =
      specialised(kPrimitives, "(if @1 P::flag (then (do @2 (call setmaxnreg_increase 40))))");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text.find("setmaxnreg"), std::string::npos) << source->text;
}

TEST(Residual, ArraysByReferenceStandInParentheses) {
  const Result<KernelSource> source = specialised(R"sexp(
  (function @20 device void clear
    (argument (reference (array (array float P::n) 2)) sums)
    (argument (pointer (array (const float) 4)) rows)
    (do @1 (= (at (at sums 1) 0) (at (* rows) 3))))
)sexp",
                                                  R"sexp(
    (declare @1 (array (array float P::n) 2) sums)
    (declare @2 (array (const float) 4) rows (init))
    (do @3 (call clear sums (& rows))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("void clear(float (&sums)[2][3], const float (*rows)[4]) {"), std::string::npos)
      << source->text;
}

TEST(Residual, OfAPrimitivesCasesThoseThatAreAskedForArePrinted) {
  constexpr std::string_view kItems = R"sexp(
  (primitive @9 acts void wait (uses) "// Waits.\n__device__ void wait(int n) {\n  switch (n) {\n    case 0:\n      asm volatile(\"w 0;\"\n                   ::: \"memory\");\n      break;\n    case 1:\n      asm volatile(\"w 1;\");\n      break;\n    default:\n      __trap();\n  }\n}")
)sexp";
  const auto text_with = [&](const std::string& call) {
    return specialised(kItems, call + "(do @9 (= (at y 0) 0))").value().text;
  };
  EXPECT_NE(text_with("(do @1 (call wait 1))")
                .find("  switch (n) {\n    case 1:\n      asm volatile(\"w 1;\");\n      break;\n"
                      "    default:\n      __trap();\n  }\n}\n"),
            std::string::npos)
      << text_with("(do @1 (call wait 1))");
  EXPECT_NE(text_with("(do @1 (call wait 0))")
                .find("    case 0:\n      asm volatile(\"w 0;\"\n                   ::: \"memory\");\n      break;\n"),
            std::string::npos);
  const std::string all = text_with("(do @1 (call wait 0)) (do @2 (call wait size))");
  EXPECT_NE(all.find("    case 0:\n"), std::string::npos) << all;
  EXPECT_NE(all.find("    case 1:\n"), std::string::npos) << all;
}

TEST(Residual, TensorMapsAreParametersOfTheKernel) {
  const std::string text = std::string(R"sexp((program t
  (file "device/tensor_copy.h")
  (verbatim @20 TensorMap "struct TensorMap {};")
  (primitive @70 acts void tensor_prefetch (uses TensorMap) "void tensor_prefetch(const TensorMap& map) {}")
  (file "t.cu")
  (function @80 device void fetch
    (argument (reference (const TensorMap)) map)
    (do @1 (call tensor_prefetch map)))
  (function @100 kernel void t
    (argument (const TensorMap) unused grid_constant)
    (argument (const TensorMap) map grid_constant)
    (do @1 (call fetch map)))))sexp");
  const Result<Program> program = read_program(text);
  ASSERT_TRUE(program) << program.error().message;
  const Result<KernelSource> source = specialize_program(*program, {}, "// head", "kernel", "sm_90a");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text, R"(// head

namespace kernel_source {

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

struct TensorMap {};

void tensor_prefetch(const TensorMap& map) {}

#endif

__device__ void fetch(const TensorMap& map) {
  tensor_prefetch(map);
}

extern "C" __global__ void kernel(__grid_constant__ const TensorMap map) {
  fetch(map);
}

}  // namespace kernel_source
using kernel_source::kernel;
)");
  EXPECT_EQ(source->main().parameters, (std::vector<KernelParameter>{{"map", "TensorMap"}}));
  EXPECT_TRUE(source->main().parameters[0].is_tensor_map());
  EXPECT_FALSE((KernelParameter{"x", "const float*"}).is_tensor_map());

  EXPECT_EQ(specialize_program(*program, {}, "// head", "kernel", "sm_80").error().message,
            "t.cu:81: sm_80 has no 'tensor_prefetch'; sm_90a, sm_100, sm_120 have");
}

constexpr std::string_view kPacking = R"sexp(
  (function @90 kernel void pack_weights
    (launch_bounds (* P::n 64))
    (argument (restrict (pointer (const P::Element))) weight)
    (argument (pointer P::Element) packed)
    (do @91 (= (at packed 0) (at weight 1))))
)sexp";

/// A kernel that packs the weights, and the one that reads them so.
LaunchPlan packing_launch() {
  LaunchPlan launch;
  launch.tensors = tensors_of(Layer{}, Direction::kForward, 0);
  launch.regions = {{.name = "packed", .what = "packed weights", .bytes = {.constant = 4096}, .kept = true}};
  launch.kernels = {{.function = "pack_weights",
                     .suffix = "_pack",
                     .grid = {.axes = {{{.constant = 4096}, 16}}},
                     .per_thread = true,
                     .once = true},
                    {.function = "t", .suffix = "", .threads = 64, .shared_bytes = 1024}};
  return launch;
}

TEST(Residual, AllKernelsOfTheLaunchPlanAreInTheSource) {
  const LaunchPlan launch = packing_launch();
  const Result<KernelSource> with = specialised(kPacking, R"sexp(
    (argument (restrict (pointer (const P::Element))) packed)
    (do @101 (= (at y 0) (at packed 0)))
)sexp",
                                                "sm_90a", launch);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with->recipe.regions, launch.regions);
  EXPECT_EQ(with->recipe.tensors, launch.tensors);
  ASSERT_EQ(with->recipe.kernels.size(), 2u);
  const RecipeKernel& packs = with->recipe.kernels[0];
  EXPECT_EQ(packs.symbol, "kernel_pack");
  EXPECT_EQ(packs.threads, 192) << "its launch bounds";
  EXPECT_EQ(packs.parameters, (std::vector<KernelParameter>{{"weight", "const float*"}, {"packed", "float*"}}));
  EXPECT_EQ(packs.grid.blocks({}), 2) << "16 bytes a thread";
  EXPECT_TRUE(packs.once);
  using enum KernelArgument::Kind;
  EXPECT_EQ(packs.arguments,
            (std::vector<KernelArgument>{{.kind = kTensor, .index = static_cast<std::uint8_t>(Role::kWeight)},
                                         {.kind = kRegion, .index = 0}}));
  EXPECT_EQ(&with->main(), &with->recipe.kernels[1]);
  EXPECT_EQ(with->main().threads, 64);
  EXPECT_EQ(with->main().shared_bytes, 1024);
  EXPECT_EQ(with->main().parameters, (std::vector<KernelParameter>{{"y", "float*"}, {"packed", "const float*"}}));
  const std::size_t packing = with->text.find("__launch_bounds__(192)");
  const std::size_t kernel = with->text.find("__launch_bounds__(96)");
  EXPECT_NE(with->text.find("kernel_pack(const float* __restrict__ weight, float* packed)", packing), std::string::npos)
      << with->text;
  EXPECT_LT(packing, kernel);
  EXPECT_TRUE(
      with->text.ends_with("\n}  // namespace kernel_source\nusing kernel_source::kernel_pack;\n"
                           "using kernel_source::kernel;\n"))
      << with->text;

  const Result<KernelSource> without = specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->recipe.kernels.size(), 1u);
  EXPECT_EQ(without->text.find("kernel_pack"), std::string::npos) << without->text;
}

TEST(Residual, WrongLaunchPlansAreRefused) {
  LaunchPlan none = packing_launch();
  none.kernels[0].function = "fold_weights";
  EXPECT_EQ(specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))", "sm_90a", none).error().message,
            "the template t has no kernel 'fold_weights'");
  LaunchPlan nowhere = packing_launch();
  nowhere.regions.clear();
  EXPECT_EQ(specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))", "sm_90a", nowhere).error().message,
            "the kernel kernel_pack has a parameter 'float* packed' that no caller knows");
}

TEST(ResidualErrors, PrimitivesThatTheArchitectureLacks) {
  const auto message = [](std::string_view items, std::string_view body, std::string_view architecture) {
    const Result<KernelSource> source = specialised(items, body, architecture);
    return source ? std::string() : source.error().message;
  };
  constexpr std::string_view kCall = "(do @4 (call setmaxnreg_increase 40))";
  EXPECT_EQ(message(kPrimitives, kCall, "sm_90a"), "");
  EXPECT_EQ(message(kPrimitives, kCall, "sm_120"), "t.cu:104: sm_120 has no 'setmaxnreg_increase_40'; sm_90a has");
  EXPECT_EQ(message(kPrimitives, "(if @3 P::flag (then (do @4 (call setmaxnreg_increase 40))))", "sm_120"), "");
  // One that nobody calls but another primitive, and those that are not of the project's headers.
  constexpr std::string_view kOthers = R"sexp(
  (primitive @9 acts void own (uses elect_one) "void own() {\n  elect_one();\n}")
  (file "device/warp.h")
  (primitive @20 computes bool elect_one (uses) "bool elect_one() {}")
  (primitive @30 acts void nameless (uses) "void nameless() {}")
  (file "t.cu")
)sexp";
  EXPECT_EQ(message(kOthers, "(do @4 (call own))", "sm_90a"), "");
  EXPECT_EQ(message(kOthers, "(do @4 (call own))", "sm_80"),
            "the template t: sm_80 has no 'elect_one'; sm_90a, sm_100, sm_120 have");
  EXPECT_EQ(message(kOthers, "(do @4 (call nameless))", "sm_80"), "t.cu:104: no primitive 'nameless'");
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

struct Fault {
  std::string_view items;
  std::string_view body;
  std::string_view message;
};

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
              "(do @3 (= (at y 0) (call deep 1)))", "t.cu:21: calls are more than 100 deep"}));

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
