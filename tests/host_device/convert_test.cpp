// f16, bf16 and tf32 conversions of the host device against independent ones, bit by bit.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

using Bits = std::vector<unsigned short>;

constexpr unsigned short kNan16 = 0x7fff;

// By arithmetic: sign, exponent and mantissa as the formats define them.
float f16_value(unsigned short bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

float bf16_value(unsigned short bits) {
  const int exponent = bits >> 7 & 255;
  const int mantissa = bits & 127;
  double value = exponent == 0 ? std::ldexp(mantissa, -133) : std::ldexp(128 + mantissa, exponent - 134);
  if (exponent == 255) {
    value = mantissa == 0 ? INFINITY : NAN;
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

// Rounds to a format of `digits` bits of precision whose least exponent (of its least subnormal) is `least`, in double
// and to nearest even; what reaches 2^`overflow` is infinity.
double rounded(float value, int digits, int least, int overflow) {
  if (value == 0 || std::isinf(value)) {
    return value;
  }
  const int unit = std::max(std::ilogb(value) - (digits - 1), least);
  const double result = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -unit)), unit);
  return std::abs(result) >= std::ldexp(1.0, overflow) ? std::copysign(INFINITY, value) : result;
}

// Every value of a 16-bit format, the ties between neighbours, what lies next to both, and random bits.
std::vector<float> probes(float (*value_of)(unsigned short)) {
  std::vector<float> result;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = value_of(static_cast<unsigned short>(bits));
    const float next = value_of(static_cast<unsigned short>(bits + 1));
    for (const float base : {value, static_cast<float>((static_cast<double>(value) + next) / 2)}) {
      for (const float limit : {-INFINITY, INFINITY}) {
        result.push_back(std::nextafter(base, limit));
      }
      result.push_back(base);
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  const float largest = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  for (const float value :
       {largest, -largest, least, -least, 65519.996f, 65520.0f, 65535.0f, 0x1p-25f, 0x1.000002p-25f}) {
    result.push_back(value);
  }
  return result;
}

std::vector<float> widen(const std::string& function) {
  const auto device = open_host();
  Bits all(65536);
  for (unsigned i = 0; i < 65536; ++i) {
    all[i] = static_cast<unsigned short>(i);
  }
  Array<unsigned short> x(*device, all);
  Array<float> y(*device, all.size());
  const auto source = source_of(R"(
extern "C" __global__ void kernel(const unsigned short* __restrict__ x, float* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = )" + function + "(x[i]);\n}\n");
  EXPECT_EQ(launch(*device, source, {.blocks = 256, .threads = 256}, {x.address(), y.address()}), "");
  return y.values();
}

template <class To>
std::vector<To> narrow(const std::string& function, const std::vector<float>& values) {
  const auto device = open_host();
  Array<float> x(*device, values);
  Array<To> y(*device, values.size());
  const auto source = source_of(fmt::format("using To = {};", sizeof(To) == 2 ? "unsigned short" : "unsigned int") + R"(
extern "C" __global__ void kernel(const float* __restrict__ x, To* __restrict__ y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    y[i] = )" + function + "(x[i]);\n  }\n}\n");
  const auto blocks = static_cast<std::int64_t>((values.size() + 1023) / 1024);
  EXPECT_EQ(launch(*device, source, {.blocks = blocks, .threads = 1024}, {x.address(), y.address(), values.size()}),
            "");
  return y.values();
}

void expect_widened(const std::vector<float>& got, float (*value_of)(unsigned short)) {
  ASSERT_EQ(got.size(), 65536u);
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float want = value_of(static_cast<unsigned short>(bits));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got[bits])) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[bits]), std::bit_cast<std::uint32_t>(want)) << bits;
    }
  }
}

void expect_narrowed(const std::vector<float>& from, const Bits& got, float (*value_of)(unsigned short), int digits,
                     int least, int overflow) {
  ASSERT_EQ(got.size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i])) {
      ASSERT_EQ(got[i], kNan16);
      continue;
    }
    const auto want = static_cast<float>(rounded(from[i], digits, least, overflow));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value_of(got[i])), std::bit_cast<std::uint32_t>(want))
        << "of " << from[i] << ", bits " << got[i];
  }
}

TEST(Convert, HalfToFloatForAllValues) {
  expect_widened(widen("half_to_float"), f16_value);
}

TEST(Convert, Bfloat16ToFloatForAllValues) {
  expect_widened(widen("bfloat16_to_float"), bf16_value);
}

TEST(Convert, FloatToHalfRoundsToNearestEven) {
  const auto from = probes(f16_value);
  expect_narrowed(from, narrow<unsigned short>("float_to_half", from), f16_value, 11, -24, 16);
}

TEST(Convert, AccumulatorToHalfRoundsAsFloatToHalf) {
  const auto from = probes(f16_value);
  expect_narrowed(from, narrow<unsigned short>("accumulator_to_half", from), f16_value, 11, -24, 16);
}

TEST(Convert, FloatToBfloat16RoundsToNearestEven) {
  const auto from = probes(bf16_value);
  expect_narrowed(from, narrow<unsigned short>("float_to_bfloat16", from), bf16_value, 8, -133, 128);
}

TEST(Convert, FloatToTf32RoundsToNearestEven) {
  const auto from = probes([](unsigned short bits) { return std::bit_cast<float>(bits * 0x1000U + 0x32000000U); });
  const auto got = narrow<unsigned>("float_to_tf32", from);
  ASSERT_EQ(got.size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i])) {
      ASSERT_EQ(got[i], 0x7fffffffU);
      continue;
    }
    const auto want = static_cast<float>(rounded(from[i], 11, -136, 128));
    ASSERT_EQ(got[i], std::bit_cast<std::uint32_t>(want)) << "of " << from[i] << ", bits " << got[i];
  }
}

}  // namespace
}  // namespace convtgen::testing
