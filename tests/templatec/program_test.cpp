// What templates become: programs that hold all of them, the same bytes from anywhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/program/program_text.h"
#include "tests/templatec/small_template.h"

namespace convtgen::templatec {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The items of a small template's program, without its parameters.
std::string items_of(const Output& output) {
  EXPECT_TRUE(output.ok) << output.diagnostics;
  EXPECT_EQ(output.diagnostics, "");
  const std::size_t begin = output.program.find("  (file \"small.cu\")");
  return begin == std::string::npos ? output.program : output.program.substr(begin);
}

TEST(TemplateProgram, HoldsTheParametersWithTheirDefaults) {
  const Output output = compile_small("__global__ void small(float* y) {}\n");
  ASSERT_TRUE(output.ok) << output.diagnostics;
  const std::size_t end = output.program.find("  (file ");
  const std::size_t begin = output.program.find("  (parameter");
  EXPECT_EQ(output.program.substr(begin, end - begin), R"(  (parameter int taps 3)
  (parameter bool staged true)
  (type_parameter Element float)
  (parameter (array int) table (init 1 2 3))
)");
}

TEST(TemplateProgram, KeepsCommentsBlankLinesAndMarks) {
  EXPECT_EQ(items_of(compile_small(R"cuda(
// Makes it.
// In two lines.
extern "C" __global__ void __launch_bounds__(128) small(float* __restrict__ y, const int n) {
  // First
  float sum = 0;  // starts {P::taps}

  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; ++i) {
    const int k = table[i] - 1;
    if (k > 0) {  // tap {i}
      sum += y[k];
    } else if constexpr (P::staged) {
      sum = 1;
    } else {
      // nothing {k}
    }
  }
#pragma unroll 2
  for (int i = 0; i < n; ++i) y[i] = sum;
}
)cuda")),
            R"sexp(  (file "small.cu")
  (function @7 kernel void small
    (comment "Makes it.")
    (comment "In two lines.")
    (launch_bounds 128)
    (argument (restrict (pointer float)) y)
    (argument (const int) n)
    (comment @1 "First")
    (declare @2 float sum 0
      (trail "starts {P::taps}"))
    (blank @2)
    (for @5 unrolled (declare @5 int i 0) (< i P::taps) (++ i)
      (declare @6 (const int) k (- (at P::table i) 1))
      (if @7 (> k 0)
        (then
          (comment @7 "tap {i}")
          (do @8 (+= sum (at y k))))
        (else
          (if_constexpr @9 P::staged
            (then
              (do @10 (= sum 1)))
            (else
              (comment @12 "nothing {k}"))))))
    (for @16 (pragma "unroll 2") (declare @16 int i 0) (< i n) (++ i)
      (do @16 (= (at y i) sum)))))
)sexp");
}

TEST(TemplateProgram, KeepsTheFirstParagraphOfADescription) {
  EXPECT_EQ(items_of(compile_small(R"cuda(
// What it is.
// Still.
//
// The whole story.
struct Pair {
  int a;
};
// Makes it.
//
// By way of `pair`.
extern "C" __global__ void small(int* y) {
  // First.
  //
  // Second.
  Pair pair;
  pair.a = 1;
  y[0] = pair.a;
}
)cuda")),
            R"sexp(  (file "small.cu")
  (record @9 Pair
    (comment "What it is.")
    (comment "Still.")
    (field int a))
  (function @15 kernel void small
    (comment "Makes it.")
    (argument (pointer int) y)
    (comment @1 "First.")
    (comment @2 "")
    (comment @3 "Second.")
    (declare @4 Pair pair)
    (do @5 (= (. pair a) 1))
    (do @6 (= (at y 0) (. pair a)))))
)sexp");
}

