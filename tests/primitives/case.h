// One kernel that shows what primitives do: inputs, and the bits or values that must come out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generator/recipe/tensor_map.h"

namespace convtgen::testing {

using Words = std::vector<std::uint32_t>;

struct Case {
  std::string name;
  /// extern "C" __global__ void __launch_bounds__(threads) kernel(inputs..., out, maps...), each input and out an
  /// `unsigned int*`.
  std::string body;
  int threads = 32;
  int blocks = 1;
  int cluster = 1;
  int shared_bytes = 0;
  std::vector<Words> inputs;
  Words want;  // out begins as kPoison
  /// Where not empty: out is of floats; each may be off by as much.
  std::vector<double> bound;
  /// Whether the point is that something else comes out.
  bool must_differ = false;
  /// Made from the device addresses of the inputs and, last, of out.
  std::vector<std::function<TensorMap(const std::vector<std::uint64_t>&)>> maps;
  /// Of a kernel that is tuned: no spills, nothing serialised.
  bool tuned = false;
};

inline constexpr std::uint32_t kPoison = 0xdeadbeef;

[[nodiscard]] std::vector<Case> memory_cases();
[[nodiscard]] std::vector<Case> convert_cases();
[[nodiscard]] std::vector<Case> warp_cases();
[[nodiscard]] std::vector<Case> async_copy_cases();
[[nodiscard]] std::vector<Case> barrier_cases();
[[nodiscard]] std::vector<Case> matrix_cases();
[[nodiscard]] std::vector<Case> mma_cases();
[[nodiscard]] std::vector<Case> tensor_copy_cases();
[[nodiscard]] std::vector<Case> cluster_cases();
[[nodiscard]] std::vector<Case> grid_cases();
[[nodiscard]] std::vector<Case> wgmma_cases();
[[nodiscard]] std::vector<Case> wgmma_layout_cases();
[[nodiscard]] std::vector<Case> pipeline_cases();

[[nodiscard]] const std::vector<Case>& all_cases();

/// A deterministic sequence: the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  int between(int low, int high) { return low + static_cast<int>(bits() % static_cast<std::uint32_t>(high - low + 1)); }

 private:
  std::uint64_t state_;
};

[[nodiscard]] Words random_words(std::size_t count, std::uint64_t seed);

/// Types of matrix elements.
enum class Number { kF16, kBf16, kTf32 };
[[nodiscard]] int bytes_of(Number number);
[[nodiscard]] std::string word_of(Number number);  // "f16"

/// A matrix whose elements the type holds exactly.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<double> values;
  [[nodiscard]] double at(int row, int column) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
  }
};
/// Small integers: products and sums of a few thousand of them are exact in f32.
[[nodiscard]] Matrix small_integers(int rows, int columns, std::uint64_t seed);
/// Values about 1, rounded to the type.
[[nodiscard]] Matrix random_matrix(int rows, int columns, Number number, std::uint64_t seed);

/// Puts an element's bits at a byte of an image, which grows.
void put(std::vector<std::uint8_t>& image, std::size_t at, Number number, double value);
/// The matrix row by row.
[[nodiscard]] Words row_major(const Matrix& matrix, Number number);
[[nodiscard]] Words words_of_bytes(std::vector<std::uint8_t> bytes);

/// d += a (rows x K) * transpose of b (columns x K), as floats; `times` times.
[[nodiscard]] Words product(const Matrix& a, const Matrix& b, int times = 1);
/// For each element of the product, how far the chip's accumulation may be off: it aligns the products of one
/// instruction and the accumulator to the largest of them and drops what lies below; each of the k + 1 addends, and the
/// result, may so lose one unit of the last of 24 bits of the largest.
[[nodiscard]] std::vector<double> product_bound(const Matrix& a, const Matrix& b, int times = 1);

}  // namespace convtgen::testing
