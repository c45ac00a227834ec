// ldmatrix and stmatrix over plain values, against models that go from the matrix to the lane.
#include "runtime/device/host/matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace convtgen::host {
namespace {

// Where element (row, column) of an 8x8 matrix is: its lane, and the bit in the lane's register.
struct Held {
  std::size_t lane;
  std::size_t shift;
};

Held holder(std::size_t row, std::size_t column, bool transposed) {
  return transposed ? Held{column * 4 + row / 2, row % 2 * 16} : Held{row * 4 + column / 2, column % 2 * 16};
}

MatrixRows random_rows(std::mt19937& random) {
  MatrixRows rows{};
  for (auto& row : rows) {
    for (std::byte& byte : row) {
      byte = static_cast<std::byte>(random());
    }
  }
  return rows;
}

TEST(Matrix, LoadsWhatEachLaneHolds) {
  std::mt19937 random(1);
  for (const bool transposed : {false, true}) {
    for (const int count : {1, 2, 4}) {
      const MatrixRows rows = random_rows(random);
      const MatrixValues values = load_matrices(rows, count, transposed);
      for (std::size_t matrix = 0; matrix < 4; ++matrix) {
        for (std::size_t row = 0; row < 8; ++row) {
          for (std::size_t column = 0; column < 8; ++column) {
            std::uint16_t expected = 0;
            if (matrix < static_cast<std::size_t>(count)) {
              std::memcpy(&expected, &rows[matrix * 8 + row][column * 2], sizeof(expected));
            }
            const Held held = holder(row, column, transposed);
            ASSERT_EQ(values[held.lane][matrix] >> held.shift & 0xffffU, expected)
                << matrix << ": " << row << ", " << column << (transposed ? ", transposed" : "");
          }
        }
      }
    }
  }
}

TEST(Matrix, StoresWhatEachLaneHolds) {
  std::mt19937 random(2);
  for (const bool transposed : {false, true}) {
    for (const int count : {1, 2, 4}) {
      MatrixValues values{};
      for (auto& lane : values) {
        for (std::uint32_t& value : lane) {
          value = static_cast<std::uint32_t>(random());
        }
      }
      const MatrixRows rows = store_matrices(values, count, transposed);
      for (std::size_t matrix = 0; matrix < 4; ++matrix) {
        for (std::size_t row = 0; row < 8; ++row) {
          for (std::size_t column = 0; column < 8; ++column) {
            std::uint16_t stored = 0;
            std::memcpy(&stored, &rows[matrix * 8 + row][column * 2], sizeof(stored));
            const Held held = holder(row, column, transposed);
            const bool within = matrix < static_cast<std::size_t>(count);
            ASSERT_EQ(stored, within ? values[held.lane][matrix] >> held.shift & 0xffffU : 0U)
                << matrix << ": " << row << ", " << column << (transposed ? ", transposed" : "");
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace convtgen::host
