#include "runtime/device/host/matrix.h"

#include <cstring>
#include <utility>

namespace convtgen::host {
namespace {

constexpr std::size_t kLanes = 32;

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

}  // namespace convtgen::host
