// What is outside the subset of templates, or can't be static, is an error at its line and column.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/templatec/small_template.h"

namespace convtgen::templatec {
namespace {

/// The body has a `$` before the token where the error is expected.
struct Wrong {
  const char* name;
  const char* body;
  const char* message;
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.name;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

class WrongTemplate : public testing::TestWithParam<Wrong> {};

TEST_P(WrongTemplate, IsAnErrorAtItsPlace) {
  std::string body = GetParam().body;
  const std::size_t mark = body.find('$');
  ASSERT_NE(mark, std::string::npos);
  body.erase(mark, 1);
  const std::size_t line_begin = body.rfind('\n', mark - 1) + 1;
  const auto line = 4 + std::count(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(mark), '\n');
  const std::string expected = fmt::format("/templates/small.cu:{}:{}: error: ", line, mark - line_begin + 1);

  const Output output = compile_small(body);
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.program, "");
  const std::size_t found = output.diagnostics.find(expected);
  ASSERT_NE(found, std::string::npos) << expected << " expected in\n" << output.diagnostics;
  const std::string rest = output.diagnostics.substr(found, output.diagnostics.find('\n', found) - found);
  EXPECT_NE(rest.find(GetParam().message), std::string::npos) << rest;
  EXPECT_EQ(count(output.diagnostics, " error: "), 1u) << output.diagnostics;
}

constexpr Wrong kWrong[] = {
    {"unrolled_to_a_parameter_of_the_kernel", R"(
__global__ void small(float* y, int n) {
  CONVTGEN_UNROLL
  for (int i = 0; i < $n; ++i) {
    y[i] = 0;
  }
}
)",
     "the bound of a loop that is unrolled must be static, but 'n' is known only when the kernel runs"},
    {"unrolled_to_a_local_that_is_not_const", R"(
__global__ void small(float* y) {
  int n = 4;
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps + $n; ++i) {
    y[i] = 0;
  }
}
)",
     "'n' is known only when the kernel runs"},
    {"unrolled_to_a_const_made_of_something_dynamic", R"(
__global__ void small(float* y, int n) {
  const int m = P::taps * n;
  CONVTGEN_UNROLL
  for (int i = 0; i < $m; ++i) {
    y[i] = 0;
  }
}
)",
     "'m' is known only when the kernel runs"},
    {"unrolled_from_a_dynamic_start", R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL
  for (int i = $threadIdx.x; i < P::taps; ++i) {
    y[i] = 0;
  }
}
)",
     "the start of a loop that is unrolled must be static"},
    {"unrolled_by_a_dynamic_step", R"(
__global__ void small(float* y, int n) {
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; i += $n) {
    y[i] = 0;
  }
}
)",
     "the step of a loop that is unrolled must be static"},
    {"unrolled_without_a_variable_of_its_own", R"(
__global__ void small(float* y) {
  int i = 0;
  CONVTGEN_UNROLL
  $for (; i < P::taps; ++i) {
    y[i] = 0;
  }
}
)",
     "declares one integer variable"},
    {"break_in_an_unrolled_loop", R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; ++i) {
    if (y[i] > 0) {
      $break;
    }
  }
}
)",
     "break in a loop that is unrolled"},
    {"continue_in_an_unrolled_loop", R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; ++i) {
    if (y[i] > 0) {
      $continue;
    }
    y[i] = 1;
  }
}
)",
     "continue in a loop that is unrolled"},
    {"an_unrolled_loop_that_changes_its_variable", R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; ++i) {
    y[i] = 1;
    $i += 1;
  }
}
)",
     "the loop over 'i' is unrolled: its body can't change it"},
    {"an_unroll_mark_before_a_statement", R"(
__global__ void small(float* y) {
  $CONVTGEN_UNROLL
  y[0] = 1;
}
)",
     "the unroll mark must stand directly before a for loop"},
    {"an_unknown_pragma_of_ours", R"(
__global__ void small(float* y) {
#pragma $convtgen enroll
  for (int i = 0; i < P::taps; ++i) {
    y[i] = 1;
  }
}
)",
     "unknown convtgen pragma"},
    {"a_conditional_directive_in_a_function", R"(
__global__ void small(float* y) {
#$ifdef CONVTGEN_UNROLL
  y[0] = 1;
#endif
}
)",
     "#ifdef inside a function of a template"},
    {"a_macro_in_a_function", R"(
#define FIRST 0
__global__ void small(float* y) {
  y[$FIRST] = 1;
}
)",
     "the macro 'FIRST' inside a function of a template"},
    {"goto", R"(
__global__ void small(float* y) {
  y[0] = 1;
  if (y[1] > 0) {
    $goto end;
  }
  y[2] = 1;
end:
  y[0] = 2;
}
)",
     "goto is outside the subset of templates"},
    {"switch", R"(
__global__ void small(float* y, int n) {
  $switch (n) {
    case 0:
      y[0] = 1;
  }
}
)",
     "switch is outside the subset of templates"},
    {"do_while", R"(
__global__ void small(float* y, int n) {
  $do {
    y[n] = 1;
  } while (--n > 0);
}
)",
     "do while is outside the subset of templates"},
    {"a_lambda", R"(
__global__ void small(float* y) {
  const int n = $[] { return 1; }();
  y[n] = 1;
}
)",
     "outside the subset of templates"},
    {"a_c_style_cast", R"(
__global__ void small(float* y, int n) {
  y[0] = $(float)n;
}
)",
     "a C-style cast is outside the subset of templates; write static_cast"},
    {"a_type_that_is_deduced", R"(
__global__ void small(float* y) {
  $auto v = y[0];
  y[1] = v;
}
)",
     "write its name"},
    {"a_comment_hole_that_names_nothing", R"(
__global__ void small(float* y) {
  $// tap {kw}
  y[0] = 1;
}
)",
     "the comment's {kw} names nothing static here"},
    {"a_comment_with_a_name_that_is_no_parameter", R"(
// Stores {with bias: `bias`}.
__device__ void $put(float* y) {
  y[0] = 1;
}
__global__ void small(float* y) {
  put(y);
}
)",
     "the comment's {with bias: ...} names nothing here"},
    {"a_comment_with_a_name_inside_a_function", R"(
__global__ void small(float* y) {
  $// {with y: `y`}
  y[0] = 1;
}
)",
     "{with ...} stands above functions and structs only"},
    {"a_comment_hole_that_names_something_dynamic", R"(
__global__ void small(float* y, int n) {
  y[n] = 1;  $// element {n}
}
)",
     "the comment's {n} names nothing static here"},
    {"a_comment_hole_out_of_its_loop", R"(
__global__ void small(float* y) {
  CONVTGEN_UNROLL
  for (int i = 0; i < P::taps; ++i) {
    y[i] = 1;  // tap {i}
  }
  $// last tap {i}
  y[0] = 2;
}
)",
     "the comment's {i} names nothing static here"},
    {"a_comment_in_a_signature", R"(
__global__ void small(float* y,  $// outputs
                      int n) {
  y[n] = 1;
}
)",
     "a comment in a signature would be lost"},
    {"a_comment_between_branches", R"(
__global__ void small(float* y) {
  if (y[0] > 0) {
    y[0] = 1;
  } $// positive
  else {
    y[0] = 2;
  }
}
)",
     "a comment here would be lost"},
    {"a_mutable_variable_at_namespace_scope", R"(
__device__ int $counter = 0;
__global__ void small(float* y) {
  y[counter] = 1;
}
)",
     "'counter' is a variable that can change"},
    {"a_static_local", R"(
__global__ void small(float* y) {
  $static int counter = 0;
  y[counter] = 1;
}
)",
     "the static variable 'counter' keeps a value that changes"},
    {"a_device_function_template", R"(
template <int N>
__device__ int $plus(int a) {
  return a + N;
}
__global__ void small(float* y) {
  y[0] = 1;
}
)",
     "the function template 'plus' is outside the subset"},
    {"a_function_for_the_host", R"(
int $three() {
  return 3;
}
__global__ void small(float* y) {
  y[0] = 1;
}
)",
     "__device__, __global__ and constexpr functions only"},
    {"a_default_argument", R"(
__device__ int plus(int a, int $b = 1) {
  return a + b;
}
__global__ void small(float* y) {
  y[plus(1)] = 1;
}
)",
     "default arguments are outside the subset"},
    {"a_struct_with_a_member_function", R"(
struct Pair {
  int a, b;
  __device__ int $sum() { return a + b; }
};
__global__ void small(float* y) {
  y[0] = 1;
}
)",
     "a struct of a template holds plain fields only"},
    {"a_primitive_that_names_a_parameter", R"(
__device__ int lane() {
  int value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value % $P::taps;
}
__global__ void small(float* y) {
  y[lane()] = 1;
}
)",
     "a device primitive is kept as it stands and can't use the static 'taps'"},
    {"a_dynamic_argument_that_must_be_static", R"(
#include "printed.h"
__global__ void small(float* y, int n) {
  grow($n);
}
)",
     "argument 'by' of grow must be static, but 'n' is known only when the kernel runs"},
    {"a_dynamic_argument_of_a_template_that_must_be_static", R"(
#include "printed.h"
__global__ void small(float* y, int n) {
  float d[4];
  fill(2 * $n, d, n);
}
)",
     "argument 'shape' of fill must be static, but 'n' is known only when the kernel runs"},
    {"a_tensor_map_by_value", R"(
#include "primitives.h"
__global__ void small(const TensorMap $map) {
  fetch(map);
}
)",
     "the one struct that a kernel takes is `__grid_constant__ const TensorMap`"},
    {"a_tensor_map_that_is_not_const", R"(
#include "primitives.h"
__global__ void small(__grid_constant__ TensorMap $map) {
  fetch(map);
}
)",
     "the one struct that a kernel takes is `__grid_constant__ const TensorMap`"},
    {"a_struct_of_the_templates_own_as_an_argument", R"(
struct Sizes {
  int rows;
};
__global__ void small(float* y, __grid_constant__ const Sizes $sizes) {
  y[0] = sizes.rows;
}
)",
     "the one struct that a kernel takes is `__grid_constant__ const TensorMap`"},
    {"a_pragma_with_a_count_that_is_no_number", R"(
__global__ void small(float* y, int n) {
#pragma unroll $P::taps
  for (int i = 0; i < n; ++i) {
    y[i] = 1;
  }
}
)",
     "the count of #pragma unroll must be a number"},
    {"a_mark_and_a_pragma", R"(
__global__ void small(float* y) {
#pragma unroll
  CONVTGEN_UNROLL
  $for (int i = 0; i < P::taps; ++i) {
    y[i] = 1;
  }
}
)",
     "either the unroll mark or a #pragma unroll"},
    {"a_syntax_error", R"(
__global__ void small(float* y) {
  y[0] = 1$
}
)",
     "expected ';' after expression"},
    {"a_name_that_does_not_exist", R"(
__global__ void small(float* y) {
  y[0] = P::$tapps;
}
)",
     "no member named 'tapps' in 'Parameters'"},
    {"a_static_assertion_with_the_defaults", R"(
static_assert($P::taps > 5, "at least six taps");
__global__ void small(float* y) {
  y[0] = 1;
}
)",
     "at least six taps"},
};

