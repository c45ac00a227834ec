// The twins of primitives that take effect at once: hinted memory, conversions, warps.
#include <algorithm>
#include <bit>
#include <limits>

#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string hinted(const std::string& statement) {
  return "extern \"C\" __global__ void kernel(const unsigned int* x, unsigned int* y) {\n  const int t = "
         "threadIdx.x;\n  " +
         statement + "\n}\n";
}

TEST(SimpleTwins, HintedLoadsAndStoresOfEverySize) {
  const auto device = open_host({.workers = 1});
  std::vector<unsigned> values(128);
  for (unsigned i = 0; i < values.size(); ++i) {
    values[i] = i * 2654435761U;
  }
  const Array<unsigned> x(*device, values);
  for (const auto& [words, statement] : {std::pair{1U, "store_global_4(y + t, x[t]);"},
                                         {2U, "store_global_8(y + 2 * t, make_uint2(x[2 * t], x[2 * t + 1]));"},
                                         {4U, "store_global_16(y + 4 * t, load_constant_16(x + 4 * t));"}}) {
    const Array<unsigned> y(*device, std::vector<unsigned>(128));
    ASSERT_EQ(launch(*device, source_of(hinted(statement)), {}, {x.address(), y.address()}), "");
    const auto got = y.values();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], i < 32 * words ? values[i] : 0U) << statement;
    }
  }
}

TEST(SimpleTwins, HintedAccessesAreChecked) {
  const auto device = open_host({.workers = 1});
  const Array<unsigned> x(*device, std::vector<unsigned>(128));
  const Array<unsigned> y(*device, 128);
  const auto message = [&](const std::string& statement) {
    return launch(*device, source_of(hinted(statement), {"x", "y"}), {}, {x.address(), y.address()});
  };
  EXPECT_HAS(message("if (t == 3) y[0] = load_constant_16(x + 2).x;"), "misaligned read of 16 bytes");
  EXPECT_HAS(message("if (t == 3) store_global_16(y + 2, load_constant_16(x));"), "misaligned write of 16 bytes");
  const auto outside = message("if (t == 3) store_global_8(y + 128, make_uint2(x[0], x[1]));");
  EXPECT_HAS(outside, "out-of-bounds write of 8 bytes at offset 512 of global buffer 'y' (512 bytes)");
  EXPECT_HAS(outside, "thread 3, line 3 `if (t == 3) store_global_8");
  EXPECT_HAS(message("if (t == 3) y[0] = load_constant_16(x + 128).x;"),
             "out-of-bounds read of 16 bytes at offset 512");
}

TEST(SimpleTwins, Conversions) {
  const auto device = open_host();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0F,  -0.0F,  1.0F,    65504.0F,  65520.0F,   -65519.9F,
                               6e-8F, 1e-45F, 3.4e38F, kInfinity, -kInfinity, std::nanf("")};
  for (const std::uint32_t bits : {0x3f801000U, 0x3f800fffU, 0xbf801000U, 0x3f803000U, 0x3f808000U, 0x3f818000U,
                                   0x7f7ff000U, 0x7f7fefffU, 0x00001000U, 0x80000fffU, 0x7f800001U}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  for (std::uint32_t i = 0; values.size() < 96; ++i) {
    values.push_back(std::bit_cast<float>(0x2f000000U + i * 0x00ab1234U));
  }
  const Array<float> x(*device, values);
  const Array<unsigned> y(*device, values.size() * 4);
  ASSERT_EQ(launch(*device, source_of(R"(extern "C" __global__ void kernel(const float* x, unsigned int* y) {
  const float a = x[threadIdx.x];
  const float b = x[95 - threadIdx.x];
  unsigned int* mine = y + 4 * threadIdx.x;
  mine[0] = floats_to_half2(a, b);
  mine[1] = floats_to_bfloat162(a, b);
  mine[2] = float_to_half(a);
  mine[3] = float_to_bfloat16(a);
})"),
                   {.threads = 96}, {x.address(), y.address()}),
            "");
  const auto got = y.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned* mine = &got[4 * i];
    const unsigned* other = &got[4 * (95 - i)];
    EXPECT_EQ(mine[0], mine[2] | other[2] << 16);
    EXPECT_EQ(mine[1], mine[3] | other[3] << 16);
  }
}

TEST(SimpleTwins, Warps) {
  const auto device = open_host();
  const auto source = source_of(
      R"(extern "C" __global__ void kernel(unsigned int* y, unsigned int* largest) {
  const int t = threadIdx.x;
  y[3 * t] = lane_id();
  y[3 * t + 1] = warp_uniform(t);
  y[3 * t + 2] = elect_one() + 2 * elect_one();
  largest[t] = __reduce_max_sync(0xffffffffu, (t * 37 % 64) << 26);
})");
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    device->set_seed(seed);
    const Array<unsigned> y(*device, 192);
    const Array<unsigned> largest(*device, 64);
    ASSERT_EQ(launch(*device, source, {.threads = 64}, {y.address(), largest.address()}), "");
    const auto got = y.values();
    for (std::size_t warp = 0; warp < 64; warp += 32) {
      unsigned most = 0;
      for (unsigned t = static_cast<unsigned>(warp); t < warp + 32; ++t) {
        most = std::max(most, t * 37 % 64 << 26);
      }
      unsigned elected = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t t = warp + i;
        EXPECT_EQ(largest.values()[t], most);
        EXPECT_EQ(got[3 * t], i);
        EXPECT_EQ(got[3 * t + 1], warp);
        EXPECT_TRUE(got[3 * t + 2] == 0 || got[3 * t + 2] == 3);
        elected += got[3 * t + 2];
      }
      EXPECT_EQ(elected, 3U);
    }
  }
}

TEST(SimpleTwins, WarpFunctionsAreCollective) {
  const auto device = open_host({.workers = 1});
  const Array<unsigned> y(*device, 32);
  for (const std::string call : {"elect_one()", "warp_uniform(3)", "__reduce_max_sync(0xffffffffu, 1)"}) {
    const auto message = launch(
        *device,
        source_of("extern \"C\" __global__ void kernel(unsigned int* y) {\n  if (threadIdx.x != 5) y[threadIdx.x] = " +
                  call + ";\n}\n"),
        {}, {y.address()});
    EXPECT_HAS(message, "divergent a warp ");
    EXPECT_HAS(message, "line 2 `if (threadIdx.x != 5)");
    EXPECT_HAS(message, "thread 5 has ended");
  }
}

}  // namespace
}  // namespace convtgen::testing
