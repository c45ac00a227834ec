// wgmma over plain memory, against formulas written out.
#include "runtime/device/host/warpgroup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/device/host/tensor_float.h"

namespace convtgen::host {
namespace {

std::uint64_t descriptor(unsigned start, unsigned leading, unsigned stride, unsigned swizzle) {
  const std::uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return std::uint64_t{start >> 4} | std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 | mode << 62;
}

// Integers below 256, exact in bf16: those of a pixel and a channel.
float pixel_value(int pixel, int channel) {
  return static_cast<float>((pixel * 16 + channel * 7) % 251);
}

void put_bf16(std::vector<std::byte>& shared, std::size_t address, float value) {
  const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  std::memcpy(&shared[address], &bits, sizeof(bits));
}

void expect_shifted(const std::vector<std::byte>& shared, std::uint64_t bits, int shift, bool mn_major) {
  const auto values = gather_wgmma(shared, bits, {.element = WgmmaElement::kBf16, .rows = 64, .mn_major = mn_major});
  ASSERT_TRUE(values) << values.error().message;
  for (int row = 0; row < 64; ++row) {
    for (int k = 0; k < 16; ++k) {
      ASSERT_EQ((*values)[static_cast<std::size_t>(row * 16 + k)],
                mn_major ? pixel_value(k + shift, row) : pixel_value(row + shift, k))
          << row << ", " << k << " shifted by " << shift;
    }
  }
}

TEST(Warpgroup, ShiftsWithoutSwizzleBySixteenBytes) {
  std::vector<std::byte> shared(16384);
  for (int pixel = 0; pixel < 80; ++pixel) {
    for (int channel = 0; channel < 16; ++channel) {
      put_bf16(shared, static_cast<std::size_t>(channel / 8 * 2048 + pixel * 16 + channel % 8 * 2),
               pixel_value(pixel, channel));
    }
  }
  for (int shift = 0; shift < 16; ++shift) {
    expect_shifted(shared, descriptor(static_cast<unsigned>(shift) * 16, 2048, 128, 0), shift, false);
  }
}

TEST(Warpgroup, ShiftsSwizzledRowsByWholeRows) {
  for (const int swizzle : {32, 64, 128}) {
    std::vector<std::byte> shared(16384);
    for (int pixel = 0; pixel < 80; ++pixel) {
      for (int channel = 0; channel < 16; ++channel) {
        // 16-byte chunk c of a row lies in chunk c xor (what 128-byte line it is in, modulo the chunks of a row).
        const int chunks = swizzle / 16;
        const int line = pixel * swizzle / 128 % chunks;
        put_bf16(shared, static_cast<std::size_t>(pixel * swizzle + ((channel / 8) ^ line) * 16 + channel % 8 * 2),
                 pixel_value(pixel, channel));
      }
    }
    for (int shift = 0; shift < 16; ++shift) {
      expect_shifted(shared,
                     descriptor(static_cast<unsigned>(shift * swizzle), 0, static_cast<unsigned>(8 * swizzle),
                                static_cast<unsigned>(swizzle)),
                     shift, false);
    }
  }
}

TEST(Warpgroup, ShiftsMnMajorBySixteenBytes) {
  // [8 channels][pixel][16 bytes]: K is pixels.
  std::vector<std::byte> shared(16384);
  for (int pixel = 0; pixel < 40; ++pixel) {
    for (int channel = 0; channel < 64; ++channel) {
      put_bf16(shared, static_cast<std::size_t>(channel / 8 * 1024 + pixel * 16 + channel % 8 * 2),
               pixel_value(pixel, channel));
    }
  }
  for (int shift = 0; shift < 16; ++shift) {
    expect_shifted(shared, descriptor(static_cast<unsigned>(shift) * 16, 128, 1024, 0), shift, true);
  }
}

struct Layout {
  unsigned start = 0;
  unsigned leading = 0;
  unsigned stride = 0;
  unsigned swizzle = 0;
};

// Formulas of templates/device/warpgroup.h, bit by bit: address of the first byte of element (row, k).
unsigned model_address(const Layout& layout, const WgmmaOperand& operand, unsigned row, unsigned k) {
  const unsigned size = operand.element == WgmmaElement::kTf32 ? 4 : 2;
  const unsigned per_chunk = 16 / size;
  const unsigned s = layout.swizzle;
  unsigned at = layout.start;
  if (operand.mn_major) {
    at += s == 0 ? row / 8 * layout.stride + row % 8 * 2 + k % 8 * 16 + k / 8 * layout.leading
                 : row / (s / 2) * layout.leading + row % (s / 2) * 2 + k % 8 * s + k / 8 * layout.stride;
  } else {
    at += row / 8 * layout.stride +
          (s == 0 ? row % 8 * 16 + k / per_chunk * layout.leading + k % per_chunk * size : row % 8 * s + k * size);
  }
  unsigned result = at;
  for (unsigned bit = 0; 32U << bit <= s; ++bit) {
    result ^= (at >> (7 + bit) & 1U) << (4 + bit);
  }
  return result;
}

float model_value(const std::vector<std::byte>& shared, std::size_t address, WgmmaElement element) {
  if (element == WgmmaElement::kTf32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &shared[address], sizeof(bits));
    return truncate_tf32(bits);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, &shared[address], sizeof(bits));
  return element == WgmmaElement::kF16 ? f16_value(bits) : bf16_value(bits);
}

// A layout and an operand at random: every format, swizzle and major-ness; pitches that overlap too.
struct Case {
  Layout layout;
  WgmmaOperand operand;
};

Case random_case(std::mt19937& random) {
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  Case result;
  result.operand.element = std::array{WgmmaElement::kF16, WgmmaElement::kBf16, WgmmaElement::kTf32}[below(3)];
  result.operand.mn_major = result.operand.element != WgmmaElement::kTf32 && below(2) == 1;
  result.operand.rows = static_cast<int>(8 * (1 + below(32)));
  result.operand.first_row = static_cast<int>(8 * below(static_cast<unsigned>(33 - result.operand.rows / 8)));
  result.layout = {.start = 16 * below(512),
                   .leading = 16 * below(128),
                   .stride = 16 * below(128),
                   .swizzle = std::array{0U, 32U, 64U, 128U}[below(4)]};
  return result;
}

TEST(Warpgroup, GathersAsTheFormulasSay) {
  std::mt19937 random(1);
  std::vector<std::byte> shared(131072);
  for (std::byte& byte : shared) {
    byte = static_cast<std::byte>(random());
  }
  for (int i = 0; i < 300; ++i) {
    const auto [layout, operand] = random_case(random);
    const std::uint64_t bits = descriptor(layout.start, layout.leading, layout.stride, layout.swizzle);
    const auto values = gather_wgmma(shared, bits, operand);
    const auto pieces = wgmma_pieces(shared.size(), bits, operand);
    ASSERT_TRUE(values) << values.error().message;
    ASSERT_TRUE(pieces) << pieces.error().message;
    const auto k_count = static_cast<std::size_t>(wgmma_k(operand.element));
    ASSERT_EQ(values->size(), static_cast<std::size_t>(operand.rows) * k_count);
    std::vector<bool> read(shared.size());
    std::size_t end = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(operand.rows); ++row) {
      for (std::size_t k = 0; k < k_count; ++k) {
        const std::size_t address =
            model_address(layout, operand, static_cast<unsigned>(row) + static_cast<unsigned>(operand.first_row),
                          static_cast<unsigned>(k));
        const std::size_t size = operand.element == WgmmaElement::kTf32 ? 4 : 2;
        // As bits, since some are NaN.
        ASSERT_EQ(std::bit_cast<std::uint32_t>((*values)[row * k_count + k]),
                  std::bit_cast<std::uint32_t>(model_value(shared, address, operand.element)))
            << row << ", " << k << " of case " << i;
        std::fill_n(read.begin() + static_cast<std::ptrdiff_t>(address), size, true);
        end = std::max(end, address + size);
      }
    }
    std::vector<bool> listed(shared.size());
    std::size_t last = 0;
    for (const WgmmaPiece& piece : *pieces) {
      ASSERT_TRUE(piece.address > last || &piece == pieces->data()) << "pieces that touch, case " << i;
      last = std::size_t{piece.address} + piece.bytes;
      std::fill_n(listed.begin() + piece.address, piece.bytes, true);
    }
    ASSERT_TRUE(listed == read) << "case " << i;
    const std::span<const std::byte> all = shared;
    EXPECT_TRUE(gather_wgmma(all.first(end), bits, operand));
    EXPECT_TRUE(wgmma_pieces(end, bits, operand));
    EXPECT_FALSE(gather_wgmma(all.first(end - 1), bits, operand));
    EXPECT_FALSE(wgmma_pieces(end - 1, bits, operand));
  }
}

