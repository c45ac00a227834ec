// ldmatrix, stmatrix.
#include <fmt/format.h>

#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

constexpr std::size_t kRows = 32;  // of 16 bytes: four 8x8 matrices

// Which row of shared memory a lane points at: any order will do, 16 bytes each.
std::size_t row_of_lane(std::size_t lane) {
  return (5 * lane + 3) % kRows;
}

struct Move {
  int count;
  bool transposed;
  [[nodiscard]] std::string name(std::string_view verb) const {
    return fmt::format("matrix_{}_x{}{}", verb, count, transposed ? "_transposed" : "");
  }
};
constexpr Move kMoves[] = {{1, false}, {1, true}, {2, false}, {2, true}, {4, false}, {4, true}};

// The words of lane `lane` that hold two elements of matrix `matrix`: where each lies, as an index of 16-bit elements.
std::pair<std::size_t, std::size_t> elements(std::size_t matrix, std::size_t lane, bool transposed) {
  const auto at = [&](std::size_t row, std::size_t column) { return row_of_lane(8 * matrix + row) * 8 + column; };
  const std::size_t g = lane / 4, t = lane % 4;
  return transposed ? std::pair(at(2 * t, g), at(2 * t + 1, g)) : std::pair(at(g, 2 * t), at(g, 2 * t + 1));
}

Case load_case() {
  Case one;
  one.name = "matrix_load";
  one.shared_bytes = 512;
  one.inputs = {random_words(128, 21)};
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  const int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) {
    staged[32 * i + t] = x[32 * i + t];
  }
  __syncwarp();
  const unsigned int* row = staged + (5 * t + 3) % 32 * 4;
)";
  std::size_t section = 0;
  for (const Move& move : kMoves) {
    one.body +=
        move.count == 1 ? "  {\n    unsigned int v;\n" : fmt::format("  {{\n    unsigned int v[{}];\n", move.count);
    one.body += fmt::format("    {}(v, row);\n", move.name("load"));
    for (int i = 0; i < move.count; ++i) {
      one.body +=
          fmt::format("    out[{} + t] = {};\n", 32 * section++, move.count == 1 ? "v" : fmt::format("v[{}]", i));
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const auto half = [&](std::size_t at) { return one.inputs[0][at / 2] >> (16 * (at % 2)) & 0xffffu; };
        const auto [low, high] = elements(static_cast<std::size_t>(i), lane, move.transposed);
        one.want.push_back(half(low) | half(high) << 16);
      }
    }
    one.body += "  }\n";
  }
  one.body += "}\n";
  return one;
}

Case store_case() {
  Case one;
  one.name = "matrix_store";
  one.shared_bytes = 512;
  one.inputs = {random_words(128, 22)};
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  const int t = threadIdx.x;
  unsigned int* row = staged + (5 * t + 3) % 32 * 4;
)";
  for (std::size_t section = 0; section < std::size(kMoves); ++section) {
    const Move& move = kMoves[section];
    one.body += "  for (int i = 0; i < 4; ++i) {\n    staged[32 * i + t] = 0;\n  }\n  __syncwarp();\n";
    if (move.count == 1) {
      one.body += fmt::format("  {}(row, x[t]);\n", move.name("store"));
    } else {
      one.body += fmt::format("  {{\n    unsigned int v[{}];\n", move.count);
      for (int i = 0; i < move.count; ++i) {
        one.body += fmt::format("    v[{0}] = x[32 * {0} + t];\n", i);
      }
      one.body += fmt::format("    {}(row, v);\n  }}\n", move.name("store"));
    }
    one.body += fmt::format(
        "  __syncwarp();\n  for (int i = 0; i < 4; ++i) {{\n    out[{} + 32 * i + t] = staged[32 * i + t];\n  }}\n"
        "  __syncwarp();\n",
        128 * section);
    Words image(128, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(move.count); ++i) {
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::uint32_t value = one.inputs[0][32 * i + lane];
        const auto [low, high] = elements(i, lane, move.transposed);
        image[low / 2] |= (value & 0xffffu) << (16 * (low % 2));
        image[high / 2] |= (value >> 16) << (16 * (high % 2));
      }
    }
    one.want.insert(one.want.end(), image.begin(), image.end());
  }
  one.body += "}\n";
  return one;
}

}  // namespace

std::vector<Case> matrix_cases() {
  return {load_case(), store_case()};
}

}  // namespace convtgen::testing
