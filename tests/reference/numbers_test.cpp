#include "runtime/reference/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace convtgen {
namespace {

struct Coder {
  double (*decode)(std::uint16_t);
  std::uint16_t (*encode)(double);
  Dtype dtype;
  int infinity;
};
constexpr Coder kCoders[] = {{decode_f16, encode_f16, Dtype::kF16, 0x7c00},
                             {decode_bf16, encode_bf16, Dtype::kBf16, 0x7f80}};

TEST(Numbers, EveryPatternSurvivesTheWayThroughDouble) {
  for (const Coder& coder : kCoders) {
    for (int bits = 0; bits < 65536; ++bits) {
      const double value = coder.decode(static_cast<std::uint16_t>(bits));
      if ((bits & 0x7fff) > coder.infinity) {
        EXPECT_TRUE(std::isnan(value)) << bits;
        EXPECT_TRUE(std::isnan(coder.decode(coder.encode(value)))) << bits;
      } else {
        EXPECT_EQ(coder.encode(value), bits);
      }
    }
  }
}

TEST(Numbers, NeighboursAreOrderedAndTiesGoToEven) {
  for (const Coder& coder : kCoders) {
    for (int bits = 0; bits + 1 < coder.infinity; ++bits) {
      const double low = coder.decode(static_cast<std::uint16_t>(bits));
      const double high = coder.decode(static_cast<std::uint16_t>(bits + 1));
      ASSERT_LT(low, high) << bits;
      const double middle = low + (high - low) / 2;
      ASSERT_EQ(coder.encode(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
      ASSERT_EQ(coder.encode(std::nextafter(middle, 0)), bits) << bits;
      ASSERT_EQ(coder.encode(std::nextafter(middle, high)), bits + 1) << bits;
      ASSERT_EQ(coder.encode(-std::nextafter(middle, high)), 0x8000 | (bits + 1)) << bits;
    }
  }
}

TEST(Numbers, LargeValuesOverflowToInfinity) {
  EXPECT_EQ(encode_f16(65504), 0x7bff);
  EXPECT_EQ(encode_f16(65519.999), 0x7bff);
  EXPECT_EQ(encode_f16(65520), 0x7c00);
  EXPECT_EQ(encode_f16(-1e300), 0xfc00);
  EXPECT_EQ(encode_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(encode_bf16(std::numeric_limits<double>::infinity()), 0x7f80);
}

TEST(Numbers, LimitsOfTheFormats) {
  for (const Coder& coder : kCoders) {
    EXPECT_EQ(coder.encode(least_subnormal(coder.dtype)), 1);
    EXPECT_EQ(coder.encode(least_subnormal(coder.dtype) / 2), 0);
    EXPECT_EQ(least_normal(coder.dtype) * 2 * unit_roundoff(coder.dtype), least_subnormal(coder.dtype));
    EXPECT_EQ(round_to(coder.dtype, 1 + unit_roundoff(coder.dtype)), 1.0);
    EXPECT_EQ(round_to(coder.dtype, 1 + 3 * unit_roundoff(coder.dtype)), 1 + 4 * unit_roundoff(coder.dtype));
  }
  EXPECT_EQ(unit_roundoff(Dtype::kF32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(least_subnormal(Dtype::kF32), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(least_normal(Dtype::kF64), std::numeric_limits<double>::min());
}

}  // namespace
}  // namespace convtgen
