// Small templates that exist in memory only.
#pragma once

#include <string>
#include <string_view>

#include "generator/templatec/templatec.h"

namespace convtgen::templatec {

inline constexpr std::string_view kSmallParameters = R"(#pragma once
struct Parameters {
  static constexpr int taps = 3;
  static constexpr bool staged = true;
  using Element = float;
};
__constant__ constexpr int table[] = {1, 2, 3};
)";

inline constexpr std::string_view kSmallMark = R"(#pragma once
#define CONVTGEN_UNROLL _Pragma("convtgen unroll")
)";

/// The head of every small template; what follows begins on line 4.
inline constexpr std::string_view kSmallHead = R"(#include "parameters.h"
#include "mark.h"
using P = Parameters;
)";

inline Output compile_small(std::string_view body, const std::string& folder = "/templates",
                            std::string_view parameters = kSmallParameters) {
  return compile_template({.path = folder + "/small.cu",
                           .shared = "",
                           .files = {{folder + "/small.cu", std::string(kSmallHead) + std::string(body)},
                                     {folder + "/parameters.h", std::string(parameters)},
                                     {folder + "/mark.h", std::string(kSmallMark)},
                                     {folder + "/primitives.h",
                                      "// Device primitives of a test.\n"
                                      "__device__ int twice(int a) {\n"
                                      "  return 2 * a;\n"
                                      "}\n"
                                      "// A map.\n"
                                      "struct TensorMap {\n"
                                      "  int words[2];  // of it\n"
                                      "};\n"
                                      "__device__ void fetch(const TensorMap& map) {}\n"},
                                     {folder + "/printed.h",
                                      "// Printed primitives of a test.\n"
                                      "enum Shape { kSquare, kRound };\n"
                                      "template <int n>\n"
                                      "__device__ void fill(const int shape, float (&d)[n], int value);\n"
                                      "__device__ void grow(const int by);\n"}}});
}

}  // namespace convtgen::templatec
