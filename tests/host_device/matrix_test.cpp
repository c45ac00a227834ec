// ldmatrix, stmatrix and mma.sync over plain values, against models that go from the matrix to the lane.
#include "runtime/device/host/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

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

struct Mma {
  MmaElement element;
  int k;
};

constexpr std::array kMmas{Mma{MmaElement::kF16, 8},   Mma{MmaElement::kF16, 16}, Mma{MmaElement::kBf16, 8},
                           Mma{MmaElement::kBf16, 16}, Mma{MmaElement::kTf32, 4}, Mma{MmaElement::kTf32, 8}};

TEST(Matrix, MultipliesWhatEachLaneHolds) {
  std::mt19937 random(3);
  for (const Mma& mma : kMmas) {
    SCOPED_TRACE(::testing::Message() << static_cast<int>(mma.element) << ", k " << mma.k);
    const auto depth = static_cast<std::size_t>(mma.k);
    const bool wide = mma.element == MmaElement::kTf32;
    MmaA a{};
    MmaB b{};
    // NaNs where the smaller K must not read.
    const std::size_t used = depth / (wide ? 2 : 4);  // registers of A; B has half as many
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::fill(a[lane].begin() + static_cast<std::ptrdiff_t>(used), a[lane].end(), 0xffffffffU);
      std::fill(b[lane].begin() + static_cast<std::ptrdiff_t>(used / 2), b[lane].end(), 0xffffffffU);
    }
    // A number of the format: its value, and its bits into a register.
    const auto put = [&](std::uint32_t& to, std::size_t shift) {
      const auto fraction = static_cast<std::uint32_t>(random());
      const auto sign = static_cast<std::uint32_t>(random() % 2);
      const auto exponent = static_cast<std::uint32_t>(random() % 31);  // 0: subnormal in f16
      if (mma.element == MmaElement::kF16) {
        const std::uint32_t mantissa = fraction & 0x3ffU;
        to |= (sign << 15 | exponent << 10 | mantissa) << shift;
        const double magnitude =
            exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, static_cast<int>(exponent) - 25);
        return sign == 0 ? magnitude : -magnitude;
      }
      // The others: f32's upper bits, 16 or 19 of them, and 13 more that tf32 must not look at.
      const std::uint32_t bits = sign << 31 | (exponent + 112) << 23 | (fraction & 0x7fffffU);
      to |= wide ? bits : bits >> 16 << shift;
      return double{std::bit_cast<float>(bits >> (wide ? 13 : 16) << (wide ? 13 : 16))};
    };
    std::vector<double> a_values(16 * depth);
    std::vector<double> b_values(depth * 8);
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t k = 0; k < depth; ++k) {
        const std::size_t lane = row % 8 * 4 + (wide ? k % 4 : k % 8 / 2);
        const std::size_t index = row / 8 + k / (wide ? 4 : 8) * 2;
        a_values[row * depth + k] = put(a[lane][index], wide ? 0 : k % 2 * 16);
      }
    }
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t column = 0; column < 8; ++column) {
        const std::size_t lane = column * 4 + (wide ? k % 4 : k % 8 / 2);
        b_values[k * 8 + column] = put(b[lane][k / (wide ? 4 : 8)], wide ? 0 : k % 2 * 16);
      }
    }
    MmaAccumulators d{};
    std::uniform_real_distribution<float> uniform(-1000, 1000);
    for (auto& lane : d) {
      for (float& value : lane) {
        value = uniform(random);
      }
    }
    const MmaAccumulators before = d;
    multiply_mma(d, a, b, mma.element, mma.k);
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 8; ++column) {
        const std::size_t lane = row % 8 * 4 + column / 2;
        const std::size_t index = row / 8 * 2 + column % 2;
        double sum = before[lane][index];
        for (std::size_t k = 0; k < depth; ++k) {
          sum += a_values[row * depth + k] * b_values[k * 8 + column];
        }
        ASSERT_EQ(d[lane][index], static_cast<float>(sum)) << row << ", " << column;
      }
    }
  }
}

TEST(Matrix, SumsInTheOrderOfK) {
  // 2^60 swallows 2^6, in double too; whether before it is gone or after decides.
  const auto small = std::bit_cast<std::uint32_t>(0x1p-24F);
  const auto big = std::bit_cast<std::uint32_t>(-0x1p30F);
  const auto factor = std::bit_cast<std::uint32_t>(0x1p30F);
  const auto expect = [](const MmaA& a, const MmaB& b, MmaElement element, int k) {
    MmaAccumulators d{};
    d[0][0] = d[4][0] = 0x1p60F;
    multiply_mma(d, a, b, element, k);
    EXPECT_EQ(d[0][0], 0);   // row 0: small, big
    EXPECT_EQ(d[4][0], 64);  // row 1: big, small
  };
  MmaA a{};
  MmaB b{};
  a[0][0] = a[5][0] = small;  // lanes 0 and 4: k 0; 1 and 5: k 1
  a[1][0] = a[4][0] = big;
  b[0][0] = b[1][0] = factor;
  expect(a, b, MmaElement::kTf32, 4);
  a = {};
  b = {};
  a[0][0] = small >> 16 | big;  // bf16, k 0 in the low half
  a[4][0] = big >> 16 | small;
  b[0][0] = factor >> 16 | factor;
  expect(a, b, MmaElement::kBf16, 8);
}

TEST(Matrix, FragmentsCoverTheirMatrixOnce) {
  for (const Mma& mma : kMmas) {
    std::vector<int> a(static_cast<std::size_t>(16 * mma.k));
    std::vector<int> b(static_cast<std::size_t>(8 * mma.k));
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < mma.k / 2; ++i) {
        const MatrixPlace place = mma_a_fragment(mma.element, lane, i);
        ++a.at(static_cast<std::size_t>(place.row * mma.k + place.column));
      }
      for (int i = 0; i < mma.k / 4; ++i) {
        const MatrixPlace place = mma_b_fragment(mma.element, lane, i);
        ++b.at(static_cast<std::size_t>(place.row * 8 + place.column));
      }
    }
    EXPECT_EQ(a, std::vector<int>(a.size(), 1));
    EXPECT_EQ(b, std::vector<int>(b.size(), 1));
  }
  EXPECT_EQ(mma_accumulator(21, 3), (MatrixPlace{13, 3}));
  EXPECT_EQ(mma_a_fragment(MmaElement::kF16, 21, 7), (MatrixPlace{13, 11}));
  EXPECT_EQ(mma_b_fragment(MmaElement::kBf16, 21, 3), (MatrixPlace{11, 5}));
}

}  // namespace
}  // namespace convtgen::host