TEST(Warpgroup, MergesPiecesThatTouch) {
  using Pieces = std::vector<WgmmaPiece>;
  const WgmmaOperand operand{.rows = 16, .first_row = 16};
  EXPECT_EQ(wgmma_pieces(8192, descriptor(64, 1024, 128, 0), operand), (Pieces{{320, 256}, {1344, 256}}));
  EXPECT_EQ(wgmma_pieces(8192, descriptor(0, 16, 256, 32), operand), (Pieces{{512, 512}}));
  EXPECT_EQ(wgmma_pieces(8192, descriptor(0, 0, 0, 0), operand), (Pieces{{0, 128}}));
  // Rows 0 to 7 of a swizzled line of 128: chunks 0 and 1 go to 0 and 1, 1 and 0, 2 and 3, 3 and 2, ...
  EXPECT_EQ(wgmma_pieces(8192, descriptor(0, 0, 1024, 128), {.rows = 8}),
            (Pieces{{0, 32}, {128, 32}, {288, 32}, {416, 32}, {576, 32}, {704, 32}, {864, 32}, {992, 32}}));
}

TEST(Warpgroup, DecodesEveryF16) {
  std::vector<std::byte> shared(131072);
  for (std::size_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(&shared[i * 2], &bits, sizeof(bits));
  }
  for (unsigned start = 0; start < shared.size(); start += 8192) {
    const auto values = gather_wgmma(shared, descriptor(start, 4096, 128, 0), {.rows = 256});
    ASSERT_TRUE(values) << values.error().message;
    for (std::size_t i = 0; i < 4096; ++i) {
      const std::size_t row = i % 2048 / 8;
      ASSERT_EQ(std::bit_cast<std::uint32_t>((*values)[row * 16 + i / 2048 * 8 + i % 8]),
                std::bit_cast<std::uint32_t>(f16_value(static_cast<std::uint16_t>(start / 2 + i))))
          << start / 2 + i;
    }
  }
}

