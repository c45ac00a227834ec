// A small template program around some items and a kernel's body.
#pragma once

#include <gtest/gtest.h>

#include "generator/program/program_text.h"
#include "generator/specializer/specialize.h"

namespace convtgen {

/// Items and a kernel's body around it, specialised; the parameters are fixed. Of the kernels of the launch plan, or
/// without one of the last kernel, which is called `t`.
inline Result<KernelSource> specialised(std::string_view items, std::string_view body,
                                        std::string_view architecture = "sm_90a", const LaunchPlan& launch = {}) {
  const std::string text = std::string(R"sexp((program t
  (parameter int n 1)
  (parameter bool flag true)
  (parameter (array int) list (init 1))
  (type_parameter Element float)
  (file "t.cu")
  (enum @2 Kind (kZero 0) (kThree 3))
  (function @4 constexpr int twice
    (argument int a)
    (return @1 (* a 2)))
  (record @6 Pair
    (comment "Two rows.")
    (field (array (array P::Element 4) P::n) rows)
    (field int count (trail "of rows")))
  (alias @8 Rows (array P::Element P::n))
)sexp") + std::string(items) +
                           R"sexp(
  (function @100 kernel void t
    (launch_bounds (* P::n 32))
    (argument (restrict (pointer (const P::Element))) x)
    (argument (restrict (pointer P::Element)) y)
    (argument int size)
)sexp" + std::string(body) +
                           "))\n";
  const Result<Program> program = read_program(text);
  if (!program) {
    return std::unexpected(program.error());
  }
  const Parameters parameters{{"n", std::int64_t{3}},
                              {"flag", false},
                              {"list", std::vector<std::int64_t>{5, 7}},
                              {"Element", TypeName{"float"}}};
  return launch.kernels.empty() ? specialize_program(*program, parameters, "// head", "kernel", architecture)
                                : specialize_program(*program, parameters, "// head", "kernel", architecture, launch);
}

/// The text between the braces of the kernel.
inline std::string body_of(std::string_view body, std::string_view items = "") {
  const Result<KernelSource> source = specialised(items, body);
  if (!source) {
    return "ERROR " + source.error().message;
  }
  EXPECT_EQ(source->text.back(), '\n');
  const std::size_t kernel = source->text.find("kernel(");
  const std::size_t begin = source->text.find("{\n", kernel) + 2;
  return source->text.substr(begin, source->text.find("\n}\n\n", begin) + 1 - begin);
}

/// Device primitives, as items of a program.
inline constexpr std::string_view kPrimitives = R"sexp(
  (file "device/printed.h")
  (printed @15 wgmma_rs (static type) (static b_major) (argument d) (argument a) (argument b) (argument accumulate))
  (printed @25 setmaxnreg_increase (static registers))
  (file "device/tensor_copy.h")
  (verbatim @20 TensorMap "struct TensorMap {};")
  (primitive @70 acts void tensor_prefetch (uses TensorMap) "void tensor_prefetch(const TensorMap& map) {}")
  (file "t.cu")
)sexp";

}  // namespace convtgen