TEST(TemplateProgram, HoldsDeclarationsAtNamespaceScope) {
  EXPECT_EQ(items_of(compile_small(R"cuda(
using Element = P::Element;
enum Kind { kFirst, kSecond = 4 };
constexpr int kArea = P::taps * P::taps;
static_assert(kArea > 0, "some area");
struct __align__(16) Tile {
  Element rows[P::taps][kArea + 1];  // staged
  unsigned n;
};
using Accumulators = Element[kArea];
__host__ __device__ constexpr int half(int a) {
  return a / 2;
}
__device__ __forceinline__ void clear(Accumulators& sums) {
  while (sums[0] > 0) {
    sums[0]--;
  }
}
__global__ void small(Element* y) {
  __shared__ Tile tile;
  Accumulators sums = {};
  clear(sums);
  const float* p = &tile.rows[0][1];
  y[0] = *p + static_cast<Element>(sizeof(Tile)) * (P::staged ? -1.5f : 2e10f) + 'a' + 3ull;
}
)cuda")),
            R"sexp(  (file "small.cu")
  (alias @5 Element P::Element)
  (enum @6 Kind (kFirst 0) (kSecond 4))
  (constant @7 int kArea (* P::taps P::taps))
  (static_assert @8 (> kArea 0) "some area")
  (record @9 Tile
    (attribute "__align__(16)")
    (field (array (array Element (+ kArea 1)) P::taps) rows (trail "staged"))
    (field "unsigned int" n))
  (alias @13 Accumulators (array Element kArea))
  (function @14 constexpr int half
    (argument int a)
    (return @1 (/ a 2)))
  (function @17 device void clear
    (attributes "__forceinline__")
    (argument (reference Accumulators) sums)
    (while @1 (> (at sums 0) 0)
      (do @2 (post-- (at sums 0)))))
  (function @22 kernel void small
    (argument (pointer Element) y)
    (declare_shared @1 Tile tile)
    (declare @2 Accumulators sums (init))
    (do @3 (call clear sums))
    (declare @4 (pointer (const float)) p (& (at (at (. tile rows) 0) 1)))
    (do @5 (= (at y 0) (+ (+ (+ (* p) (* (static_cast Element (sizeof Tile)) (? P::staged (- 1.5f) 20000000000.0f))) (cast char 97)) 3ull)))))
)sexp");
}

TEST(TemplateProgram, KeepsPrimitivesAsTheyStand) {
  EXPECT_EQ(items_of(compile_small(R"cuda(
#include "primitives.h"
// The lane.
__device__ int lane() {
  int value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));  // no hole {here}
  return twice(value) / 2;
}
__global__ void small(float* y) {
  y[lane()] = 1;
}
)cuda")),
            R"sexp(  (file "small.cu")
  (primitive @7 computes int lane (uses twice) "// The lane.\n__device__ int lane() {\n  int value;\n  asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(value));  // no hole {here}\n  return twice(value) / 2;\n}")
  (function @12 kernel void small
    (argument (pointer float) y)
    (do @1 (= (at y (call lane)) 1))))
)sexp");
}

TEST(TemplateProgram, HoldsWhatPrimitivesNeed) {
  const Output output = compile_small(R"cuda(
#include "primitives.h"
#include "printed.h"
__device__ void clear(float (&d)[P::taps]) {
  fill(P::taps > 2 ? kRound : kSquare, d, 0);
}
__global__ void small(float* y, int n, __grid_constant__ const TensorMap map) {
  fetch(map);
  float d[P::taps];
  clear(d);
  CONVTGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    grow(8 * i);
    fill(i, d, n);
  }
}
)cuda");
  EXPECT_TRUE(output.ok) << output.diagnostics;
  EXPECT_EQ(output.diagnostics, "");
  const std::size_t begin = output.program.find("  (file \"primitives.h\")");
  ASSERT_NE(begin, std::string::npos) << output.program;
  EXPECT_EQ(output.program.substr(begin), R"sexp(  (file "primitives.h")
  (primitive @2 computes int twice (uses) "// Device primitives of a test.\n__device__ int twice(int a) {\n  return 2 * a;\n}")
  (verbatim @6 TensorMap "// A map.\nstruct TensorMap {\n  int words[2];  // of it\n};")
  (primitive @9 acts void fetch (uses TensorMap) "__device__ void fetch(const TensorMap& map) {}")
  (file "printed.h")
  (enum @2 Shape (kSquare 0) (kRound 1))
  (printed @4 fill (static shape) (argument d) (argument value))
  (printed @5 grow (static by))
  (file "small.cu")
  (function @7 device void clear
    (argument (reference (array float P::taps)) d)
    (do @1 (call fill (? (> P::taps 2) kRound kSquare) d 0)))
  (function @10 kernel void small
    (argument (pointer float) y)
    (argument int n)
    (argument (const TensorMap) map grid_constant)
    (do @1 (call fetch map))
    (declare @2 (array float P::taps) d)
    (do @3 (call clear d))
    (for @5 unrolled (declare @5 int i 0) (< i 2) (++ i)
      (do @6 (call grow (* 8 i)))
      (do @7 (call fill i d n)))))
)sexp");
}