TEST(Warpgroup, RefusesWhatIsUndefined) {
  const std::vector<std::byte> shared(2048);
  const auto expect = [&](bool fine, std::uint64_t bits, const WgmmaOperand& operand) {
    const auto values = gather_wgmma(shared, bits, operand);
    const auto pieces = wgmma_pieces(shared.size(), bits, operand);
    EXPECT_EQ(values.has_value(), fine);
    ASSERT_EQ(pieces.has_value(), fine);
    if (!fine) {
      EXPECT_EQ(values.error().message, pieces.error().message);
    }
  };
  const WgmmaOperand operand{};
  expect(true, descriptor(0, 1024, 128, 0), operand);
  expect(false, descriptor(16, 1024, 128, 0), operand);
  expect(true, descriptor(16, 1024, 128, 0), {.rows = 48});
  expect(false, descriptor(16, 1024, 128, 0), {.rows = 16, .first_row = 48});
  expect(false, descriptor(0, 1024, 128, 0) | std::uint64_t{1} << 49, operand);
  expect(false, descriptor(0, 1024, 128, 0), {WgmmaElement::kTf32, 64, true});
}

TEST(Warpgroup, FragmentsCoverTheirMatrixOnce) {
  std::vector<int> d(64 * 96);
  std::vector<int> a(64 * 16);
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 48; ++i) {
      const WgmmaPlace place = wgmma_accumulator(thread, i);
      ++d[static_cast<std::size_t>(place.row * 96 + place.column)];
    }
    for (int i = 0; i < 8; ++i) {
      const WgmmaPlace place = wgmma_a_fragment(WgmmaElement::kF16, thread, i);
      ++a[static_cast<std::size_t>(place.row * 16 + place.column)];
    }
  }
  EXPECT_EQ(d, std::vector<int>(64 * 96, 1));
  EXPECT_EQ(a, std::vector<int>(64 * 16, 1));
  EXPECT_EQ(wgmma_accumulator(37, 6), (WgmmaPlace{25, 10}));
  EXPECT_EQ(wgmma_a_fragment(WgmmaElement::kTf32, 37, 3), (WgmmaPlace{25, 5}));
}

