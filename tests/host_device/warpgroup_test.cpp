// wgmma over plain memory, against formulas written out.
#include "runtime/device/host/warpgroup.h"

#include <gtest/gtest.h>

#include <cstring>
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

TEST(Warpgroup, RefusesWhatIsUndefined) {
  const std::vector<std::byte> shared(2048);
  const WgmmaOperand operand{};
  EXPECT_TRUE(gather_wgmma(shared, descriptor(0, 1024, 128, 0), operand));
  EXPECT_FALSE(gather_wgmma(shared, descriptor(16, 1024, 128, 0), operand));
  EXPECT_FALSE(gather_wgmma(shared, descriptor(0, 1024, 128, 0) | std::uint64_t{1} << 49, operand));
  EXPECT_FALSE(gather_wgmma(shared, descriptor(0, 1024, 128, 0), {WgmmaElement::kTf32, 64, true}));
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
  multiply_wgmma(d, a, b, 24, 16, true);
  multiply_wgmma(d, a, b, 24, 16, true);
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

TEST(TensorFloat, RoundsTiesAsTheChip) {
  const auto value = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  EXPECT_EQ(round_tf32_away(value(0x3f801000)), 0x3f802000U);
  EXPECT_EQ(round_tf32_even(value(0x3f801000)), 0x3f800000U);
  EXPECT_EQ(round_tf32_even(value(0x3f803000)), 0x3f804000U);
  EXPECT_EQ(round_tf32_away(value(0xbf800fff)), 0xbf800000U);
  EXPECT_EQ(round_tf32_away(value(0x7f800000)), 0x7f800000U);
  EXPECT_EQ(truncate_tf32(0x3f801fff), 1.0F);
  EXPECT_EQ(f16_value(0x0001), 0x1p-24F);
  EXPECT_EQ(f16_value(0xc000), -2.0F);
  EXPECT_EQ(f16_value(0x7bff), 65504.0F);
  EXPECT_EQ(bf16_value(0x4040), 3.0F);
}

}  // namespace
}  // namespace convtgen::host