INSTANTIATE_TEST_SUITE_P(Subset, WrongTemplate, testing::ValuesIn(kWrong),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WrongTemplates, AllErrorsAreReportedInOneGo) {
  const Output output = compile_small(R"(
__global__ void small(float* y, int n) {
  switch (n) {}
  // {nothing}
  y[0] = (float)n;
}
)");
  EXPECT_EQ(count(output.diagnostics, " error: "), 3u) << output.diagnostics;
}

TEST(WrongTemplates, ParametersMustBeConstexpr) {
  const Output output = compile_small("", "/templates", "struct Parameters {\n  int taps;\n};\n");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.diagnostics.find("/templates/parameters.h:2:7: error: a static parameter is"), std::string::npos)
      << output.diagnostics;
}

TEST(WrongTemplates, ATemplateHasAKernel) {
  const Output output = compile_small("constexpr int kTaps = P::taps;\n");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.diagnostics.find("/templates/small.cu:1:1: error: a template has a __global__ function"),
            std::string::npos)
      << output.diagnostics;
}

TEST(WrongTemplates, FilesAreIncludedByTheirNameFromTheTemplatesFolderOrTheSharedOne) {
  const Output output =
      compile_template({.path = "/templates/small/small.cu",
                        .shared = "/templates",
                        .files = {{"/templates/small/small.cu", "#include \"device/a.h\"\n#include \"parameters.h\"\n"},
                                  {"/templates/small/parameters.h", "#pragma once\n"},
                                  {"/templates/device/a.h", "#pragma once\n#include \"b.h\"\n"},
                                  {"/templates/device/b.h", "#pragma once\n"}}});
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.diagnostics.find("/templates/device/a.h:2:10: error: include \"b.h\" by its name"),
            std::string::npos)
      << output.diagnostics;
  EXPECT_EQ(output.diagnostics.find("by its name"), output.diagnostics.rfind("by its name")) << output.diagnostics;
}

TEST(WrongTemplates, AMissingFileIsAnError) {
  const Output output = compile_template({.path = "/templates/nowhere.cu", .shared = ""});
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.diagnostics.find("nowhere.cu"), std::string::npos) << output.diagnostics;
}

}  // namespace
}  // namespace convtgen::templatec