TEST(Warpgroup, MultipliesIntegersExactly) {
  std::vector<float> a(64 * 16);
  std::vector<float> b(24 * 16);
  std::vector<float> d(64 * 24, 3.0F);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 13) - 6;
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i % 17) - 8;
  }
  const WgmmaShape shape{.rows = 64, .n = 24, .k = 16};
  multiply_wgmma(d, a, b, shape, true);
  multiply_wgmma(d, a, b, shape, true);
  for (std::size_t row = 0; row < 64; ++row) {
    for (std::size_t column = 0; column < 24; ++column) {
      float expected = 3;
      for (std::size_t k = 0; k < 16; ++k) {
        expected += 2 * a[row * 16 + k] * b[column * 16 + k];
      }
      ASSERT_EQ(d[row * 24 + column], expected);
    }
  }
}

TEST(Warpgroup, MultipliesTheRowsOfAWarp) {
  std::mt19937 random(2);
  const auto fill = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {  // 11 bits, as f16 has
      value = static_cast<float>(static_cast<int>(random() % 4096) - 2048) * (random() % 2 == 0 ? 0x1p-14F : 1.0F);
    }
    return values;
  };
  for (const WgmmaShape shape : {WgmmaShape{16, 96, 16}, WgmmaShape{16, 256, 8}, WgmmaShape{64, 8, 16}}) {
    for (const bool accumulate : {false, true}) {
      const auto rows = static_cast<std::size_t>(shape.rows);
      const auto columns = static_cast<std::size_t>(shape.n);
      const auto depth = static_cast<std::size_t>(shape.k);
      const std::vector<float> a = fill(rows * depth);
      const std::vector<float> b = fill(columns * depth);
      const std::vector<float> before = fill(rows * columns);
      std::vector<float> d = before;
      multiply_wgmma(d, a, b, shape, accumulate);
      for (std::size_t i = 0; i < d.size(); ++i) {
        double sum = accumulate ? before[i] : 0.0;
        for (std::size_t k = 0; k < depth; ++k) {
          sum += double{a[i / columns * depth + k]} * double{b[i % columns * depth + k]};
        }
        ASSERT_EQ(d[i], static_cast<float>(sum)) << i;
      }
    }
  }
}

TEST(Warpgroup, SumsInTheOrderOfK) {
  // 2^60 swallows 2^6, in double too; whether before it is gone or after decides.
  std::vector<float> a(16 * 16);
  const std::vector<float> b(8 * 16, 0x1p30F);
  a[0] = 0x1p-24F;
  a[1] = -0x1p30F;
  a[16] = -0x1p30F;
  a[17] = 0x1p-24F;
  std::vector<float> d(16 * 8, 0x1p60F);
  multiply_wgmma(d, a, b, {.rows = 16, .n = 8, .k = 16}, true);
  EXPECT_EQ(d[0], 0);
  EXPECT_EQ(d[8], 64);
  EXPECT_EQ(d[16], 0x1p60F);
}

TEST(TensorFloat, RoundsTiesAsTheChip) {
  const auto value = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  EXPECT_EQ(round_tf32_even(value(0x3f801000)), 0x3f800000U);
  EXPECT_EQ(round_tf32_even(value(0x3f803000)), 0x3f804000U);
  EXPECT_EQ(truncate_tf32(0x3f801fff), 1.0F);
  EXPECT_EQ(f16_value(0x0001), 0x1p-24F);
  EXPECT_EQ(f16_value(0xc000), -2.0F);
  EXPECT_EQ(f16_value(0x7bff), 65504.0F);
  EXPECT_EQ(bf16_value(0x4040), 3.0F);
}

}  // namespace
}  // namespace convtgen::host
