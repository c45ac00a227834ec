// What the lanes of a warp do together.
#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Collectives, ShuffleReductionForEverySeed) {
  const auto device = open_host();
  constexpr std::size_t kThreads = 128;
  std::vector<float> values(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    values[i] = static_cast<float>(i * i % 17);
  }
  Array<float> x(*device, values);
  Array<float> y(*device, kThreads);
  const auto kernel = build(*device, source_of(R"(
extern "C" __global__ void kernel(const float* x, float* y) {
  float sum = x[threadIdx.x];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  y[threadIdx.x] = __shfl_sync(0xffffffffu, sum, 0);
}
)"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    device->set_seed(seed);
    const auto ran = device->run(**kernel, {.blocks = 1,
                                            .threads = static_cast<int>(kThreads),
                                            .shared_bytes = 0,
                                            .arguments = {x.address(), y.address()}});
    ASSERT_TRUE(ran) << ran.error().message;
    const auto sums = y.values();
    for (std::size_t warp = 0; warp < kThreads; warp += 32) {
      float want = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        want += values[warp + i];
      }
      for (std::size_t i = 0; i < 32; ++i) {
        ASSERT_EQ(sums[warp + i], want);
      }
    }
  }
}

// What PTX says of shfl.sync: the source lane, by kind and width, and the lane itself outside its segment.
TEST(Collectives, EveryShuffleAndWidth) {
  const auto device = open_host();
  const auto source = source_of(R"(
extern "C" __global__ void kernel(int* y, int operand, int width) {
  const int lane = threadIdx.x;
  const unsigned int all = 0xffffffffu;
  y[lane] = __shfl_sync(all, lane, operand, width);
  y[32 + lane] = __shfl_up_sync(all, lane, operand, width);
  y[64 + lane] = static_cast<int>(__shfl_down_sync(all, static_cast<double>(lane) + 0.5, operand, width));
  y[96 + lane] = static_cast<int>(__shfl_xor_sync(all, static_cast<long long>(lane) << 40, operand, width) >> 40);
}
)");
  const auto kernel = build(*device, source);
  ASSERT_TRUE(kernel) << kernel.error().message;
  Array<int> y(*device, 128);
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (int operand = 0; operand < 32; ++operand) {
      const auto ran = device->run(**kernel, {.blocks = 1,
                                              .threads = 32,
                                              .shared_bytes = 0,
                                              .arguments = {y.address(), static_cast<std::uint64_t>(operand),
                                                            static_cast<std::uint64_t>(width)}});
      ASSERT_TRUE(ran) << ran.error().message;
      const auto got = y.values();
      for (int lane = 0; lane < 32; ++lane) {
        const int first = lane / width * width;
        const auto at = [&](int part) { return got[static_cast<std::size_t>(part * 32 + lane)]; };
        ASSERT_EQ(at(0), first + operand % width);
        ASSERT_EQ(at(1), lane - operand >= first ? lane - operand : lane);
        ASSERT_EQ(at(2), lane + operand < first + width ? lane + operand : lane);
        ASSERT_EQ(at(3), (lane ^ operand) < first + width ? lane ^ operand : lane);
      }
    }
  }
}

TEST(Collectives, VotesAndPartialMasks) {
  const auto device = open_host();
  Array<int> y(*device, std::vector<int>(64));
  EXPECT_EQ(launch(*device, source_of(R"(
extern "C" __global__ void kernel(int* y) {
  const int lane = threadIdx.x % 32;
  if (lane < 8) {
    y[threadIdx.x] = static_cast<int>(__ballot_sync(0xffu, lane % 3 == 0)) + __shfl_sync(0xffu, 1000 * lane, 7);
  } else {
    y[threadIdx.x] = __any_sync(0xffffff00u, lane == 9) + 2 * __all_sync(0xffffff00u, lane == 9);
  }
  __syncwarp();
}
)"),
                   {.threads = 64}, {y.address()}),
            "");
  const auto got = y.values();
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i], i % 32 < 8 ? 0b01001001 + 7000 : 1);
  }
}

// Lanes hand values through shared memory: the barrier of the warp orders them, and without it there is a race.
TEST(Collectives, WarpBarrierOrdersSharedMemory) {
  const auto device = open_host();
  Array<int> y(*device, 64);
  const auto text = [](const std::string& first, const std::string& second) {
    return source_of(R"(
extern "C" __global__ void kernel(int* y) {
  int* s = static_cast<int*>(shared_memory());
  const int t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    s[t] = t + round;
    )" + first + R"(
    sum += s[t ^ 1] + s[t / 32 * 32];
    )" + second + R"(
  }
  y[t] = sum;
}
)");
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    device->set_seed(seed);
    const Shape shape = {.threads = 64, .shared_bytes = 256};
    ASSERT_EQ(launch(*device, text("__syncwarp();", "__syncwarp();"), shape, {y.address()}), "");
    EXPECT_NE(launch(*device, text("", "__syncwarp();"), shape, {y.address()}), "");
    EXPECT_HAS(launch(*device, text("__syncwarp();", ""), shape, {y.address()}), "race: ");
  }
}

TEST(Collectives, WrongMasksAndWidths) {
  const auto device = open_host({.workers = 1});
  const auto message = [&](const std::string& statement) {
    return launch(*device,
                  source_of("extern \"C\" __global__ void kernel(int a) {\n  const int lane = threadIdx.x;\n  " +
                            statement + "\n}\n"),
                  {}, {3});
  };
  EXPECT_HAS(message("__syncwarp(0x7fffffffu);"),
             "__syncwarp() with mask 0x7fffffff, which leaves out lane 31 that takes part or is read: block 0, thread "
             "31, line 3 `__syncwarp(0x7fffffffu);`");
  EXPECT_HAS(message("if (lane < 4) __shfl_sync(0xfu, lane, 5);"),
             "a warp shuffle with mask 0x0000000f, which leaves out lane 5");
  EXPECT_HAS(message("__shfl_sync(0xffffffffu, lane, 0, a);"), "a warp shuffle of width 3; a width is 1, 2, 4");
  EXPECT_HAS(message("if (lane != 6) __syncwarp();"),
             "divergent __syncwarp(): block 0, thread 0, line 3 `if (lane != "
             "6) __syncwarp();` waits there for ever; thread 6 has ended");
  EXPECT_HAS(message("if (lane < 16) __syncwarp(); else __ballot_sync(0xffffffffu, 1);"), "divergent __syncwarp()");
}

}  // namespace
}  // namespace convtgen::testing
