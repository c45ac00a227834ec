#include "tests/primitives/case.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/reference/numbers.h"

namespace convtgen::testing {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (const auto make :
         {memory_cases, convert_cases, warp_cases, async_copy_cases, barrier_cases, matrix_cases, mma_cases,
          tensor_copy_cases, cluster_cases, grid_cases, wgmma_cases, wgmma_layout_cases, pipeline_cases}) {
      for (Case& one : make()) {
        all.push_back(std::move(one));
      }
    }
    return all;
  }();
  return cases;
}

Words random_words(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Words words(count);
  for (std::uint32_t& word : words) {
    word = random.bits();
  }
  return words;
}

int bytes_of(Number number) {
  return number == Number::kTf32 ? 4 : 2;
}

std::string word_of(Number number) {
  return number == Number::kF16 ? "f16" : number == Number::kBf16 ? "bf16" : "tf32";
}

Matrix small_integers(int rows, int columns, std::uint64_t seed) {
  Random random(seed);
  Matrix matrix{rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
  for (double& value : matrix.values) {
    value = random.between(-5, 5);
  }
  return matrix;
}

Matrix random_matrix(int rows, int columns, Number number, std::uint64_t seed) {
  Random random(seed);
  Matrix matrix{rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
  const double scale = number == Number::kBf16 ? 128 : 1024;  // 8 or 11 significant bits
  for (double& value : matrix.values) {
    const int magnitude = random.between(static_cast<int>(scale), 2 * static_cast<int>(scale) - 1);
    value = std::ldexp(magnitude / scale, random.between(-4, 3)) * (random.between(0, 1) == 0 ? 1 : -1);
  }
  return matrix;
}

void put(std::vector<std::uint8_t>& image, std::size_t at, Number number, double value) {
  const auto bytes = static_cast<std::size_t>(bytes_of(number));
  if (image.size() < at + bytes) {
    image.resize(at + bytes);
  }
  std::uint32_t bits = 0;
  if (number == Number::kF16) {
    bits = encode_f16(value);
  } else if (number == Number::kBf16) {
    bits = encode_bf16(value);
  } else {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  std::memcpy(image.data() + at, &bits, bytes);
}

Words row_major(const Matrix& matrix, Number number) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    put(bytes, i * static_cast<std::size_t>(bytes_of(number)), number, matrix.values[i]);
  }
  return words_of_bytes(std::move(bytes));
}

Words words_of_bytes(std::vector<std::uint8_t> bytes) {
  bytes.resize((bytes.size() + 3) / 4 * 4);
  Words words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

Words product(const Matrix& a, const Matrix& b, int times) {
  Words words;
  for (int row = 0; row < a.rows; ++row) {
    for (int column = 0; column < b.rows; ++column) {
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) {
        sum += a.at(row, k) * b.at(column, k);
      }
      words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(sum * times)));
    }
  }
  return words;
}

std::vector<double> product_bound(const Matrix& a, const Matrix& b, int times) {
  std::vector<double> bound;
  for (int row = 0; row < a.rows; ++row) {
    for (int column = 0; column < b.rows; ++column) {
      double largest = 0;
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) {
        largest = std::max(largest, std::abs(a.at(row, k) * b.at(column, k)));
        sum += std::abs(a.at(row, k) * b.at(column, k));
      }
      // The accumulator itself may be the largest addend from the second time on.
      const double unit = std::ldexp(std::max(largest, sum * times), -23);
      bound.push_back(times * (a.columns + 2) * unit);
    }
  }
  return bound;
}

}  // namespace convtgen::testing
