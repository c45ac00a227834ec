// mma.sync: all types and each K of them, exact and rounded.
#include <fmt/format.h>

#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

constexpr int kMmaRows = 16, kMmaColumns = 8;

// Two products on accumulators that begin as 0, of every type and K. Inputs: each pair of operands, row by row.
Case mma_case(bool integers) {
  Case one;
  one.name = fmt::format("mma_{}", integers ? "exact" : "rounded");
  one.inputs = {{}};
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  const int g = threadIdx.x / 4;
  const int t = threadIdx.x % 4;
)";
  std::size_t section = 0;
  for (const Number number : {Number::kF16, Number::kBf16, Number::kTf32}) {
    const int packed = number == Number::kTf32 ? 1 : 2;  // elements of a word
    for (const int k : {16, 8}) {
      if (packed == 1 && k == 16) {
        continue;
      }
      const Matrix a = integers ? small_integers(kMmaRows, k, 81) : random_matrix(kMmaRows, k, number, 81);
      const Matrix b = integers ? small_integers(kMmaColumns, k, 82) : random_matrix(kMmaColumns, k, number, 82);
      const std::size_t a_at = one.inputs[0].size();
      const Words a_words = row_major(a, number), b_words = row_major(b, number);
      one.inputs[0].insert(one.inputs[0].end(), a_words.begin(), a_words.end());
      const std::size_t b_at = one.inputs[0].size();
      one.inputs[0].insert(one.inputs[0].end(), b_words.begin(), b_words.end());
      // A word has adjacent elements of a row.
      one.body += fmt::format(R"(  {{
    unsigned int a[{0}];
    for (int i = 0; i < {0}; ++i) {{
      a[i] = x[{1} + (g + i % 2 * 8) * {2} + t + i / 2 * 4];
    }}
    unsigned int b[{3}];
    for (int i = 0; i < {3}; ++i) {{
      b[i] = x[{4} + g * {2} + t + i * 4];
    }}
    float d[4] = {{0.0f, 0.0f, 0.0f, 0.0f}};
    {5}(d, a, {6});
    {5}(d, a, {6});
    for (int i = 0; i < 4; ++i) {{
      out[{7} + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = __float_as_uint(d[i]);
    }}
  }}
)",
                              k / 2 / packed, a_at, k / packed, k / 4 / packed, b_at,
                              fmt::format("mma_k{}_{}", k, word_of(number)), k / packed == 4 ? "b[0]" : "b",
                              section++ * kMmaRows * kMmaColumns);
      const Words want = product(a, b, 2);
      one.want.insert(one.want.end(), want.begin(), want.end());
      if (!integers) {
        const std::vector<double> bound = product_bound(a, b, 2);
        one.bound.insert(one.bound.end(), bound.begin(), bound.end());
      }
    }
  }
  one.body += "}\n";
  return one;
}

}  // namespace

std::vector<Case> mma_cases() {
  return {mma_case(true), mma_case(false)};
}

}  // namespace convtgen::testing