TEST(TemplateProgram, SeesTheLoopAfterAMarkAndAComment) {
  const std::string items = items_of(compile_small(R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL  // all {P::taps} of them; braces and a semicolon
  for (int i = 0; i < P::taps; ++i) y[i] = 0;
  for (int i = 0; i < P::taps; ++i) y[i] += 1;
}
)"));
  EXPECT_NE(items.find("(for @2 unrolled "), std::string::npos) << items;
  EXPECT_NE(items.find("(for @3 plain "), std::string::npos) << items;
}

TEST(TemplateProgram, TakesBoundsThatSomePlansFold) {
  const Output output = compile_small(R"(
__device__ void clear(float* y, const int n) {
  CONVTGEN_UNROLL
  for (int i = 0; i < n; ++i) {
    y[i] = 0;  // element {i} of {n}
  }
}
__global__ void small(float* y, int n) {
  const int m = P::taps > 0 ? P::taps : n;
  CONVTGEN_UNROLL
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      if (y[j] > 0) {
        break;
      }
    }
    clear(y, i);
  }
}
)");
  EXPECT_TRUE(output.ok) << output.diagnostics;
}

TEST(TemplateProgram, IsTheSameFromAnyFolder) {
  const std::string_view body = "__global__ void small(float* y) {\n  y[0] = P::taps;\n}\n";
  const Output here = compile_small(body, "/a");
  const Output there = compile_small(body, "/a/deeper/folder");
  ASSERT_TRUE(here.ok) << here.diagnostics;
  EXPECT_EQ(here.program, there.program);
  EXPECT_EQ(here.program.find('/'), std::string::npos) << "a path, or a division that this template does not have";
}

TEST(TemplateProgram, FollowsAChangeOfTheTemplateAndOfWhatItIncludes) {
  const std::string body = "__global__ void small(float* y) {\n  y[0] = P::taps;\n}\n";
  const Output before = compile_small(body);
  const Output changed = compile_small("__global__ void small(float* y) {\n  y[1] = P::taps;\n}\n");
  const Output parameters = compile_small(body, "/templates", std::string(kSmallParameters) + "// A remark.\n");
  ASSERT_TRUE(before.ok && changed.ok && parameters.ok);
  EXPECT_NE(items_of(before), items_of(changed));
  EXPECT_EQ(items_of(before), items_of(parameters));
  EXPECT_NE(before.program, parameters.program) << "the digest is of all files";
}

const fs::path kRoot = CONVTGEN_SOURCE_DIR;

/// The template of that name in a folder of templates.
Output compile_committed(const fs::path& folder, const std::string& name) {
  return compile_template(
      {.path = (folder / name / (name + ".cu")).string(), .shared = (kRoot / "templates").string()});
}

TEST(TemplateProgram, IsReadBack) {
  const Output output = compile_committed(kRoot / "templates", "direct");
  ASSERT_TRUE(output.ok) << output.diagnostics;
  const Result<Program> program = read_program(output.program);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(write_program(*program), output.program);
}

TEST(CommittedPrograms, AreWhatTheTemplatesGiveByteForByte) {
  int compared = 0;
  for (const char* templates : {"templates", "tests/templates"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / templates)) {
      if (entry.path().extension() == ".sexp") {
        const Output output = compile_committed(kRoot / templates, entry.path().stem().string());
        ASSERT_TRUE(output.ok) << output.diagnostics;
        EXPECT_EQ(read_file(entry.path()), output.program)
            << "take over the new program with the target convtgen_update_programs";
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 5);
}

}  // namespace
}  // namespace convtgen::templatec
