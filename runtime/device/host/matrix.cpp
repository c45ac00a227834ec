#include "runtime/device/host/matrix.h"

#include <cstring>
#include <utility>

#include "runtime/device/host/tensor_float.h"

namespace convtgen::host {
namespace {

constexpr std::size_t kLanes = 32;
constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kMaxK = 16;

// Calls move(lane, matrix, half, lane of the row, byte in the row) for every element of `count` matrices.
template <typename Move>
void for_each_element(int count, bool transposed, Move move) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t half = 0; half < 2; ++half) {
      const MatrixPlace place = matrix_element(static_cast<int>(lane), static_cast<int>(half), transposed);
      for (std::size_t matrix = 0; matrix < static_cast<std::size_t>(count); ++matrix) {
        move(lane, matrix, half, matrix * 8 + static_cast<std::size_t>(place.row),
             static_cast<std::size_t>(place.column) * 2);
      }
    }
  }
}

// Element i of a fragment, as mma_a_fragment counts.
float element_of(const std::uint32_t* registers, MmaElement element, int i) {
  if (element == MmaElement::kTf32) {
    return truncate_tf32(registers[i]);
  }
  const auto bits = static_cast<std::uint16_t>(registers[i / 2] >> (i % 2 * 16));
  return element == MmaElement::kF16 ? f16_value(bits) : bf16_value(bits);
}

}  // namespace

MatrixPlace matrix_element(int lane, int half, bool transposed) {
  MatrixPlace place{.row = lane / 4, .column = lane % 4 * 2 + half};
  if (transposed) {
    std::swap(place.row, place.column);
  }
  return place;
}

MatrixValues load_matrices(const MatrixRows& rows, int count, bool transposed) {
  MatrixValues values{};
  for_each_element(count, transposed,
                   [&](std::size_t lane, std::size_t matrix, std::size_t half, std::size_t row, std::size_t byte) {
                     std::uint16_t bits = 0;
                     std::memcpy(&bits, &rows[row][byte], sizeof(bits));
                     values[lane][matrix] |= static_cast<std::uint32_t>(bits) << (16 * half);
                   });
  return values;
}

MatrixRows store_matrices(const MatrixValues& values, int count, bool transposed) {
  MatrixRows rows{};
  for_each_element(count, transposed,
                   [&](std::size_t lane, std::size_t matrix, std::size_t half, std::size_t row, std::size_t byte) {
                     const auto bits = static_cast<std::uint16_t>(values[lane][matrix] >> (16 * half));
                     std::memcpy(&rows[row][byte], &bits, sizeof(bits));
                   });
  return rows;
}

MatrixPlace mma_accumulator(int lane, int i) {
  return wgmma_accumulator(lane, i);
}

MatrixPlace mma_a_fragment(MmaElement element, int lane, int i) {
  return wgmma_a_fragment(element, lane, i);
}

MatrixPlace mma_b_fragment(MmaElement element, int lane, int i) {
  if (element == MmaElement::kTf32) {
    return {.row = lane % 4 + i * 4, .column = lane / 4};
  }
  return {.row = lane % 4 * 2 + i % 2 + i / 2 * 8, .column = lane / 4};
}

void multiply_mma(MmaAccumulators& d, const MmaA& a, const MmaB& b, MmaElement element, int k) {
  std::array<double, kRows * kMaxK> a_values{};     // [row][k]
  std::array<double, kColumns * kMaxK> b_values{};  // [column][k]
  const auto at = [](int line, int i) { return static_cast<std::size_t>(line * kMaxK + i); };
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < k / 2; ++i) {
      const MatrixPlace place = mma_a_fragment(element, static_cast<int>(lane), i);
      a_values[at(place.row, place.column)] = element_of(a[lane].data(), element, i);
    }
    for (int i = 0; i < k / 4; ++i) {
      const MatrixPlace place = mma_b_fragment(element, static_cast<int>(lane), i);
      b_values[at(place.column, place.row)] = element_of(b[lane].data(), element, i);
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const MatrixPlace place = mma_accumulator(static_cast<int>(lane), i);
      float& value = d[lane][static_cast<std::size_t>(i)];
      double sum = value;
      for (int j = 0; j < k; ++j) {
        sum += a_values[at(place.row, j)] * b_values[at(place.column, j)];
      }
      value = static_cast<float>(sum);
    }
  }
}

}  // namespace convtgen::host
